// SPDX-License-Identifier: GPL-2.0-only
//! Carries out the commands of a script.

use std::io::Write;

use zerolag_core::debug::{ShowQueues, ShowTask};
use zerolag_core::domain::ShowDomains;
use zerolag_core::features::Feature;
use zerolag_core::ids::CpuId;
use zerolag_core::kernel::Kernel;
use zerolag_core::scheduler::{Scheduler, WokenFrom};
use zerolag_core::topology::TopologyBuilder;
use zerolag_core::variants::{FudgeUnits, Search, ShareLoad, WakerMemory};

use super::command::{Command, Event, Query, Setting};
use super::dump;
use super::error::{ScriptFault, Stop};
use super::machine::{Machine, Printed};
use super::parse;
use super::{Build, Output};
use crate::tunable::Tunable;

/// Runs one script, line by line.
pub(super) struct Interpreter {
    kernel: Kernel,
    /// The kernel is built with CFS bandwidth.
    bandwidth: bool,
    /// It stops the tick of idle CPUs.
    nohz: bool,
    output: Output,
    /// The script may not change `output`.
    output_fixed: bool,
    every: u64,
    /// Print where the sums are anchored; off: print 0.
    print_anchor: bool,
    /// CPUs reschedule and go idle by themselves.
    auto: bool,
    builder: TopologyBuilder,
    /// Sched domains are built; without them every CPU is on its own.
    domains: bool,
    /// The machine is described by more than `cpus`, `nodes` and `domains`, and more of it is printed.
    rich: bool,
    /// Nothing until the first line that is no machine word.
    machine: Option<Machine>,
    events: u64,
    state: String,
}

impl Interpreter {
    pub(super) fn new(build: Build, output: Output) -> Self {
        Self {
            kernel: build.kernel,
            bandwidth: build.bandwidth,
            nohz: build.has_nohz(),
            output: if output == Output::Fullest { Output::Full } else { output },
            output_fixed: output == Output::Fullest,
            every: 1,
            print_anchor: true,
            auto: false,
            builder: TopologyBuilder::new(),
            domains: false,
            rich: false,
            machine: None,
            events: 0,
            state: String::new(),
        }
    }

    /// The scheduler, once there is one.
    pub(super) fn scheduler(&self) -> Option<&Scheduler> {
        self.machine.as_ref().map(|machine| &machine.scheduler)
    }

    /// The scheduler, once the clock is there.
    #[cfg(test)]
    pub(super) fn scheduler_at(&mut self, now: zerolag_core::units::Instant) -> &Scheduler {
        let machine = self.machine.as_mut().expect("lines were carried out");
        assert_eq!(machine.now(), now);
        machine.settled()
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
                self.check_latency_word(&event)?;
                let auto = self.auto;
                let result = self.machine()?.event(&event, auto);
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
        self.rich |= is_word && !matches!(words[0], "cpus" | "nodes" | "domains");
        if is_word && self.machine.is_some() {
            return Err(ScriptFault::TooLate);
        }
        Ok(is_word)
    }

    fn machine(&mut self) -> Result<&mut Machine, ScriptFault> {
        if self.machine.is_none() {
            let topology = self.builder.build().map_err(ScriptFault::Machine)?;
            let unsupported = ScriptFault::Unsupported { word: "this kernel", kernel: self.kernel.name() };
            let printed = Printed {
                domains: self.domains,
                rich: self.rich,
                bandwidth: self.bandwidth,
                nohz: self.nohz,
            };
            let mut config = self.kernel.config(topology.cpus().len()).ok_or(unsupported)?;
            // The reference has no interrupts: whoever is current wakes, the idle task too.
            config.idle_cpus_are_interrupted = false;
            let mut machine = Machine::new(config, topology, printed);
            if self.kernel == Kernel::EevdfRfc {
                // The program that printed this series' goldens leaves this step out.
                machine.scheduler.undo_bring_up();
            }
            self.machine = Some(machine);
        }
        Ok(self.machine.as_mut().expect("just made"))
    }

    fn check_latency_word(&mut self, event: &Event) -> Result<(), ScriptFault> {
        let kernel = self.kernel;
        match event.latency_word() {
            Some(word) if !self.machine()?.scheduler.config().variants.latency_nice => {
                Err(ScriptFault::NoLatencyNice { word, kernel })
            }
            _ => Ok(()),
        }
    }

