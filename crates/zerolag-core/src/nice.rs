// SPDX-License-Identifier: GPL-2.0-only
//! Nice levels, the weights they stand for, and scheduling policies.
//!
//! One nice level is worth about 10 % of CPU time between two competitors, hence a factor of about 1.25 in
//! weight. The weights are the kernel's table, not a formula: rounding differs in most rows
//! (`sched_prio_to_weight`, `sched_prio_to_wmult`, kernel/sched/core.c, unchanged since 2.6.23).

use core::fmt;

use crate::units::Weight;

/// A nice level, -20 (most CPU) to 19 (least).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nice(i8);

impl Nice {
    /// The level that gets most.
    pub const MIN: Self = Self(-20);
    /// The level that gets least.
    pub const MAX: Self = Self(19);
    /// The default level.
    pub const ZERO: Self = Self(0);

    /// The level with this number, or nothing outside -20 to 19.
    pub const fn new(level: i64) -> Option<Self> {
        if level < -20 || level > 19 { None } else { Some(Self(level as i8)) }
    }

    /// The number, -20 to 19.
    pub const fn get(self) -> i32 {
        self.0 as i32
    }

    /// Position in the tables below.
    const fn row(self) -> usize {
        (self.0 + 20) as usize
    }

    /// The load weight of a task of this level.
    pub const fn load(self) -> LoadWeight {
        LoadWeight { weight: Weight::from_table(WEIGHT[self.row()]), inverse: INVERSE[self.row()] }
    }

    /// The level of things that should be quick but are not urgent.
    pub const MINUS_10: Self = Self(-10);

    /// `latency_nice` slices and 2016-style weights use the table's own unit: 1024 for nice 0.
    pub const fn table_weight(self) -> u64 {
        WEIGHT[self.row()]
    }
}

impl fmt::Debug for Nice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nice {}", self.0)
    }
}

impl fmt::Display for Nice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A weight with its cached inverse, `2^32 / table weight`, so that conversions to virtual time multiply
/// instead of dividing. An inverse of 0 means "not computed yet" (`struct load_weight`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadWeight {
    /// The weight.
    pub weight: Weight,
    /// `2^32 / weight.down()`, or 0.
    pub inverse: u32,
}

/// Table weight of `SCHED_IDLE` tasks and of `cpu.idle` groups (`WEIGHT_IDLEPRIO`).
pub const WEIGHT_IDLE: u64 = 3;

/// Load of a `SCHED_IDLE` task; its nice level does not count.
pub const LOAD_IDLE: LoadWeight =
    LoadWeight { weight: Weight::from_table(WEIGHT_IDLE), inverse: 1_431_655_765 };

/// How a task is scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_NORMAL` (`SCHED_OTHER`): fair.
    #[default]
    Normal,
    /// `SCHED_BATCH`: fair, but never preempts on wake-up.
    Batch,
    /// `SCHED_IDLE`: fair with the least weight, preempted by every other wake-up.
    Idle,
    /// `SCHED_FIFO` with a real-time priority of 1 to 99: above every fair task, runs until it blocks.
    Fifo(u8),
    /// `SCHED_RR`: as FIFO, taking turns among equals each 100 ms.
    RoundRobin(u8),
}

impl Policy {
    /// True for the three policies of the fair class.
    pub const fn is_fair(self) -> bool {
        matches!(self, Self::Normal | Self::Batch | Self::Idle)
    }

    /// The number the kernel uses for it (`SCHED_*` in the uapi header).
    pub const fn number(self) -> u32 {
        match self {
            Self::Normal => 0,
            Self::Fifo(_) => 1,
            Self::RoundRobin(_) => 2,
            Self::Batch => 3,
            Self::Idle => 5,
        }
    }

    /// The load weight of a task with this policy and nice level.
    pub const fn load(self, nice: Nice) -> LoadWeight {
        match self {
            Self::Idle => LOAD_IDLE,
            _ => nice.load(),
        }
    }
}

#[rustfmt::skip]
const WEIGHT: [u64; 40] = [
    /* -20 */ 88761, 71755, 56483, 46273, 36291,
    /* -15 */ 29154, 23254, 18705, 14949, 11916,
    /* -10 */  9548,  7620,  6100,  4904,  3906,
    /*  -5 */  3121,  2501,  1991,  1586,  1277,
    /*   0 */  1024,   820,   655,   526,   423,
    /*   5 */   335,   272,   215,   172,   137,
    /*  10 */   110,    87,    70,    56,    45,
    /*  15 */    36,    29,    23,    18,    15,
];

/// 2^32 divided by the weight, rounded by hand in the kernel: some rows are one more than the floor.
#[rustfmt::skip]
const INVERSE: [u32; 40] = [
    /* -20 */      48388,      59856,      76040,      92818,     118348,
    /* -15 */     147320,     184698,     229616,     287308,     360437,
    /* -10 */     449829,     563644,     704093,     875809,    1099582,
    /*  -5 */    1376151,    1717300,    2157191,    2708050,    3363326,
    /*   0 */    4194304,    5237765,    6557202,    8165337,   10153587,
    /*   5 */   12820798,   15790321,   19976592,   24970740,   31350126,
    /*  10 */   39045157,   49367440,   61356676,   76695844,   95443717,
    /*  15 */  119304647,  148102320,  186737708,  238609294,  286331153,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forty_levels_exist() {
        assert_eq!(Nice::new(-21), None);
        assert_eq!(Nice::new(20), None);
        assert_eq!((-20..20).filter_map(Nice::new).count(), 40);
    }

    #[test]
    fn each_inverse_is_the_rounded_or_floored_quotient() {
        for (w, inv) in WEIGHT.iter().zip(INVERSE) {
            let floor = u64::from(u32::MAX) / w;
            assert!(u64::from(inv) == floor || u64::from(inv) == floor + 1, "weight {w}");
        }
    }

    #[test]
    fn one_level_is_worth_about_a_quarter() {
        for pair in WEIGHT.windows(2) {
            let ratio_permille = pair[0] * 1000 / pair[1];
            assert!((1150..=1330).contains(&ratio_permille), "{pair:?}");
        }
    }
}
