// SPDX-License-Identifier: GPL-2.0-only
//! What must hold of a scheduler between any two events, whatever happened.
//!
//! [`audit`] looks at a state; [`Auditor`] also at what it saw before. Both recompute in the plainest way what
//! the scheduler keeps up to date incrementally, so they cost O(n) and more: they belong into tests and
//! checked runs. In debug builds a cheap part is on at each insertion and removal.
//!
//! Some invariants are about a single operation and cannot be seen in a state. They are asserted where the
//! operation is (in debug builds), or are the subject of a test of their own:
//!
//! | | statement | where |
//! |---|---|---|
//! | I7 | after placement the lag is what it was, within 2 ns | tests of `eevdf` |
//! | I8 | lag that is taken along is at most two requests, or a tick | `Entity::lag_at` |
//! | I11 | vruntime of the running entity never goes back; a renewed deadline lies ahead | `update_curr` |
//! | I12 | reweighting moves V by no more than rounding does, and keeps weight times lag | tests of `eevdf` |
//! | I14 | shares are in proportion to weight in the long run | tests of claims |
//! | I15 | adding a constant to all vruntimes and deadlines changes no decision | tests of `eevdf` |
//! | I16 | a delayed dequeue ends with no lag | `dequeue_entity` |
//!
//! Sources: patch 17 of the 2023 series ("validation") for V1 to V4; Stoica and Abdel-Wahab, TR-95-22, and the
//! comments of kernel/sched/fair.c for the others.

mod accounts;
mod places;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::config::FairPolicy;
use crate::fair::queue::CfsRq;
use crate::fair::timeline::{ByDeadline, ByVruntime, ByVruntimeWithDeadline, Fault};
use crate::features::Feature;
use crate::ids::{CpuId, EntityId, GroupId, IdVec, QueueId};
use crate::scheduler::Scheduler;
use crate::task::TaskState;
use crate::units::VTime;
use crate::variants::{Anchor, Rounding, Search};

/// One row of the table: an invariant, its number, what it says and why it must hold.
macro_rules! invariants {
    ($($variant:ident $id:literal $statement:literal $source:literal;)*) => {
        /// A statement that holds in every state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Invariant {
            $(#[doc = $statement] $variant,)*
        }

        impl Invariant {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its number in the documentation.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)*
                }
            }

            /// What it says.
            pub const fn statement(self) -> &'static str {
                match self {
                    $(Self::$variant => $statement,)*
                }
            }

            /// On whose word, or from what it follows.
            pub const fn source(self) -> &'static str {
                match self {
                    $(Self::$variant => $source,)*
                }
            }
        }
    };
}

