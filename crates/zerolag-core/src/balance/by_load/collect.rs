// SPDX-License-Identifier: GPL-2.0-only
//! Collects and classifies: sums over each group's CPUs, and the busiest group so far.

use super::ByLoad;
use crate::balance::IdleType;
use crate::balance::pass::Pass;
use crate::domain::{Domain, DomainFlags};
use crate::ids::SchedGroupId;
use crate::scheduler::Scheduler;

/// The state of a group, the least loaded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Nothing is wrong with it.
    Other,
    /// Balancing below failed because of affinity.
    Imbalanced,
    /// Tasks have to wait, or should be spread.
    Overloaded,
}

/// Sums over the CPUs of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub(super) group: SchedGroupId,
    /// Load per capacity, times 1024.
    pub(super) avg_load: u64,
    /// Load, biased by what it was lately.
    pub(super) load: u64,
    /// Load of those queued, per task.
    pub(super) load_per_task: u64,
    pub(super) capacity: u64,
    pub(super) util: u64,
    /// Fair tasks.
    pub(super) running: u32,
    pub(super) idle_cpus: u32,
    /// CPUs.
    pub(super) weight: u32,
    pub(super) state: State,
    /// It is overloaded, or counts as if it were.
    pub(super) no_capacity: bool,
}

/// A domain at a glance.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    pub(super) idle: IdleType,
    pub(super) imbalance_pct: u32,
    pub(super) local: Sums,
    /// The load of a task on the CPU that asks, were its group empty.
    pub(super) own_load_per_task: u64,
    pub(super) busiest: Option<Sums>,
    pub(super) total_load: u64,
    pub(super) total_capacity: u64,
    /// Some CPU has more than one task.
    pub(super) overloaded: bool,
}

impl Sums {
    /// Of a group of which nothing has been summed up yet.
    pub(super) const fn empty(group: SchedGroupId) -> Self {
        Self {
            group,
            avg_load: 0,
            load: 0,
            load_per_task: 0,
            capacity: 0,
            util: 0,
            running: 0,
            idle_cpus: 0,
            weight: 0,
            state: State::Other,
            no_capacity: false,
        }
    }

    /// Fewer tasks than CPUs, or use leaves a margin.
    pub(super) fn has_capacity(&self, imbalance_pct: u32) -> bool {
        self.running < self.weight || self.capacity * 100 > self.util * u64::from(imbalance_pct)
    }

    fn is_overloaded(&self, imbalance_pct: u32) -> bool {
        self.running > self.weight && self.capacity * 100 < self.util * u64::from(imbalance_pct)
    }

    fn classify(&mut self, imbalanced: bool) {
        self.state = match (self.no_capacity, imbalanced) {
            (true, _) => State::Overloaded,
            (false, true) => State::Imbalanced,
            (false, false) => State::Other,
        };
    }
}

/// The history that a CPU of this kind compares loads by.
fn span_of(domain: &Domain, idle: IdleType) -> u8 {
    match idle {
        IdleType::Busy => domain.load_indexes.busy,
        IdleType::Idle => domain.load_indexes.idle,
        IdleType::NewlyIdle => domain.load_indexes.newidle,
    }
}

impl Scheduler {
    pub(super) fn survey_by_load(&mut self, pass: &Pass, rules: ByLoad) -> Survey {
        let domain = self.domains[pass.domain].clone();
        let groups: alloc::vec::Vec<_> = self.domains.groups(&domain).collect();
        let spreads =
            domain.child.is_some_and(|child| self.domains[child].flags.contains(DomainFlags::PREFER_SIBLING));
        let mut survey = Survey {
            idle: pass.idle,
            imbalance_pct: domain.imbalance_pct,
            local: Sums::empty(self.domains.local_group(pass.domain)),
            own_load_per_task: 0,
            busiest: None,
            total_load: 0,
            total_capacity: 0,
            overloaded: false,
        };
        let mut blocked = self.begin_survey_ageing(pass);
        let mut has_local = false;
        for group in groups {
            let local = self.domains.group_span(group).contains(pass.to);
            let mut sums = self.sum_up_by_load(
                pass,
                group,
                span_of(&domain, pass.idle),
                local,
                &mut survey,
                &mut blocked,
            );
            if local {
                // Where groups overlap several may contain the CPU: the last one counts.
                (survey.local, has_local) = (sums, true);
            } else {
                let surplus = if rules.spreads_surplus { survey.local.running + 1 } else { 1 };
                let crowded = sums.running > surplus;
                if spreads && has_local && survey.local.has_capacity(domain.imbalance_pct) && crowded {
                    sums.no_capacity = true;
                    sums.classify(false);
                }
                let best = survey.busiest.as_ref();
                let (state, load) = best.map_or((State::Other, 0), |b| (b.state, b.avg_load));
                if sums.state > state || sums.state == state && sums.avg_load > load {
                    survey.busiest = Some(sums);
                }
            }
            survey.total_load += sums.load;
            survey.total_capacity += sums.capacity;
        }
        self.end_survey_ageing(pass, blocked);
        let root = self.cpus[pass.to].root;
        let nr = u64::from(self.queues[root].h_nr_queued);
        survey.own_load_per_task = self.runnable_load(pass.to).checked_div(nr).unwrap_or(0);
        survey
    }

    /// Sums over the CPUs of a group (`update_sg_lb_stats()`).
    fn sum_up_by_load(
        &mut self,
        pass: &Pass,
        group: SchedGroupId,
        span: u8,
        local: bool,
        survey: &mut Survey,
        blocked: &mut crate::balance::nohz_earlier::SurveyAgeing,
    ) -> Sums {
        let mut sums = Sums::empty(group);
        let mut queued = 0_u64;
        let cpus: alloc::vec::Vec<_> = self.candidates(pass, self.domains.group_span(group)).collect();
        for cpu in cpus {
            self.age_in_survey(cpu, blocked);
            let load = if local { self.load_at_least(cpu, span) } else { self.load_at_most(cpu, span) };
            let rq = &self.cpus[cpu];
            sums.load += load;
            sums.util += self.cpu_util(cpu);
            sums.running += self.queues[rq.root].h_nr_queued;
            survey.overloaded |= rq.nr_running > 1;
            queued += self.runnable_load(cpu);
            if rq.nr_running == 0 && self.is_idle(cpu) {
                sums.idle_cpus += 1;
            }
        }
        let facts = self.domains.group(group);
        let capacity = &self.states.capacities[facts.capacity];
        sums.capacity = u64::from(capacity.capacity);
        sums.avg_load = sums.load.wrapping_mul(1024) / sums.capacity.max(1);
        sums.load_per_task = queued.checked_div(u64::from(sums.running)).unwrap_or(0);
        sums.weight = facts.weight;
        sums.no_capacity = sums.is_overloaded(survey.imbalance_pct);
        sums.classify(capacity.imbalance);
        sums
    }
}
