// SPDX-License-Identifier: GPL-2.0-only
//! The figures of each point of a sweep by itself.

use serde_json::{Value, json};

use super::Sweep;
use crate::case::Sealed;
use crate::comparison::{self, Row};
use crate::report::json::with;
use crate::store::{Store, StoreError};

impl Sweep {
    /// For each point the figures that `wanted` picks, as far as they are in the store.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn points(
        &self,
        store: &Store,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<(&Sealed, Vec<Row>)>, StoreError> {
        let seeds = &self.study.seeds;
        let one = |case| Ok((case, comparison::compare(store, std::slice::from_ref(case), seeds, &wanted)?));
        self.study.cases.iter().map(one).collect()
    }

    /// Points as docs/json.md describes them, schema `zerolag.sweep/1`.
    pub fn to_json(&self, points: &[(&Sealed, Vec<Row>)]) -> Value {
        let point = |(case, rows): &(&Sealed, Vec<Row>)| {
            let metrics = rows.iter().filter_map(|row| {
                let kind = json!({
                    "name": row.kind.name,
                    "unit": row.kind.unit,
                    "better": row.kind.better.name(),
                });
                Some(with(kind, comparison::json::sample(&row.cells.first()?.as_ref()?.sample)))
            });
            let choices = comparison::json::choices(case.case());
            json!({ "choices": choices, "hash": case.hash(), "metrics": metrics.collect::<Vec<_>>() })
        };
        json!({
            "schema": "zerolag.sweep/1",
            "keys": self.keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "seeds": self.study.seeds,
            "points": points.iter().map(point).collect::<Vec<_>>(),
        })
    }
}