#[rustfmt::skip]
invariants! {
    KeySum "V1"
        "the stored sum of (vruntime - anchor) * weight is that of the timeline"
        "2023 series, patch 17";
    WeightSum "V2"
        "the stored sum of weights is that of the timeline"
        "2023 series, patch 17";
    RootSummary "V3"
        "the root's summary is the least over the timeline"
        "2023 series, patch 17";
    SomebodyEligible "V4"
        "somebody in a queue that is not empty is eligible"
        "2023 series, patch 17; the least vruntime is never above the mean";
    Order "I1"
        "the timeline is in order"
        "definition";
    Summaries "I2"
        "each node's summary is the least over its subtree"
        "definition; the pick relies on it";
    SliceSum "I3"
        "the stored sum of slice * weight is that of the timeline"
        "2023 series, patch 14; its own code lets it drift, which can be had";
    Structure "I4"
        "the first entity is cached, the running one is not in the timeline, a delayed one is queued"
        "definition";
    MeanOfLags "I5"
        "lags add up to nothing but for rounding: 0 <= sum w (v - V) < W, if V is rounded down"
        "TR-95-22, section 3; rounding";
    ZeroLagEligible "I6"
        "who stands at V is eligible, if V is rounded down"
        "comment of avg_vruntime()";
    PickIsBest "I9"
        "the pick is eligible and nobody eligible has an earlier deadline, unless the running one is protected, or the search is the literal one of 2023"
        "TR-95-22, section 2";
    AnchorForwards "I10"
        "min_vruntime never goes back (but with MINIMAL_VA), and keys times weights stay below 2^62"
        "comment of update_min_vruntime()";
    WorkConserving "I13"
        "no CPU is idle while somebody waits there, but for a reschedule that is pending, or quotas"
        "pick_next_task()";
    Counts "C1"
        "counts and the load of a queue are those of its entities"
        "account_entity_enqueue(), enqueue_task_fair()";
    OnePlace "T1"
        "a queued task is in one place, its group's queue on its CPU, a real-time queue, a wake list or limbo; others are nowhere"
        "enqueue_task(), dequeue_task(), ttwu_queue_wakelist()";
    TaskWeight "T2"
        "a fair task weighs what its policy and nice level say"
        "set_load_weight(); set_user_nice() leaves real-time tasks alone";
    RunningIsQueued "T3"
        "who runs on a CPU is runnable and queued there"
        "pick_next_task(), deactivate_task()";
    GroupQueued "H1"
        "a group competes where somebody competes in its queue, or while its dequeue is delayed; not where it is throttled as a whole"
        "enqueue_task_fair(), dequeue_entities(), throttle_cfs_rq()";
    RunningCount "H2"
        "a CPU's count of tasks is that of its fair and real-time queues, and the stopper"
        "add_nr_running(), sub_nr_running()";
    ThrottledIsListed "B1"
        "a queue is throttled if and only if it waits in its group's list, once"
        "throttle_cfs_rq(), unthrottle_cfs_rq()";
    ThrottleCount "B2"
        "a queue is throttled as often as it has throttled queues above, itself included"
        "tg_throttle_down(), tg_unthrottle_up()";
    ThrottledIsSpent "B3"
        "a throttled queue has no runtime left, but for one that has been paid and is about to be set free"
        "throttle_cfs_rq(), distribute_cfs_runtime()";
    NohzMask "N1"
        "CPUs whose tick is stopped are in the mask of idle CPUs, which has as many as are counted and only such as take tasks"
        "nohz_balance_enter_idle(), nohz_balance_exit_idle()";
    BusyCpus "N2"
        "the busy CPUs of a cache are those that have not been noted as idle, and those that are not balanced with the others"
        "set_cpu_sd_state_busy(), set_cpu_sd_state_idle(), sd_init()";
    SumsCarryAverages "P1"
        "a queue's sums are never less than its averages make them, and its load is none where its sum is"
        "update_cfs_rq_load_avg(), cfs_rq_is_decayed()";
    SumsBounded "P2"
        "a task's sums are at most those of one that has always run"
        "accumulate_sum(): a geometric series";
    GroupLoad "P3"
        "a group's load average is what its queues have contributed"
        "update_tg_load_avg()";
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// On which CPU.
    pub cpu: CpuId,
    /// In the queue of which group.
    pub group: GroupId,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invariant, cpu, group, found } = self;
        write!(f, "{} does not hold in {group:?} on {cpu:?}: ", invariant.id())?;
        write!(f, "{found} ({})", invariant.statement())
    }
}

impl core::error::Error for Violation {}

/// Checks every invariant that can be seen in a state.
pub fn audit(scheduler: &Scheduler) -> Result<(), Violation> {
    for q in scheduler.queues.ids() {
        Queue::of(scheduler, q).check()?;
    }
    scheduler.cpus.ids().try_for_each(|cpu| work_conserving(scheduler, cpu))?;
    places::check(scheduler)?;
    accounts::check(scheduler)
}

/// The check of the 2023 series after each insertion and removal (`VALIDATE_QUEUE`): sums and summaries of one
/// queue. A wrong one is a bug, so it panics; the kernel warns, and repairs the sums.
pub(crate) fn validate(scheduler: &Scheduler, q: QueueId) {
    let queue = Queue::of(scheduler, q);
    if let Err(violation) = queue.sums().and_then(|()| queue.timeline()) {
        panic!("{violation}");
    }
}

/// The same, and what must hold from one state to the next.
#[derive(Clone, Debug, Default)]
pub struct Auditor {
    anchors: IdVec<QueueId, VTime>,
}

impl Auditor {
    /// An auditor that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a state that follows the one seen last.
    pub fn observe(&mut self, scheduler: &Scheduler) -> Result<(), Violation> {
        audit(scheduler)?;
        let config = &scheduler.config;
        let forwards = config.variants.anchor == Anchor::Minimum && !config.features.has(Feature::MinimalVa);
        for (q, &before) in self.anchors.iter() {
            let queue = &scheduler.queues[q];
            if forwards && queue.anchor.before(before) {
                let found = format!("it was {}, and is {}", before.0, queue.anchor.0);
                return Err(Queue::of(scheduler, q).violation(Invariant::AnchorForwards, found));
            }
        }
        self.anchors = scheduler.queues.iter().map(|(_, queue)| queue.anchor).collect();
        Ok(())
    }
}

