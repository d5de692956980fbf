// SPDX-License-Identifier: GPL-2.0-only
//! Tasks come into being, wake up for the first time, and end.
//!
//! Source: kernel/sched/core.c, `sched_fork()`, `wake_up_new_task()`; fair.c, `post_init_entity_util_avg()`,
//! `task_dead_fair()`, 6.12.

use crate::domain::DomainFlags;
use crate::entity::{Entity, Owner};
use crate::event::EventKind;
use crate::fair::Enqueue;
use crate::fair::tasks::TaskLink;
use crate::features::Feature;
use crate::ids::{CpuId, GroupId, TaskId};
use crate::latency::LatencyNice;
use crate::nice::Policy;
use crate::pelt::{LOAD_AVG_MAX, SchedAvg};
use crate::scheduler::{Arrival, Scheduler};
use crate::task::{OnRq, Task, TaskSpec, TaskState, Waker, only_member};
use crate::units::{Instant, Nanos};
use crate::variants::{FirstLoad, InitialUtil, LoadRules, LoadTracking};
use crate::wake::Cause;
use crate::wake::memory::WakeStats;

/// Nearly a whole period, so that the first update ends one.
const FIRST_PERIOD_CONTRIB: u32 = 1023;
/// Bounds of a slice that a task asks for: 0.1 to 100 ms.
const SLICE_MIN: Nanos = Nanos(100_000);
const SLICE_MAX: Nanos = Nanos(100_000_000);

pub(super) fn clamp_slice(slice: Nanos) -> Nanos {
    slice.clamp(SLICE_MIN, SLICE_MAX)
}

impl Entity {
    /// A new entity's load. Tasks are taken for heavy until they have shown what they are
    /// (`init_entity_runnable_average()`).
    pub(crate) fn set_first_load(&mut self, rules: &LoadRules) {
        let load = if self.is_task() { rules.table(self.weight) } else { 0 };
        match rules.first {
            FirstLoad::Full if self.is_task() => {}
            FirstLoad::Full => self.set_full_load(),
            FirstLoad::FullLoad => {
                self.avg = SchedAvg {
                    period_contrib: FIRST_PERIOD_CONTRIB,
                    load_avg: load,
                    load_sum: load * u64::from(LOAD_AVG_MAX),
                    ..SchedAvg::default()
                };
            }
            FirstLoad::AlignedLoad => {
                self.avg = SchedAvg { load_avg: load, ..SchedAvg::default() };
                if rules.tracking == LoadTracking::RunnableWeight {
                    self.avg.runnable_avg = load;
                    self.runnable_weight = self.weight.0 as u32;
                }
            }
        }
    }

    /// As if it had always run.
    fn set_full_load(&mut self) {
        let load = self.table_weight();
        self.avg = SchedAvg {
            period_contrib: FIRST_PERIOD_CONTRIB,
            load_avg: load,
            load_sum: load * u64::from(LOAD_AVG_MAX),
            util_avg: 1024,
            util_sum: 1024 * LOAD_AVG_MAX,
            ..SchedAvg::default()
        };
    }
}

