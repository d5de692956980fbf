// SPDX-License-Identifier: GPL-2.0-only
//! A deterministic discrete-event machine and workload models on top of [`zerolag_core`].
//!
//! ```text
//! workload models ─┐
//! scenario files ──┼─ Workload (programs, resources, tasks) ── machine ── SchedEvent
//! recordings ──────┘                                              ⇅
//!                                                         zerolag_core::Scheduler
//! ```
//!
//! * [`program`] is what tasks do, [`resource`] what they wait for, [`length`] how long things take.
//! * [`scenario`] reads all of it from a file, [`input`] that and other kinds of files.
//! * [`sim`] runs it: the machine, its events, who is told.
//! * [`replay`] makes programs of recordings.
//! * [`workload`] puts them together: who starts when, with what attributes, in which group.
//! * [`swarm`] draws whole configurations at random, and shrinks those that show a fault.
//! * [`machines`] reads what computers are made of from files.
//! * [`benchmark`] runs one of the models alone.
//! * [`loops`] are there to measure what a decision costs.
//!
//! Time and chance come in as arguments: the same input and seed give the same schedule on any computer.

pub mod benchmark;
pub mod conservation;
pub mod costs;
pub mod duration;
pub mod frequency;
pub mod input;
pub mod length;
pub mod loops;
mod machine;
pub mod machines;
pub mod note;
pub mod pattern;
pub mod program;
pub mod queue;
pub mod replay;
pub mod resource;
pub mod rng;
pub mod rule;
pub mod scenario;
pub mod script;
pub mod setting;
pub mod sim;
pub mod swarm;
pub mod tunable;
pub mod workload;