fn work_conserving(s: &Scheduler, cpu: CpuId) -> Result<(), Violation> {
    let rq = &s.cpus[cpu];
    let waiting = s.queues[rq.root].h_nr_runnable;
    // Moving a task out of a throttled group queues it on an idle CPU without asking for a reschedule; the kernel
    // leaves it there until something else does (goldens 6.12bw/06, 6.1bw/06).
    if rq.curr.is_none() && !rq.stopping && !rq.need_resched && !s.bandwidth_used && waiting != 0 {
        let found = format!("it is idle, {waiting} wait");
        return Err(Queue::of(s, rq.root).violation(Invariant::WorkConserving, found));
    }
    Ok(())
}

/// One queue under audit.
struct Queue<'a> {
    s: &'a Scheduler,
    q: QueueId,
    queue: &'a CfsRq,
}

impl<'a> Queue<'a> {
    fn of(s: &'a Scheduler, q: QueueId) -> Self {
        Self { s, q, queue: &s.queues[q] }
    }

    fn violation(&self, invariant: Invariant, found: String) -> Violation {
        Violation { invariant, cpu: self.queue.cpu, group: self.queue.group, found }
    }

    fn require(
        &self,
        invariant: Invariant,
        holds: bool,
        found: impl FnOnce() -> String,
    ) -> Result<(), Violation> {
        if holds { Ok(()) } else { Err(self.violation(invariant, found())) }
    }

