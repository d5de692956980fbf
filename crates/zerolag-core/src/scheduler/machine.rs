// SPDX-License-Identifier: GPL-2.0-only
//! The machine that is scheduled: switching it on, and what is derived from its topology.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::balance::nohz::Nohz;
use crate::config::Config;
use crate::cpu_set::CpuSet;
use crate::domain::{DomainStates, Domains, Partitions, TickTime};
use crate::fair::bandwidth::Bandwidth;
use crate::fair::queue::CfsRq;
use crate::fair::tasks::TaskList;
use crate::group::{Group, GroupOnCpu};
use crate::ids::{CpuId, GroupId, IdVec, TaskId};
use crate::latency::LatencyNice;
use crate::rq::Rq;
use crate::scheduler::Scheduler;
use crate::topology::Topology;
use crate::units::{Capacity, Instant, Jiffies, Weight};
use crate::variants::Propagation;

impl Scheduler {
    /// A machine that has just been switched on: all CPUs of `topology` that are online are idle and have
    /// never run anything.
    pub fn new(config: Config, topology: Topology) -> Self {
        let (domains, states, free) = Domains::boot(&topology, &config.variants.domains, config.hz);
        let mut scheduler = Self::bare(config, topology, domains, states);
        for (cpu, &capacity) in free.iter() {
            scheduler.cpus[cpu].balance.cpu_capacity = capacity;
            if !scheduler.config.variants.load.invariant_clock {
                // Threads of a core share its capacity.
                scheduler.cpus[cpu].capacity = Capacity(capacity);
            }
        }
        scheduler.has_domains = true;
        if scheduler.config.variants.balance.counts_busy_above_cache {
            for cpu in scheduler.cpus.ids() {
                if let Some(shared) =
                    scheduler.domains.cpu(cpu).shared.filter(|_| !scheduler.counts_busy(cpu))
                {
                    scheduler.states.shared[shared].nr_busy_cpus = -1;
                }
            }
        }
        let online = scheduler.online.len();
        scheduler.max_balance_interval = TickTime::max_interval(scheduler.config.hz, online);
        scheduler.note_domains();
        scheduler
    }

    /// Puts the longest time between two balancings of a domain back to what it is before a kernel has brought
    /// up its CPUs. No machine balances like that; a reference program may, if it leaves that step out.
    pub fn undo_bring_up(&mut self) {
        self.max_balance_interval = TickTime::boot(self.config.hz).max_interval;
    }

    /// A machine whose CPUs know nothing of each other: no balancing, and no choice of CPU but by affinity.
    pub fn without_domains(config: Config, topology: Topology) -> Self {
        let domains = Domains::none(&topology);
        Self::bare(config, topology, domains, DomainStates::default())
    }

    fn bare(config: Config, topology: Topology, domains: Domains, states: DomainStates) -> Self {
        let mut queues = IdVec::new();
        let mut cpus: IdVec<CpuId, Rq> = IdVec::new();
        let mut per_cpu = Vec::new();
        for cpu in topology.cpus() {
            let mut root = CfsRq::new(cpu, GroupId::ROOT, None);
            let rules = config.variants.load;
            root.propagate = rules.propagation != Propagation::Never && !rules.invariant_clock;
            let queue = queues.push(root);
            let mut rq = Rq::new(queue, topology.capacity(cpu), &config);
            rq.siblings = topology.core(cpu).and(topology.online());
            cpus.push(rq);
            per_cpu.push(GroupOnCpu { queue, entity: None });
        }
        let wake_lists = cpus.iter().map(|_| Vec::new()).collect();
        let mut groups = IdVec::new();
        groups.push(Group {
            parent: None,
            shares: Weight::NICE_0,
            load_avg: 0,
            idle: false,
            latency_nice: LatencyNice::ZERO,
            bandwidth: Bandwidth::unlimited(),
            children: Vec::new(),
            per_cpu,
        });
        let online = topology.online().clone();
        let hz = config.hz;
        Self {
            config,
            now: Instant::ZERO,
            entities: IdVec::new(),
            queues,
            cpus,
            tasks: IdVec::new(),
            groups,
            listed: alloc::vec![GroupId::ROOT],
            free_entities: Vec::new(),
            wake_lists,
            domains,
            states,
            overloaded: IdVec::new(),
            overloaded_outside: false,
            active: online.clone(),
            online,
            partitions: Partitions::default(),
            has_domains: false,
            bandwidth_used: false,
            smt_present: topology.has_smt(topology.online()),
            asym_capacity: false,
            ancestor_allowed_capacity: 1024,
            clusters_active: false,
            nohz: Nohz::default(),
            max_balance_interval: TickTime::boot(hz).max_interval,
            topology,
            spare_set: CpuSet::new(),
            spare_tasks: Vec::new(),
            effects: VecDeque::new(),
            tracing: false,
        }
    }

