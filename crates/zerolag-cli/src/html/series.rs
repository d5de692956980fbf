// SPDX-License-Identifier: GPL-2.0-only
//! Values over time in a fixed number of pieces: of each piece the least and the greatest value. When time is
//! longer than the pieces reach, they become twice as long.

use zerolag_core::units::{Instant, Nanos};

/// How many pieces a series has at most.
const PIECES: usize = 400;

/// Pieces of time, the same for all series of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pub(crate) from: Instant,
    pub(crate) len: Nanos,
}

impl Pieces {
    pub(crate) const fn new(from: Instant) -> Self {
        Self { from, len: Nanos(1_000) }
    }

    /// In which piece `time` is; `grow` is called whenever pieces have to become twice as long.
    pub(crate) fn at(&mut self, time: Instant, mut grow: impl FnMut()) -> usize {
        loop {
            let at = time.saturating_since(self.from).0 / self.len.0;
            if at < PIECES as u64 {
                return at as usize;
            }
            self.len = Nanos(self.len.0 * 2);
            grow();
        }
    }
}

/// The least and the greatest value in each piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Band(pub(crate) Vec<Option<(i64, i64)>>);

impl Band {
    pub(crate) fn add(&mut self, at: usize, value: i64) {
        if at >= self.0.len() {
            self.0.resize(at + 1, None);
        }
        let piece = &mut self.0[at];
        *piece = Some(piece.map_or((value, value), |(least, most)| (least.min(value), most.max(value))));
    }

    /// Two pieces become one.
    pub(crate) fn halve(&mut self) {
        let both = |pair: &[Option<(i64, i64)>]| {
            let some = || pair.iter().flatten();
            some().map(|p| p.0).min().zip(some().map(|p| p.1).max())
        };
        self.0 = self.0.chunks(2).map(both).collect();
    }
}

/// Counts in each piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(pub(crate) Vec<u64>);

impl Counts {
    pub(crate) fn add(&mut self, at: usize, more: u64) {
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += more;
    }

    /// Two pieces become one.
    pub(crate) fn halve(&mut self) {
        self.0 = self.0.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_and_keep_extremes_and_sums() {
        let (mut pieces, mut band, mut counts) =
            (Pieces::new(Instant(5)), Band::default(), Counts::default());
        for n in 0..5_000u64 {
            let at = pieces.at(Instant(5 + n * 1_000), || {
                band.halve();
                counts.halve();
            });
            band.add(at, n as i64);
            counts.add(at, 1);
        }
        assert!(band.0.len() <= PIECES && counts.0.len() == band.0.len());
        assert_eq!(counts.0.iter().sum::<u64>(), 5_000);
        let (least, most) = (band.0[0].unwrap().0, band.0.last().unwrap().unwrap().1);
        assert_eq!((least, most), (0, 4_999));
    }
}
