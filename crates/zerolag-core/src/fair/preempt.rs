// SPDX-License-Identifier: GPL-2.0-only
//! May a task that has just become runnable take the CPU from the one that runs?
//!
//! The two are compared where they meet: at the level of the hierarchy where both, or their ancestors, stand
//! in the same queue.
//!
//! | running is idle | wakee is idle | answer |
//! |---|---|---|
//! | yes | no | preempt |
//! | no | yes | leave |
//! | same | same | leave if the wakee is batch; else ask the policy |
//!
//! Source: kernel/sched/fair.c, `check_preempt_wakeup()`, 6.1, and `check_preempt_wakeup_fair()`, 6.12; of what 6.18.44
//! does otherwise, the change to the latter ("Fix wakeup_preempt_fair() vs delayed dequeue").

use core::cmp::Ordering;

use crate::fair::cfs;
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, QueueId, TaskId};
use crate::nice::Policy;
use crate::scheduler::Scheduler;
use crate::variants::{Protection, WakeupPick};

impl Scheduler {
    /// CFS: the wakee preempts if it is behind by more than the wake-up granularity. It is then the next
    /// buddy, and in a crowd the one it preempted the last buddy.
    pub(super) fn cfs_check_preempt(&mut self, cpu: CpuId, curr: TaskId, wakee: TaskId, fork: bool) {
        let features = self.config.features;
        let (mut se, mut wakee_se) = (self.tasks[curr].entity, self.tasks[wakee].entity);
        let crowd = self.queues[self.entities[se].queue].nr_queued >= self.config.tunables.nr_latency;
        let wanted_next = features.has(Feature::NextBuddy) && crowd && !fork;
        if wanted_next {
            self.set_next_buddy(wakee_se);
        }
        if self.cpus[cpu].need_resched {
            return;
        }
        let (curr_policy, wakee_policy) = (self.tasks[curr].policy, self.tasks[wakee].policy);
        if curr_policy != Policy::Idle || wakee_policy == Policy::Idle {
            if wakee_policy != Policy::Normal || !features.has(Feature::WakeupPreemption) {
                return;
            }
            self.find_siblings(&mut se, &mut wakee_se);
            match (self.is_idle_entity(se), self.is_idle_entity(wakee_se)) {
                (true, false) => {}
                (false, true) => return,
                _ => {
                    let q = self.entities[se].queue;
                    self.update_curr(q);
                    let granularity = self.config.tunables.wakeup_granularity;
                    let ahead = cfs::lead(&self.entities[se], &self.entities[wakee_se], granularity);
                    if ahead != Ordering::Greater {
                        return;
                    }
                    if !wanted_next {
                        self.set_next_buddy(wakee_se);
                    }
                }
            }
        }
        self.resched(cpu);
        if features.has(Feature::LastBuddy) && crowd && self.entities[se].on_rq && self.entities[se].is_task()
        {
            self.set_last_buddy(se);
        }
    }

    /// EEVDF of 2023: the wakee preempts if it would be picked, after the questions that CFS asks.
    pub(super) fn eevdf2023_check_preempt(&mut self, cpu: CpuId, curr: TaskId, wakee: TaskId, fork: bool) {
        let features = self.config.features;
        let (mut se, mut wakee_se) = (self.tasks[curr].entity, self.tasks[wakee].entity);
        if features.has(Feature::NextBuddy) && !fork {
            self.set_next_buddy(wakee_se);
        }
        if self.cpus[cpu].need_resched {
            return;
        }
        let (curr_policy, wakee_policy) = (self.tasks[curr].policy, self.tasks[wakee].policy);
        if curr_policy != Policy::Idle || wakee_policy == Policy::Idle {
            if wakee_policy != Policy::Normal || !features.has(Feature::WakeupPreemption) {
                return;
            }
            self.find_siblings(&mut se, &mut wakee_se);
            match (self.is_idle_entity(se), self.is_idle_entity(wakee_se)) {
                (true, false) => {}
                (false, true) => return,
                _ => {
                    let q = self.entities[se].queue;
                    self.update_curr(q);
                    if !self.eevdf2023_preempts(q, wakee_se) {
                        return;
                    }
                }
            }
        }
        self.resched(cpu);
    }

