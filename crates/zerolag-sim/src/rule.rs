// SPDX-License-Identifier: GPL-2.0-only
//! Rules of a kernel that can be chosen like a tunable, by name, although they are no numbers: what the
//! documents that some kernels stand for leave open, or got wrong, and what stable updates changed.
//!
//! | rule | kernels | values, the default first |
//! |---|---|---|
//! | `prop_type`: the load that `FUDGE` divides the shares by (2017 document) | 4.11, 4.12 | `average`, `runnable`, `weight` |
//! | `fudge_units`: the unit of its result | 4.11, 4.12 | `literal` (1024 times too much, as it was sent), `scaled` |
//! | `nohz_fixes`: of the mask of stale CPUs (2018 document) | 4.17stale | `none`; `exit`: a CPU that gets busy is taken out; `due`: CPUs that a pass leaves out still say when they are due for balancing; `both` |
//! | `wakeup_pick`: how a wake-up finds out whether the wakee would run ([`WakeupPick`]) | 6.18 | `looks` (6.18.2), `dequeues` (6.18.44) |

use zerolag_core::config::Config;
use zerolag_core::kernel::Kernel;
use zerolag_core::variants::{FudgeUnits, ShareLoad, WakeupPick};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `prop_type`.
    PropType,
    /// `fudge_units`.
    FudgeUnits,
    /// `nohz_fixes`.
    NohzFixes,
    /// `wakeup_pick`.
    WakeupPick,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PropType, Self::FudgeUnits, Self::NohzFixes, Self::WakeupPick];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PropType => "prop_type",
            Self::FudgeUnits => "fudge_units",
            Self::NohzFixes => "nohz_fixes",
            Self::WakeupPick => "wakeup_pick",
        }
    }

    /// The rule with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The kernels in which it means something.
    pub const fn kernels(self) -> &'static [Kernel] {
        match self {
            Self::PropType | Self::FudgeUnits => &[Kernel::V4_11, Kernel::V4_12],
            Self::NohzFixes => &[Kernel::V4_17Stale],
            Self::WakeupPick => &[Kernel::V6_18],
        }
    }

    /// What it may be, the default first.
    pub const fn values(self) -> &'static [&'static str] {
        match self {
            Self::PropType => &["average", "runnable", "weight"],
            Self::FudgeUnits => &["literal", "scaled"],
            Self::NohzFixes => &["none", "exit", "due", "both"],
            Self::WakeupPick => &["looks", "dequeues"],
        }
    }

    /// Sets it. Returns false if it cannot have that value.
    pub fn set(self, config: &mut Config, value: &str) -> bool {
        if !self.values().contains(&value) {
            return false;
        }
        match self {
            Self::PropType => {
                config.variants.load.propagated = match value {
                    "runnable" => ShareLoad::Runnable,
                    "weight" => ShareLoad::Weight,
                    _ => ShareLoad::Average,
                };
            }
            Self::FudgeUnits => {
                let scaled = value == "scaled";
                config.variants.load.fudge_units =
                    if scaled { FudgeUnits::Scaled } else { FudgeUnits::Literal };
            }
            Self::NohzFixes => {
                config.variants.balance.stale_until_busy = matches!(value, "exit" | "both");
                config.variants.balance.skipped_are_due = matches!(value, "due" | "both");
            }
            Self::WakeupPick => {
                let dequeues = value == "dequeues";
                config.variants.wakeup_pick = if dequeues { WakeupPick::Dequeues } else { WakeupPick::Looks };
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first value changes nothing, and any other does.
    #[test]
    fn the_first_value_is_the_default() {
        for rule in Rule::ALL {
            for &kernel in rule.kernels() {
                let config = kernel.config(4).unwrap();
                for (at, value) in rule.values().iter().enumerate() {
                    let mut set = config.clone();
                    assert!(rule.set(&mut set, value));
                    assert_eq!(set == config, at == 0, "{} {value} of {kernel}", rule.name());
                }
                assert!(!rule.set(&mut config.clone(), "other"));
            }
        }
    }
}
