// SPDX-License-Identifier: GPL-2.0-only
//! Carries out the commands of a script.

use std::collections::BTreeMap;
use std::io::Write;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::features::Feature;
use zerolag_core::group::Shares;
use zerolag_core::ids::{CpuId, GroupId, Id, TaskId};
use zerolag_core::kernel::Kernel;
use zerolag_core::scheduler::{Effect, Scheduler};
use zerolag_core::task::{TaskSpec, TaskState};
use zerolag_core::topology::{Topology, TopologyBuilder};
use zerolag_core::units::{Instant, Nanos};

use super::Output;
use super::command::{Command, Event, NewTask, Place, Query, Setting};
use super::dump::{self, Names};
use super::error::{ScriptFault, Stop};
use super::parse;

/// What the reference returns when an id is unknown or a verb does not apply.
const INVALID: i64 = -22;
/// What it returns when a CPU is idle or a task runs.
const BUSY: i64 = -16;
/// Numbers of groups and tasks lie below these.
const GROUPS_MAX: u64 = 64;
const TASKS_MAX: u64 = 4096;

/// Runs one script, line by line.
pub(super) struct Interpreter {
    kernel: Kernel,
    output: Output,
    /// The script may not change `output`.
    output_fixed: bool,
    every: u64,
    /// Print where the sums are anchored; off: print 0.
    print_anchor: bool,
    builder: TopologyBuilder,
    /// Sched domains are built; without them every CPU is on its own.
    domains: bool,
    /// Nothing until the first line that is no machine word.
    machine: Option<Machine>,
    events: u64,
    state: String,
}

/// A machine that runs.
pub(super) struct Machine {
    pub(super) scheduler: Scheduler,
    pub(super) topology: Topology,
    domains: bool,
    pub(super) names: Names,
    now: Instant,
    cpu: CpuId,
}

impl Interpreter {
    pub(super) fn new(kernel: Kernel, output: Output) -> Self {
        Self {
            kernel,
            output: if output == Output::Fullest { Output::Full } else { output },
            output_fixed: output == Output::Fullest,
            every: 1,
            print_anchor: true,
            builder: TopologyBuilder::new(),
            domains: false,
            machine: None,
            events: 0,
            state: String::new(),
        }
    }

    /// Carries out one line.
    pub(super) fn line(&mut self, line: &str, out: &mut impl Write) -> Result<(), Stop> {
        let words = parse::words(line);
        if words.is_empty() {
            return Ok(());
        }
        if self.machine_word(&words)? {
            return Ok(());
        }
        match parse::command(&words)? {
            Command::Setting(setting) => self.set(setting)?,
            Command::Place(place) => self.machine()?.place(place)?,
            Command::Query(query) => self.query(query, out)?,
            Command::Event(event) => {
                let result = self.machine()?.event(&event)?;
                self.report(&event, result, out)?;
            }
        }
        Ok(())
    }

    /// Takes a word that describes the machine. Returns false if it is none.
    fn machine_word(&mut self, words: &[&str]) -> Result<bool, ScriptFault> {
        let is_word = match words {
            ["domains", value] => {
                self.domains = parse::number(value, "0 or 1")? != 0;
                true
            }
            _ => self.builder.word(words).map_err(ScriptFault::Machine)?,
        };
        self.domains |= words[0] == "machine";
        if is_word && self.machine.is_some() {
            return Err(ScriptFault::TooLate);
        }
        Ok(is_word)
    }

    fn machine(&mut self) -> Result<&mut Machine, ScriptFault> {
        if self.machine.is_none() {
            let topology = self.builder.build().map_err(ScriptFault::Machine)?;
            let unsupported = ScriptFault::Unsupported { word: "this kernel", kernel: self.kernel.name() };
            let config = self.kernel.config(topology.cpus().len()).ok_or(unsupported)?;
            let boot = if self.domains { Scheduler::new } else { Scheduler::without_domains };
            self.machine = Some(Machine {
                scheduler: boot(config, topology.clone()),
                topology,
                domains: self.domains,
                names: Names::default(),
                now: Instant::ZERO,
                cpu: CpuId(0),
            });
        }
        Ok(self.machine.as_mut().expect("just made"))
    }

