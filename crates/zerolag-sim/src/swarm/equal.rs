// SPDX-License-Identifier: GPL-2.0-only
//! What is drawn where all tasks are equal: how machines are used in earnest, so that faults of balancing show.
//!
//! | ingredient | stands for |
//! |---|---|
//! | workloads of very different sizes, in groups of equal weight | a build beside single programs |
//! | all tasks bound to some nodes | `numactl` |
//! | tasks that end and are followed by others where they were | a build |
//! | threads that a message thread sends off and collects | a pool of workers |
//! | tasks that begin later | a program that is started on a machine in use |
//! | CPUs that go and come back | saving of energy, maintenance |
//!
//! What is common to all configurations is in `draw`.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::CpuId;
use zerolag_core::topology::Topology;
use zerolag_core::units::Nanos;

use super::case::{Case, Change, Work};
use super::draw::Draw;

impl Draw {
    /// Up to two tasks a CPU, in workloads of which some are as large as the machine.
    pub(super) fn equal_works(&mut self, case: &mut Case, cpus: usize) {
        let mut left = (1 + self.below(2 * cpus)).max(cpus / 2) as u32;
        while left > 0 {
            let count = (self.spread(1, cpus as u64) as u32).min(left);
            self.equal_work(case, count, cpus);
            left -= count;
        }
        if self.one_in(3) {
            self.bind(case);
        }
    }

    /// Adds a workload, or two of which one serves the other.
    fn equal_work(&mut self, case: &mut Case, count: u32, cpus: usize) {
        let number = case.free_number();
        let mut work = self.work(number, count, cpus, &case.groups);
        work.cpus = case.works.first().and_then(|other| other.cpus.clone());
        let run = self.spread(100_000, 100_000_000);
        match self.below(8) {
            0 => work.program = format!("run exponential({run}ns); fork {}; exit", work.name),
            1 => {
                let rest = self.spread(100_000, 20_000_000);
                let message = Work {
                    name: format!("m{number}x"),
                    count: 1,
                    program: format!(
                        "forever {{ drain m{number}; release r{number}; acquire m{number}; sleep {rest}ns }}"
                    ),
                    ..work.clone()
                };
                work.program = format!(
                    "forever {{ run {run}ns; enlist r{number} w{number}; post m{number}; acquire w{number} }}"
                );
                case.works.push(message);
            }
            2 => work.program = format!("delay {}ns; {}", self.spread(1_000_000, 250_000_000), work.program),
            _ => {}
        }
        case.works.push(work);
    }

    /// Lets all tasks run on some memory nodes only, or on any.
    pub(super) fn bind(&mut self, case: &mut Case) {
        let machine = Topology::preset(&case.machine).expect("the names are presets");
        let mut bound = CpuSet::new();
        for _ in 0..=self.below(3) {
            let cpu = CpuId(self.below(machine.cpu_count()) as u32);
            machine.node(cpu).iter().for_each(|cpu| bound.insert(cpu));
        }
        let cpus = (bound.len() < machine.cpu_count() && !self.one_in(4)).then(|| bound.to_string());
        case.works.iter_mut().for_each(|work| work.cpus.clone_from(&cpus));
    }

    /// A CPU goes, and comes back in the first half of the time in which things change.
    pub(super) fn come_back(&mut self, case: &mut Case, cpus: usize) {
        let cpu = self.below(cpus) as u32;
        let quarter = (case.busy.0 / 4).max(2);
        let goes = 1 + self.chance.below(quarter);
        let comes = goes + 1 + self.chance.below(quarter);
        case.changes.push((Nanos(goes), Change::Online(cpu, false)));
        case.changes.push((Nanos(comes), Change::Online(cpu, true)));
        case.changes.sort_by_key(|(at, _)| *at);
    }

    /// Changes one of the ingredients.
    pub(super) fn mutate_equal(&mut self, case: &mut Case, cpus: usize) {
        match self.below(4) {
            0 if case.changes.is_empty() && cpus > 1 => self.come_back(case, cpus),
            0 => case.changes.clear(),
            1 => {
                let at = self.below(case.works.len());
                let work = &mut case.works[at];
                let rest = work.program.split_once("; ").filter(|(first, _)| first.starts_with("delay"));
                work.program = match rest {
                    Some((_, rest)) => rest.to_owned(),
                    None => format!("delay {}ns; {}", self.spread(1_000_000, 250_000_000), work.program),
                };
            }
            _ if case.works.iter().map(|w| w.count).sum::<u32>() < 3 * cpus as u32 => {
                let count = self.spread(1, cpus as u64) as u32;
                self.equal_work(case, count, cpus);
            }
            _ => {}
        }
    }
}
