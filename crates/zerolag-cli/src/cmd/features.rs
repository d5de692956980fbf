// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag features`: which features and tunables a kernel's scheduler has, and what changed between two.

use std::io::Write;

use serde_json::{Map, Value, json};
use zerolag_core::config::TunableScaling;
use zerolag_core::features::Feature;
use zerolag_core::kernel::Kernel;
use zerolag_sim::tunable::{Tunable, Unit};

use crate::args::low;
use crate::failure::Failure;
use crate::table;

/// Shows one kernel, or the difference of two.
pub(crate) fn run(args: &low::Features, out: &mut dyn Write) -> Result<(), Failure> {
    match (&args.diff, args.json) {
        (Some(pair), true) => diff_json(pair[0], pair[1], out),
        (Some(pair), false) => diff_text(pair[0], pair[1], out),
        (None, true) => show_json(args.kernel, out),
        (None, false) => show_text(args.kernel, out),
    }
}

/// The features of a kernel, with their defaults, in the order of the table.
fn of(kernel: Kernel) -> impl Iterator<Item = (Feature, bool)> {
    Feature::ALL.iter().filter_map(move |&f| Some((f, f.default_in(kernel)?)))
}

/// The first and the last kernel that has the feature, among those with a preset.
fn span(feature: Feature) -> (Kernel, Kernel) {
    let having: Vec<Kernel> = feature.kernels().collect();
    let mut released = having.iter().copied().filter(|k| !k.is_variant());
    let first = released.next().unwrap_or_else(|| having[0]);
    (first, released.next_back().unwrap_or(first))
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// What a feature does, and whether it does so here.
fn what(feature: Feature) -> String {
    let note = if feature.is_modelled() { "" } else { " (without effect here)" };
    format!("{}{note}", feature.what())
}

fn show_text(kernel: Kernel, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = ["FEATURE", "DEFAULT", "SINCE", "UNTIL", "WHAT IT DOES"];
    let rows = of(kernel).map(|(feature, on)| {
        let (since, until) = span(feature);
        let words = [feature.name(), on_off(on), since.name(), until.name()];
        words.map(str::to_owned).into_iter().chain([what(feature)]).collect()
    });
    table::write(out, &columns, rows)?;
    writeln!(out)?;
    let columns = ["TUNABLE", ">DEFAULT", ">ON 8 CPUS", "SCALING", "WHAT IT IS"];
    let rows = tunables(kernel).map(|(tunable, default, on_eight, scaling)| {
        let number = |n| tunable_value(tunable, n);
        vec![tunable.name().into(), number(default), number(on_eight), scaling.into(), tunable.what().into()]
    });
    Ok(table::write(out, &columns, rows)?)
}

/// The tunables of a kernel: before scaling, on a machine of eight CPUs, and how they are scaled.
fn tunables(kernel: Kernel) -> impl Iterator<Item = (Tunable, u64, u64, &'static str)> {
    let config = |cpus| kernel.config(cpus).expect("every kernel that is offered is implemented");
    let (one, eight) = (config(1), config(8));
    Tunable::of(kernel).map(move |tunable| {
        let (default, on_eight) = (tunable.get(&one.unscaled), tunable.get(&eight.tunables));
        let scaling = match one.scaling {
            _ if !tunable.is_scaled() => "none",
            TunableScaling::None => "none",
            TunableScaling::Linear => "linear",
            TunableScaling::Logarithmic => "logarithmic, up to 8 CPUs",
            TunableScaling::LogarithmicUnlimited => "logarithmic, at boot",
        };
        (tunable, default, on_eight, scaling)
    })
}

fn tunable_value(tunable: Tunable, number: u64) -> String {
    match tunable.unit() {
        Unit::Time => format!("{} ms", number as f64 / 1e6),
        Unit::Count => number.to_string(),
    }
}

fn show_json(kernel: Kernel, out: &mut dyn Write) -> Result<(), Failure> {
    let features: Map<String, Value> = of(kernel)
        .map(|(feature, on)| {
            let (since, until) = span(feature);
            let about = json!({
                "default": on,
                "since": since.name(),
                "until": until.name(),
                "what": feature.what(),
                "modelled": feature.is_modelled(),
            });
            (feature.name().to_owned(), about)
        })
        .collect();
    let tunables: Map<String, Value> = tunables(kernel)
        .map(|(tunable, default, on_eight, scaling)| {
            let about = json!({
                "default": default,
                "on_8_cpus": on_eight,
                "unit": if tunable.unit() == Unit::Time { "ns" } else { "" },
                "scaling": scaling,
                "what": tunable.what(),
            });
            (tunable.name().to_owned(), about)
        })
        .collect();
    let all = json!({
        "schema": "zerolag.features/1",
        "kernel": kernel.name(),
        "features": features,
        "tunables": tunables,
    });
    Ok(writeln!(out, "{all:#}")?)
}

/// How a feature differs between two kernels.
struct Change {
    feature: Feature,
    before: Option<bool>,
    after: Option<bool>,
}

fn changes(before: Kernel, after: Kernel) -> impl Iterator<Item = Change> {
    Feature::ALL
        .iter()
        .map(move |&f| Change { feature: f, before: f.default_in(before), after: f.default_in(after) })
        .filter(|c| c.before != c.after)
}

fn diff_text(before: Kernel, after: Kernel, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = ["FEATURE", before.name(), after.name(), "WHAT IT DOES"];
    let rows = changes(before, after).map(|c| {
        let word = |on: Option<bool>| on.map_or("-", on_off).to_owned();
        vec![c.feature.name().to_owned(), word(c.before), word(c.after), what(c.feature)]
    });
    table::write(out, &columns, rows)?;
    let changed = changed_tunables(before, after);
    if !changed.is_empty() {
        let (before, after) = (format!(">{before}"), format!(">{after}"));
        let columns = ["TUNABLE", before.as_str(), after.as_str(), "WHAT IT IS"];
        let rows = changed.into_iter().map(|(tunable, before, after)| {
            let word = |n: Option<u64>| n.map_or("-".to_owned(), |n| tunable_value(tunable, n));
            vec![tunable.name().to_owned(), word(before), word(after), tunable.what().to_owned()]
        });
        writeln!(out)?;
        table::write(out, &columns, rows)?;
    }
    Ok(())
}

/// Tunables that came, went, or have another default before scaling.
fn changed_tunables(before: Kernel, after: Kernel) -> Vec<(Tunable, Option<u64>, Option<u64>)> {
    let default = |kernel: Kernel, tunable: Tunable| {
        let found = tunables(kernel).find(|(t, ..)| *t == tunable);
        found.map(|(_, default, ..)| default)
    };
    let all = Tunable::ALL.into_iter().map(|t| (t, default(before, t), default(after, t)));
    all.filter(|(_, before, after)| before != after).collect()
}

fn diff_json(before: Kernel, after: Kernel, out: &mut dyn Write) -> Result<(), Failure> {
    let features: Map<String, Value> = changes(before, after)
        .map(|c| {
            let about = json!({ "before": c.before, "after": c.after, "what": c.feature.what() });
            (c.feature.name().to_owned(), about)
        })
        .collect();
    let tunables: Map<String, Value> = changed_tunables(before, after)
        .into_iter()
        .map(|(tunable, before, after)| {
            let about = json!({ "before": before, "after": after, "what": tunable.what() });
            (tunable.name().to_owned(), about)
        })
        .collect();
    let all = json!({
        "schema": "zerolag.features-diff/1",
        "before": before.name(),
        "after": after.name(),
        "features": features,
        "tunables": tunables,
    });
    Ok(writeln!(out, "{all:#}")?)
}