    fn set(&mut self, setting: Setting) -> Result<(), ScriptFault> {
        let kernel = self.kernel;
        match setting {
            Setting::Mode(output) if !self.output_fixed => self.output = output,
            Setting::Mode(_) | Setting::Ignored | Setting::Stats(_) => {}
            Setting::Every(n) => self.every = n,
            Setting::Anchor(on) => self.print_anchor = on,
            Setting::Feature { name, on } => {
                let feature = Feature::by_name(&name).filter(|f| f.default_in(kernel).is_some());
                let feature = feature.ok_or(ScriptFault::NoFeature { kernel: kernel.name(), found: name })?;
                self.machine()?.scheduler.config_mut().features.set(feature, on);
            }
            Setting::Tunable { name, value } => {
                let tunables = &mut self.machine()?.scheduler.config_mut().tunables;
                match name.as_str() {
                    "base_slice_ns" => tunables.base_slice = Nanos(value),
                    "migration_cost_ns" => tunables.migration_cost = Nanos(value),
                    "nr_migrate" => tunables.nr_migrate = u32::try_from(value).unwrap_or(u32::MAX),
                    _ => return Err(ScriptFault::NoTunable { kernel: kernel.name(), found: name }),
                }
            }
            Setting::Auto(false) | Setting::FairServer(false) => {}
            Setting::Auto(true) => {
                return Err(ScriptFault::Unsupported { word: "auto", kernel: kernel.name() });
            }
            Setting::FairServer(true) => {
                return Err(ScriptFault::Unsupported { word: "fair_server", kernel: kernel.name() });
            }
        }
        Ok(())
    }

    fn query(&mut self, query: Query, _out: &mut impl Write) -> Result<(), Stop> {
        let word = match query {
            Query::Show(_) => "show",
            Query::Stats => "stats",
        };
        Err(ScriptFault::Unsupported { word, kernel: self.kernel.name() }.into())
    }

    /// Prints what is to be printed after an event.
    fn report(&mut self, event: &Event, result: i64, out: &mut impl Write) -> Result<(), Stop> {
        self.events += 1;
        let is_dump = *event == Event::Dump;
        if self.output == Output::Quiet && !is_dump {
            return Ok(());
        }
        let full = self.output == Output::Full || is_dump;
        let machine = self.machine.as_ref().expect("an event happened on a machine");
        let rq = &machine.scheduler.cpus()[machine.cpu];
        let (verb, id) = event.label();
        write!(out, "E {} t={} cpu={} {verb}", self.events, machine.now.0, machine.cpu)?;
        if let Some(id) = id {
            write!(out, " {id}")?;
        }
        write!(out, " ret={result} curr=")?;
        match rq.curr {
            Some(task) => write!(out, "{}", machine.names.task_number(task))?,
            None => write!(out, "-1")?,
        }
        write!(out, " nr={}", u32::from(rq.need_resched))?;
        if full || self.events.is_multiple_of(self.every) {
            self.state.clear();
            let view = dump::View {
                scheduler: &machine.scheduler,
                names: &machine.names,
                print_anchor: self.print_anchor,
            };
            view.print(&mut self.state);
            if !full {
                write!(out, " h={:016x}", dump::fnv(self.state.as_bytes()))?;
            }
        }
        out.write_all(b"\n")?;
        if full {
            out.write_all(self.state.as_bytes())?;
        }
        Ok(())
    }
}

impl Machine {
    fn place(&mut self, place: Place) -> Result<(), ScriptFault> {
        match place {
            Place::Clock { ns } if ns < self.now.0 => return Err(ScriptFault::ClockBack),
            Place::Clock { ns } => self.now = Instant(ns),
            Place::Advance { ns } => self.now += Nanos(ns),
            Place::Cpu(cpu) => {
                self.cpu = Some(CpuId(cpu)).filter(|&c| self.has_cpu(c)).ok_or(ScriptFault::NoCpu)?;
            }
        }
        Ok(())
    }

