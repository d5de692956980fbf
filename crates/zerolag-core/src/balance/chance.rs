// SPDX-License-Identifier: GPL-2.0-only
//! The generator by which newly-idle balancing is skipped at random: Tausworthe's, combined of four.
//!
//! L'Ecuyer, "Tables of maximally equidistributed combined LFSR generators", 1999; it is Linux's
//! `prandom_u32_state()`.

/// The state of one CPU's generator (`struct rnd_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tausworthe([u32; 4]);

impl Tausworthe {
    /// Each component loses its lowest bits, so a seed should be greater than 127.
    pub(crate) const fn new(seed: [u32; 4]) -> Self {
        Self(seed)
    }

    /// The next number, uniform over 32 bits.
    pub(crate) const fn next(&mut self) -> u32 {
        // (feedback shift, output shift, bits kept, position) of each component.
        const COMPONENTS: [(u32, u32, u32, u32); 4] =
            [(6, 13, !1, 18), (2, 27, !7, 2), (13, 21, !15, 7), (3, 12, !127, 13)];
        let mut out = 0;
        let mut i = 0;
        while i < 4 {
            let (feedback, output, kept, position) = COMPONENTS[i];
            let s = self.0[i];
            self.0[i] = ((s & kept) << position) ^ (((s << feedback) ^ s) >> output);
            out ^= self.0[i];
            i += 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed, number of the draw, result: from the GNU Scientific Library's taus113, as used by the self test of
    /// Linux (lib/random32.c).
    #[test]
    fn agrees_with_the_kernels_vectors() {
        fn lcg(x: u32) -> u32 {
            x.wrapping_mul(69069)
        }
        fn at_least(x: u32, least: u32) -> u32 {
            if x < least { x + least } else { x }
        }
        for (seed, iteration, result) in
            [(931_557_656_u32, 959, 2_975_593_782_u32), (1_339_693_295, 876, 3_887_776_532)]
        {
            let s1 = at_least(lcg(seed), 2);
            let s2 = at_least(lcg(s1), 8);
            let s3 = at_least(lcg(s2), 16);
            let s4 = at_least(lcg(s3), 128);
            let mut generator = Tausworthe::new([s1, s2, s3, s4]);
            for _ in 0..10 {
                generator.next();
            }
            let last = (0..iteration).map(|_| generator.next()).last();
            assert_eq!(last, Some(result), "seed {seed}");
        }
    }
}
