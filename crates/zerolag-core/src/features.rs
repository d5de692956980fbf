// SPDX-License-Identifier: GPL-2.0-only
//! Scheduler features: the switches of `/sys/kernel/debug/sched/features`, of every kernel that has a preset.
//!
//! One table says which kernel has which feature and what its default is there. Code asks
//! [`Features::has`]; it never asks for a kernel version.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::kernel::Kernel;

/// One row of the table: a feature, its kernel spelling, defaults by kernel, and what it does and why.
macro_rules! features {
    ($($variant:ident $name:literal [$($default:literal)*] $what:literal;)*) => {
        /// A scheduler feature. The variants follow the kernel's names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = $what] $variant,)*
        }

        impl Feature {
            /// Every feature of every kernel, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            const ROWS: &[Row] = &[$(Row { name: $name, defaults: [$(cell($default)),*], what: $what }),*];
        }
    };
}

/// What the table knows of a feature.
struct Row {
    name: &'static str,
    defaults: [Option<bool>; Kernel::ALL.len()],
    what: &'static str,
}

const fn cell(mark: char) -> Option<bool> {
    match mark {
        '1' => Some(true),
        '0' => Some(false),
        '-' => None,
        _ => panic!("a cell of the feature table is 1, 0 or -"),
    }
}

