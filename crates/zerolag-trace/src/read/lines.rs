// SPDX-License-Identifier: GPL-2.0-only
//! Lines of a text of any length, one at a time, in constant memory and without copying.

use std::io::{self, Read};
use std::ops::Range;

/// Longest line that is looked at. Lines of traces have a few hundred bytes; a longer one means that the
/// input is not a trace, and must not fill the memory.
const LINE_LEN_MAX: usize = 64 * 1024;
const BUFFER_LEN: usize = 4 * LINE_LEN_MAX;
/// How much of a longer line is kept to be shown.
const BEGINNING_LEN: usize = 256;

/// Splits what `input` gives into lines.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Box<[u8]>,
    /// What was read and not given out yet.
    held: Range<usize>,
    at_end: bool,
    number: u64,
    /// Of the latest line that was too long.
    beginning: Vec<u8>,
}

/// A line, numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    /// Without the line's end.
    pub(crate) text: &'a [u8],
    /// The line was longer than is looked at; `text` is its beginning.
    pub(crate) cut: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER_LEN].into(),
            held: 0..0,
            at_end: false,
            number: 0,
            beginning: Vec::new(),
        }
    }

    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let newline = self.find_newline()?;
        if newline.is_none() && self.held.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let number = self.number;
        if newline.is_none() && !self.at_end {
            self.beginning.clear();
            self.beginning.extend_from_slice(&self.buffer[self.held.start..][..BEGINNING_LEN]);
            self.skip_to_newline()?;
            return Ok(Some(Line { number, text: &self.beginning, cut: true }));
        }
        let start = self.held.start;
        let end = newline.unwrap_or(self.held.end);
        self.held.start = newline.map_or(end, |at| at + 1);
        let mut text = &self.buffer[start..end];
        if newline.is_some() {
            text = text.strip_suffix(b"\r").unwrap_or(text);
        }
        Ok(Some(Line { number, text, cut: false }))
    }

    /// Where the next newline is, reading more if needed; none at the end of the input or in a line that is
    /// too long.
    fn find_newline(&mut self) -> io::Result<Option<usize>> {
        let mut searched = self.held.start;
        loop {
            let unseen = &self.buffer[searched..self.held.end];
            if let Some(at) = unseen.iter().position(|&b| b == b'\n') {
                return Ok(Some(searched + at));
            }
            searched = self.held.end;
            if self.held.len() > LINE_LEN_MAX || self.at_end {
                return Ok(None);
            }
            if self.held.end == self.buffer.len() {
                self.buffer.copy_within(self.held.clone(), 0);
                searched = self.held.len();
                self.held = 0..self.held.len();
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.input.read(&mut self.buffer[self.held.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.held.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            }
            return Ok(());
        }
    }

    fn skip_to_newline(&mut self) -> io::Result<()> {
        loop {
            self.held = 0..0;
            self.fill()?;
            if self.at_end {
                return Ok(());
            }
            if let Some(at) = self.buffer[self.held.clone()].iter().position(|&b| b == b'\n') {
                self.held.start = at + 1;
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(out.len()).min(self.0.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn lines(input: impl Read) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::new(input);
        let mut out = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            assert_eq!(line.number, out.len() as u64 + 1);
            out.push((line.text.to_vec(), line.cut));
        }
        out
    }

    #[test]
    fn an_endless_line_is_cut_and_the_next_one_is_whole() {
        let mut text = vec![b'x'; 3 * BUFFER_LEN];
        text.extend_from_slice(b"\nnext\r\nlast");
        let read = lines(&text[..]);
        assert_eq!(read[0], (vec![b'x'; BEGINNING_LEN], true));
        assert_eq!(read[1..], [(b"next".to_vec(), false), (b"last".to_vec(), false)]);
    }

    #[test]
    fn nothing_has_no_lines() {
        assert_eq!(lines(&b""[..]), []);
        assert_eq!(lines(&b"\n"[..]), [(vec![], false)]);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_std(text in "[a-z\n\r]{0,300}", piece in 1usize..50) {
            let want: Vec<_> = text.lines().map(|l| (l.as_bytes().to_vec(), false)).collect();
            prop_assert_eq!(lines(Drip(text.as_bytes(), piece)), want);
        }
    }
}