impl Scheduler {
    /// A new task, not yet woken. `parent` is only reported to observers; under CFS whoever runs in the same
    /// group on the same CPU counts as the parent for placement.
    ///
    /// Panics if `spec.affinity` does not contain `spec.cpu`, or names no CPU of the machine, or if there is a
    /// latency nice in a kernel without it.
    pub fn fork(&mut self, now: Instant, parent: Option<TaskId>, spec: TaskSpec) -> TaskId {
        self.at(now);
        assert!(spec.affinity.contains(spec.cpu), "a new task must be allowed on its parent's CPU");
        let has_latency_nice = self.config.variants.latency_nice || spec.latency_nice == LatencyNice::ZERO;
        assert!(has_latency_nice, "Linux {} has no latency nice", self.config.kernel);
        let task = TaskId(self.tasks.len() as u32);
        let place = self.groups[spec.group].on(spec.cpu);
        let mut entity = Entity::new(Owner::Task(task), place.queue, spec.policy.load(spec.nice));
        entity.idle_policy = spec.policy == Policy::Idle;
        let slice = spec.slice.filter(|_| self.config.variants.custom_slices);
        entity.custom_slice = slice.is_some();
        let base_slice = self.config.tunables.base_slice;
        entity.slice = slice.map_or_else(|| spec.latency_nice.request(base_slice), clamp_slice);
        // Taken for heavy until it has shown what it is.
        entity.set_first_load(&self.config.variants.load);
        let se = match self.free_entities.pop() {
            Some(id) => {
                self.entities[id] = entity;
                id
            }
            None => self.entities.push(entity),
        };
        self.tasks.push(Task {
            entity: se,
            cpu: spec.cpu,
            group: spec.group,
            nice: spec.nice,
            policy: spec.policy,
            latency_nice: spec.latency_nice,
            state: TaskState::New,
            on_rq: OnRq::No,
            pinned: only_member(&spec.affinity),
            affinity: spec.affinity,
            wake_cpu: spec.cpu,
            recent_used_cpu: parent.map_or(CpuId(0), |p| self.tasks[p].recent_used_cpu),
            waker: Waker::default(),
            wakes: WakeStats::new(
                self.config.variants.wakers.memory,
                self.config.tunables.wakeup_granularity,
            ),
            max_allowed_capacity: parent
                .map_or(self.ancestor_allowed_capacity, |p| self.tasks[p].max_allowed_capacity),
            remote_wakeup: false,
            throttled: false,
            throttle_work: false,
            gives_way: false,
            link: TaskLink::default(),
            rr_left: crate::realtime::RR_SLICE,
            voluntary_switches: 0,
            involuntary_switches: 0,
            migrations: 0,
        });
        self.set_task_rq(task, spec.cpu, spec.group);
        self.note_allowed_capacity(task);
        if parent.is_none() {
            self.ancestor_allowed_capacity = self.tasks[task].max_allowed_capacity;
        }
        if self.config.variants.sequence.placed_when_made {
            self.place_new(task);
        }
        if spec.policy.is_fair() {
            self.fair_fork(se);
            if self.config.variants.load.first == FirstLoad::Full {
                self.join_group_at_fork(task);
            }
        }
        self.trace(spec.cpu, EventKind::Fork { parent, child: task });
        task
    }

    /// Chooses the CPU of a task that has just been made on its parent's.
    fn place_new(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (from, group, allowed) = (t.cpu, t.group, t.affinity.clone());
        let cpu = self.balance_self(from, &allowed, DomainFlags::BALANCE_FORK);
        if cpu != from {
            self.fair_migrate(task, cpu);
            self.set_task_rq(task, cpu, group);
            (self.tasks[task].cpu, self.tasks[task].wake_cpu) = (cpu, cpu);
        }
    }

    /// A new task becomes runnable. Returns false if it is not new.
    pub fn wake_new(&mut self, now: Instant, this_cpu: CpuId, task: TaskId) -> bool {
        self.at(now);
        if self.tasks[task].state != TaskState::New {
            return false;
        }
        self.tasks[task].state = TaskState::Runnable;
        let previous = self.tasks[task].cpu;
        self.tasks[task].recent_used_cpu = previous;
        let cpu = if self.config.variants.sequence.placed_when_made {
            previous
        } else {
            self.select_cpu(this_cpu, task, previous, Cause::Fork)
        };
        self.set_task_rq(task, cpu, self.tasks[task].group);
        (self.tasks[task].cpu, self.tasks[task].wake_cpu) = (cpu, cpu);
        self.update_clock(cpu);
        self.init_load(task);
        if self.tasks[task].policy.is_fair() {
            self.fair_start(this_cpu, task);
        }
        self.enqueue(task, Enqueue { initial: true, ..Enqueue::default() });
        self.tasks[task].on_rq = OnRq::Queued;
        self.trace(this_cpu, EventKind::WakeupNew { task, target: cpu });
        self.check_preempt(cpu, task, Arrival::New);
        true
    }

