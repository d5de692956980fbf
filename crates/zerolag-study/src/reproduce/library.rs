// SPDX-License-Identifier: GPL-2.0-only
//! The experiments of `scenarios/reproduce/`, built in, so that the command needs no files.

use std::sync::Arc;

use zerolag_sim::scenario::ScenarioError;

use super::{Experiment, read};
use crate::case::Contents;

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../../../scenarios/reproduce/", $name)))),+]
    };
}

/// All files by their names in the directory.
pub(super) const FILES: &[(&str, &[u8])] = files![
    "eevdf.toml",
    "eevdf/cyclictest.toml",
    "eevdf/hackbench.toml",
    "eevdf/half-load.toml",
    "eevdf/netperf.toml",
    "eevdf/request.toml",
    "eevdf/schbench.toml",
    "eevdf/stress-ng.toml",
    "eevdf/unixbench.toml",
    "load-propagation.toml",
    "load-propagation/disturbed-group.toml",
    "load-propagation/disturbed-root.toml",
    "load-propagation/group.toml",
    "load-propagation/root.toml",
    "load-propagation/steps-group.toml",
    "load-propagation/steps-root.toml",
    "nohz-stats.toml",
    "nohz-stats/kick-ilb.toml",
    "nohz-stats/newly-idle.toml",
    "prefer-wakers.toml",
    "prefer-wakers/mail.toml",
    "prefer-wakers/nfs.toml",
    "prefer-wakers/oltp.toml",
    "prefer-wakers/tbench.toml",
    "prefer-wakers/volano.toml",
    "smp-nice-groups.toml",
    "smp-nice-groups/build-0.toml",
    "smp-nice-groups/build-1.toml",
    "smp-nice-groups/build-2.toml",
    "wasted-cores.toml",
    "wasted-cores/group-construction.toml",
    "wasted-cores/group-imbalance.toml",
    "wasted-cores/missing-domains.toml",
    "wasted-cores/overload-on-wakeup.toml",
];

/// The experiments, in the order of what they are about.
pub const NAMES: [&str; 6] =
    ["load-propagation", "eevdf", "nohz-stats", "smp-nice-groups", "prefer-wakers", "wasted-cores"];

/// The experiment of this name.
///
/// # Errors
/// If its file is wrong, which a test rules out, or there is none.
pub fn experiment(name: &str) -> Result<Experiment, ScenarioError> {
    let files: Contents = FILES.iter().map(|(name, bytes)| ((*name).to_owned(), Arc::from(*bytes))).collect();
    let bytes = files.get(&format!("{name}.toml")).cloned().unwrap_or_default();
    read(name, &bytes, &files)
}
