// SPDX-License-Identifier: GPL-2.0-only
//! Lines of figures: one task, or several added up.

use zerolag_core::ids::TaskId;
use zerolag_trace::metrics::{Summary, TaskFigures};

/// More tasks than this are added up by what they were made from, or by name: nobody reads four hundred lines.
pub const ROWS_MAX: usize = 50;

/// A line of figures.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name of what was added up; empty if that is a group.
    pub name: String,
    /// The path of the group.
    pub group: String,
    /// How many tasks it stands for.
    pub tasks: usize,
    /// What they did.
    pub figures: TaskFigures,
}

/// Adds each task's figures to the rows that `keys` names by name and group; in the order in which they
/// first come up.
pub fn added_up(
    tasks: impl Iterator<Item = TaskId>,
    summary: &Summary,
    keys: impl Fn(TaskId) -> Vec<(String, String)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for task in tasks {
        for (name, group) in keys(task) {
            let at = rows.iter().position(|r| (&r.name, &r.group) == (&name, &group));
            let at = at.unwrap_or_else(|| {
                rows.push(Row { name, group, tasks: 0, figures: TaskFigures::default() });
                rows.len() - 1
            });
            rows[at].tasks += 1;
            if let Some(figures) = summary.tasks.get(&task) {
                rows[at].figures.add(figures);
            }
        }
    }
    rows
}

/// The groups that a path leads through, the root first: `/`, `/a`, `/a/b`.
pub fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
    std::iter::once("/").chain(ends.filter(|&end| end > 1).map(|end| &path[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_its_ancestors() {
        assert_eq!(ancestors("/").collect::<Vec<_>>(), ["/"]);
        assert_eq!(ancestors("/a").collect::<Vec<_>>(), ["/", "/a"]);
        assert_eq!(ancestors("/a/bc/d").collect::<Vec<_>>(), ["/", "/a", "/a/bc", "/a/bc/d"]);
    }
}