    /// What a new task's load is before it is queued for the first time.
    fn init_load(&mut self, task: TaskId) {
        let se = self.tasks[task].entity;
        match self.config.variants.load.first {
            FirstLoad::Full => self.entities[se].set_full_load(),
            _ => self.init_utilisation(task),
        }
    }

    /// In early kernels a new task first belongs to its parent's group, and is then moved to its own, which
    /// is the same.
    fn join_group_at_fork(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (cpu, group, se) = (t.cpu, t.group, t.entity);
        self.fair_detach(task);
        self.entities[se].avg.last_update_time = Instant(0);
        self.set_task_rq(task, cpu, group);
        self.fair_attach(task);
    }

    /// The first guess at a task's utilisation: what tasks of its weight use on that CPU, but no more than
    /// half of what is left of it. So a burst of forks gets 1/2, 1/4, 1/8 ...
    fn init_utilisation(&mut self, task: TaskId) {
        if !self.config.variants.pelt {
            return;
        }
        let t = &self.tasks[task];
        let (cpu, se, fair) = (t.cpu, t.entity, t.policy.is_fair());
        let q = self.entities[se].queue;
        if !fair {
            // A later change to a fair policy shall find a detached entity that has a time.
            self.entities[se].avg.last_update_time = self.queue_pelt_now(q);
            return;
        }
        let earlier = self.config.variants.load.tracking != LoadTracking::RunnableTime;
        let capacity = if earlier { 1024 } else { i64::from(self.cpus[cpu].capacity.0) };
        let queue = &self.queues[q].avg;
        let room = (capacity - queue.util_avg as i64) / 2;
        let weight = match self.config.variants.initial_util {
            InitialUtil::FineWeight => self.entities[se].weight.0,
            InitialUtil::TableWeight => self.entities[se].table_weight(),
        };
        let avg = &mut self.entities[se].avg;
        if room > 0 {
            let room = room as u64;
            avg.util_avg = match queue.util_avg {
                0 => room,
                util => (util * weight / (queue.load_avg + 1)).min(room),
            };
        }
        if !earlier {
            avg.runnable_avg = avg.util_avg;
            return;
        }
        if self.config.variants.load.first == FirstLoad::FullLoad && room > 0 {
            avg.util_sum = (avg.util_avg * u64::from(LOAD_AVG_MAX)) as u32;
        }
        self.attach_entity(se);
    }

    /// Makes the task's entity belong to its group's queue on `cpu` (`set_task_rq()`). If it is attached
    /// elsewhere, its load is first aged to that queue's time and continues at the new one's.
    pub(crate) fn set_task_rq(&mut self, task: TaskId, cpu: CpuId, group: GroupId) {
        let se = self.tasks[task].entity;
        let place = self.groups[group].on(cpu);
        let attached = self.config.variants.pelt && self.entities[se].avg.last_update_time != Instant(0);
        if attached && self.config.features.has(Feature::AttachAgeLoad) {
            let old_time = self.queues[self.entities[se].queue].avg.last_update_time;
            self.age_blocked_entity(se, old_time);
            self.entities[se].avg.last_update_time = self.queues[place.queue].avg.last_update_time;
        }
        let depth = place.entity.map_or(0, |parent| self.entities[parent].depth + 1);
        let entity = &mut self.entities[se];
        entity.queue = place.queue;
        entity.parent = place.entity;
        entity.depth = depth;
    }

    /// The task has been switched away from for the last time.
    pub(super) fn bury(&mut self, task: TaskId) {
        let t = &self.tasks[task];
        let (se, fair) = (t.entity, t.policy.is_fair());
        if fair {
            self.remove_load(se);
        }
        self.free_entities.push(se);
    }
}