    fn set(&mut self, setting: Setting) -> Result<(), ScriptFault> {
        let kernel = self.kernel;
        match setting {
            Setting::Mode(output) if !self.output_fixed => self.output = output,
            Setting::Mode(_) | Setting::Ignored | Setting::Stats(_) => {}
            Setting::Every(n) => self.every = n,
            Setting::Anchor(on) => self.print_anchor = on,
            Setting::Feature { name, on } => {
                let feature = Feature::in_kernel(&name, kernel)?;
                self.machine()?.scheduler.config_mut().features.set(feature, on);
            }
            Setting::Tunable { name, value } => {
                let scheduler = &mut self.machine()?.scheduler;
                let online = scheduler.online().len();
                let config = scheduler.config_mut();
                match name.as_str() {
                    // The reference's switches for the faults of the series of March 2023.
                    "pick_fixed" if kernel == Kernel::EevdfRfc => {
                        config.variants.search = if value != 0 { Search::Exact } else { Search::Literal };
                    }
                    "sums_fixed" if kernel == Kernel::EevdfRfc => {
                        config.variants.slice_sums_exact = value != 0;
                    }
                    // The 2017 document's module parameter, and a switch for the units of its result.
                    "prop_type" if kernel == Kernel::V4_11 => {
                        config.variants.load.propagated = match value {
                            0 => ShareLoad::Runnable,
                            2 => ShareLoad::Weight,
                            _ => ShareLoad::Average,
                        };
                    }
                    "fudge_scaled" if kernel == Kernel::V4_11 => {
                        config.variants.load.fudge_units =
                            if value != 0 { FudgeUnits::Scaled } else { FudgeUnits::Literal };
                    }
                    _ => match Tunable::by_sysctl(&name).filter(|t| t.exists_in(kernel)) {
                        Some(tunable) => tunable.set(&mut config.tunables, value),
                        None => return Err(ScriptFault::NoTunable { kernel, found: name }),
                    },
                }
                config.tunables_written(online);
            }
            Setting::FairServer(false) => {}
            Setting::Interrupt(on) => {
                let machine = self.machine()?;
                if machine.scheduler.config().variants.wakers.memory == WakerMemory::Nothing {
                    return Err(ScriptFault::Unsupported { word: "intr", kernel: kernel.name() });
                }
                machine.woken_from = if on { WokenFrom::Interrupt } else { WokenFrom::Process };
            }
            Setting::Auto(on) => self.auto = on,
            Setting::Raw(on) => self.machine()?.set_raw(on),
            Setting::FairServer(true) => {
                return Err(ScriptFault::Unsupported { word: "fair_server", kernel: kernel.name() });
            }
        }
        Ok(())
    }

    fn query(&mut self, query: Query, out: &mut impl Write) -> Result<(), Stop> {
        let kernel = self.kernel;
        match query {
            Query::Show(only) => {
                let s = &self.machine()?.scheduler;
                for &feature in Feature::ALL {
                    if feature.default_in(kernel).is_some() {
                        writeln!(out, "# feature {feature} {}", u8::from(s.config().features.has(feature)))?;
                    }
                }
                for tunable in Tunable::of(kernel).filter(|&t| t != Tunable::BandwidthSlice) {
                    let value = tunable.get(&s.config().tunables);
                    writeln!(out, "# sysctl {} {value}", tunable.sysctl_name())?;
                }
                let show = ShowDomains {
                    topology: s.topology(),
                    rules: &s.config().variants.domains,
                    online: s.online(),
                    domains: s.domains(),
                    states: s.domain_states(),
                    only: only.map(CpuId),
                };
                write!(out, "{show}")?;
                Ok(())
            }
            Query::Debug(task) => {
                let machine = &*self.machine()?;
                let (scheduler, names) = (&machine.scheduler, &machine.names);
                let text = match task {
                    None => ShowQueues { scheduler, names }.to_string(),
                    Some(number) => {
                        let task = names.task(number).ok_or(ScriptFault::NoSuchTask { found: number })?;
                        ShowTask { scheduler, names, task }.to_string()
                    }
                };
                text.lines().try_for_each(|line| writeln!(out, "# {line}"))?;
                Ok(())
            }
            Query::Glance => {
                let s = &self.machine()?.scheduler;
                write!(out, "# tasks by CPU:")?;
                for (_, rq) in s.cpus().iter() {
                    write!(out, " {}", rq.nr_running)?;
                }
                writeln!(out)?;
                Ok(())
            }
            Query::Stats => Err(ScriptFault::Unsupported { word: "stats", kernel: kernel.name() }.into()),
        }
    }

    /// Prints what is to be printed after an event.
    fn report(&mut self, event: &Event, result: i64, out: &mut impl Write) -> Result<(), Stop> {
        self.events += 1;
        let is_dump = *event == Event::Dump;
        if self.output == Output::Quiet && !is_dump {
            return Ok(());
        }
        let full = self.output == Output::Full || is_dump;
        let machine = self.machine.as_mut().expect("an event happened on a machine");
        let rq = &machine.scheduler.cpus()[machine.cpu()];
        let (verb, id) = event.label();
        write!(out, "E {} t={} cpu={} {verb}", self.events, machine.now().0, machine.cpu())?;
        if let Some(id) = id {
            write!(out, " {id}")?;
        }
        write!(out, " ret={result} curr=")?;
        match rq.curr {
            Some(task) => write!(out, "{}", machine.names.task_number(task))?,
            None => write!(out, "-1")?,
        }
        write!(out, " nr={}", u32::from(rq.need_resched))?;
        if self.output == Output::Nohz && !is_dump {
            self.state.clear();
            dump::nohz::state(machine, &mut self.state);
            machine.blocked_deeds.clear();
            out.write_all(b"\n")?;
            out.write_all(self.state.as_bytes())?;
            return Ok(());
        }
        if full || self.events.is_multiple_of(self.every) {
            self.state.clear();
            dump::state(machine, self.print_anchor, &mut self.state);
            machine.blocked_deeds.clear();
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
