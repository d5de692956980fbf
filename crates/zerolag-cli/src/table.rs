// SPDX-License-Identifier: GPL-2.0-only
//! Tables as plain aligned columns: readable on a terminal, and still one record a line for `awk`.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

/// Writes a table with a heading for each column. Columns whose heading starts with `>` are numbers and stand
/// to the right.
pub(crate) fn write(
    out: &mut dyn Write,
    columns: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|name| name.trim_start_matches('>')));
    table.add_rows(rows);
    for (column, name) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, 2));
        if name.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