    /// Domains were built: takes over what decisions look at often.
    pub(super) fn note_domains(&mut self) {
        self.overloaded = self.domains.roots().ids().map(|_| false).collect();
        self.asym_capacity = self.domains.asym_capacity_active();
        self.clusters_active = self.config.variants.domains.cluster_flag && self.domains.cluster_active();
    }

    /// The CPU's frequency becomes so many 1024ths of the greatest. The time since its clock was last looked at
    /// counts as spent at the new one, as in the kernel. Means nothing to averages that are not invariant (before
    /// 5.1).
    pub fn set_frequency_scale(&mut self, cpu: CpuId, scale: Capacity) {
        if self.config.variants.load.invariant_clock {
            self.cpus[cpu].frequency = scale;
        }
    }

    /// How much of the CPU is used, or estimated to be, in units of capacity: what a governor goes by
    /// (`sugov_get_util()`). All of it while a real-time task is runnable.
    pub fn used_capacity(&self, cpu: CpuId) -> u64 {
        let rq = &self.cpus[cpu];
        if rq.rt.len() > 0 {
            return rq.capacity.0.into();
        }
        let fair = if self.config.variants.balance.waiting_counts_as_use {
            self.cpu_util_boosted(cpu)
        } else {
            self.cpu_util(cpu)
        };
        (fair + rq.avg_rt.util_avg).min(rq.capacity.0.into())
    }

    /// The machine.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The scheduling domains.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Where their balancing stands.
    pub fn domain_states(&self) -> &DomainStates {
        &self.states
    }

    /// The CPU is there, has nothing to do, and nothing is on its way to it.
    pub fn is_out_of_work(&self, cpu: CpuId) -> bool {
        let rq = &self.cpus[cpu];
        rq.curr.is_none()
            && !rq.need_resched
            && !rq.stopping
            && self.waiting_count(cpu) == 0
            && self.wake_lists[cpu].is_empty()
            && self.active.contains(cpu)
    }

    /// How many fair tasks wait on the CPU; those of groups that may not run do not count.
    pub fn waiting_count(&self, cpu: CpuId) -> u32 {
        let rq = &self.cpus[cpu];
        let runs_fair = rq.curr.is_some_and(|task| self.tasks[task].policy.is_fair());
        self.queues[rq.root].h_nr_runnable.saturating_sub(runs_fair.into())
    }

    /// Which they are, those that have waited longest first. Needs scheduling domains.
    pub fn waiting_tasks(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        let rq = &self.cpus[cpu];
        let all = core::iter::successors(rq.cfs_tasks.last(), |&t| TaskList::before(&self.tasks, t));
        all.filter(move |&task| {
            let entity = &self.entities[self.tasks[task].entity];
            rq.curr != Some(task) && !entity.delayed && !self.is_out_of_play(entity.queue)
        })
    }

    /// Some CPU in this one's root domain has more than one task, or had when last looked at.
    pub fn is_overloaded(&self, cpu: CpuId) -> bool {
        self.domains.cpu(cpu).root.map_or(self.overloaded_outside, |root| self.overloaded[root])
    }

    /// The CPUs that are online.
    pub fn online(&self) -> &CpuSet {
        &self.online
    }

    /// The time in ticks.
    #[inline]
    pub(crate) fn jiffies(&self) -> Jiffies {
        Jiffies(self.now.0 / self.config.tick().0)
    }

    /// The tick's time, for domains.
    pub(crate) fn tick_time(&self) -> TickTime {
        TickTime { now: self.jiffies(), hz: self.config.hz, max_interval: self.max_balance_interval }
    }
}
