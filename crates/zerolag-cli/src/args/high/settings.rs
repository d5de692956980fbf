// SPDX-License-Identifier: GPL-2.0-only
//! `--set NAME=VALUE`: features, tunables, costs, the tick.

use zerolag_core::features::Feature;
use zerolag_core::units::Nanos;
use zerolag_sim::costs::Costs;
use zerolag_sim::duration;
use zerolag_sim::sim::Setup;
use zerolag_sim::tunable::{Tunable, Unit};

use crate::failure::Failure;

/// Tick rates that kernels are built with.
const HZ: [u32; 4] = [100, 250, 300, 1000];

/// A length of time, with a unit: `4ms`, `1.5s`.
pub(crate) fn span(text: &str) -> Result<Nanos, String> {
    duration::parse(text).map_err(|e| format!("{e}; accepted: {}", duration::ACCEPTED))
}

/// Changes the set-up as `NAME=VALUE` says.
pub(crate) fn apply(setup: &mut Setup, assignment: &str) -> Result<(), Failure> {
    let failure = |why: String| Failure::Input(format!("--set {assignment}: {why}"));
    let (name, value) = assignment.split_once('=').ok_or_else(|| failure("expected NAME=VALUE".into()))?;
    set(setup, name.trim(), value.trim()).map_err(failure)
}

fn set(setup: &mut Setup, name: &str, value: &str) -> Result<(), String> {
    if Feature::by_name(name).is_some() {
        let on = switch(value)?;
        let feature = Feature::in_kernel(name, setup.config.kernel).map_err(|e| e.to_string())?;
        setup.config.features.set(feature, on);
    } else if let Some(tunable) = Tunable::by_name(name) {
        let number = match tunable.unit() {
            Unit::Time => span(value)?.0,
            Unit::Count => value.parse().map_err(|_| format!("'{value}' is not a number"))?,
        };
        tunable.set(&mut setup.config.tunables, number);
    } else if let Some(cost) = setup.costs.by_name_mut(name) {
        *cost = span(value)?;
    } else if name == "costs" {
        setup.costs = Costs::preset(value).ok_or_else(|| {
            let names = Costs::PRESETS.map(|(name, _)| name);
            format!("no costs are called '{value}'; there are {}", names.join(", "))
        })?;
    } else if name == "hz" {
        let hz = value.parse().ok().filter(|hz| HZ.contains(hz));
        setup.config.hz = hz.ok_or_else(|| format!("a tick comes {HZ:?} times a second"))?;
    } else {
        return Err(unknown(name));
    }
    Ok(())
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "1" | "on" | "true" => Ok(true),
        "0" | "off" | "false" => Ok(false),
        _ => Err(format!("a feature is on or off, not '{value}'")),
    }
}

fn unknown(name: &str) -> String {
    let names = Feature::ALL
        .iter()
        .map(|f| f.name())
        .chain(Tunable::ALL.map(Tunable::name))
        .chain(Costs::NAMES)
        .chain(["costs", "hz"]);
    let likeness = |a: &str| strsim::jaro_winkler(&a.to_lowercase(), &name.to_lowercase());
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).expect("there are names");
    format!("there is nothing called '{name}'; the nearest name is '{nearest}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::kernel::Kernel;
    use zerolag_core::topology::Topology;

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
            ("base_slise=3ms", "the nearest name is 'base_slice'"),
            ("costs=free", "there are ideal, x86-server"),
            ("hz=123", "[100, 250, 300, 1000]"),
        ] {
            let error = after(assignment).unwrap_err();
            assert!(error.contains(said), "{assignment}: {error}");
        }
    }
}
