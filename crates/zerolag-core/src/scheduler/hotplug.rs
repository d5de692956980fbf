// SPDX-License-Identifier: GPL-2.0-only
//! CPUs come and go, and are divided among root domains.
//!
//! A CPU goes in three steps, between which others may act:
//!
//! 1. [`Scheduler::begin_offline`]: it takes no more tasks; domains are built without it; from now on
//!    whenever it picks a task, the stopper pushes that one to another CPU ([`Effect::Stop`]);
//! 2. [`Scheduler::reschedule`] on it, and acting on the effects, until it is empty;
//! 3. [`Scheduler::finish_offline`]: it is gone.
//!
//! Tunables that depend on the number of CPUs are set anew each time, as the kernel does
//! ([`Config::rescale`](crate::config::Config::rescale)).
//!
//! Source: kernel/sched/core.c, `sched_cpu_deactivate()`, `balance_push()`, `sched_cpu_dying()`,
//! `sched_cpu_activate()`, 6.12.

use crate::cpu_set::CpuSet;
use crate::domain::{DomainInput, Partitions, TickTime};
use crate::ids::CpuId;
use crate::scheduler::{Effect, Scheduler, StopWork};
use crate::task::OnRq;
use crate::units::Instant;

impl Scheduler {
    /// The CPU starts to go offline. Panics if it is the last that takes tasks.
    pub fn begin_offline(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        assert!(self.active.len() > 1, "the last CPU cannot go offline");
        self.leave_nohz(cpu);
        self.active.remove(cpu);
        self.cpus[cpu].pushing = true;
        self.update_clock(cpu);
        self.suspend(cpu);
        self.leave_domains(&self.active.clone());
        self.rebuild_domains();
    }

    /// The CPU, which is empty and idle, is gone. Panics if it is not.
    pub fn finish_offline(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        assert!(self.cpus[cpu].nr_running == 0, "a CPU goes offline empty");
        self.stop(now, cpu, StopWork::Die);
        self.cpus[cpu].pushing = false;
    }

    /// The stopper of a dying CPU takes it out of everybody's sight.
    pub(super) fn die(&mut self, cpu: CpuId) {
        self.online.remove(cpu);
        self.link_siblings();
        self.update_clock(cpu);
        self.max_balance_interval = TickTime::max_interval(self.config.hz, self.online.len());
    }

    /// The CPU comes online. Does nothing if it is, or does not exist.
    pub fn set_online(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        if self.cpus.get(cpu).is_none() || self.online.contains(cpu) {
            return;
        }
        self.domains.cpu_comes(&self.topology, &self.config.variants.domains, &self.online, cpu);
        self.online.insert(cpu);
        self.link_siblings();
        self.max_balance_interval = TickTime::max_interval(self.config.hz, self.online.len());
        let mut active = self.active.clone();
        active.insert(cpu);
        self.leave_domains(&active);
        self.active.insert(cpu);
        self.rebuild_domains();
        self.resume(cpu);
    }

    /// Divides the CPUs among root domains, as exclusive cpusets do (`partition_sched_domains()`). Domains of sets
    /// that stay as they are go on as if nothing had happened. Where tasks may run is none of its business.
    pub fn set_partitions(&mut self, now: Instant, partitions: Partitions) {
        self.at(now);
        self.partitions = partitions;
        self.leave_domains(&self.active.clone());
        self.rebuild_domains();
    }

    /// The CPUs whose root domain changes now that `active` ones are to take tasks are out of any for a moment.
    fn leave_domains(&mut self, active: &CpuSet) {
        if !self.has_domains {
            return;
        }
        let sets = self.partitions.among(active);
        let changes = |cpu: CpuId| match self.domains.cpu(cpu).root {
            Some(root) => !sets.contains(&self.domains.roots()[root].span),
            None => sets.iter().any(|set| set.contains(cpu)),
        };
        let changing: CpuSet = self.active.iter().filter(|&cpu| changes(cpu)).collect();
        for cpu in changing.iter() {
            if self.config.variants.updates_clock_between_domains {
                self.update_clock(cpu);
            }
            self.suspend(cpu);
            self.resume(cpu);
        }
    }

    /// The CPU's run queue is taken out of its root domain (`set_rq_offline()`).
    fn suspend(&mut self, cpu: CpuId) {
        self.rescale_tunables();
        if !self.active.contains(cpu)
            || self.config.variants.bandwidth.is_some_and(|b| b.lifted_between_domains)
        {
            self.lift_limits(cpu);
        }
        self.withdraw_reports(cpu);
    }

    /// The CPU's run queue is put into a root domain (`set_rq_online()`).
    fn resume(&mut self, cpu: CpuId) {
        self.rescale_tunables();
        self.restore_limits(cpu);
    }

    /// A CPU that goes offline has picked `curr`: it has to go elsewhere.
    pub(super) fn push_if_dying(&mut self, cpu: CpuId) {
        let rq = &self.cpus[cpu];
        if rq.pushing
            && let Some(task) = rq.curr
        {
            self.push(Effect::Stop { cpu, work: StopWork::PushAway { task } });
        }
    }

    /// The stopper takes away a task that the dying CPU had picked.
    pub(super) fn push_away(&mut self, cpu: CpuId, task: crate::ids::TaskId) {
        self.update_clock(cpu);
        let t = &self.tasks[task];
        if t.cpu == cpu && t.on_rq == OnRq::Queued {
            let to = self.fallback_cpu(task);
            self.move_queued(task, to);
        }
    }

    fn link_siblings(&mut self) {
        for cpu in self.cpus.ids() {
            self.cpus[cpu].siblings = self.topology.core(cpu).and(&self.online);
        }
        self.smt_present = self.topology.has_smt(&self.online);
    }

    fn rescale_tunables(&mut self) {
        let cpus = self.online.len();
        self.config.rescale(cpus);
    }

    /// The CPU's queues take back what they have reported to their groups (`clear_tg_offline_cfs_rqs()`).
    fn withdraw_reports(&mut self, cpu: CpuId) {
        if !self.config.variants.reports_withdrawn_offline {
            return;
        }
        for group in self.groups.ids() {
            let q = self.groups[group].on(cpu).queue;
            if self.queues[q].entity.is_some() {
                let queue = &mut self.queues[q];
                let contribution = core::mem::take(&mut queue.tg_load_contrib);
                queue.last_tg_load_update = self.now;
                self.groups[group].load_avg -= contribution as i64;
            }
        }
    }

    fn rebuild_domains(&mut self) {
        if !self.has_domains {
            return;
        }
        let mut capacities = self.cpus.iter().map(|(_, rq)| rq.balance.cpu_capacity).collect();
        let input = DomainInput {
            topology: &self.topology,
            rules: &self.config.variants.domains,
            online: &self.online,
            active: &self.active,
            partitions: &self.partitions,
            time: self.tick_time(),
        };
        let cpus = &self.cpus;
        self.domains.rebuild(&mut self.states, &input, |cpu| cpus[cpu].free_capacity(), &mut capacities);
        for (cpu, &capacity) in capacities.iter() {
            self.cpus[cpu].balance.cpu_capacity = capacity;
        }
        self.note_domains();
    }
}
