// SPDX-License-Identifier: GPL-2.0-only
//! A place in a line of text, and the steps that a reader of traces takes from there.

/// The part of a line that is still to be read. Copying it is remembering the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Steps over `tag` if it comes next.
    #[inline]
    pub(crate) fn tag(&mut self, tag: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(tag)?;
        Some(())
    }

    #[inline]
    pub(crate) fn skip_spaces(&mut self) {
        let spaces = self.rest.iter().take_while(|&&b| b == b' ').count();
        self.rest = &self.rest[spaces..];
    }

    /// The bytes up to the next space or the end.
    #[inline]
    pub(crate) fn word(&mut self) -> &'a [u8] {
        let len = self.rest.iter().position(|&b| b == b' ').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        word
    }

    /// A decimal number without sign; none if it does not fit.
    #[inline]
    pub(crate) fn unsigned(&mut self) -> Option<u64> {
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        decimal(number)
    }

    /// A decimal number with an optional minus sign.
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let negative = self.tag(b"-").is_some();
        let magnitude = i64::try_from(self.unsigned()?).ok()?;
        Some(if negative { -magnitude } else { magnitude })
    }

    /// Free text that ends where `tail` can be read, and what `tail` read. The first such place counts:
    /// a task's name has at most 15 bytes, so no name can hold a whole tail, but it can hold anything less.
    #[inline]
    pub(crate) fn until<T>(
        &mut self,
        first: u8,
        tail: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<(&'a [u8], T)> {
        let mut from = 0;
        loop {
            let at = from + self.rest[from..].iter().position(|&b| b == first)?;
            let mut behind = Self::new(&self.rest[at..]);
            if let Some(read) = tail(&mut behind) {
                let text = &self.rest[..at];
                self.rest = behind.rest;
                return Some((text, read));
            }
            from = at + 1;
        }
    }
}

/// The value of a word of decimal digits; none for anything else or if it does not fit.
#[inline]
pub(crate) fn decimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, &b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// `text` without spaces at both ends.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_no_numbers() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"1x"), None);
        assert_eq!(Cursor::new(b"-120 ").signed(), Some(-120));
    }

    #[test]
    fn a_name_may_hold_part_of_what_ends_it() {
        let mut cursor = Cursor::new(b"a pid= pid=x pid=7 end");
        let (name, pid) = cursor
            .until(b' ', |c| {
                c.tag(b" pid=")?;
                c.unsigned()
            })
            .unwrap();
        assert_eq!((name, pid), (&b"a pid= pid=x"[..], 7));
        assert_eq!(cursor.rest, b" end");
    }
}
