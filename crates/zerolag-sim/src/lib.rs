// SPDX-License-Identifier: GPL-2.0-only
//! A deterministic discrete-event machine and workload models on top of `zerolag-core`.

pub mod script;
pub mod workload;
