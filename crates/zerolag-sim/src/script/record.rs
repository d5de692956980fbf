// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler is asked to do, written down as an event script.
//!
//! A simulation that is recorded like this can be given to the kernel's own code: `oracle-6.12 < FILE` does
//! exactly what the simulation did, call by call, and prints the states that the kernel would have been in.
//! Scripts are in the `raw` form, in which interrupts, softirqs and the stopper are events of their own, so
//! that whatever the simulated machine puts between them is kept.

use std::collections::BTreeSet;
use std::fmt::Write;

use thiserror::Error;
use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::features::Feature;
use zerolag_core::ids::{CpuId, GroupId, Id, TaskId};
use zerolag_core::task::TaskSpec;
use zerolag_core::topology::{Topology, TopologyBuilder};
use zerolag_core::units::Instant;
use zerolag_core::variants::{LoadHistory, WakerMemory};

use super::command::{Command, Event, NewTask, Place, Setting};
use crate::tunable::Tunable;

/// Why a run cannot be written down as an event script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The language has no words for what happens between events in this kernel.
    #[error("scripts of Linux {0} do not say when interrupts arrive; use 6.1 or later")]
    Kernel(&'static str),
    /// Machine words do not reach.
    #[error("event scripts have no words for this machine")]
    Machine,
    /// `feature` and `sysctl` do not reach.
    #[error("event scripts can change features and tunables, but not {0}")]
    Configuration(&'static str),
    /// The language does not have it.
    #[error("at {at}: event scripts know nothing of {what}")]
    Unknown {
        /// When it happened.
        at: Instant,
        /// What happened.
        what: &'static str,
    },
}

/// The script so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorder {
    text: String,
    now: Instant,
    cpu: CpuId,
    /// The tasks' numbers; those of tasks that ended are used again.
    numbers: Vec<u64>,
    free: BTreeSet<u64>,
    fault: Option<RecordError>,
}

impl Recorder {
    /// A recorder of a machine that has just been switched on.
    pub(crate) fn new(config: &Config, topology: &Topology) -> Result<Self, RecordError> {
        let variants = &config.variants;
        if variants.load.history != LoadHistory::None || variants.wakers.memory != WakerMemory::Nothing {
            return Err(RecordError::Kernel(config.kernel.name()));
        }
        let mut recorder = Self {
            text: String::new(),
            now: Instant::ZERO,
            cpu: CpuId(0),
            numbers: Vec::new(),
            free: BTreeSet::new(),
            fault: None,
        };
        _ = writeln!(recorder.text, "# --kernel {}", config.kernel.name());
        recorder.text.push_str(&machine_words(topology)?);
        recorder.configuration(config, topology)?;
        recorder.line(&Command::Setting(Setting::Raw(true)));
        Ok(recorder)
    }

