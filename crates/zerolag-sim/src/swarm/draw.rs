// SPDX-License-Identifier: GPL-2.0-only
//! Draws a configuration. Most are small, so that a fault is easy to see; all are busy enough that tasks meet.

use zerolag_core::features::{Feature, Features};
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::Nanos;

use super::case::{Case, Change, Group, Limit, Work};
use crate::rng::{Purpose, Stream};
use crate::tunable::Tunable;

/// Machines, the likelier ones several times.
const MACHINES: [&str; 16] = [
    "1cpu",
    "1cpu",
    "2cpu",
    "2cpu",
    "4cpu",
    "4cpu",
    "8cpu",
    "juno-r2",
    "juno-r2",
    "hybrid-16",
    "phone-8",
    "cluster-24",
    "square-16",
    "zen-32",
    "ivb-ep",
    "numa8-32",
];

/// What is drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Kernels, all implemented; at least one.
    pub kernels: Vec<Kernel>,
    /// Machines: presets; at least one.
    pub machines: Vec<String>,
    /// Nothing but tasks of equal rights that may run anywhere, or all of them on some memory nodes only, in groups
    /// of equal weight: no task gets less than its due because somebody asked for that. Switches are as the kernel
    /// has them, and nothing changes but that CPUs go and come back in the first half of [`Case::busy`].
    pub equal: bool,
}

impl Space {
    /// Everything, for these kernels.
    pub fn everything(kernels: Vec<Kernel>) -> Self {
        Self { kernels, machines: MACHINES.map(str::to_owned).to_vec(), equal: false }
    }
}

/// The configuration of this seed.
///
/// # Panics
/// If the space is empty, or has a kernel or machine that there is not.
pub fn draw(seed: u64, space: &Space) -> Case {
    Draw { chance: Stream::new(seed, Purpose::Workload, 0), equal: space.equal }.case(seed, space)
}

/// A case like this one, but for a few things that are different.
pub fn mutate(case: &Case, seed: u64, space: &Space) -> Case {
    let mut draw = Draw { chance: Stream::new(seed, Purpose::Workload, 1), equal: space.equal };
    let mut case = case.clone();
    for _ in 0..=draw.below(3) {
        draw.mutate(&mut case);
    }
    case.prune();
    case
}

pub(super) struct Draw {
    pub(super) chance: Stream,
    pub(super) equal: bool,
}

impl Draw {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.chance.below(bound as u64) as usize
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn among<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// From `low` to `high`, every order of magnitude as likely as any other.
    pub(super) fn spread(&mut self, low: u64, high: u64) -> u64 {
        let (from, to) = (low.ilog2(), high.ilog2());
        let bits = from + self.below((to - from + 1) as usize) as u32;
        let floor = 1 << bits;
        (floor + self.chance.below(floor)).clamp(low, high)
    }

    fn case(mut self, seed: u64, space: &Space) -> Case {
        let kernel = self.among(&space.kernels);
        let machine = space.machines[self.below(space.machines.len())].clone();
        let cpus = cpus_of(&machine);
        let config = kernel.config(cpus).expect("the kernel is implemented");
        let busy = Nanos::from_millis(50 + self.chance.below(250));
        let mut case = Case {
            kernel,
            machine,
            seed,
            hz: self.among(&[100, 250, 250, 300, 1000]),
            costs: self.among(&["ideal", "ideal", "x86-server"]),
            stagger_ticks: self.one_in(2),
            ties: self.one_in(3).then_some(seed),
            busy,
            calm: Nanos::from_millis(200),
            features: self.features(kernel, &config.features),
            tunables: self.tunables(kernel),
            groups: self.groups(config.variants.bandwidth.is_some()),
            works: Vec::new(),
            changes: Vec::new(),
        };
        // Between half a task and four tasks a CPU, so that there are idle CPUs as well as queues.
        let tasks = (1 + self.below(cpus * 4)).max(cpus / 2).min(80) as u32;
        if self.equal {
            self.equal_works(&mut case, cpus);
        } else {
            let mut left = tasks;
            while left > 0 {
                let count = (1 + self.below(4) as u32).min(left);
                let work = self.work(case.works.len(), count, cpus, &case.groups);
                case.works.push(work);
                left -= count;
            }
        }
        let changes = if self.equal { 0 } else { self.below(12) };
        for _ in 0..changes {
            let at = Nanos(self.chance.below(busy.0));
            if let Some(change) = self.change(kernel, cpus, &case) {
                case.changes.push((at, change));
            }
        }
        if cpus > 1 && self.one_in(4) {
            if self.equal { self.come_back(&mut case, cpus) } else { self.hotplug(&mut case, cpus) }
        }
        case.changes.sort_by_key(|(at, _)| *at);
        case
    }

