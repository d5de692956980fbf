// SPDX-License-Identifier: GPL-2.0-only
//! Pictures: how many tasks of a group are runnable on each node, over time, in one run of a case.

use std::collections::{BTreeMap, BTreeSet};

use super::Prepared;
use crate::nodes;
use crate::store::{Store, StoreError};

/// What is to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What it shows.
    pub title: String,
    /// In which case; its scenario has `runnable_per_node`.
    pub case: String,
    /// Of which group.
    pub group: String,
    /// Where tasks of this group are is marked.
    pub mark: Option<String>,
}

/// A picture, as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Of which seed.
    pub seed: u64,
    /// The ends of the pieces of time, in seconds.
    pub times: Vec<f64>,
    /// For each node and piece, runnable tasks on average, and whether it is marked.
    pub nodes: Vec<Vec<(f64, bool)>>,
}

impl Picture {
    /// Takes it from the first run of its case; nothing if there is none that has what it needs.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn draw(&self, prepared: &Prepared, store: &Store) -> Result<Option<Drawn>, StoreError> {
        let (Some(Ok(place)), Some(&seed)) = (prepared.places.get(&self.case), prepared.study.seeds.first())
        else {
            return Ok(None);
        };
        let Some((_, figures)) = store.figures(&prepared.study.cases[*place], seed)? else { return Ok(None) };
        let mut cells: BTreeMap<(usize, u64), (f64, bool)> = BTreeMap::new();
        let mut times = BTreeSet::new();
        for (name, &value) in &figures {
            let Some((group, node, seconds)) = nodes::parse(name) else { continue };
            let ns = (seconds * 1e9).round() as u64;
            let cell = cells.entry((node, ns)).or_default();
            if group == self.group {
                cell.0 = value;
                times.insert(ns);
            } else if Some(group) == self.mark.as_deref() {
                // Most of the time.
                cell.1 = value >= 0.5;
            }
        }
        let Some(last) = cells.keys().map(|(node, _)| *node).max().filter(|_| !times.is_empty()) else {
            return Ok(None);
        };
        let row =
            |node| times.iter().map(|&ns| cells.get(&(node, ns)).copied().unwrap_or_default()).collect();
        Ok(Some(Drawn {
            seed,
            times: times.iter().map(|&ns| ns as f64 / 1e9).collect(),
            nodes: (0..=last).map(row).collect(),
        }))
    }
}
