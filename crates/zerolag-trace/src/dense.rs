// SPDX-License-Identifier: GPL-2.0-only
//! A table indexed by small numbers that grows as they appear.

use zerolag_core::ids::Id;

/// The element of `id` in `table`, made by default if it is not there yet. Readers bound the ids of CPUs and
/// number tasks without gaps, so the table stays small.
pub(crate) fn at<I: Id, T: Clone + Default>(table: &mut Vec<T>, id: I) -> &mut T {
    let index = id.index();
    if index >= table.len() {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}