// Columns, as in `Kernel::ALL`:
//  2.6.29 2.6.29pw | 4.6unpatched 4.6 4.11unpatched 4.11 4.12 4.16 4.17 4.17stale | 6.1 eevdf-rfc 6.6 6.12 6.18
#[rustfmt::skip]
features! {
    NewFairSleepers "NEW_FAIR_SLEEPERS"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "credit a sleeper with up to one latency period, so that it preempts soon after waking";
    NormalizedSleeper "NORMALIZED_SLEEPER"
        ['1' '0'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "weigh the sleeper credit, so that nice levels keep their share";
    GentleFairSleepers "GENTLE_FAIR_SLEEPERS"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '-' '-' '-' '-']
        "give only half the sleeper credit, so that sleepers disturb hogs less";
    StartDebit "START_DEBIT"
        ['1' '1'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '-' '-' '-' '-']
        "place a new task one slice later, so that forking gains nothing";
    WakeupPreempt "WAKEUP_PREEMPT"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "let a wake-up preempt at all (the name before 2.6.35)";
    AffineWakeups "AFFINE_WAKEUPS"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "pull a wakee to its waker's CPU if that is not busier";
    SyncWakeups "SYNC_WAKEUPS"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "believe a waker that says it will sleep at once";
    WakeupOverlap "WAKEUP_OVERLAP"
        ['0' '0'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "preempt for a wakee that rarely overlaps with its waker";
    AsymGran "ASYM_GRAN"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "scale the wake-up granularity by one side's weight, not both";
    AdaptiveGran "ADAPTIVE_GRAN"
        ['-' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "shrink the wake-up granularity for tasks that wake others often";
    LbBias "LB_BIAS"
        ['1' '1'  '1' '1' '1' '1' '1' '1' '1' '1'  '-' '-' '-' '-' '-']
        "balance against an old or a new load, whichever resists moving more";
    LbWakeupUpdate "LB_WAKEUP_UPDATE"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "bring group shares up to date before placing a wakee";
    AsymEffLoad "ASYM_EFF_LOAD"
        ['1' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "weigh both CPUs' group shares when placing a wakee";
    OwnerSpin "OWNER_SPIN"
        ['-' '1'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "spin on a mutex while its owner runs";
    PlaceLag "PLACE_LAG"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '1' '1' '1' '1']
        "keep lag over sleep and migration; off: everyone joins at zero lag";
    PlaceFudge "PLACE_FUDGE"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '1' '-' '-' '-']
        "let a joiner with a shorter than average slice forget one slice of debt";
    PlaceDeadlineInitial "PLACE_DEADLINE_INITIAL"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '1' '1' '1' '1']
        "halve the first slice of a new task, so that it starts sooner";
    PlaceRelDeadline "PLACE_REL_DEADLINE"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '1' '1']
        "keep the rest of a request when a task moves or changes, instead of starting a new one";
    PlaceBonus "PLACE_BONUS"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '0' '-' '-' '-']
        "credit a sleeper with half a slice, as the old scheduler did";
    RunToParity "RUN_TO_PARITY"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '1' '1' '1']
        "let the running task finish its slice or reach zero lag before another is picked";
    PreemptShort "PREEMPT_SHORT"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '1' '1']
        "let a wakee with a shorter slice end that protection";
    NextBuddy "NEXT_BUDDY"
        ['-' '-'  '0' '0' '0' '0' '0' '0' '0' '0'  '0' '0' '0' '0' '0']
        "prefer to run the last wakee next: its data are in the cache";
    LastBuddy "LAST_BUDDY"
        ['1' '1'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '-' '-' '-' '-']
        "return to the task that a wakee preempted: its data are in the cache";
    PickBuddy "PICK_BUDDY"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '1' '1']
        "honour the buddy when picking";
    CacheHotBuddy "CACHE_HOT_BUDDY"
        ['1' '1'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '1' '1' '1' '1']
        "count buddies as cache hot, so that balancing leaves them";
    DelayDequeue "DELAY_DEQUEUE"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '1' '1']
        "keep a sleeper with negative lag queued until it is eligible, so that sleeping is no escape from debt";
    DelayZero "DELAY_ZERO"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '1' '1']
        "such a sleeper leaves with zero lag, not with credit";
    WakeupPreemption "WAKEUP_PREEMPTION"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '1' '1' '1' '1']
        "let a wake-up preempt at all";
    MinimalVa "MINIMAL_VA"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '0' '-' '-' '-']
        "anchor virtual runtimes at the average instead of the minimum";
    ValidateQueue "VALIDATE_QUEUE"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '0' '-' '-' '-']
        "audit the queue at each insertion and removal";
    Hrtick "HRTICK"
        ['0' '0'  '0' '0' '0' '0' '0' '0' '0' '0'  '0' '0' '0' '0' '0']
        "end slices by a precise timer instead of at the next tick";
    HrtickDl "HRTICK_DL"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '0' '0' '0' '0' '0']
        "the same for deadline tasks";
    DoubleTick "DOUBLE_TICK"
        ['0' '0'  '0' '0' '0' '0' '0' '0' '0' '0'  '0' '0' '0' '0' '-']
        "let the ordinary tick preempt as well while the precise timer runs";
    NontaskCapacity "NONTASK_CAPACITY"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '1' '1' '1' '1']
        "take time spent in interrupts off a CPU's capacity";
    TtwuQueue "TTWU_QUEUE"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '1' '1' '1' '1']
        "let the target CPU finish a remote wake-up, instead of taking its lock";
    SisAvgCpu "SIS_AVG_CPU"
        ['-' '-'  '-' '-' '0' '0' '0' '0' '0' '0'  '-' '-' '-' '-' '-']
        "skip the idle search when it costs more than the CPU's average idle time";
    SisProp "SIS_PROP"
        ['-' '-'  '-' '-' '-' '-' '1' '1' '1' '1'  '0' '0' '0' '-' '-']
        "bound the idle search in proportion to the average idle time";
    SisUtil "SIS_UTIL"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '1' '1' '1' '1' '1']
        "bound the idle search by the utilisation of the last-level cache's CPUs";
    WarnDoubleClock "WARN_DOUBLE_CLOCK"
        ['-' '-'  '-' '-' '-' '-' '0' '0' '0' '0'  '0' '0' '0' '0' '0']
        "warn about redundant clock updates";
    RtPushIpi "RT_PUSH_IPI"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '0' '1' '1' '0' '1']
        "ask overloaded CPUs to push real-time tasks, instead of taking their locks";
    ForceSdOverlap "FORCE_SD_OVERLAP"
        ['-' '-'  '0' '0' '0' '0' '0' '-' '-' '-'  '-' '-' '-' '-' '-']
        "build overlapping domains everywhere (debugging)";
    RtRuntimeShare "RT_RUNTIME_SHARE"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '0' '0' '0' '0' '0']
        "let CPUs borrow real-time budget from each other";
    LbMin "LB_MIN"
        ['-' '-'  '0' '0' '0' '0' '0' '0' '0' '0'  '0' '0' '0' '0' '0']
        "do not balance tasks of very little load";
    AttachAgeLoad "ATTACH_AGE_LOAD"
        ['-' '-'  '1' '1' '1' '1' '1' '1' '1' '1'  '1' '1' '1' '1' '1']
        "age a task's load for the time it was detached";
    WaIdle "WA_IDLE"
        ['-' '-'  '-' '-' '-' '-' '-' '1' '1' '1'  '1' '1' '1' '1' '1']
        "wake on an idle one of previous and waker's CPU";
    WaWeight "WA_WEIGHT"
        ['-' '-'  '-' '-' '-' '-' '-' '1' '1' '1'  '1' '1' '1' '1' '1']
        "else wake on the less loaded one";
    WaBias "WA_BIAS"
        ['-' '-'  '-' '-' '-' '-' '-' '1' '1' '1'  '1' '1' '1' '1' '1']
        "favour the previous CPU in that comparison";
    UtilEst "UTIL_EST"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '1' '1'  '1' '1' '1' '1' '1']
        "remember a task's utilisation over its sleep";
    UtilEstFastup "UTIL_EST_FASTUP"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '1' '1' '1' '-' '-']
        "raise that estimate at once, lower it slowly";
    LatencyWarn "LATENCY_WARN"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '0' '0' '0' '0' '0']
        "warn if a reschedule is pending too long";
    NiRandom "NI_RANDOM"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '1' '1' '1' '1' '-']
        "skip newly-idle balancing at random when it rarely succeeds";
    AltPeriod "ALT_PERIOD"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '1' '-' '-' '-' '-']
        "stretch the period by all runnable tasks of the CPU, not by those of one queue";
    BaseSlice "BASE_SLICE"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '1' '-' '-' '-' '-']
        "never make a slice shorter than the minimum granularity";
    HzBw "HZ_BW"
        ['-' '-'  '-' '-' '-' '-' '-' '-' '-' '-'  '-' '-' '1' '-' '-']
        "keep the tick for a lone task with a quota";
    SmpNiceGroups "SMP_NICE_GROUPS"
        ['-' '-'  '-' '1' '-' '-' '-' '-' '-' '-'  '-' '-' '-' '-' '-']
        "bound a group's weight on all CPUs together (2016 patch)";
    Fudge "FUDGE"
        ['-' '-'  '-' '-' '-' '1' '1' '-' '-' '-'  '-' '-' '-' '-' '-']
        "propagate a group's load through the share computation (2017 patch)";
    Fudge2 "FUDGE2"
        ['-' '-'  '-' '-' '-' '1' '1' '-' '-' '-'  '-' '-' '-' '-' '-']
        "rescale an entity's load history when its weight changes (2017 patch)";
}

