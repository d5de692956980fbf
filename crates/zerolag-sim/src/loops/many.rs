// SPDX-License-Identifier: GPL-2.0-only
//! The loop on several CPUs, with domains.
//!
//! Three tasks per CPU, half of which sleep. On each CPU in turn the running task wakes the longest sleeper,
//! wherever that one is placed, and goes to sleep itself; then every CPU that has to reschedules. Every 200
//! rounds each CPU gets a tick, and balances.

use std::collections::VecDeque;

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, GroupId, Id, TaskId};
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::scheduler::{Effect, Scheduler};
use zerolag_core::task::TaskSpec;
use zerolag_core::topology::{TopologyBuilder, TopologyError};
use zerolag_core::units::{Instant, Nanos};

/// Time between rounds.
const ROUND: Nanos = Nanos(5_000);
/// Rounds from one tick to the next.
const ROUNDS_PER_TICK: u64 = 200;

/// CPUs with tasks on them.
#[derive(Clone, Debug)]
pub struct ManyCpus {
    scheduler: Scheduler,
    now: Instant,
    rounds: u64,
    tasks: usize,
    /// The longest sleeper first.
    asleep: VecDeque<TaskId>,
    /// What CPUs have been asked to do and have not done yet.
    due: VecDeque<Effect>,
}

/// What each step of a round is for; whoever measures times it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A wake-up: placement, and taking it up over there.
    Wake,
    /// Going to sleep and switching, looking for work elsewhere if there is none.
    Sleep,
    /// Rescheduling because of a wake-up.
    Resched,
    /// A tick, and the balancing that is due.
    Tick,
}

impl ManyCpus {
    /// `cpus` CPUs, evenly in `nodes` nodes of one last-level cache each, without SMT.
    ///
    /// # Errors
    /// If there is no such machine.
    pub fn new(config: Config, cpus: usize, nodes: usize) -> Result<Self, TopologyError> {
        let topology = TopologyBuilder::new().cpus(cpus).nodes(nodes).build()?;
        let scheduler = Scheduler::new(config, topology);
        let tasks = 3 * cpus;
        let mut new = Self {
            scheduler,
            now: Instant(1_000_000),
            rounds: 0,
            tasks,
            asleep: VecDeque::with_capacity(tasks),
            due: VecDeque::new(),
        };
        for _ in 0..tasks {
            let spec = TaskSpec {
                cpu: CpuId(0),
                group: GroupId::ROOT,
                nice: Nice::ZERO,
                policy: Policy::Normal,
                latency_nice: LatencyNice::ZERO,
                slice: None,
                affinity: CpuSet::first_n(cpus),
            };
            let task = new.scheduler.fork(new.now, None, spec);
            new.now += Nanos(1_000);
            new.scheduler.wake_new(new.now, CpuId(0), task);
            new.deliver();
            new.reschedule_all(&mut |_, step| step());
        }
        Ok(new)
    }

    /// One round; each of its steps is handed to `time`, which has to run it.
    pub fn round(&mut self, time: &mut impl FnMut(Step, &mut dyn FnMut())) {
        let cpu = CpuId::from_index((self.rounds % self.scheduler.cpus().len() as u64) as usize);
        self.now += ROUND;
        if self.asleep.len() >= self.tasks / 2
            && let Some(task) = self.asleep.pop_front()
        {
            time(Step::Wake, &mut || {
                self.scheduler.wake(self.now, cpu, task, false);
                self.deliver();
            });
        }
        if let Some(task) = self.scheduler.cpus()[cpu].curr {
            self.asleep.push_back(task);
            time(Step::Sleep, &mut || {
                self.scheduler.block(self.now, cpu, false);
            });
            self.deliver();
        }
        self.reschedule_all(time);
        if self.rounds.is_multiple_of(ROUNDS_PER_TICK) {
            for cpu in self.scheduler.cpus().ids() {
                time(Step::Tick, &mut || {
                    self.scheduler.tick(self.now, cpu);
                    self.deliver();
                });
                self.scheduler.schedule(self.now, cpu);
                self.deliver();
            }
        }
        self.rounds += 1;
    }

    fn reschedule_all(&mut self, time: &mut impl FnMut(Step, &mut dyn FnMut())) {
        for cpu in self.scheduler.cpus().ids() {
            if self.scheduler.cpus()[cpu].need_resched {
                time(Step::Resched, &mut || {
                    self.scheduler.schedule(self.now, cpu);
                    self.deliver();
                });
            }
        }
    }

    /// What other CPUs do at once when they are asked to; rescheduling comes later.
    fn deliver(&mut self) {
        loop {
            while let Some(effect) = self.scheduler.poll() {
                self.due.push_back(effect);
            }
            match self.due.pop_front() {
                None => return,
                Some(Effect::WakeIpi { cpu }) => self.scheduler.finish_wakeups(self.now, cpu),
                Some(Effect::Softirq { cpu }) => self.scheduler.softirq(self.now, cpu),
                Some(Effect::NohzKick { cpu }) => self.scheduler.nohz_kick(self.now, cpu),
                Some(Effect::Stop { cpu, work }) => self.scheduler.stop(self.now, cpu, work),
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::kernel::Kernel;

    #[test]
    fn half_the_tasks_sleep_and_every_cpu_ticks() {
        let mut many = ManyCpus::new(Kernel::V6_12.config(8).unwrap(), 8, 2).unwrap();
        let mut steps = [0_u32; 4];
        for _ in 0..1000 {
            many.round(&mut |step, act| {
                steps[step as usize] += 1;
                act();
            });
        }
        let [wakes, sleeps, _, ticks] = steps;
        assert!(many.asleep.len() <= 12, "{}", many.asleep.len());
        assert!(wakes > 900 && sleeps > 900, "{steps:?}");
        assert_eq!(ticks, 5 * 8);
    }

    #[test]
    fn a_machine_that_makes_no_sense_is_refused() {
        assert!(ManyCpus::new(Kernel::V6_12.config(1).unwrap(), 0, 1).is_err());
    }
}