    /// EEVDF: the wakee preempts if it would be picked.
    pub(super) fn eevdf_check_preempt(&mut self, cpu: CpuId, curr: TaskId, wakee: TaskId, fork: bool) {
        let features = self.config.features;
        let (mut se, mut wakee_se) = (self.tasks[curr].entity, self.tasks[wakee].entity);
        if features.has(Feature::NextBuddy) && !fork && !self.entities[wakee_se].delayed {
            self.set_next_buddy(wakee_se);
        }
        if self.cpus[cpu].need_resched || !features.has(Feature::WakeupPreemption) {
            return;
        }
        self.find_siblings(&mut se, &mut wakee_se);
        match (self.is_idle_entity(se), self.is_idle_entity(wakee_se)) {
            (true, false) => {
                self.entities[se].end_protection(self.config.variants.protection);
                self.resched(cpu);
                return;
            }
            (false, true) => return,
            _ => {}
        }
        if self.tasks[wakee].policy != Policy::Normal {
            return;
        }
        let q = self.entities[se].queue;
        self.update_curr(q);
        if self.eevdf_preempts(cpu, q, se, wakee_se, fork) {
            self.resched(cpu);
        }
    }

    /// Moves both up to where they are in the same queue.
    pub(super) fn find_siblings(&self, a: &mut EntityId, b: &mut EntityId) {
        let up = |se: &mut EntityId| {
            *se = self.entities[*se].parent.expect("the root queue is common to all of a CPU");
        };
        while self.entities[*a].queue != self.entities[*b].queue {
            let (da, db) = (self.entities[*a].depth, self.entities[*b].depth);
            if da >= db {
                up(a);
            }
            if db >= da {
                up(b);
            }
        }
    }

    /// The wakee preempts if it would be picked now. If its slice is shorter, protection of the running one
    /// may give way:
    ///
    /// | rule | when | effect |
    /// |---|---|---|
    /// | `UntilDeadline` | the wakee is eligible, and due earlier or the running one is not eligible | it ends |
    /// | `ForShortestSlice` | the wakee would be picked but for it | it ends |
    /// | | else, with `RUN_TO_PARITY` | it is shortened to the shortest slice |
    ///
    /// With [`WakeupPick::Dequeues`] the last row holds for slices that are not shorter as well.
    fn eevdf_preempts(
        &mut self,
        cpu: CpuId,
        q: QueueId,
        curr: EntityId,
        wakee: EntityId,
        fork: bool,
    ) -> bool {
        let features = self.config.features;
        let queue = &self.queues[q];
        let (c, w) = (&self.entities[curr], &self.entities[wakee]);
        let short = features.has(Feature::PreemptShort) && w.slice < c.slice;
        let rule = self.config.variants.protection;
        let mut guard = self.protection_at_pick();
        match rule {
            Protection::UntilDeadline => {
                if short
                    && queue.is_eligible(&self.entities, wakee)
                    && (w.deadline.before(c.deadline) || !queue.is_eligible(&self.entities, curr))
                {
                    self.entities[curr].end_protection(rule);
                }
                self.would_run(cpu, q, guard) == Some(wakee)
            }
            Protection::Never => self.would_run(cpu, q, guard) == Some(wakee),
            Protection::ForShortestSlice => {
                if short {
                    guard = None;
                }
                let dequeues = self.config.variants.wakeup_pick == WakeupPick::Dequeues;
                if dequeues && (fork || w.delayed) && !short {
                    return false;
                }
                let preempts = self.would_run(cpu, q, guard) == Some(wakee);
                if preempts && short {
                    self.entities[curr].end_protection(rule);
                } else if !preempts && (short || dequeues) && features.has(Feature::RunToParity) {
                    self.shorten_protection(q, curr);
                }
                preempts
            }
        }
    }

    /// Who would run if the CPU were rescheduled now, in a queue that has somebody to run.
    fn would_run(&mut self, cpu: CpuId, q: QueueId, guard: Option<Protection>) -> Option<EntityId> {
        if self.config.variants.wakeup_pick == WakeupPick::Looks {
            return self.queues[q].pick_eevdf(&self.entities, guard);
        }
        loop {
            let pick = self.pick_with_buddy(q, guard);
            match pick.filter(|&se| self.entities[se].delayed) {
                Some(delayed) => self.finish_delayed(cpu, delayed),
                None => return pick,
            }
        }
    }
}
