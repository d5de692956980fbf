// SPDX-License-Identifier: GPL-2.0-only
//! Lengths of time, and `--set NAME=VALUE`.

use zerolag_core::units::Nanos;
use zerolag_sim::duration;
use zerolag_sim::setting;
use zerolag_sim::sim::Setup;

use crate::failure::Failure;

/// A length of time, with a unit: `4ms`, `1.5s`.
pub(crate) fn span(text: &str) -> Result<Nanos, String> {
    duration::parse(text).map_err(|e| format!("{e}; accepted: {}", duration::ACCEPTED))
}

/// Changes the set-up as `NAME=VALUE` says.
pub(crate) fn apply(setup: &mut Setup, assignment: &str) -> Result<(), Failure> {
    setting::apply(setup, assignment).map_err(|e| Failure::Input(format!("--set {e}")))
}
