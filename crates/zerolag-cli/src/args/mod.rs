// SPDX-License-Identifier: GPL-2.0-only
//! Arguments: what the user typed, and what it means.

pub(crate) mod high;
pub(crate) mod low;
