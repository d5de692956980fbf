// SPDX-License-Identifier: GPL-2.0-only
//! What a run comes to: figures per task and per group, as a table or as JSON.

pub(crate) mod figures;
pub(crate) mod json;
pub(crate) mod rows;
pub(crate) mod text;

use std::collections::BTreeMap;
use std::fmt;

use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::conservation::Conservation;
use zerolag_sim::scenario::ModelPart;
use zerolag_sim::workload::model::Outcome;
use zerolag_trace::metrics::{Summary, TaskFigures};

use rows::{ROWS_MAX, Row, ancestors};

/// What is known of a task beside its figures.
#[derive(Clone, Debug)]
pub(crate) struct TaskName {
    pub(crate) name: String,
    /// What it was made from.
    pub(crate) template: String,
    /// The path of its group at the end.
    pub(crate) group: String,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Report {
    /// What ran, as the user named it.
    pub(crate) input: String,
    pub(crate) kernel: &'static str,
    /// The machine by its name; nothing if the input describes it.
    pub(crate) machine: Option<String>,
    pub(crate) cpus: usize,
    pub(crate) seed: u64,
    /// Simulated time.
    pub(crate) duration: Nanos,
    /// Why it ended.
    pub(crate) end: End,
    pub(crate) tasks: BTreeMap<TaskId, TaskName>,
    pub(crate) summary: Summary,
    /// What the models among the workloads say.
    pub(crate) models: Vec<(ModelPart, Outcome)>,
    /// Time during which CPUs idled beside waiting tasks.
    pub(crate) conservation: Conservation,
    /// The scheduler's state at some moments.
    pub(crate) dumps: Vec<Dumped>,
}

/// What a kernel's file would have shown at some moment.
#[derive(Debug)]
pub(crate) struct Dumped {
    pub(crate) time: Instant,
    /// The task whose file it is; nothing = the run queues.
    pub(crate) task: Option<String>,
    pub(crate) text: String,
}

impl fmt::Display for Dumped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.task {
            Some(task) => writeln!(f, "At {}, {task}:\n\n{}", self.time, self.text),
            None => writeln!(f, "At {}:\n\n{}", self.time, self.text),
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The time was up.
    Duration,
    /// The models were over, and there was nothing else to wait for.
    Models,
    /// All tasks had ended.
    Finished,
    /// All tasks waited for each other.
    Deadlock,
    /// A task went on without time passing.
    Livelock,
}

impl End {
    const fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Models => "models",
            Self::Finished => "finished",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
        }
    }
}

impl Report {
    /// The fraction of one CPU's time.
    fn share(&self, figures: &TaskFigures) -> f64 {
        if self.duration == Nanos::ZERO { 0.0 } else { figures.run().0 as f64 / self.duration.0 as f64 }
    }

    fn task_rows(&self) -> Vec<Row> {
        if self.tasks.len() > ROWS_MAX {
            return self.added_up(|task| vec![(task.template.clone(), task.group.clone())]);
        }
        let known = self.tasks.iter();
        known
            .map(|(id, task)| Row {
                name: task.name.clone(),
                group: task.group.clone(),
                tasks: 1,
                figures: self.summary.tasks.get(id).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// A group's figures are those of everybody below it.
    fn group_rows(&self) -> Vec<Row> {
        self.added_up(|task| ancestors(&task.group).map(|path| (String::new(), path.to_owned())).collect())
    }

    fn added_up(&self, keys: impl Fn(&TaskName) -> Vec<(String, String)>) -> Vec<Row> {
        rows::added_up(self.tasks.keys().copied(), &self.summary, |task| keys(&self.tasks[&task]))
    }
}
