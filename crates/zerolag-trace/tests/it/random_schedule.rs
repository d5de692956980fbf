// SPDX-License-Identifier: GPL-2.0-only
//! Random schedules that a kernel could have made: a task runs on one CPU at a time, sleeps before it is
//! woken, waits before it runs, and is charged for what it ran.

use proptest::prelude::*;
use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_trace::TaskTable;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    Unborn,
    Asleep,
    Waiting(usize),
    Running(usize),
    Gone,
}

/// A schedule and who is in it.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) events: Vec<SchedEvent>,
    pub(crate) tasks: TaskTable,
}

struct Machine {
    now: u64,
    events: Vec<SchedEvent>,
    current: Vec<Option<usize>>,
    tasks: Vec<Now>,
    charged_until: Vec<u64>,
}

/// Schedules of 1 to 4 CPUs and 1 to 8 tasks, up to `steps_max` decisions long.
pub(crate) fn schedules(steps_max: usize) -> impl Strategy<Value = Schedule> {
    let step = (any::<u8>(), any::<u8>(), any::<u8>(), 1u64..2_000_000);
    (1usize..=4, 1usize..=8, proptest::collection::vec(step, 0..steps_max)).prop_map(
        |(cpus, tasks, steps)| {
            let mut machine = Machine {
                now: 1_000_000_000,
                events: Vec::new(),
                current: vec![None; cpus],
                tasks: (0..tasks).map(|t| if t % 2 == 0 { Now::Asleep } else { Now::Unborn }).collect(),
                charged_until: vec![0; tasks],
            };
            for (what, cpu, task, passed) in steps {
                machine.now += passed;
                machine.step(what % 8, usize::from(cpu) % cpus, usize::from(task) % tasks);
            }
            let names =
                ["hog", "my ==> app [0]", "k/0:1", "a=b", "x prev_pid=3", "[001] 1.5: y", "b-1", "ünï"];
            let tasks = TaskTable::from_iter((0u32..).map(|i| 100 + i).zip(names).take(tasks));
            Schedule { events: machine.events, tasks }
        },
    )
}

impl Machine {
    fn emit(&mut self, cpu: usize, kind: EventKind) {
        let cpu = CpuId(cpu as u32);
        self.events.push(SchedEvent { time: Instant(self.now), cpu, kind });
        self.now += 1_000;
    }

    fn step(&mut self, what: u8, cpu: usize, task: usize) {
        let id = TaskId(task as u32);
        let target = CpuId(((cpu + task) % self.current.len()) as u32);
        match (what, self.tasks[task]) {
            (0 | 1, Now::Asleep) => {
                self.emit(cpu, EventKind::Waking { task: id, target });
                self.emit(cpu, EventKind::Wakeup { task: id, target });
                self.tasks[task] = Now::Waiting(target.0 as usize);
            }
            (0 | 1, Now::Unborn) => {
                let parent = self.current[cpu].map(|t| TaskId(t as u32));
                self.emit(cpu, EventKind::Fork { parent, child: id });
                self.emit(cpu, EventKind::WakeupNew { task: id, target });
                self.tasks[task] = Now::Waiting(target.0 as usize);
            }
            (2, Now::Waiting(from)) if from != target.0 as usize => {
                self.emit(cpu, EventKind::Migrate { task: id, from: CpuId(from as u32), to: target });
                self.tasks[task] = Now::Waiting(target.0 as usize);
            }
            (3..=5, Now::Waiting(cpu)) => self.switch(cpu, PrevState::Runnable, Some(task)),
            (6, Now::Running(cpu)) => {
                let states = [PrevState::Sleeping, PrevState::Uninterruptible, PrevState::IdleSleep];
                let state = states[self.now as usize % states.len()];
                self.sleep(cpu, state, Now::Asleep);
            }
            (7, Now::Running(cpu)) => {
                self.emit(cpu, EventKind::Exit { task: id });
                self.sleep(cpu, PrevState::Dead, Now::Gone);
            }
            _ => {}
        }
    }

    /// The current task of `cpu` goes; the first that waits there is next.
    fn sleep(&mut self, cpu: usize, state: PrevState, then: Now) {
        let next = self.tasks.iter().position(|&t| t == Now::Waiting(cpu));
        let prev = self.current[cpu];
        self.switch(cpu, state, next);
        if let Some(prev) = prev {
            self.tasks[prev] = then;
        }
    }

    fn switch(&mut self, cpu: usize, prev_state: PrevState, next: Option<usize>) {
        let prev = self.current[cpu];
        let id = |t: usize| TaskId(t as u32);
        if let Some(prev) = prev {
            // The charge is for the time until the switch, a microsecond later.
            let ran = Nanos(self.now + 1_000 - self.charged_until[prev]);
            self.emit(cpu, EventKind::Runtime { task: id(prev), ran });
            self.tasks[prev] = Now::Waiting(cpu);
        }
        if let Some(next) = next {
            self.charged_until[next] = self.now;
            self.tasks[next] = Now::Running(cpu);
        }
        self.current[cpu] = next;
        self.emit(cpu, EventKind::Switch { prev: prev.map(id), prev_state, next: next.map(id) });
    }
}
