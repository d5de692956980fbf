// SPDX-License-Identifier: GPL-2.0-only
//! Lengths of time.

use zerolag_core::units::Nanos;
use zerolag_sim::duration;

/// A length of time, with a unit: `4ms`, `1.5s`.
pub(crate) fn span(text: &str) -> Result<Nanos, String> {
    duration::parse(text).map_err(|e| format!("{e}; accepted: {}", duration::ACCEPTED))
}
