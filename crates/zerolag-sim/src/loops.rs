// SPDX-License-Identifier: GPL-2.0-only
//! Loops that do nothing but schedule, to measure what a decision costs.
//!
//! They are the loops of the reference's `bench` mode (oracle/src/kbench.h), so that its figures and ours
//! can stand side by side: one CPU, N equal tasks, optionally at the bottom of a chain of groups.
//!
//! * round robin: everyone is runnable; 4 ms pass, the tick comes, and the CPU switches.
//! * ping-pong: half are asleep; the running task wakes the longest sleeper and, 20 µs later, goes to sleep
//!   itself. With two tasks this is two processes and a pipe.
//!
//! A third one is on [several CPUs](ManyCpus).
//!
//! Whoever measures calls the steps one by one and reads a clock between them; [`Loop::advance`] stays
//! outside.

mod many;

use std::collections::VecDeque;

use zerolag_core::config::Config;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, GroupId, TaskId};
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::scheduler::Scheduler;
use zerolag_core::task::TaskSpec;
use zerolag_core::topology::{Topology, TopologyBuilder};
use zerolag_core::units::{Instant, Nanos};

pub use many::{ManyCpus, Step};

/// Time between ticks in the round-robin loop.
pub const ROUND_ROBIN_STEP: Nanos = Nanos(4_000_000);
/// Time between steps of the ping-pong loop.
pub const PING_PONG_STEP: Nanos = Nanos(20_000);

const CPU: CpuId = CpuId(0);

/// One CPU with tasks on it.
#[derive(Clone, Debug)]
pub struct Loop {
    scheduler: Scheduler,
    now: Instant,
    /// The longest sleeper first.
    asleep: VecDeque<TaskId>,
}

impl Loop {
    /// `tasks` runnable tasks, `depth` groups below the root.
    pub fn new(config: Config, tasks: usize, depth: usize) -> Self {
        let mut scheduler = Scheduler::without_domains(config, one_cpu());
        let mut now = Instant(1_000_000);
        let group = (0..depth).fold(GroupId::ROOT, |parent, _| scheduler.add_group(now, parent));
        for i in 0..tasks {
            let task = scheduler.fork(
                now,
                None,
                TaskSpec {
                    cpu: CPU,
                    group,
                    nice: Nice::ZERO,
                    policy: Policy::Normal,
                    latency_nice: LatencyNice::ZERO,
                    slice: None,
                    affinity: CpuSet::single(CPU),
                },
            );
            now += Nanos(1_000);
            scheduler.wake_new(now, CPU, task);
            if i == 0 {
                scheduler.reschedule(now, CPU);
            }
        }
        let mut new = Self { scheduler, now, asleep: VecDeque::with_capacity(tasks) };
        new.drain();
        new
    }

    /// Time passes.
    pub fn advance(&mut self, span: Nanos) {
        self.now += span;
    }

    /// The timer interrupt.
    pub fn tick(&mut self) {
        self.scheduler.tick(self.now, CPU);
        self.drain();
    }

    /// The CPU picks anew. Returns true if another task runs.
    pub fn switch(&mut self) -> bool {
        let switched = self.scheduler.reschedule(self.now, CPU);
        self.drain();
        switched
    }

    /// The running task wakes the longest sleeper. Returns false if nobody sleeps.
    pub fn wake(&mut self) -> bool {
        let Some(task) = self.asleep.pop_front() else { return false };
        self.scheduler.wake(self.now, CPU, task, false);
        self.drain();
        true
    }

    /// The running task goes to sleep. Returns false if the CPU is idle.
    pub fn sleep(&mut self) -> bool {
        let Some(task) = self.scheduler.cpus()[CPU].curr else { return false };
        self.asleep.push_back(task);
        self.scheduler.block(self.now, CPU, false);
        self.drain();
        true
    }

    /// There is one CPU and nobody looks: nothing has to be done about any effect.
    fn drain(&mut self) {
        while self.scheduler.poll().is_some() {}
    }
}

fn one_cpu() -> Topology {
    TopologyBuilder::new().build().expect("one CPU is a machine")
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::kernel::Kernel;

    fn with(tasks: usize, depth: usize) -> Loop {
        Loop::new(Kernel::V6_12.config(1).unwrap(), tasks, depth)
    }

    #[test]
    fn every_tick_switches_in_the_round_robin() {
        for (tasks, depth) in [(2, 0), (16, 0), (16, 3)] {
            let mut l = with(tasks, depth);
            for _ in 0..100 {
                l.advance(ROUND_ROBIN_STEP);
                l.tick();
                assert!(l.switch(), "{tasks} tasks, {depth} deep");
            }
        }
    }

    #[test]
    fn half_the_tasks_stay_asleep_in_the_ping_pong() {
        let mut l = with(16, 3);
        for _ in 0..8 {
            l.advance(PING_PONG_STEP);
            assert!(l.sleep());
        }
        for _ in 0..100 {
            l.advance(PING_PONG_STEP);
            assert!(l.wake());
            l.advance(PING_PONG_STEP);
            assert!(l.sleep());
            assert_eq!(l.asleep.len(), 8);
        }
    }
}
