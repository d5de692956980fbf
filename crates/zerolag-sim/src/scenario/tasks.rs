// SPDX-License-Identifier: GPL-2.0-only
//! `[[workload]]`: what runs, by kind.
//!
//! | kind | keys of its own |
//! |---|---|
//! | `program` (without `kind`) | `program`: see [`super::language`] |
//! | `hog` | `work`: how much, without end if it is left out |
//! | `periodic` | `run`, and `sleep` or `period` |
//! | `rt-app` | `file`: rt-app's JSON; `compatible = true` reads it exactly as rt-app does; no `name`, `count`, `nice`, `policy` |
//! | none, but `model` | `options`: see [`super::models`] |
//!
//! Common to all others: `name`, `count`, `start`, and the attributes `cgroup`, `cpus`, `nice`, `policy`, `slice`,
//! `timer_slack`. Of a count of several, tasks are called `NAME-0`, `NAME-1` and so on; with a count of 0 the
//! workload is only there to be forked.

use zerolag_core::ids::GroupId;
use zerolag_core::units::{Instant, Nanos};

use super::error::{Fault, ScenarioError};
use super::models::{self, ModelPart};
use super::names::Names;
use super::section::{Entry, Section};
use super::{Files, attributes, language};
use crate::program::{Op, Program};
use crate::sim::Setup;
use crate::workload::periodic::Rest;
use crate::workload::rtapp::{self, Compiled, Mode, RtApp, SuspendName};
use crate::workload::{Start, Template, TemplateId, Workload, hog, periodic};

const KINDS: [&str; 4] = ["program", "hog", "periodic", "rt-app"];
/// More tasks than this are more likely a slip than a wish.
const COUNT_MAX: i64 = 1_000_000;

/// Reads all workloads. Those from rt-app files and the models are returned.
pub(super) fn read(
    root: &Section<'_>,
    setup: &Setup,
    files: Files<'_>,
    names: &mut Names,
    w: &mut Workload,
) -> Result<(Vec<RtAppPart>, Vec<ModelPart>), ScenarioError> {
    let mut reserved = Vec::new();
    let mut from_files = Vec::new();
    let mut modelled = Vec::new();
    // Names first: a program may fork what comes after it.
    for section in root.sections("workload")? {
        if section.get("model").is_some() {
            modelled.push(section);
            continue;
        }
        match section.get("kind") {
            Some(kind) if kind.text()? == "rt-app" => from_files.push(section),
            _ => reserved.push((reserve(&section, names, w)?, section)),
        }
    }
    for (template, section) in reserved {
        read_one(section, template, setup, names, w)?;
    }
    let rtapps: Result<_, _> =
        from_files.into_iter().map(|section| read_rtapp(section, setup, files, w)).collect();
    // Models come last: numbers of marks are theirs only if no program has written them down.
    let mut parts: Vec<ModelPart> = Vec::new();
    let rtapps = rtapps?;
    for section in modelled {
        let taken = |name: &str| names.templates.contains_key(name) || parts.iter().any(|p| p.name == name);
        let part = models::read(section, setup, taken, w)?;
        parts.push(part);
    }
    Ok((rtapps, parts))
}

/// What comes from an rt-app file.
#[derive(Clone, Debug, PartialEq)]
pub struct RtAppPart {
    /// What the file says.
    pub app: RtApp,
    /// What its programs report.
    pub compiled: Compiled,
}

