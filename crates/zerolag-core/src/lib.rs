// SPDX-License-Identifier: GPL-2.0-only
//! The Linux fair scheduler as a pure state machine.
//!
//! Deterministic, no clock, no I/O, no floating point, no globals, no `unsafe`: time comes in as an argument,
//! effects go out through a queue that the caller polls.

#![no_std]

extern crate alloc;

pub mod balance;
pub mod config;
pub mod cpu_set;
pub mod debug;
pub mod domain;
pub mod entity;
pub mod event;
pub mod fair;
pub mod features;
pub mod group;
pub mod ids;
pub mod kernel;
pub mod latency;
pub mod nice;
pub mod pelt;
mod presets;
mod realtime;
pub mod rq;
pub mod scheduler;
pub mod task;
pub mod topology;
pub mod units;
pub mod variants;
mod wake;