    /// Some CPUs go; most of them come back.
    fn hotplug(&mut self, case: &mut Case, cpus: usize) {
        let mut there: Vec<usize> = (0..cpus).collect();
        for _ in 0..=self.below(cpus.min(4)) {
            if there.len() == 1 {
                break;
            }
            let at = self.below(there.len());
            let cpu = there.swap_remove(at) as u32;
            let goes = self.chance.below(case.busy.0 - 1);
            case.changes.push((Nanos(goes), Change::Online(cpu, false)));
            if !self.one_in(3) {
                let comes = goes + 1 + self.chance.below(case.busy.0 - goes - 1);
                case.changes.push((Nanos(comes), Change::Online(cpu, true)));
            }
        }
    }

    fn features(&mut self, kernel: Kernel, defaults: &Features) -> Vec<(Feature, bool)> {
        let known = Feature::ALL.iter().filter(|f| f.default_in(kernel).is_some());
        known.filter(|_| !self.equal && self.one_in(5)).map(|&f| (f, !defaults.has(f))).collect()
    }

    fn tunables(&mut self, kernel: Kernel) -> Vec<(Tunable, u64)> {
        let mut drawn = Vec::new();
        for tunable in Tunable::ALL {
            if self.equal || !tunable.exists_in(kernel) || !self.one_in(5) {
                continue;
            }
            let value = match tunable {
                Tunable::ChildRunsFirst | Tunable::CompatYield => 1,
                Tunable::NrMigrate => self.spread(1, 64),
                Tunable::MigrationCost => self.spread(1_000, 4_000_000),
                _ => self.spread(100_000, 20_000_000),
            };
            drawn.push((tunable, value));
        }
        drawn
    }

