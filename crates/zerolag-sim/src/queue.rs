// SPDX-License-Identifier: GPL-2.0-only
//! The event queue: what happens next.
//!
//! A machine has a fixed number of *slots*, each for something of which at most one can be pending: one
//! CPU's next tick, one CPU's next expiring timer and so on. Setting a slot again replaces what was pending,
//! so nothing ever has to be searched for or left behind cancelled.
//!
//! # Order
//!
//! Events come in the order of (time, [`Rank`], sequence), which is total: the sequence number counts the
//! settings of slots. With a seed for ties, rank and sequence are replaced by a pseudo-random number, so that
//! events of the same moment come in any order: what holds of a schedule must not depend on theirs.
//!
//! # How
//!
//! A tournament over the slots: each inner node of a complete binary tree holds the earlier of its two
//! children's winners, so the root is the next event. Setting a slot replays its matches up the tree, at most
//! log2(slots), and stops as soon as the winner is another one that was the winner before. Nothing is
//! allocated after construction.
//!
//! ```text
//!             B                 A at 7, B at 3, C at 9, D never
//!           /   \
//!          B     C
//!         / \   / \
//!        A   B C   D
//! ```

use zerolag_core::units::Instant;

use crate::rng::mix;

/// What kind of event it is: at the same time, a lower rank comes first.
///
/// What the machine's user does to it comes first; then each CPU's own work proceeds to where it is; then
/// interrupts, the more general the later, so that a tick sees what the timers before it have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// A task is started, or something changed, from outside.
    Control,
    /// A CPU is done with what it was doing.
    Step,
    /// A timer expires on a CPU.
    Timer,
    /// An inter-processor interrupt arrives.
    Ipi,
    /// A CPU's precise end of slice.
    Hrtick,
    /// A CPU's periodic tick.
    Tick,
}

/// When a slot is due and which one it is, as one number, the earlier the smaller:
///
/// ```text
/// 127      64 63  61 60        16 15    0
/// |   time   | rank | sequence   | slot  |      with ties: | time | hash of rank and sequence | slot |
/// ```
type Key = u128;

const NEVER: Key = Key::MAX;
const SLOT_BITS: u32 = 16;
const RANK_SHIFT: u32 = 61;
/// Sequence numbers stay below this: at ten million a second they last for forty days.
const SEQUENCE_END: u64 = 1 << (RANK_SHIFT - SLOT_BITS);
/// The number of slots stays below this; the last one would look like [`NEVER`].
const SLOTS_END: usize = (1 << SLOT_BITS) - 1;

/// The queue. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// In the order of a heap: the root is 1, the children of n are 2n and 2n + 1. The lower half are winners,
    /// the upper half the slots.
    tree: Vec<Key>,
    /// Number of slots, rounded up to a power of two.
    width: usize,
    sequence: u64,
    ties: Option<u64>,
    /// The slot that was taken last is still in the tree: most are soon set again, and one way up the tree is
    /// saved.
    taken: Option<usize>,
}

impl Queue {
    /// A queue with so many slots, all empty. `ties` is the seed for the order of simultaneous events. Panics
    /// if there are 65 535 slots or more.
    pub fn new(slots: usize, ties: Option<u64>) -> Self {
        assert!(slots < SLOTS_END, "{slots} slots are too many");
        let width = slots.next_power_of_two();
        Self { tree: vec![NEVER; 2 * width], width, sequence: 0, ties, taken: None }
    }

