// SPDX-License-Identifier: GPL-2.0-only
//! A configuration as data, and as the text of a scenario file.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use zerolag_core::features::Feature;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::Nanos;

use crate::tunable::{Tunable, Unit};

/// A machine, a kernel, a workload and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The kernel.
    pub kernel: Kernel,
    /// The machine: a preset.
    pub machine: String,
    /// Where the programs' chance comes from.
    pub seed: u64,
    /// Ticks a second.
    pub hz: u32,
    /// The preset of costs.
    pub costs: &'static str,
    /// Ticks of different CPUs come at different times.
    pub stagger_ticks: bool,
    /// A seed for the order of simultaneous events.
    pub ties: Option<u64>,
    /// How long things change.
    pub busy: Nanos,
    /// How long they stay as they are thereafter.
    pub calm: Nanos,
    /// Features that differ from the kernel's default.
    pub features: Vec<(Feature, bool)>,
    /// Tunables that differ from the kernel's default.
    pub tunables: Vec<(Tunable, u64)>,
    /// Groups, parents first.
    pub groups: Vec<Group>,
    /// What runs.
    pub works: Vec<Work>,
    /// What changes, and when.
    pub changes: Vec<(Nanos, Change)>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path.
    pub path: String,
    /// `cpu.weight`; without one `cpu.idle`.
    pub weight: Option<u32>,
    /// Its quota.
    pub limit: Option<Limit>,
}

/// The `cpu.max` of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// CPU time in each period, in microseconds.
    pub quota_us: u64,
    /// In microseconds.
    pub period_us: u64,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its name.
    pub name: String,
    /// How many tasks.
    pub count: u32,
    /// Path of its group; nothing is the root group.
    pub group: Option<String>,
    /// Where it may run, as a list of CPUs.
    pub cpus: Option<String>,
    /// Its nice level.
    pub nice: i32,
    /// Its policy, as scenario files spell it.
    pub policy: Option<String>,
    /// The slice it asks for.
    pub slice: Option<Nanos>,
    /// What it does.
    pub program: String,
}

/// Something an administrator does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Switches a feature.
    Feature(Feature, bool),
    /// Sets `cpu.weight` of a group.
    Weight(String, u32),
    /// Sets the quota of a group; nothing lifts it.
    Limit(String, Option<Limit>),
    /// A CPU comes or goes.
    Online(u32, bool),
    /// Sets one attribute of the tasks of a workload: key and value as scenario files spell them.
    Task(String, &'static str, String),
}

/// What kind of configuration it is: cases of different kinds show different faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ingredients {
    /// Tasks may not run everywhere.
    pub bound: bool,
    /// Some are in groups.
    pub grouped: bool,
    /// Something changes meanwhile.
    pub changing: bool,
    /// Some sleep, wait or end.
    pub sleeping: bool,
}

impl Case {
    /// What is in it.
    pub fn ingredients(&self) -> Ingredients {
        let sleeps = ["sleep", "timer", "acquire", "lock", "fork"];
        Ingredients {
            bound: self.works.iter().any(|w| w.cpus.is_some()),
            grouped: self.works.iter().any(|w| w.group.is_some()),
            changing: !self.changes.is_empty(),
            sleeping: self.works.iter().any(|w| sleeps.iter().any(|verb| w.program.contains(verb))),
        }
    }

    /// The number of a workload to be added, for a name of its own: above those that there are, as programs name the
    /// semaphores of workloads by number.
    pub(super) fn free_number(&self) -> usize {
        self.works.iter().filter_map(Work::number).max().map_or(0, |n| n + 1)
    }

    /// How long it runs.
    pub const fn duration(&self) -> Nanos {
        Nanos(self.busy.0 + self.calm.0)
    }

    /// How many parts it has that can be taken away.
    pub fn parts(&self) -> usize {
        self.changes.len() + self.works.len() + self.groups.len() + self.features.len() + self.tunables.len()
    }

    /// Drops what refers to a group, a workload or a CPU that is not there, and comings of CPUs that never went.
    pub(super) fn prune(&mut self) {
        let Self { groups, works, changes, machine, .. } = self;
        let cpus = Topology::preset(machine).map_or(0, |machine| machine.cpu_count());
        let mut gone = BTreeSet::new();
        let exists = |path: &str| groups.iter().any(|g| g.path == path);
        for work in works.iter_mut() {
            work.group = work.group.take().filter(|path| exists(path));
        }
        changes.retain(|(_, change)| match change {
            Change::Feature(..) => true,
            &Change::Online(cpu, true) => gone.remove(&cpu),
            &Change::Online(cpu, false) => (cpu as usize) < cpus && gone.len() + 1 < cpus && gone.insert(cpu),
            Change::Weight(path, _) | Change::Limit(path, _) => exists(path),
            Change::Task(name, key, value) => {
                works.iter().any(|w| w.name == *name) && (*key != "cgroup" || exists(value))
            }
        });
    }

