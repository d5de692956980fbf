// SPDX-License-Identifier: GPL-2.0-only
//! Clock frequencies: which CPUs share a clock, at which levels it can run, and who chooses.
//!
//! A CPU's frequency scales both the speed at which it works and, in kernels whose averages are invariant
//! (5.1), the speed of its PELT clock (`arch_scale_freq_capacity()`): a task that needs twice as long at half
//! the frequency comes to the same utilisation.
//!
//! | governor | level |
//! |---|---|
//! | [`Governor::Fixed`] | stays, until a change from outside |
//! | [`Governor::Schedutil`] | the lowest that is at least 1.25 times what the busiest of the CPUs uses: `1.25 * util / capacity * greatest level` |
//!
//! Like the kernel's, schedutil looks at utilisation whenever that changes on one of the CPUs (here: at ticks,
//! wake-ups and switches), but not within the rate limit after the last change; goes to the greatest level
//! while a real-time task is runnable; and in kernels whose averages are not invariant takes the present level
//! in place of the greatest. Left out: a new level takes no time to come, waiting for I/O does not boost, and
//! clamps of utilisation are not modelled.
//!
//! Source: kernel/sched/cpufreq_schedutil.c, `sugov_update_shared()`, `get_next_freq()`; 6.1 and 6.12.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, Id};
use zerolag_core::units::{Capacity, Nanos};

/// Levels may be as high as this, in MHz.
pub const MHZ_MAX: u32 = 100_000;

/// Who chooses the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// Nobody.
    Fixed,
    /// Utilisation.
    Schedutil {
        /// No change so soon after another.
        rate_limit: Nanos,
    },
}

impl Governor {
    /// Of the order of what drivers ask for; none is the kernel's own default.
    pub const RATE_LIMIT_DEFAULT: Nanos = Nanos::from_millis(1);

    /// What files call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Schedutil { .. } => "schedutil",
        }
    }

    /// All names.
    pub const NAMES: [&'static str; 2] = ["fixed", "schedutil"];
}

/// CPUs that share a clock (a cpufreq policy).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrequencyDomain {
    /// The CPUs.
    pub cpus: CpuSet,
    /// At which frequencies it can run, in MHz, ascending. At the last the CPUs have the capacity that the
    /// machine gives them.
    pub levels_mhz: Vec<u32>,
    /// Who chooses.
    pub governor: Governor,
    /// Which level it has at first.
    pub level: usize,
}

impl FrequencyDomain {
    /// The frequency of a level in 1024ths of the greatest.
    pub(crate) fn scale(&self, level: usize) -> Capacity {
        let greatest = self.levels_mhz.last().copied().unwrap_or(1);
        Capacity((u64::from(self.levels_mhz[level]) * 1024 / u64::from(greatest)) as u32)
    }

    /// The lowest level of at least so many MHz, or the greatest.
    pub(crate) fn level_for(&self, mhz: u64) -> usize {
        let below = self.levels_mhz.partition_point(|&level| u64::from(level) < mhz);
        below.min(self.levels_mhz.len() - 1)
    }

    /// The level with exactly this frequency.
    pub fn level_of(&self, mhz: u32) -> Option<usize> {
        self.levels_mhz.binary_search(&mhz).ok()
    }
}

/// Why frequencies make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrequencyError {
    /// A CPU that is not there, or none at all.
    #[error("cpus {0} are not all cpus of this machine, or there are none")]
    Cpus(CpuSet),
    /// A CPU with two clocks.
    #[error("cpu {0} is in two frequency domains")]
    InTwo(CpuId),
    /// Levels out of order or out of range.
    #[error("levels {0:?}; accepted: at least one, ascending, from 1 to {MHZ_MAX} MHz")]
    Levels(Vec<u32>),
    /// No such level.
    #[error("there is no level {0}; there are {1}")]
    Level(usize, usize),
}

/// The frequency domains of a machine; CPUs that are in none always run at their nominal speed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frequencies(Vec<FrequencyDomain>);

impl Frequencies {
    /// These, on a machine of so many CPUs.
    ///
    /// # Errors
    /// If they make no sense.
    pub fn new(domains: Vec<FrequencyDomain>, cpus: usize) -> Result<Self, FrequencyError> {
        let mut taken = CpuSet::new();
        for domain in &domains {
            if domain.cpus.is_empty() || !domain.cpus.is_subset(&CpuSet::first_n(cpus)) {
                return Err(FrequencyError::Cpus(domain.cpus.clone()));
            }
            if let Some(cpu) = taken.first_and(&domain.cpus) {
                return Err(FrequencyError::InTwo(cpu));
            }
            domain.cpus.iter().for_each(|cpu| taken.insert(cpu));
            let levels = &domain.levels_mhz;
            let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
            let in_range = levels.iter().all(|level| (1..=MHZ_MAX).contains(level));
            if levels.is_empty() || !ascending || !in_range {
                return Err(FrequencyError::Levels(levels.clone()));
            }
            if domain.level >= levels.len() {
                return Err(FrequencyError::Level(domain.level, levels.len()));
            }
        }
        Ok(Self(domains))
    }

    /// The domains, in the order in which they were given.
    pub fn domains(&self) -> &[FrequencyDomain] {
        &self.0
    }

    /// All of them are governed so from the beginning.
    pub fn set_governor(&mut self, governor: Governor) {
        self.0.iter_mut().for_each(|domain| domain.governor = governor);
    }

    /// Which domain each CPU of the machine is in.
    pub(crate) fn by_cpu(&self, cpus: usize) -> Vec<Option<usize>> {
        let mut all = vec![None; cpus];
        for (number, domain) in self.0.iter().enumerate() {
            domain.cpus.iter().for_each(|cpu| all[cpu.index()] = Some(number));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(cpus: &str, levels_mhz: &[u32]) -> FrequencyDomain {
        let (cpus, levels_mhz) = (cpus.parse().unwrap(), levels_mhz.to_vec());
        FrequencyDomain { cpus, levels_mhz, governor: Governor::Fixed, level: 0 }
    }

    #[test]
    fn a_level_is_the_lowest_that_suffices() {
        let d = domain("0", &[500, 1000, 2000]);
        let levels = [0, 500, 501, 1000, 1999, 2000, 9000].map(|mhz| d.level_for(mhz));
        assert_eq!(levels, [0, 0, 1, 1, 2, 2, 2]);
        assert_eq!([0, 1, 2].map(|level| d.scale(level).0), [256, 512, 1024]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |domains: &[FrequencyDomain]| Frequencies::new(domains.to_vec(), 4).unwrap_err();
        assert!(matches!(refused(&[domain("2-4", &[1])]), FrequencyError::Cpus(_)));
        assert_eq!(refused(&[domain("0-1", &[1]), domain("1-2", &[1])]), FrequencyError::InTwo(CpuId(1)));
        for levels in [&[][..], &[0, 5], &[5, 5], &[7, 5], &[MHZ_MAX + 1]] {
            assert!(matches!(refused(&[domain("0", levels)]), FrequencyError::Levels(_)), "{levels:?}");
        }
        let beyond = FrequencyDomain { level: 1, ..domain("0", &[5]) };
        assert_eq!(refused(&[beyond]), FrequencyError::Level(1, 1));
    }
}