impl Feature {
    /// The kernel's spelling, as in the `features` file.
    pub const fn name(self) -> &'static str {
        Self::ROWS[self as usize].name
    }

    /// What it does and why, in one line.
    pub const fn what(self) -> &'static str {
        Self::ROWS[self as usize].what
    }

    /// Whether it does something here. Others can be switched as in the kernel, but concern what is not modelled:
    /// mutexes, deadline and real-time tasks across CPUs, time spent in interrupts, warnings, the construction of
    /// domains for debugging, CPUs without any tick; and the time that a search takes (`SIS_AVG_CPU`), which is none.
    pub const fn is_modelled(self) -> bool {
        !matches!(
            self,
            Self::OwnerSpin
                | Self::HrtickDl
                | Self::NontaskCapacity
                | Self::SisAvgCpu
                | Self::WarnDoubleClock
                | Self::RtPushIpi
                | Self::ForceSdOverlap
                | Self::RtRuntimeShare
                | Self::LatencyWarn
                | Self::HzBw
        )
    }

    /// Its default in `kernel`, or nothing if that kernel does not have it.
    pub const fn default_in(self, kernel: Kernel) -> Option<bool> {
        Self::ROWS[self as usize].defaults[kernel as usize]
    }

    /// The kernels that have it, oldest first.
    pub fn kernels(self) -> impl DoubleEndedIterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(move |&kernel| self.default_in(kernel).is_some())
    }

    /// The feature of this name in a kernel.
    ///
    /// # Errors
    /// If that kernel does not have it.
    pub fn in_kernel(name: &str, kernel: Kernel) -> Result<Self, FeatureError> {
        let feature = Self::by_name(name).ok_or_else(|| FeatureError::Unknown { found: name.into() })?;
        match feature.default_in(kernel) {
            Some(_) => Ok(feature),
            None => Err(FeatureError::Elsewhere { feature, kernel }),
        }
    }

    /// The feature of this name (exact, upper case).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a kernel does not have a feature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    /// No kernel has it.
    #[error("no kernel has a feature '{found}'")]
    Unknown {
        /// What was asked for.
        found: String,
    },
    /// Other kernels have it.
    #[error("Linux {kernel} has no {feature}; these have: {}", having(*.feature))]
    Elsewhere {
        /// The feature.
        feature: Feature,
        /// The kernel that does not have it.
        kernel: Kernel,
    },
}

