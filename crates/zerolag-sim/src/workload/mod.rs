// SPDX-License-Identifier: GPL-2.0-only
//! Workloads: descriptions of what tasks do, and the programs made from them.

pub mod json;
