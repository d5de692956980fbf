// SPDX-License-Identifier: GPL-2.0-only
//! Tables as plain aligned columns: readable on a terminal, and still one record a line for `awk`.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

/// On which side of its column a cell stands.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Writes a table with a heading for each column.
pub(crate) fn write(
    out: &mut dyn Write,
    columns: &[(&str, Side)],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns.iter().map(|(name, _)| *name));
    table.add_rows(rows);
    for (i, (_, side)) in columns.iter().enumerate() {
        if let Some(column) = table.column_mut(i) {
            column.set_padding((0, 2));
            column.set_cell_alignment(match side {
                Side::Left => CellAlignment::Left,
                Side::Right => CellAlignment::Right,
            });
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