    /// Makes the slot due at `time`, instead of whenever it was due.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Instant, rank: Rank) {
        self.sequence += 1;
        debug_assert!(self.sequence < SEQUENCE_END);
        let order = u64::from(rank as u8) << RANK_SHIFT | self.sequence << SLOT_BITS;
        let order = match self.ties {
            None => order,
            Some(seed) => mix(seed ^ order) >> SLOT_BITS << SLOT_BITS,
        };
        if self.taken == Some(slot) {
            self.taken = None;
        }
        self.replay(slot, Key::from(time.0) << 64 | Key::from(order | slot as u64));
    }

    /// Empties the slot.
    #[inline]
    pub fn clear(&mut self, slot: usize) {
        if self.due(slot).is_some() {
            self.replay(slot, NEVER);
        }
    }

    /// When the slot is due.
    #[inline]
    pub fn due(&self, slot: usize) -> Option<Instant> {
        let key = self.tree[self.width + slot];
        (key != NEVER && self.taken != Some(slot)).then_some(Instant((key >> 64) as u64))
    }

    /// The slot that is due next, and when.
    #[inline]
    pub fn earliest(&mut self) -> Option<(Instant, usize)> {
        if let Some(slot) = self.taken.take() {
            self.replay(slot, NEVER);
        }
        let key = self.tree[1];
        let slot = key as usize & ((1 << SLOT_BITS) - 1);
        (key != NEVER).then_some((Instant((key >> 64) as u64), slot))
    }

    /// Empties the slot that [`earliest`](Self::earliest) has just named.
    #[inline]
    pub fn take(&mut self, slot: usize) {
        self.taken = Some(slot);
    }

    #[inline]
    fn replay(&mut self, slot: usize, key: Key) {
        let mut at = self.width + slot;
        self.tree[at] = key;
        while at > 1 {
            let winner = self.tree[at].min(self.tree[at ^ 1]);
            at /= 2;
            // The same winner with the same key: nothing changes further up.
            if self.tree[at] == winner {
                return;
            }
            self.tree[at] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANKS: [Rank; 6] = [Rank::Control, Rank::Step, Rank::Timer, Rank::Ipi, Rank::Hrtick, Rank::Tick];

    #[derive(Clone, Debug)]
    enum Deed {
        Set(usize, u64, usize),
        Clear(usize),
        Pop,
    }

    fn deeds(slots: usize) -> impl Strategy<Value = Vec<Deed>> {
        let deed = prop_oneof![
            4 => (0..slots, 0..20u64, 0..RANKS.len()).prop_map(|(s, t, r)| Deed::Set(s, t, r)),
            1 => (0..slots).prop_map(Deed::Clear),
            2 => Just(Deed::Pop),
        ];
        prop::collection::vec(deed, 1..200)
    }

    proptest! {
        /// Against a list that is searched.
        #[test]
        fn events_come_in_the_documented_order(slots in 1..40usize,
                                              all in deeds(40)) {
            let mut queue = Queue::new(slots, None);
            let mut twin: Vec<Option<(u64, usize, usize)>> = vec![None; slots];
            for (sequence, deed) in all.into_iter().enumerate() {
                match deed {
                    Deed::Set(slot, time, rank) => {
                        let slot = slot % slots;
                        queue.set(slot, Instant(time), RANKS[rank]);
                        twin[slot] = Some((time, rank, sequence));
                    }
                    Deed::Clear(slot) => {
                        queue.clear(slot % slots);
                        twin[slot % slots] = None;
                    }
                    Deed::Pop => {
                        if let Some((_, slot)) = queue.earliest() {
                            queue.take(slot);
                            prop_assert_eq!(queue.due(slot), None);
                            twin[slot] = None;
                        }
                    }
                }
                let first = twin.iter().enumerate().filter_map(|(s, k)| k.map(|k| (k, s))).min();
                prop_assert_eq!(queue.earliest(), first.map(|((time, ..), slot)| (Instant(time), slot)));
            }
        }
    }

    #[test]
    fn a_seed_changes_only_the_order_of_ties() {
        let order = |ties| {
            let mut queue = Queue::new(8, ties);
            for slot in 0..8 {
                queue.set(slot, Instant(slot as u64 / 4), Rank::Step);
            }
            let mut order = Vec::new();
            while let Some((time, slot)) = queue.earliest() {
                queue.take(slot);
                order.push((time.0, slot));
            }
            order
        };
        let plain = order(None);
        assert!(plain.is_sorted());
        let shuffled: Vec<_> = (1..5).map(|seed| order(Some(seed))).collect();
        for o in &shuffled {
            assert!(o.iter().map(|&(time, _)| time).is_sorted(), "{o:?}");
        }
        assert!(shuffled.iter().any(|o| *o != plain));
        assert_eq!(order(Some(1)), shuffled[0]);
    }
}
