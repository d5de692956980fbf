// SPDX-License-Identifier: GPL-2.0-only
//! A comparison as JSON; docs/json.md describes the schema.

use serde_json::{Value, json};

use super::{Cell, Row, Versus};
use crate::case::Case;
use crate::report::json::with;
use crate::stats::{Interval, Sample};
use crate::study::Study;

/// All of it, schema `zerolag.compare/1`.
pub fn of(study: &Study, rows: &[Row]) -> Value {
    let cases = study.cases.iter().map(
        |case| json!({ "file": case.case().file, "choices": choices(case.case()), "hash": case.hash() }),
    );
    let metrics = rows.iter().map(|row| {
        let cells = row.cells.iter().map(|cell| cell.as_ref().map_or(Value::Null, self::cell));
        json!({
            "name": row.kind.name,
            "unit": row.kind.unit,
            "better": row.kind.better.name(),
            "cases": cells.collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": "zerolag.compare/1",
        "seeds": study.seeds,
        "cases": cases.collect::<Vec<_>>(),
        "metrics": metrics.collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    let versus = cell.versus.as_ref().map_or(Value::Null, versus);
    with(sample(&cell.sample), json!({ "versus": versus }))
}

/// What the values of a metric in one case come to.
pub(crate) fn sample(sample: &Sample) -> Value {
    json!({
        "n": sample.len(),
        "mean": sample.mean(),
        "std": sample.deviation(),
        "min": sample.min(),
        "median": sample.median(),
        "max": sample.max(),
    })
}

fn versus(versus: &Versus) -> Value {
    let interval = |i: Interval| json!([i.low, i.high]);
    json!({
        "percent": versus.percent,
        "percent_ci95": versus.interval.map(interval),
        "welch": versus.welch.map(|w| json!({ "t": w.t, "df": w.df, "p": w.p, "difference_ci95": interval(w.interval) })),
        "rank_sum": { "u": versus.rank_sum.u, "p": versus.rank_sum.p, "exact": versus.rank_sum.exact },
        "verdict": versus.verdict.name(),
    })
}

/// What is chosen in a case, as an object.
pub(crate) fn choices(case: &Case) -> Value {
    case.choices
        .iter()
        .map(|(k, v)| (k.to_string(), v.clone().into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
