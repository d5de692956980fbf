// SPDX-License-Identifier: GPL-2.0-only
//! Context files: what a recording cannot carry, in TOML.
//!
//! ```toml
//! kernel = "6.18"            # else 6.12
//! cpus = 2                   # that many equal CPUs; or machine = a preset or a file
//! hz = 250                   # else 250
//!
//! [cgroup."/batch"]
//! "cpu.weight" = 50          # or cpu.shares; cpu.max = "25000 100000"; cpu.idle = 1
//!
//! [[task]]
//! match = "worker*"          # tasks with such a name; or pid = 1234
//! cgroup = "/batch"
//! cpus = "0-1"
//! nice = 5
//! policy = "batch"
//! slice = "3ms"
//! ```
//!
//! Also accepted, and as in scenarios: `costs` (else what the recording shows), `seed`, `ties`, `speed`,
//! `stagger_ticks`, `[features]`, `[tunables]`. If several entries name the same task, the first that says
//! something of an attribute counts.

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CPUS_MAX;
use zerolag_core::ids::{GroupId, IdVec};
use zerolag_core::topology::Topology;

use super::history::RecordedTask;
use crate::pattern::Pattern;
use crate::scenario::section::{Section, Source};
use crate::scenario::{Fault, Files, Overrides, ScenarioError, attributes, groups, setup};
use crate::sim::Setup;
use crate::workload::{Attributes, GroupSpec, Workload};

/// What is known about a recording beside the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The machine and its scheduler.
    pub setup: Setup,
    /// Costs were given; else they are to be had from the recording.
    pub has_costs: bool,
    /// Costs that were given one by one, by name; they take the place of what the recording says.
    pub single_costs: Vec<&'static str>,
    /// The groups.
    pub groups: IdVec<GroupId, GroupSpec>,
    /// What is said of tasks.
    pub tasks: Vec<AboutTasks>,
}

/// What is said of some tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AboutTasks {
    /// Which.
    pub whom: Whom,
    /// What.
    pub attributes: Attributes,
}

/// Which tasks are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Those with such a name.
    Named(Pattern),
    /// Those with this thread id.
    Pid(u32),
}

impl Whom {
    /// Whether the task is meant.
    pub fn is(&self, task: &RecordedTask) -> bool {
        match self {
            Self::Named(pattern) => pattern.matches(&task.comm),
            Self::Pid(pid) => *pid == task.pid,
        }
    }
}

impl Context {
    /// Nothing is known but the number of CPUs, and the kernel if it is given.
    ///
    /// # Errors
    /// If there is no such machine, or the kernel's scheduler is not implemented.
    pub fn unknown(overrides: &Overrides, cpus: usize) -> Result<Self, ScenarioError> {
        read("no context", b"", overrides, &|_| Err(std::io::ErrorKind::NotFound.into()), Some(cpus))
    }

    /// What is said of the task.
    pub fn of(&self, task: &RecordedTask) -> Attributes {
        let mut all = Attributes::default();
        for about in self.tasks.iter().filter(|a| a.whom.is(task)) {
            attributes::fill_in(&mut all, &about.attributes);
        }
        all
    }
}

/// Reads a context file. `cpus` is how many the machine has if nobody says.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(
    file: &str,
    bytes: &[u8],
    overrides: &Overrides,
    files: Files<'_>,
    cpus: Option<usize>,
) -> Result<Context, ScenarioError> {
    let source = Source::new(file, bytes)?;
    let parsed = source.parse()?;
    let root = Section::new(source, "the context", parsed.get_ref(), 0..0);
    root.text("about")?;
    let recorded = machine(&root, overrides, files, cpus)?;
    // Who is bound to which CPU is said of the recorded machine, whatever the replay is to run on.
    let count = recorded.cpu_count();
    let machine = overrides.machine.clone().unwrap_or(recorded);
    let setup = setup::read(&root, &Overrides { machine: Some(machine), ..overrides.clone() }, files)?;
    let has_costs = root.get("costs").is_some();
    let mut workload = Workload::new();
    groups::read(&root, &setup.config, &mut workload)?;
    let tasks = root
        .sections("task")?
        .into_iter()
        .map(|s| about(s, &setup.config, count, &workload))
        .collect::<Result<_, _>>()?;
    root.finish()?;
    Ok(Context { setup, has_costs, single_costs: Vec::new(), groups: workload.groups, tasks })
}

fn machine(
    root: &Section<'_>,
    overrides: &Overrides,
    files: Files<'_>,
    cpus: Option<usize>,
) -> Result<Topology, ScenarioError> {
    let (named, counted) = (root.get("machine"), root.get("cpus"));
    if let (Some(_), Some(_)) = (&named, &counted) {
        let scope = root.scope.clone();
        return Err(root.error(Fault::Both { scope, first: "machine", second: "cpus" }));
    }
    let count = counted.map(|e| e.integer(1..=CPUS_MAX as i64)).transpose()?.map(|n| n as usize);
    if let Some(entry) = named {
        return setup::machine(&entry, files);
    }
    match (count.or(cpus), &overrides.machine) {
        (Some(count), _) => equal_cpus(count).map_err(|fault| root.error(fault)),
        (None, Some(machine)) => Ok(machine.clone()),
        (None, None) => {
            let (scope, accepted) = (root.scope.clone(), "the number of CPUs; or 'machine'".into());
            Err(root.error(Fault::Missing { key: "cpus", scope, accepted }))
        }
    }
}

/// A machine of so many equal CPUs.
fn equal_cpus(count: usize) -> Result<Topology, Fault> {
    Topology::preset(&format!("{count}cpu")).map_err(|e| Fault::Value {
        key: "cpus".into(),
        found: count.to_string(),
        accepted: e.to_string(),
        nearest: None,
    })
}

fn about(
    section: Section<'_>,
    config: &Config,
    cpus: usize,
    workload: &Workload,
) -> Result<AboutTasks, ScenarioError> {
    let whom = match (section.get("match"), section.get("pid")) {
        (Some(_), Some(_)) => {
            let scope = section.scope.clone();
            return Err(section.error(Fault::Both { scope, first: "match", second: "pid" }));
        }
        (Some(name), None) => Whom::Named(Pattern::new(name.text()?)),
        (None, Some(pid)) => Whom::Pid(pid.integer(1..=i64::from(u32::MAX))? as u32),
        (None, None) => {
            let (scope, accepted) = (section.scope.clone(), "a pattern for names; or 'pid'".into());
            return Err(section.error(Fault::Missing { key: "match", scope, accepted }));
        }
    };
    let attributes = attributes::read(&section, config, cpus, workload)?;
    section.finish()?;
    Ok(AboutTasks { whom, attributes })
}
