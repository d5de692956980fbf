// SPDX-License-Identifier: GPL-2.0-only
//! Scheduler traces: everything that is a function over a stream of [`SchedEvent`], whether a kernel
//! recorded it or the simulator made it.
//!
//! ```text
//! recording ─ read ─┐                ┌─ timeline   drawings in text
//!                   ├─ SchedEvent ───┤
//! simulator ────────┘  + TaskTable   └─ …
//! ```
//!
//! * [`read::open`] turns a recording into events, tolerantly; [`LossReport`] says what was missing.
//! * [`TaskTable`] says who the tasks are. A simulator's caller builds one by hand.
//! * [`metrics::Metrics`] sums a schedule up: shares, switches, latencies.
//! * [`analyses`] writes the tables of `perf sched`.
//! * [`timeline`] draws it.
//! * [`write`](mod@write) writes it for other tools.
//! * [`check`] finds what cannot be.
//!
//! Nothing here reads a clock, draws a random number or keeps a whole recording in memory.
//!
//! [`SchedEvent`]: zerolag_core::event::SchedEvent

pub mod analyses;
pub mod check;
mod dense;
pub mod loss;
pub mod metrics;
mod perfetto_schema;
mod protobuf;
pub mod read;
pub mod sort;
pub mod tasks;
pub mod timeline;
pub mod write;

pub use loss::LossReport;
pub use tasks::TaskTable;