fn having(feature: Feature) -> String {
    feature.kernels().map(Kernel::name).collect::<Vec<_>>().join(", ")
}

/// Which features are on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Features(u64);

const _: () = assert!(Feature::ALL.len() <= 64, "one bit per feature");

impl Features {
    /// The defaults of a kernel.
    pub fn defaults(kernel: Kernel) -> Self {
        let mut set = Self(0);
        for &feature in Feature::ALL {
            set.set(feature, feature.default_in(kernel) == Some(true));
        }
        set
    }

    /// True if the feature is on.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << feature as u8) != 0
    }

    /// Turns a feature on or off.
    pub const fn set(&mut self, feature: Feature, on: bool) {
        let bit = 1 << feature as u8;
        if on {
            self.0 |= bit;
        } else {
            self.0 &= !bit;
        }
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Feature::ALL.iter().filter(|&&x| self.has(x))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_find_their_feature() {
        for &f in Feature::ALL {
            assert_eq!(Feature::by_name(f.name()), Some(f));
        }
        assert_eq!(Feature::by_name("place_lag"), None);
    }

    #[test]
    fn a_feature_of_other_kernels_is_refused_with_those() {
        assert_eq!(Feature::in_kernel("ALT_PERIOD", Kernel::V6_1), Ok(Feature::AltPeriod));
        let error = Feature::in_kernel("RUN_TO_PARITY", Kernel::V6_1).unwrap_err();
        assert_eq!(error.to_string(), "Linux 6.1 has no RUN_TO_PARITY; these have: 6.6, 6.12, 6.18");
        let error = Feature::in_kernel("RUN_TO_PARTY", Kernel::V6_1).unwrap_err();
        assert_eq!(error.to_string(), "no kernel has a feature 'RUN_TO_PARTY'");
    }

    #[test]
    fn the_defaults_of_6_12_are_the_kernels() {
        let set = Features::defaults(Kernel::V6_12);
        assert!(set.has(Feature::PlaceLag) && set.has(Feature::DelayZero) && set.has(Feature::PickBuddy));
        assert!(!set.has(Feature::NextBuddy) && !set.has(Feature::Hrtick));
    }

    #[test]
    fn a_feature_can_be_switched() {
        let mut set = Features::defaults(Kernel::V6_12);
        set.set(Feature::PlaceLag, false);
        assert!(!set.has(Feature::PlaceLag));
        set.set(Feature::PlaceLag, true);
        assert_eq!(set, Features::defaults(Kernel::V6_12));
    }
}