fn read_rtapp(
    section: Section<'_>,
    setup: &Setup,
    files: Files<'_>,
    w: &mut Workload,
) -> Result<RtAppPart, ScenarioError> {
    let entry = section.need("file", "the name of an rt-app file")?;
    let file = entry.text()?;
    let mode = match section.boolean("compatible")? {
        Some(true) => Mode::Compatible,
        _ => Mode::Strict,
    };
    let start = Instant(section.duration("start")?.unwrap_or(Nanos::ZERO).0);
    let common = attributes::read_placement(&section, setup.topology.cpu_count(), w)?;
    section.finish()?;

    let bytes =
        files(file).map_err(|e| entry.error(Fault::Unreadable { file: file.into(), why: e.to_string() }))?;
    let wrong = |e| entry.error(Fault::RtApp(Box::new(e)));
    let app = rtapp::read(file, &bytes, mode, SuspendName::default()).map_err(wrong)?;
    let first = w.templates.len();
    let group = common.group.unwrap_or(GroupId::ROOT);
    let options = rtapp::Options { start, group, observe: true, ..rtapp::Options::default() };
    let compiled = rtapp::add(&app, w, &setup.topology, &options).map_err(wrong)?;
    for (_, template) in w.templates.iter_mut().skip(first) {
        attributes::fill_in(&mut template.attributes, &common);
    }
    Ok(RtAppPart { app, compiled })
}

fn reserve(section: &Section<'_>, names: &mut Names, w: &mut Workload) -> Result<TemplateId, ScenarioError> {
    let entry = section.need("name", "a name for its tasks")?;
    let name = entry.text()?;
    if name.is_empty() || names.templates.contains_key(name) {
        return Err(entry.wrong("a name that no other workload has"));
    }
    let template = w.template(Template::new(name, hog::program(None)));
    names.templates.insert(name.into(), template);
    Ok(template)
}

fn read_one(
    section: Section<'_>,
    template: TemplateId,
    setup: &Setup,
    names: &mut Names,
    w: &mut Workload,
) -> Result<(), ScenarioError> {
    let cpus = setup.topology.cpu_count();
    let kind = section.get("kind");
    let program = match kind.map_or(Ok("program"), |k| k.text())? {
        "program" => {
            let entry = section.need("program", "the text of a program, as in \"run 2ms; sleep 8ms\"")?;
            language::read(entry.text()?, cpus, names, w)
                .map_err(|(at, fault)| entry.error_in_text(at, fault))?
        }
        "hog" => hog::program(section.get("work").map(|e| e.some_time()).transpose()?),
        "periodic" => read_periodic(&section)?,
        _ => return Err(kind.as_ref().map_or_else(|| section.error(no_kind()), wrong_kind)),
    };
    let count = section.integer("count", 0..=COUNT_MAX)?.unwrap_or(1);
    let at = Instant(section.duration("start")?.unwrap_or(Nanos::ZERO).0);
    let attributes = attributes::read(&section, &setup.config, cpus, w)?;
    section.finish()?;

    let marks = program.ops().iter().filter_map(|op| match op {
        Op::Mark(number) => Some(number + 1),
        _ => None,
    });
    w.marks = w.marks.max(marks.max().unwrap_or(0));
    let name = w.templates[template].name.clone();
    w.templates[template] = Template { attributes, ..Template::new(name.clone(), program) };
    for n in 0..count {
        let name = (count > 1).then(|| format!("{name}-{n}"));
        w.start(Start { name, at, ..Start::new(template) });
    }
    Ok(())
}

fn no_kind() -> Fault {
    Fault::Missing { key: "kind", scope: "workload".into(), accepted: KINDS.join(", ") }
}

fn wrong_kind(kind: &Entry<'_>) -> ScenarioError {
    kind.wrong_name(KINDS.join(", "), KINDS)
}

fn read_periodic(section: &Section<'_>) -> Result<Program, ScenarioError> {
    let run = section.need("run", "how long it runs")?.some_time()?;
    let rest = match (section.get("sleep"), section.get("period")) {
        (Some(sleep), None) => Rest::Sleep(sleep.duration()?),
        (None, Some(period)) => Rest::Period(period.some_time()?),
        (None, None) => {
            let (scope, accepted) = (section.scope.clone(), "a duration; or 'sleep'".into());
            return Err(section.error(Fault::Missing { key: "period", scope, accepted }));
        }
        (Some(_), Some(_)) => {
            let scope = section.scope.clone();
            return Err(section.error(Fault::Both { scope, first: "sleep", second: "period" }));
        }
    };
    periodic::program(run, rest).map_err(|e| section.error(Fault::Senseless(e)))
}