    /// The text of a scenario file that says the same.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("a string takes everything");
        text
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "kernel = \"{}\"", self.kernel)?;
        writeln!(out, "machine = \"{}\"", self.machine)?;
        writeln!(out, "duration = {}", time(self.duration()))?;
        writeln!(out, "seed = {}", self.seed)?;
        if self.hz != 250 {
            writeln!(out, "hz = {}", self.hz)?;
        }
        if self.costs != "ideal" {
            writeln!(out, "costs = \"{}\"", self.costs)?;
        }
        if self.stagger_ticks {
            writeln!(out, "stagger_ticks = true")?;
        }
        if let Some(ties) = self.ties {
            writeln!(out, "ties = {ties}")?;
        }
        if !self.features.is_empty() {
            writeln!(out, "\n[features]")?;
        }
        for (feature, on) in &self.features {
            writeln!(out, "{} = {on}", feature.name())?;
        }
        if !self.tunables.is_empty() {
            writeln!(out, "\n[tunables]")?;
        }
        for &(tunable, value) in &self.tunables {
            match tunable.unit() {
                Unit::Time => writeln!(out, "{} = {}", tunable.name(), time(Nanos(value)))?,
                Unit::Count => writeln!(out, "{} = {value}", tunable.name())?,
            }
        }
        for group in &self.groups {
            writeln!(out, "\n[cgroup.\"{}\"]", group.path)?;
            match group.weight {
                Some(weight) => writeln!(out, "\"cpu.weight\" = {weight}")?,
                None => writeln!(out, "\"cpu.idle\" = 1")?,
            }
            if let Some(limit) = group.limit {
                writeln!(out, "\"cpu.max\" = {}", max(Some(limit)))?;
            }
        }
        for work in &self.works {
            work.write(out)?;
        }
        for (at, change) in &self.changes {
            writeln!(out, "\n[[at]]\ntime = {}", time(*at))?;
            match change {
                Change::Feature(feature, on) => writeln!(out, "features = {{ {} = {on} }}", feature.name())?,
                Change::Weight(path, weight) => {
                    writeln!(out, "cgroup.\"{path}\" = {{ \"cpu.weight\" = {weight} }}")?;
                }
                Change::Limit(path, limit) => {
                    writeln!(out, "cgroup.\"{path}\" = {{ \"cpu.max\" = {} }}", max(*limit))?;
                }
                Change::Online(cpu, online) => {
                    writeln!(out, "{} = \"{cpu}\"", if *online { "online" } else { "offline" })?;
                }
                Change::Task(name, key, value) => {
                    let value = if *key == "nice" { value.clone() } else { format!("\"{value}\"") };
                    writeln!(out, "task = [{{ match = \"{name}*\", {key} = {value} }}]")?;
                }
            }
        }
        Ok(())
    }
}

impl Work {
    /// The number in its name.
    pub(super) fn number(&self) -> Option<usize> {
        self.name.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok()
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "\n[[workload]]\nname = \"{}\"", self.name)?;
        if self.count != 1 {
            writeln!(out, "count = {}", self.count)?;
        }
        if let Some(group) = &self.group {
            writeln!(out, "cgroup = \"{group}\"")?;
        }
        if let Some(cpus) = &self.cpus {
            writeln!(out, "cpus = \"{cpus}\"")?;
        }
        if self.nice != 0 {
            writeln!(out, "nice = {}", self.nice)?;
        }
        if let Some(policy) = &self.policy {
            writeln!(out, "policy = \"{policy}\"")?;
        }
        if let Some(slice) = self.slice {
            writeln!(out, "slice = {}", time(slice))?;
        }
        writeln!(out, "program = \"{}\"", self.program)
    }
}

impl fmt::Display for Ingredients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.bound, "bound to some CPUs"),
            (self.grouped, "groups"),
            (self.changing, "changes"),
            (self.sleeping, "sleepers"),
        ];
        let names: Vec<&str> = all.iter().filter(|(there, _)| *there).map(|&(_, name)| name).collect();
        if names.is_empty() { f.write_str("hogs only") } else { f.write_str(&names.join(", ")) }
    }
}

fn time(span: Nanos) -> String {
    format!("\"{}ns\"", span.0)
}

fn max(limit: Option<Limit>) -> String {
    match limit {
        Some(Limit { quota_us, period_us }) => format!("\"{quota_us} {period_us}\""),
        None => "\"max\"".into(),
    }
}
