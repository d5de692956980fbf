// SPDX-License-Identifier: GPL-2.0-only
//! Tables as plain aligned columns: readable on a terminal, and still one record a line for `awk`.

use std::io::{self, Write};

use comfy_table::{Table, presets};

/// Writes a table with a heading for each column.
pub(crate) fn write(
    out: &mut dyn Write,
    columns: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(columns);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
