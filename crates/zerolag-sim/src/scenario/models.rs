// SPDX-License-Identifier: GPL-2.0-only
//! `[[workload]]` with `model`: benchmarks among other workloads, by the real tools' options.
//!
//! ```toml
//! [[workload]]
//! model = "schbench"               # one of `workload::models`
//! options = "-m 2 -t 4 -r 10"      # as one would type them
//! name = "service"                 # else the model's name; what its figures go by
//! cgroup = "/service"              # attributes as for other workloads
//! start = "1s"
//! ```
//!
//! Attributes are those of all tasks of the model, except where its options say otherwise. A model that has a
//! run time of its own (`-r 10`) is judged by that time; its tasks go on for as long as the scenario does. A
//! scenario with models that does not say how long it lasts ends when all of them are over.

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::GroupId;
use zerolag_core::units::{Instant, Nanos};

use super::attributes;
use super::error::{Fault, ScenarioError};
use super::section::Section;
use crate::note::Note;
use crate::sim::{Observer, Setup};
use crate::workload::Workload;
use crate::workload::model::{Outcome, Place, Watch};
use crate::workload::models;

/// A model in a scenario.
#[derive(Clone, Debug)]
pub struct ModelPart {
    /// What its figures go by.
    pub name: String,
    /// Which model it is.
    pub model: &'static str,
    /// The tool's options.
    pub options: Vec<String>,
    /// Until when it is judged; nothing for as long as it takes.
    pub end: Option<Instant>,
    /// Who watches it.
    watch: Box<dyn Watch>,
}

/// Who watches follows from the rest.
impl PartialEq for ModelPart {
    fn eq(&self, other: &Self) -> bool {
        let parts = |p: &Self| (p.name.clone(), p.model, p.options.clone(), p.end);
        parts(self) == parts(other)
    }
}

/// Reads one and adds its tasks.
pub(super) fn read(
    section: Section<'_>,
    setup: &Setup,
    taken: impl Fn(&str) -> bool,
    w: &mut Workload,
) -> Result<ModelPart, ScenarioError> {
    let entry = section.need("model", &models::names().join(", "))?;
    let kind = models::by_name(entry.text()?)
        .map_err(|_| entry.wrong_name(models::names().join(", "), models::names()))?;
    let name = match section.get("name") {
        Some(entry) => match entry.text()? {
            name if name.is_empty() || taken(name) => {
                return Err(entry.wrong("a name that no other workload has"));
            }
            name => name,
        },
        None if taken(kind.name) => return Err(entry.wrong("another model, or a 'name' to tell them apart")),
        None => kind.name,
    };
    let options: Vec<String> =
        section.text("options")?.unwrap_or_default().split_whitespace().map(String::from).collect();
    let model = kind.parse(&options).map_err(|e| match section.get("options") {
        Some(entry) => entry.error(Fault::Options(e)),
        None => section.error(Fault::Options(e)),
    })?;
    let start = Instant(section.duration("start")?.unwrap_or(Nanos::ZERO).0);
    let common = attributes::read(&section, &setup.config, setup.topology.cpu_count(), w)?;
    section.finish()?;

    let first = w.templates.len();
    let place = Place { machine: &setup.topology, start, group: common.group.unwrap_or(GroupId::ROOT) };
    let watch = model.add(w, &place);
    for (_, template) in w.templates.iter_mut().skip(first) {
        attributes::fill_in(&mut template.attributes, &common);
    }
    let end = model.run_time().map(|span| start + span);
    Ok(ModelPart { name: name.into(), model: kind.name, options, end, watch })
}

/// When the last of them is over, if that is known beforehand.
pub(super) fn all_over(parts: &[ModelPart]) -> Option<Instant> {
    parts.iter().map(|part| part.end).try_fold(Instant::ZERO, |last, end| end.map(|end| last.max(end)))
}

/// Watches all models of a scenario while it runs.
#[derive(Clone, Debug, Default)]
pub struct Watches {
    parts: Vec<(ModelPart, Option<Outcome>)>,
    /// There is nothing else to wait for.
    last: bool,
}

impl Watches {
    pub(super) fn new(parts: &[ModelPart], last: bool) -> Self {
        Self {
            parts: parts.iter().map(|part| (part.clone(), None)).collect(),
            last: last && !parts.is_empty(),
        }
    }

    /// Those whose time was up before `now` are judged by what was up to then.
    fn judge(&mut self, now: Instant) {
        for (part, outcome) in &mut self.parts {
            if let Some(end) = part.end.filter(|&end| end < now && outcome.is_none()) {
                *outcome = Some(part.watch.finish(end));
            }
        }
    }

    /// How they went, after the run has ended at this time.
    pub fn finish(mut self, now: Instant) -> Vec<(ModelPart, Outcome)> {
        self.judge(now);
        let done = |(mut part, outcome): (ModelPart, Option<Outcome>)| {
            let outcome = outcome.unwrap_or_else(|| part.watch.finish(now));
            (part, outcome)
        };
        self.parts.into_iter().map(done).collect()
    }
}

impl Observer for Watches {
    fn event(&mut self, event: &SchedEvent) {
        self.judge(event.time);
        for (part, _) in self.parts.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            part.watch.event(event);
        }
    }

    fn note(&mut self, note: &Note) {
        self.judge(note.time);
        for (part, _) in self.parts.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            part.watch.note(note);
        }
    }

    fn listens(&self) -> bool {
        !self.parts.is_empty()
    }

    fn wants_more(&self) -> bool {
        !self.last || self.parts.iter().any(|(part, outcome)| outcome.is_none() && !part.watch.is_over())
    }
}