    /// The lines since this was last asked for, or why there are no more.
    pub(crate) fn take(&mut self) -> Result<String, RecordError> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(std::mem::take(&mut self.text)),
        }
    }

    fn configuration(&mut self, config: &Config, topology: &Topology) -> Result<(), RecordError> {
        let cpus = topology.cpu_count();
        let kernel = config.kernel;
        let mut reached = kernel.config(cpus).ok_or(RecordError::Kernel(kernel.name()))?;
        // Run queues begin with it, and a script can only write it afterwards.
        if reached.tunables.migration_cost != config.tunables.migration_cost {
            return Err(RecordError::Configuration("migration_cost at power-on"));
        }
        for &feature in Feature::ALL {
            let on = config.features.has(feature);
            if feature.default_in(kernel).is_some() && on != reached.features.has(feature) {
                reached.features.set(feature, on);
                self.line(&Command::Setting(Setting::Feature { name: feature.to_string(), on }));
            }
        }
        for tunable in Tunable::ALL {
            let value = tunable.get(&config.tunables);
            if value != tunable.get(&reached.tunables) {
                tunable.set(&mut reached.tunables, value);
                reached.tunables_written(topology.online().len());
                self.line(&Command::Setting(Setting::Tunable { name: tunable.sysctl_name(), value }));
            }
        }
        let what = match () {
            () if reached.hz != config.hz => "how often ticks come",
            // Its timer has no word.
            () if config.features.has(Feature::Hrtick) => "have HRTICK on",
            () if reached.balance_cost != config.balance_cost => "what balancing costs",
            () if reached != *config => "variants of a kernel",
            () => return Ok(()),
        };
        Err(RecordError::Configuration(what))
    }

    fn line(&mut self, command: &Command) {
        _ = writeln!(self.text, "{command}");
    }

    /// This happens now, on that CPU if it matters on which.
    pub(crate) fn event(&mut self, now: Instant, cpu: Option<CpuId>, event: Event) {
        self.at(now, cpu);
        self.line(&Command::Event(event));
    }

    /// Features and tunables change now.
    pub(crate) fn setting(&mut self, now: Instant, setting: Setting) {
        self.at(now, None);
        self.line(&Command::Setting(setting));
    }

    fn at(&mut self, now: Instant, cpu: Option<CpuId>) {
        if now != self.now {
            self.now = now;
            self.line(&Command::Place(Place::Clock { ns: now.0 }));
        }
        if let Some(cpu) = cpu.filter(|&cpu| cpu != self.cpu) {
            self.cpu = cpu;
            self.line(&Command::Place(Place::Cpu(cpu.0)));
        }
    }

    /// What happens now has no word.
    pub(crate) fn unknown(&mut self, now: Instant, what: &'static str) {
        self.fault.get_or_insert(RecordError::Unknown { at: now, what });
    }

    /// Gives a new task its number.
    pub(crate) fn born(&mut self) -> u64 {
        let number = self.free.pop_first().unwrap_or(self.numbers.len() as u64 - self.free.len() as u64);
        self.numbers.push(number);
        number
    }

    /// The task's number is free again.
    pub(crate) fn ended(&mut self, task: TaskId) {
        self.free.insert(self.number(task));
    }

    pub(crate) fn number(&self, task: TaskId) -> u64 {
        self.numbers[task.index()]
    }

    /// What a `task` line says of it.
    pub(crate) fn new_task(&mut self, now: Instant, spec: &TaskSpec, cpus: &CpuSet) -> NewTask {
        if !spec.policy.is_fair() {
            self.unknown(now, "real-time tasks");
        }
        NewTask {
            group: group_number(spec.group),
            nice: spec.nice,
            policy: spec.policy,
            slice_ns: spec.slice.map_or(0, |slice| slice.0),
            latency_nice: spec.latency_nice,
            cpu: Some(spec.cpu.0),
            pin: false,
            cpus: Some(spec.affinity.and(cpus)),
        }
    }
}

/// Groups are numbered as the scheduler does.
pub(crate) fn group_number(group: GroupId) -> u64 {
    group.index() as u64
}

/// The lines that describe a machine, in words that the reference has as well.
fn machine_words(topology: &Topology) -> Result<String, RecordError> {
    let (cores, nodes) = (topology.cores(), topology.nodes());
    let mut lines = vec![format!("cpus {}", topology.cpu_count())];
    let mut sets = |word, sets: Vec<&CpuSet>| lines.extend(sets.iter().map(|set| format!("{word} {set}")));
    if cores.len() < topology.cpu_count() {
        sets("coreset", cores.iter().map(|(_, set)| set).collect());
    }
    let caches: Vec<&CpuSet> = topology.llcs().iter().map(|(_, set)| set).collect();
    let of_nodes: Vec<&CpuSet> = nodes.iter().map(|(_, set)| set).collect();
    if caches != of_nodes {
        sets("llcset", caches);
    }
    if nodes.len() > 1 {
        sets("nodeset", of_nodes);
    }
    let cluster = topology.cluster(CpuId(0)).len() / topology.core(CpuId(0)).len();
    if cluster > 1 {
        lines.push(format!("cluster {cluster}"));
    }
    for from in nodes.ids() {
        for to in nodes.ids().filter(|&to| to > from) {
            lines.push(format!("distance {} {} {}", from.index(), to.index(), topology.distance(from, to)));
        }
    }
    for cpu in topology.cpus() {
        let capacity = topology.capacity(cpu).0;
        if capacity != 1024 {
            lines.push(format!("capacity {cpu} {capacity}"));
        }
    }
    let mut builder = TopologyBuilder::new();
    for line in &lines {
        let words: Vec<&str> = line.split(' ').collect();
        builder.word(&words).map_err(|_| RecordError::Machine)?;
    }
    if builder.build().as_ref() != Ok(topology) {
        return Err(RecordError::Machine);
    }
    lines.push("domains 1\n".to_owned());
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests;