    fn groups(&mut self, limits: bool) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for number in 0..self.below(6) {
            let above = if groups.is_empty() || self.one_in(2) {
                String::new()
            } else {
                let parent = self.below(groups.len());
                groups[parent].path.clone()
            };
            groups.push(Group {
                path: format!("{above}/g{number}"),
                weight: match self.equal {
                    true => Some(100),
                    false => (!self.one_in(8)).then(|| self.spread(1, 10_000) as u32),
                },
                limit: (!self.equal && limits && self.one_in(6)).then(|| self.limit()),
            });
        }
        groups
    }

    fn limit(&mut self) -> Limit {
        let period_us = self.spread(1_000, 100_000);
        Limit { quota_us: (period_us * (1 + self.chance.below(200)) / 100).max(1_000), period_us }
    }

    pub(super) fn work(&mut self, number: usize, count: u32, cpus: usize, groups: &[Group]) -> Work {
        Work {
            name: format!("w{number}x"),
            count,
            group: (!groups.is_empty() && !self.one_in(3)).then(|| {
                let at = self.below(groups.len());
                groups[at].path.clone()
            }),
            cpus: (!self.equal && self.one_in(4)).then(|| self.cpus(cpus)),
            nice: if !self.equal && self.one_in(3) { self.below(40) as i32 - 20 } else { 0 },
            policy: if self.equal { None } else { self.policy() },
            slice: (!self.equal && self.one_in(6)).then(|| Nanos(self.spread(100_000, 100_000_000))),
            program: self.program(number),
        }
    }

    fn cpus(&mut self, cpus: usize) -> String {
        let (a, b) = (self.below(cpus), self.below(cpus));
        format!("{}-{}", a.min(b), a.max(b))
    }

    fn policy(&mut self) -> Option<String> {
        match self.below(20) {
            0 | 1 => Some("batch".into()),
            2 | 3 => Some("idle".into()),
            4 => Some(format!("rr:{}", 1 + self.below(99))),
            _ => None,
        }
    }

    /// Nobody waits for ever: who waits for somebody is woken by somebody who sleeps or runs only.
    pub(super) fn program(&mut self, number: usize) -> String {
        let run = self.spread(10_000, 20_000_000);
        let rest = self.spread(10_000, 20_000_000);
        match self.below(9) {
            0 | 1 => "forever { run 1ms }".into(),
            2 => format!("forever {{ run {run}ns; sleep {rest}ns }}"),
            3 => format!("forever {{ run exponential({run}ns); sleep exponential({rest}ns) }}"),
            4 => format!("forever {{ timer {}ns; run {run}ns }}", run + rest),
            5 => {
                format!("forever {{ post s{number}; run {}ns; acquire s{number}; sleep {rest}ns }}", run / 4)
            }
            6 => {
                format!("forever {{ lock m{}; run {}ns; unlock m{0}; sleep {rest}ns }}", number % 3, run / 8)
            }
            7 => format!("forever {{ run {}ns; yield }}", run / 10 + 1),
            _ => format!("delay {rest}ns; run {run}ns"),
        }
    }

    /// Changes one thing about the tasks.
    fn mutate(&mut self, case: &mut Case) {
        let cpus = cpus_of(&case.machine);
        let at = self.below(case.works.len());
        match self.below(8) {
            _ if self.equal && self.one_in(2) => self.mutate_equal(case, cpus),
            0 | 1 if case.works.iter().map(|w| w.count).sum::<u32>() < 4 * cpus as u32 => {
                let number = case.free_number();
                let count = self.spread(1, cpus as u64) as u32;
                let mut work = self.work(number, count, cpus, &case.groups);
                if self.equal {
                    work.cpus.clone_from(&case.works[at].cpus);
                }
                case.works.push(work);
            }
            2 if case.works.len() > 1 => {
                case.works.remove(at);
            }
            3 => case.works[at].count = self.spread(1, 2 * cpus as u64) as u32,
            4 if self.equal => self.bind(case),
            4 => case.works[at].cpus = self.one_in(2).then(|| self.cpus(cpus)),
            5 => {
                let number = case.works[at].number().unwrap_or(0);
                case.works[at].program = self.program(number);
            }
            6 => {
                let path = format!("/h{}", self.below(4));
                if !case.groups.iter().any(|g| g.path == path) {
                    case.groups.push(Group { path: path.clone(), weight: Some(100), limit: None });
                }
                case.works[at].group = Some(path);
            }
            _ => case.works[at].group = None,
        }
    }

    fn change(&mut self, kernel: Kernel, cpus: usize, case: &Case) -> Option<Change> {
        let group = |draw: &mut Self| {
            let at = draw.below(case.groups.len());
            case.groups[at].path.clone()
        };
        Some(match self.below(8) {
            0 => {
                let known: Vec<Feature> =
                    Feature::ALL.iter().copied().filter(|f| f.default_in(kernel).is_some()).collect();
                Change::Feature(self.among(&known), self.one_in(2))
            }
            1 | 2 if case.groups.iter().any(|g| g.weight.is_some()) => {
                let path = group(self);
                let idle = case.groups.iter().any(|g| g.path == path && g.weight.is_none());
                if idle {
                    return None;
                }
                Change::Weight(path, self.spread(1, 10_000) as u32)
            }
            3 if case.groups.iter().any(|g| g.limit.is_some()) => {
                let path = case.groups.iter().find(|g| g.limit.is_some())?.path.clone();
                let limit = (!self.one_in(3)).then(|| self.limit());
                Change::Limit(path, limit)
            }
            _ => {
                let at = self.below(case.works.len());
                let name = case.works[at].name.clone();
                let (key, value) = match self.below(5) {
                    0 => ("cpus", self.cpus(cpus)),
                    1 => ("policy", self.among(&["normal", "batch", "idle"]).into()),
                    2 => ("slice", format!("{}ns", self.spread(100_000, 100_000_000))),
                    3 if !case.groups.is_empty() => ("cgroup", group(self)),
                    _ => ("nice", (self.below(40) as i32 - 20).to_string()),
                };
                Change::Task(name, key, value)
            }
        })
    }
}

fn cpus_of(machine: &str) -> usize {
    Topology::preset(machine).expect("the names are presets").cpu_count()
}