    fn has_cpu(&self, cpu: CpuId) -> bool {
        cpu.index() < self.topology.cpus().len()
    }

    fn event(&mut self, event: &Event) -> Result<i64, ScriptFault> {
        let result = self.carry_out(event);
        self.deliver_interrupts();
        Ok(result)
    }

    /// Inter-processor interrupts arrive at the end of the event that caused them.
    fn deliver_interrupts(&mut self) {
        while let Some(effect) = self.scheduler.poll() {
            match effect {
                Effect::WakeIpi { cpu } => self.scheduler.finish_wakeups(self.now, cpu),
                Effect::Stop { cpu, work } => self.scheduler.stop(self.now, cpu, work),
                _ => {}
            }
        }
    }

    fn carry_out(&mut self, event: &Event) -> i64 {
        let (now, cpu) = (self.now, self.cpu);
        match *event {
            Event::Dump => 0,
            Event::Group { group, parent, shares } => self.add_group(group, parent, shares),
            Event::Shares { group, shares } => self.with_group(group, |s, g| {
                s.set_shares(now, g, Shares::clamped(shares)).map_or(INVALID, |()| 0)
            }),
            Event::GroupIdle { group, idle } => {
                self.with_group(group, |s, g| s.set_idle(now, g, idle).map_or(INVALID, |()| 0))
            }
            Event::Task { task, ref spec } => self.new_task(task, spec),
            Event::Fork { task } => {
                self.with_task(task, |s, t| if s.wake_new(now, cpu, t) { 0 } else { INVALID })
            }
            Event::Wake { task, sync } => {
                self.with_old_task(task, |s, t| i64::from(s.wake(now, cpu, t, sync)))
            }
            Event::Sleep => result_of(self.scheduler.block(now, cpu, false)),
            Event::Exit => match self.scheduler.exit(now, cpu) {
                Some(task) => {
                    self.names.forget_task(task);
                    0
                }
                None => BUSY,
            },
            Event::Tick => i64::from(self.scheduler.tick(now, cpu)),
            Event::TickAll => {
                let cpus = self.topology.cpus();
                let count = cpus.len();
                for cpu in cpus {
                    self.scheduler.tick(now, cpu);
                    self.deliver_interrupts();
                }
                count as i64
            }
            Event::Resched { force } => {
                if !force && !self.scheduler.cpus()[cpu].need_resched {
                    return 0;
                }
                1 + i64::from(self.scheduler.reschedule(now, cpu))
            }
            Event::Yield => result_of(self.scheduler.yield_now(now, cpu)),
            Event::Nice { task, nice } => self.with_task(task, |s, t| {
                if let Some(nice) = nice {
                    s.set_nice(now, t, nice);
                }
                0
            }),
            Event::Slice { task, ns } => self.with_task(task, |s, t| {
                let policy = s.tasks()[t].policy;
                s.set_attributes(now, t, policy, Some(Nanos(ns)).filter(|n| n.0 != 0));
                0
            }),
            Event::Policy { task, policy } => self.with_task(task, |s, t| {
                s.set_policy(now, t, policy);
                0
            }),
            Event::Move { task, cpu } => self.move_task(task, CpuId(cpu)),
            Event::Affine { task, ref cpus } => {
                let cpus = cpus.and(&CpuSet::first_n(self.topology.cpus().len()));
                if cpus.is_empty() {
                    return INVALID;
                }
                self.with_old_task(task, |s, t| if s.set_affinity(now, cpu, t, cpus) { 0 } else { INVALID })
            }
            Event::SetGroup { task, group } => {
                let Some(group) = self.names.group(group) else { return INVALID };
                self.with_old_task(task, |s, t| {
                    s.set_group(now, t, group);
                    0
                })
            }
        }
    }

    fn with_task(&mut self, number: u64, act: impl FnOnce(&mut Scheduler, TaskId) -> i64) -> i64 {
        match self.names.task(number) {
            Some(task) => act(&mut self.scheduler, task),
            None => INVALID,
        }
    }

