// SPDX-License-Identifier: GPL-2.0-only
use alloc::vec::Vec;

use crate::cpu_set::CpuSet;
use crate::group::Shares;
use crate::ids::{CpuId, GroupId, TaskId};
use crate::kernel::Kernel;
use crate::latency::LatencyNice;
use crate::nice::{Nice, Policy};
use crate::scheduler::Scheduler;
use crate::task::TaskSpec;
use crate::topology::TopologyBuilder;
use crate::units::{Instant, Nanos};

/// So many CPUs that share a cache.
fn machine(cpus: u32) -> Scheduler {
    let mut builder = TopologyBuilder::new();
    builder.word(&["cpus", &alloc::format!("{cpus}")]).expect("a number of CPUs");
    let topology = builder.build().expect("a plain machine");
    Scheduler::new(Kernel::V2_6_29.config(cpus as usize).expect("a preset"), topology)
}

fn start(s: &mut Scheduler, group: GroupId, cpu: u32, allowed: CpuSet) -> TaskId {
    let spec = TaskSpec {
        cpu: CpuId(cpu),
        group,
        nice: Nice::ZERO,
        policy: Policy::Normal,
        latency_nice: LatencyNice::ZERO,
        slice: None,
        affinity: allowed,
    };
    let now = s.now() + Nanos(1000);
    let task = s.fork(now, None, spec);
    s.wake_new(now, CpuId(cpu), task);
    settle(s);
    task
}

fn settle(s: &mut Scheduler) {
    let now = s.now();
    for cpu in s.cpus.ids().collect::<Vec<_>>() {
        s.schedule(now, cpu);
    }
    while s.poll().is_some() {}
}

#[test]
fn shares_are_divided_by_the_weight_on_each_cpu_where_nobody_counts_as_one_task() {
    let mut s = machine(4);
    s.at(Instant(1_000_000));
    let group = s.add_group(Instant(1_000_000), GroupId::ROOT);
    s.set_shares(Instant(1_000_000), group, Shares::clamped(6000)).expect("a group has shares");
    for cpu in [0, 0, 0, 1] {
        start(&mut s, group, cpu, CpuSet::single(CpuId(cpu)));
    }
    s.at(Instant(1_000_000_000));
    let domain = s.domains.cpu(CpuId(0)).base.expect("four CPUs have a domain");
    s.update_shares(domain);
    // 6000 * (3072, 1024, 1024, 1024) / 6144
    let parts: Vec<u64> = s.cpus.ids().map(|c| s.queues[s.groups[group].on(c).queue].share.shares).collect();
    assert_eq!(parts, [3000, 1000, 1000, 1000]);
    s.update_shares(domain);
    assert_eq!(s.states.domains[domain].shares_divided, s.now, "not twice at the same time");
}

#[test]
fn new_tasks_are_spread_when_they_are_made() {
    let mut s = machine(4);
    s.at(Instant(1_000_000));
    let tasks: Vec<TaskId> = (0..4).map(|_| start(&mut s, GroupId::ROOT, 0, CpuSet::first_n(4))).collect();
    let mut cpus: Vec<u32> = tasks.iter().map(|&t| s.tasks[t].cpu.0).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, [0, 1, 2, 3]);
}

#[test]
fn a_waiting_task_is_pulled_by_an_idle_cpu_once_it_is_cold() {
    let mut s = machine(2);
    s.at(Instant(1_000_000));
    let tasks = [0, 0].map(|cpu| start(&mut s, GroupId::ROOT, cpu, CpuSet::single(CpuId(0))));
    for task in tasks {
        s.tasks[task].restrict(CpuSet::first_n(2));
    }
    for tick in 1..20 {
        let now = Instant(tick * 4_000_000);
        for cpu in [CpuId(0), CpuId(1)] {
            s.tick(now, cpu);
            s.softirq(now, cpu);
            settle(&mut s);
        }
    }
    assert_ne!(s.tasks[tasks[0]].cpu, s.tasks[tasks[1]].cpu);
}

#[test]
fn one_idle_cpu_keeps_its_tick_while_another_cpu_is_busy() {
    let mut s = machine(3);
    s.at(Instant(1_000_000));
    let busy = start(&mut s, GroupId::ROOT, 0, CpuSet::single(CpuId(0)));
    let now = s.now();
    assert!(s.stop_tick(now, CpuId(1)), "the first balances for all");
    assert!(!s.stop_tick(now, CpuId(2)), "the second need not");
    assert_eq!(s.cpus[CpuId(0)].curr, Some(busy));
    s.block(now, CpuId(0), false);
    assert!(!s.stop_tick(now, CpuId(0)));
    assert!(!s.stop_tick(now, CpuId(1)), "all are idle: nobody needs it");
    s.wake(now, CpuId(0), busy, false);
    settle(&mut s);
    s.tick(Instant(now.0 + 4_000_000), CpuId(0));
    let first_idle = CpuId(1);
    assert!(s.cpus[first_idle].need_resched, "it is asked to do it again");
    s.schedule(Instant(now.0 + 4_000_000), first_idle);
    assert!(s.enter_idle_loop(Instant(now.0 + 4_000_000), first_idle));
}
