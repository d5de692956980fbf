// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the crate from outside, in one program because that links once.

mod binary;
mod check;
mod formats;
mod measured;
mod metrics;
mod perf_sched;
mod perf_script;
mod random_schedule;
mod write;
