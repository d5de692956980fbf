// SPDX-License-Identifier: GPL-2.0-only
//! Many simulations at once: what to run, running it on all CPUs of the host, keeping the results, and saying
//! what they are worth.
//!
//! ```text
//! file, choices ── Case ── seal ──▶ Sealed (exact inputs and their hash)
//!                                      │ × seeds
//!                 Study ───────────────┴──▶ workers ──▶ Store (one SQLite file: a row per run and metric)
//!                                                          │
//!                      Comparison, sweep::summary, Verdicts, CSV ◀──┘
//! ```
//!
//! * [`case`] is everything about a run but its seed; [`choice`] is one thing about it that can vary.
//! * [`run`] does one run and [`figures`] says what came out, in figures that can be compared; [`report`] is all of
//!   it, for a single run that is followed ([`follow`]) event by event.
//! * [`replay`] is a recording beside its replays.
//! * [`benchmark`] is a single run of a model alone; [`values`] is what the scheduler has at a moment.
//! * [`study`] does many, on worker threads; [`store`] keeps what came out; a [file](mod@file) is written whole or not at all.
//! * [`stats`] compares samples, [`comparison`] whole cases.
//! * [`sweep`] reads which cases to run from a file; [`reproduce`] runs what others have published.
//!
//! Properties that hold, and are tested by these names:
//! * *the same rows at any number of workers*: a row depends on the inputs of its run alone;
//! * *nothing finished is lost*: whatever is killed when, the store holds whole runs, and going on from it ends
//!   with the same rows as never having been interrupted;
//! * *a row says where it is from*: inputs are kept byte for byte, and named by their hash.

pub mod axis;
pub mod benchmark;
pub mod case;
pub mod choice;
pub mod comparison;
pub mod figures;
pub mod file;
pub mod follow;
pub mod linux;
mod nodes;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod stats;
pub mod store;
pub mod study;
pub mod sweep;
pub mod tuning;
pub mod values;

/// The version that results are marked with. Those of different versions are never mixed.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
