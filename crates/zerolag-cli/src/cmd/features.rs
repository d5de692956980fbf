// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag features`: what a kernel's scheduler has, and what changed between two.

use std::io::Write;

use serde_json::{Map, Value, json};
use zerolag_core::features::Feature;
use zerolag_core::kernel::Kernel;

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
    let mut having = feature.kernels();
    let first = having.next().expect("a feature belongs to some kernel");
    (first, having.next_back().unwrap_or(first))
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn show_text(kernel: Kernel, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = ["FEATURE", "DEFAULT", "SINCE", "UNTIL", "WHAT IT DOES"];
    let rows = of(kernel).map(|(feature, on)| {
        let (since, until) = span(feature);
        let words = [feature.name(), on_off(on), since.name(), until.name(), feature.what()];
        words.map(str::to_owned).to_vec()
    });
    Ok(table::write(out, &columns, rows)?)
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
            });
            (feature.name().to_owned(), about)
        })
        .collect();
    let all = json!({ "schema": "zerolag.features/1", "kernel": kernel.name(), "features": features });
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
        vec![c.feature.name().to_owned(), word(c.before), word(c.after), c.feature.what().to_owned()]
    });
    Ok(table::write(out, &columns, rows)?)
}

fn diff_json(before: Kernel, after: Kernel, out: &mut dyn Write) -> Result<(), Failure> {
    let features: Map<String, Value> = changes(before, after)
        .map(|c| {
            let about = json!({ "before": c.before, "after": c.after, "what": c.feature.what() });
            (c.feature.name().to_owned(), about)
        })
        .collect();
    let all = json!({
        "schema": "zerolag.features-diff/1",
        "before": before.name(),
        "after": after.name(),
        "features": features,
    });
    Ok(writeln!(out, "{all:#}")?)
}
