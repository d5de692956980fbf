// SPDX-License-Identifier: GPL-2.0-only
//! What a run comes to, as tables.

pub(crate) mod figures;
pub(crate) mod text;