    fn check(&self) -> Result<(), Violation> {
        self.structure()?;
        self.counts()?;
        match self.s.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => Ok(()),
            FairPolicy::Eevdf2023 | FairPolicy::Eevdf => {
                self.sums()?;
                self.mean()?;
                self.pick()
            }
        }
    }

    fn waiting(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.queue.timeline.iter(&self.s.entities)
    }

    /// All that compete.
    fn competing(&self) -> Vec<EntityId> {
        self.queue.competing_curr(&self.s.entities).into_iter().chain(self.waiting()).collect()
    }

    fn timeline(&self) -> Result<(), Violation> {
        let entities = &self.s.entities;
        let timeline = &self.queue.timeline;
        let fault = match self.s.config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => timeline.check::<ByVruntime>(entities),
            FairPolicy::Eevdf2023 => timeline.check::<ByVruntimeWithDeadline>(entities),
            FairPolicy::Eevdf => timeline.check::<ByDeadline>(entities),
        };
        fault.map_err(|fault| match fault {
            Fault::Order(id) => self.violation(Invariant::Order, format!("{id:?} stands too far right")),
            Fault::Summary(id) if timeline.root() == Some(id) => {
                self.violation(Invariant::RootSummary, format!("{:?}", entities[id].subtree_min))
            }
            Fault::Summary(id) => {
                self.violation(Invariant::Summaries, format!("{id:?}: {:?}", entities[id].subtree_min))
            }
            Fault::Shape(_) | Fault::First => self.violation(Invariant::Structure, format!("{fault:?}")),
        })
    }

    fn structure(&self) -> Result<(), Violation> {
        self.timeline()?;
        let entities = &self.s.entities;
        for id in self.waiting() {
            let entity = &entities[id];
            let sound = entity.on_rq && self.queue.curr != Some(id);
            self.require(Invariant::Structure, sound, || format!("{id:?} waits, and runs or is not queued"))?;
            let asleep = entity.task().is_none_or(|t| {
                matches!(self.s.tasks[t].state, TaskState::Sleeping | TaskState::Uninterruptible)
            });
            self.require(Invariant::Structure, !entity.delayed || asleep, || {
                format!("{id:?} is delayed and awake")
            })?;
        }
        Ok(())
    }

    fn counts(&self) -> Result<(), Violation> {
        let entities = &self.s.entities;
        let (mut nr, mut load, mut h_queued, mut h_delayed) = (0, 0, 0, 0);
        for id in self.competing() {
            let entity = &entities[id];
            nr += 1;
            load += entity.weight.0;
            match entity.my_queue {
                None => {
                    h_queued += 1;
                    h_delayed += u32::from(entity.delayed);
                }
                Some(below) => {
                    h_queued += self.s.queues[below].h_nr_queued;
                    h_delayed += self.s.queues[below].h_nr_delayed;
                }
            }
        }
        let q = self.queue;
        let stored = (q.nr_queued, q.load.0, q.h_nr_queued, q.h_nr_delayed, q.h_nr_runnable);
        let counted = (nr, load, h_queued, h_delayed, h_queued - h_delayed);
        self.require(Invariant::Counts, stored == counted, || {
            format!("(entities, load, tasks, delayed, runnable) {stored:?} stored, {counted:?} counted")
        })
    }

    fn sums(&self) -> Result<(), Violation> {
        let (mut keys, mut weights, mut slices) = (0_i64, 0_u64, 0_u64);
        let mut greatest = 0_u128;
        for id in self.waiting() {
            let entity = &self.s.entities[id];
            let weight = entity.table_weight();
            let key = entity.vruntime.since(self.queue.anchor).0;
            keys = keys.wrapping_add(key.wrapping_mul(weight as i64));
            weights += weight;
            slices = slices.wrapping_add(entity.slice.0.wrapping_mul(weight));
            greatest = greatest.max(u128::from(key.unsigned_abs()) * u128::from(weight));
        }
        let q = self.queue;
        self.require(Invariant::KeySum, q.key_weight_sum == keys, || {
            format!("{} stored, {keys} recomputed", q.key_weight_sum)
        })?;
        self.require(Invariant::WeightSum, q.weight_sum == weights, || {
            format!("{} stored, {weights} recomputed", q.weight_sum)
        })?;
        let (variants, policy) = (&self.s.config.variants, self.s.config.policy);
        let followed = policy == FairPolicy::Eevdf2023 && variants.slice_sums_exact;
        self.require(Invariant::SliceSum, !followed || q.slice_weight_sum == slices, || {
            format!("{} stored, {slices} recomputed", q.slice_weight_sum)
        })?;
        self.require(Invariant::AnchorForwards, greatest < 1 << 62, || format!("{greatest}"))
    }

    fn mean(&self) -> Result<(), Violation> {
        let entities = &self.s.entities;
        let competing = self.competing();
        if competing.is_empty() {
            return Ok(());
        }
        let now = self.s.virtual_time(self.q);
        let weight: i128 = competing.iter().map(|&id| i128::from(entities[id].table_weight())).sum();
        let lead: i128 = competing
            .iter()
            .map(|&id| {
                i128::from(entities[id].vruntime.since(now).0) * i128::from(entities[id].table_weight())
            })
            .sum();
        let rounding = match self.s.config.variants.rounding {
            Rounding::Down => 0..weight,
            Rounding::TowardZero => 1 - weight..weight,
        };
        self.require(Invariant::MeanOfLags, rounding.contains(&lead), || {
            format!("sum of leads {lead}, sum of weights {weight}")
        })?;
        let mean = self.queue.mean(entities);
        let down = self.s.config.variants.rounding == Rounding::Down;
        self.require(Invariant::ZeroLagEligible, !down || self.queue.is_eligible_at(mean, now), || {
            format!("{now:?}")
        })?;
        let anybody = competing.iter().any(|&id| self.queue.is_eligible(entities, id));
        self.require(Invariant::SomebodyEligible, anybody, || format!("{} compete", competing.len()))
    }

    fn pick(&self) -> Result<(), Violation> {
        let entities = &self.s.entities;
        let guard = self.s.protection_at_pick();
        let Some(pick) = self.s.most_urgent(self.q) else { return Ok(()) };
        let curr = self.queue.competing_curr(entities);
        let alone = self.queue.nr_queued == 1;
        let protected = guard.is_some_and(|rule| entities[pick].is_protected(rule));
        let eligible = self.queue.is_eligible(entities, pick);
        let best = self
            .competing()
            .into_iter()
            .filter(|&id| self.queue.is_eligible(entities, id))
            .all(|id| !entities[id].deadline.before(entities[pick].deadline));
        let errs =
            self.s.config.policy == FairPolicy::Eevdf2023 && self.s.config.variants.search == Search::Literal;
        let sound = alone || eligible && (best || errs || curr == Some(pick) && protected);
        self.require(Invariant::PickIsBest, sound, || format!("{pick:?}"))
    }
}

#[cfg(test)]
mod tests;