    /// As [`Self::with_task`], for verbs that do not apply to a task before its first wake-up.
    fn with_old_task(&mut self, number: u64, act: impl FnOnce(&mut Scheduler, TaskId) -> i64) -> i64 {
        self.with_task(number, |s, t| if s.tasks()[t].state == TaskState::New { INVALID } else { act(s, t) })
    }

    fn with_group(&mut self, number: u64, act: impl FnOnce(&mut Scheduler, GroupId) -> i64) -> i64 {
        match self.names.group(number).filter(|&g| g != GroupId::ROOT) {
            Some(group) => act(&mut self.scheduler, group),
            None => INVALID,
        }
    }

    fn add_group(&mut self, number: u64, parent: u64, shares: Option<u64>) -> i64 {
        let Some(parent) = self.names.group(parent) else { return INVALID };
        if number == 0 || number >= GROUPS_MAX || self.names.group(number).is_some() {
            return INVALID;
        }
        let group = self.scheduler.add_group(self.now, parent);
        self.names.add_group(number, group);
        match shares {
            Some(shares) => {
                self.scheduler.set_shares(self.now, group, Shares::clamped(shares)).map_or(INVALID, |()| 0)
            }
            None => 0,
        }
    }

    fn new_task(&mut self, number: u64, spec: &NewTask) -> i64 {
        let cpu = spec.cpu.map_or(self.cpu, CpuId);
        let all = CpuSet::first_n(self.topology.cpus().len());
        let affinity = if spec.pin || !self.domains {
            let mut cpus = CpuSet::single(cpu);
            if let Some(list) = &spec.cpus {
                cpus = cpus.or(list);
            }
            cpus
        } else {
            spec.cpus.clone().unwrap_or_else(|| all.clone())
        };
        let affinity = affinity.and(&all);
        let (Some(group), true) = (self.names.group(spec.group), self.has_cpu(cpu)) else { return INVALID };
        if number >= TASKS_MAX || self.names.task(number).is_some() || !affinity.contains(cpu) {
            return INVALID;
        }
        let spec = TaskSpec {
            cpu,
            group,
            nice: spec.nice,
            policy: spec.policy,
            slice: Some(Nanos(spec.slice_ns)).filter(|s| s.0 != 0),
            affinity,
        };
        let task = self.scheduler.fork(self.now, None, spec);
        self.names.add_task(number, task);
        0
    }

    fn move_task(&mut self, number: u64, cpu: CpuId) -> i64 {
        if !self.has_cpu(cpu) {
            return INVALID;
        }
        let now = self.now;
        self.with_task(number, |s, t| {
            let state = &s.tasks()[t];
            if s.cpus()[state.cpu].curr == Some(t) {
                BUSY
            } else if state.state == TaskState::New {
                INVALID
            } else {
                s.move_to_cpu(now, t, cpu).map_or(BUSY, i64::from)
            }
        })
    }
}

fn result_of(done: bool) -> i64 {
    if done { 0 } else { BUSY }
}

impl Names {
    fn task(&self, number: u64) -> Option<TaskId> {
        self.tasks.get(&number).copied()
    }

    fn group(&self, number: u64) -> Option<GroupId> {
        self.groups.get(&number).copied()
    }

    fn add_task(&mut self, number: u64, task: TaskId) {
        self.tasks.insert(number, task);
        self.task_numbers.push(number);
        debug_assert_eq!(self.task_numbers.len(), task.index() + 1);
    }

    fn forget_task(&mut self, task: TaskId) {
        let number = self.task_number(task);
        self.tasks.remove(&number);
    }

    fn add_group(&mut self, number: u64, group: GroupId) {
        self.groups.insert(number, group);
        self.group_numbers.push(number);
        debug_assert_eq!(self.group_numbers.len(), group.index() + 1);
    }
}

impl Default for Names {
    fn default() -> Self {
        Self {
            tasks: BTreeMap::new(),
            task_numbers: Vec::new(),
            groups: BTreeMap::from([(0, GroupId::ROOT)]),
            group_numbers: vec![0],
        }
    }
}
