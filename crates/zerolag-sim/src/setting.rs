// SPDX-License-Identifier: GPL-2.0-only
//! `NAME=VALUE`: one feature, tunable, rule or cost, the governor or the tick, changed beside what a file says.

use zerolag_core::config::Config;
use zerolag_core::features::{Feature, FeatureError};
use zerolag_core::kernel::Kernel;

use crate::costs::Costs;
use crate::duration::{self, DurationError};
use crate::frequency::Governor;
use crate::rule::Rule;
use crate::scenario::{DidYouMean, nearest, setup as scenario};
use crate::sim::Setup;
use crate::tunable::{Tunable, Unit};

/// Tick rates that kernels are built with.
const HZ: [u32; 4] = [100, 250, 300, 1000];

/// Why something could not be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{assignment}: {fault}")]
pub struct SettingError {
    /// What was asked for.
    pub assignment: String,
    /// What is wrong with it.
    pub fault: SettingFault,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingFault {
    /// There is no `=`.
    #[error("expected NAME=VALUE")]
    NoValue,
    /// Nothing has this name.
    #[error("there is nothing called '{name}'{}; accepted with Linux {kernel}: {accepted}", DidYouMean(.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// The kernel.
        kernel: Kernel,
        /// The name most like it, if one is.
        nearest: Option<String>,
        /// All names.
        accepted: String,
    },
    /// The kernel does not have this tunable.
    #[error("Linux {kernel} has no tunable {}; these have: {}", .tunable.name(), names_of(.tunable.kernels()))]
    NoTunable {
        /// The tunable.
        tunable: Tunable,
        /// The kernel.
        kernel: Kernel,
    },
    /// A tunable cannot have this value.
    #[error("{} is {}", .0.name(), .0.accepted())]
    OutOfRange(Tunable),
    /// The kernel does not have this feature.
    #[error(transparent)]
    NotInKernel(#[from] FeatureError),
    /// A feature is not a number.
    #[error("a feature is on or off, not '{0}'")]
    NotASwitch(String),
    /// A count is not a time.
    #[error("'{0}' is not a number")]
    NotANumber(String),
    /// A time needs a unit.
    #[error("{0}; accepted: {accepted}", accepted = duration::ACCEPTED)]
    NotATime(#[from] DurationError),
    /// There are no such costs.
    #[error("no costs are called '{found}'; there are {accepted}")]
    UnknownCosts {
        /// The name.
        found: String,
        /// The names there are.
        accepted: String,
    },
    /// No clock has levels.
    #[error("there are no clocks with levels: the scenario has no [[frequency]]")]
    NoClocks,
    /// It is none of a few words.
    #[error("'{found}'; accepted: {accepted}")]
    NotAmong {
        /// The value.
        found: String,
        /// The values there are.
        accepted: String,
    },
    /// The kernel does not have this rule.
    #[error("Linux {kernel} has no such rule; these have: {}", names_of(.having.iter().copied()))]
    NoRule {
        /// The kernel.
        kernel: Kernel,
        /// Those that have it.
        having: &'static [Kernel],
    },
    /// Kernels are not built with this tick.
    #[error("a tick comes {HZ:?} times a second")]
    Hz,
}

impl SettingFault {
    /// Whether the kernel is at fault: it does not have what others have.
    pub const fn is_lack(&self) -> bool {
        matches!(
            self,
            Self::NoTunable { .. } | Self::NoRule { .. } | Self::NotInKernel(FeatureError::Elsewhere { .. })
        )
    }
}

/// Changes the set-up as `NAME=VALUE` says.
///
/// # Errors
/// If nothing has the name, or it cannot have the value.
pub fn apply(setup: &mut Setup, assignment: &str) -> Result<(), SettingError> {
    let set = match assignment.split_once('=') {
        None => Err(SettingFault::NoValue),
        Some((name, value)) => set(setup, name.trim(), value.trim()),
    };
    set.map_err(|fault| SettingError { assignment: assignment.into(), fault })
}

fn set(setup: &mut Setup, name: &str, value: &str) -> Result<(), SettingFault> {
    if Feature::by_name(name).is_some() {
        let on = switch(value)?;
        let feature = Feature::in_kernel(name, setup.config.kernel)?;
        setup.config.features.set(feature, on);
    } else if let Some(tunable) = Tunable::by_name(name) {
        let kernel = setup.config.kernel;
        if !tunable.exists_in(kernel) {
            return Err(SettingFault::NoTunable { tunable, kernel });
        }
        let number = match tunable.unit() {
            Unit::Time => duration::parse(value)?.0,
            Unit::Count => value.parse().map_err(|_| SettingFault::NotANumber(value.into()))?,
        };
        if !tunable.range().contains(&number) {
            return Err(SettingFault::OutOfRange(tunable));
        }
        tunable.set(&mut setup.config.tunables, number);
        setup.config.tunables_written(setup.topology.online().len());
    } else if let Some(cost) = setup.costs.by_name_mut(name) {
        *cost = duration::parse(value)?;
    } else if name == "costs" {
        setup.costs = Costs::preset(value).ok_or_else(|| {
            let names = Costs::PRESETS.map(|(name, _)| name);
            SettingFault::UnknownCosts { found: value.into(), accepted: names.join(", ") }
        })?;
    } else if let Some(rule) = Rule::by_name(name) {
        set_rule(&mut setup.config, rule, value)?;
    } else if name == "governor" {
        if setup.frequencies.domains().is_empty() {
            return Err(SettingFault::NoClocks);
        }
        let governor = scenario::governor_of(value, None).ok_or_else(|| SettingFault::NotAmong {
            found: value.into(),
            accepted: Governor::NAMES.join(", "),
        })?;
        setup.frequencies.set_governor(governor);
    } else if name == "hz" {
        let hz = value.parse().ok().filter(|hz| HZ.contains(hz));
        setup.config.hz = hz.ok_or(SettingFault::Hz)?;
    } else {
        return Err(unknown(name, setup.config.kernel));
    }
    Ok(())
}

/// Chooses a rule of the kernel.
pub(crate) fn set_rule(config: &mut Config, rule: Rule, value: &str) -> Result<(), SettingFault> {
    if !rule.kernels().contains(&config.kernel) {
        return Err(SettingFault::NoRule { kernel: config.kernel, having: rule.kernels() });
    }
    if !rule.set(config, value) {
        return Err(SettingFault::NotAmong { found: value.into(), accepted: rule.values().join(", ") });
    }
    Ok(())
}

fn switch(value: &str) -> Result<bool, SettingFault> {
    match value {
        "1" | "on" | "true" => Ok(true),
        "0" | "off" | "false" => Ok(false),
        _ => Err(SettingFault::NotASwitch(value.into())),
    }
}

/// What can be set with this kernel.
fn unknown(name: &str, kernel: Kernel) -> SettingFault {
    let names: Vec<&str> = (Tunable::of(kernel).map(Tunable::name))
        .chain(Feature::ALL.iter().filter(|f| f.default_in(kernel).is_some()).map(|f| f.name()))
        .chain(Rule::ALL.into_iter().filter(|r| r.kernels().contains(&kernel)).map(Rule::name))
        .chain(Costs::NAMES)
        .chain(["costs", "governor", "hz"])
        .collect();
    SettingFault::Unknown {
        name: name.into(),
        kernel,
        nearest: nearest(name, names.iter().copied()),
        accepted: names.join(", "),
    }
}

/// Their names, in this order.
fn names_of(kernels: impl Iterator<Item = Kernel>) -> String {
    kernels.map(Kernel::name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::topology::Topology;
    use zerolag_core::units::Nanos;

    fn after(assignment: &str) -> Result<Setup, String> {
        let config = Kernel::V6_12.config(2).unwrap();
        let mut setup = Setup::new(Topology::preset("2cpu").unwrap(), config);
        apply(&mut setup, assignment).map_err(|f| f.to_string())?;
        Ok(setup)
    }

    #[test]
    fn features_tunables_costs_and_the_tick_can_be_set() {
        assert!(!after("PLACE_LAG=off").unwrap().config.features.has(Feature::PlaceLag));
        assert!(after("NEXT_BUDDY=1").unwrap().config.features.has(Feature::NextBuddy));
        assert_eq!(after("base_slice=3ms").unwrap().config.tunables.base_slice, Nanos(3_000_000));
        assert_eq!(after("nr_migrate=8").unwrap().config.tunables.nr_migrate, 8);
        assert_eq!(after("context_switch=2us").unwrap().costs.context_switch, Nanos(2_000));
        assert_eq!(after("costs=x86-server").unwrap().costs, Costs::X86_SERVER);
        assert_eq!(after("hz=1000").unwrap().config.hz, 1000);
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_what_can() {
        for (assignment, said) in [
            ("PLACE_LAG", "expected NAME=VALUE"),
            ("PLACE_LAG=maybe", "on or off, not 'maybe'"),
            ("START_DEBIT=on", "these have: 2.6.29,"),
            ("base_slice=3", "the unit is missing"),
            ("nr_migrate=3ms", "'3ms' is not a number"),
            ("base_slise=3ms", "did you mean 'base_slice'?"),
            ("foo=1", "nothing called 'foo'; accepted with Linux 6.12: base_slice, migration_cost,"),
            ("latency=3ms", "Linux 6.12 has no tunable latency; these have: 2.6.29, 2.6.29pw,"),
            ("base_slice=0ns", "base_slice is 1 ns to 4294 ms"),
            ("base_slice=5s", "base_slice is 1 ns to 4294 ms"),
            ("nr_migrate=0", "nr_migrate is 1 to 4294967295"),
            ("costs=free", "there are ideal, x86-server"),
            ("prop_type=weight", "Linux 6.12 has no such rule; these have: 4.11, 4.12"),
            ("governor=schedutil", "the scenario has no [[frequency]]"),
            ("hz=123", "[100, 250, 300, 1000]"),
        ] {
            let error = after(assignment).unwrap_err();
            assert!(error.contains(said), "{assignment}: {error}");
        }
    }
}
