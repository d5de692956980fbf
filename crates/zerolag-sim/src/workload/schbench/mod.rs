// SPDX-License-Identifier: GPL-2.0-only
//! schbench: message threads that wake groups of workers, and how long these take to get a CPU.
//!
//! There are two programs of this name, and figures of one say nothing about the other:
//!
//! | | [`Classic`], 2016 to 2019 | [`Current`], since April 2023 |
//! |---|---|---|
//! | a worker | spins by the clock, sends a message, waits | waits, sleeps 100 µs, multiplies matrices under a per-CPU lock |
//! | a message thread | waits, sleeps some 30 ms, wakes all | waits, wakes all |
//! | load | below capacity by default | all CPUs busy |
//! | reports | wake-up latency | wake-up latency, request latency, requests per second |
//!
//! ```text
//! worker    ── enlists with its message thread ── posts it ── waits for its own flag ──▶ latency
//! message   ── waits for a post ──(sleeps)── takes one time stamp, wakes all who enlisted, last first
//! ```
//!
//! The time stamp is taken once for a whole batch, before the first is woken: what the message thread loses to
//! its own wakees counts as their latency. That is on purpose.
//!
//! Times are read with `gettimeofday()`, so they are whole microseconds, and latencies of less than one are
//! not counted. Source: schbench.c at 3d16b23 (2016-05) and 24e32b8 (2025-12).

mod classic;
mod classic_watch;
mod current;
mod current_watch;
mod delay;
mod histogram;
#[cfg(test)]
mod tests;

pub use classic::{CLASSIC_OPTIONS, Classic};
pub use current::{CURRENT_OPTIONS, Current};
pub use histogram::{Histogram, Percentile};

use zerolag_core::units::Instant;

use super::model::Model;
use super::options::{OptionError, OptionSpec};

/// What a command line may say.
pub(super) const OPTIONS: &[(&str, &[OptionSpec])] = &[
    ("Which generation", &[OptionSpec::long_flag(CLASSIC, "the program of 2016 to 2019")]),
    ("Options, as since April 2023", CURRENT_OPTIONS),
    ("Options with --classic", CLASSIC_OPTIONS),
];

/// The option that chooses the first generation; no tool has it.
const CLASSIC: &str = "classic";

/// Reads a command line of either generation.
pub(super) fn parse(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let chosen = |argument: &&&str| argument.strip_prefix("--") == Some(CLASSIC);
    if !arguments.iter().any(|argument| chosen(&argument)) {
        return Ok(Box::new(Current::parse(arguments)?));
    }
    let rest: Vec<_> = arguments.iter().filter(|argument| !chosen(argument)).collect();
    Ok(Box::new(Classic::parse(&rest)?))
}

/// The time as `gettimeofday()` gives it, in microseconds.
fn micros(time: Instant) -> u64 {
    time.0 / 1000
}
