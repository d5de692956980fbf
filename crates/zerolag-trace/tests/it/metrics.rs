// SPDX-License-Identifier: GPL-2.0-only
//! What the figures of a schedule mean.

use super::random_schedule::schedules;
use proptest::prelude::*;
use zerolag_core::event::EventKind::{self, Migrate, Runtime, Switch, Wakeup, WakeupNew, Waking};
use zerolag_core::event::PrevState::{Runnable, Sleeping};
use zerolag_core::event::SchedEvent;
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_trace::metrics::{Metrics, Summary};

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

fn summary(events: &[(u64, CpuId, EventKind)]) -> Summary {
    let mut metrics = Metrics::new();
    for &(time, cpu, kind) in events {
        metrics.feed(&SchedEvent { time: Instant(time), cpu, kind });
    }
    metrics.summary()
}

fn idle_to(next: TaskId) -> EventKind {
    Switch { prev: None, prev_state: Runnable, next: Some(next) }
}

fn to_idle(prev: TaskId) -> EventKind {
    Switch { prev: Some(prev), prev_state: Sleeping, next: None }
}

#[test]
fn latencies_run_from_the_first_sign_to_the_switch_in() {
    let s = summary(&[
        (0, CPU0, Waking { task: A, target: CPU0 }),
        (10, CPU0, Wakeup { task: A, target: CPU0 }),
        (30, CPU0, idle_to(A)),
        (40, CPU0, Waking { task: B, target: CPU0 }),
        (50, CPU0, Wakeup { task: B, target: CPU0 }),
        (90, CPU0, Switch { prev: Some(A), prev_state: Runnable, next: Some(B) }),
        (100, CPU0, Switch { prev: Some(B), prev_state: Sleeping, next: Some(A) }),
        (190, CPU0, to_idle(A)),
    ]);
    let (a, b) = (&s.tasks[&A], &s.tasks[&B]);
    assert_eq!(
        (a.waking.max(), a.wakeup.max(), a.preempt_delay.max()),
        (Some(Nanos(30)), Some(Nanos(20)), Some(Nanos(10)))
    );
    assert_eq!(
        (b.waking.max(), b.wakeup.max(), b.preempt_delay.max()),
        (Some(Nanos(50)), Some(Nanos(40)), None)
    );
    assert_eq!(
        (a.run(), a.switches_in, a.preempted, a.voluntary, a.wakeups_to_idle),
        (Nanos(150), 2, 1, 1, 1)
    );
    assert_eq!(
        (b.run(), b.switches_in, b.preempted, b.voluntary, b.wakeups_to_idle),
        (Nanos(10), 1, 0, 1, 0)
    );
    assert_eq!((s.cpus[&CPU0].busy, s.cpus[&CPU0].idle, s.cpus[&CPU0].switches), (Nanos(160), Nanos(0), 4));
    assert!((s.share(a.run()) - 150.0 / 190.0).abs() < 1e-12);
}

#[test]
fn waking_a_task_that_has_not_left_its_cpu_is_no_latency() {
    let s = summary(&[
        (0, CPU0, idle_to(A)),
        (10, CPU1, Waking { task: A, target: CPU0 }),
        (11, CPU1, Wakeup { task: A, target: CPU0 }),
        (20, CPU0, Switch { prev: Some(A), prev_state: Runnable, next: Some(B) }),
        (30, CPU0, Switch { prev: Some(B), prev_state: Sleeping, next: Some(A) }),
    ]);
    assert!(s.tasks[&A].wakeup.is_empty() && s.tasks[&A].waking.is_empty());
    assert_eq!(s.tasks[&A].preempt_delay.max(), Some(Nanos(10)));
}

#[test]
fn where_switches_from_idle_are_lost_the_charges_count() {
    let s = summary(&[
        (0, CPU1, to_idle(B)),
        (100, CPU0, Wakeup { task: A, target: CPU1 }),
        (150, CPU1, Runtime { task: A, ran: Nanos(45) }),
        (160, CPU1, to_idle(A)),
    ]);
    assert_eq!((s.tasks[&A].run_by_switches, s.tasks[&A].run()), (Nanos(0), Nanos(45)));
}

#[test]
fn idle_while_overloaded_needs_an_idle_cpu_and_a_wait_behind_another_task() {
    let overload = |events: &[(u64, CpuId, EventKind)]| {
        let s = summary(events);
        let woken = s.idle_while_overloaded_woken.0;
        (s.idle_while_overloaded.0, s.idle_while_overloaded_cpu.0, woken)
    };
    let start = [(0, CPU0, idle_to(A)), (0, CPU1, to_idle(TaskId(2))), (0, CpuId(2), to_idle(TaskId(3)))];
    let b_wakes = (10, CPU1, Wakeup { task: B, target: CPU0 });
    let b_moves = (40, CPU1, Migrate { task: B, from: CPU0, to: CPU1 });
    let b_runs = (45, CPU1, idle_to(B));
    let end = (100, CPU1, to_idle(B));
    assert_eq!(overload(&[&start[..], &[b_wakes, b_moves, b_runs, end]].concat()), (30, 30, 30));
    // A third task behind the first: two idle CPUs could have helped, then one.
    let c_wakes = (20, CPU1, Wakeup { task: TaskId(4), target: CPU0 });
    let c_runs = (60, CPU0, Switch { prev: Some(A), prev_state: Sleeping, next: Some(TaskId(4)) });
    assert_eq!(
        overload(&[&start[..], &[b_wakes, c_wakes, b_moves, b_runs, c_runs, end]].concat()),
        (50, 70, 70)
    );
    // Where a task has forked another that waits, or was preempted, nothing woke up.
    let c_starts = (20, CPU1, WakeupNew { task: TaskId(4), target: CPU0 });
    assert_eq!(
        overload(&[&start[..], &[b_wakes, c_starts, b_moves, b_runs, c_runs, end]].concat()),
        (50, 70, 30)
    );
    let b_preempts = (10, CPU0, Switch { prev: Some(A), prev_state: Runnable, next: Some(B) });
    let b_sleeps = (60, CPU0, Switch { prev: Some(B), prev_state: Sleeping, next: Some(A) });
    assert_eq!(overload(&[&start[..], &[b_wakes, b_preempts, b_sleeps, end]].concat()), (50, 50, 0));
    // On its way to an idle CPU a task does not wait behind anybody.
    let b_wakes_there = (10, CPU1, Wakeup { task: B, target: CPU1 });
    assert_eq!(overload(&[&start[..], &[b_wakes_there, b_runs, end]].concat()), (0, 0, 0));
}

#[test]
fn groups_add_up_and_nothing_has_no_figures() {
    let s = summary(&[
        (0, CPU0, idle_to(A)),
        (10, CPU0, Switch { prev: Some(A), prev_state: Sleeping, next: Some(B) }),
        (30, CPU0, to_idle(B)),
    ]);
    let groups = s.by_group(|task| (task.0 < 2).then_some("both"));
    assert_eq!((groups["both"].run(), groups["both"].switches_in), (Nanos(30), 2));
    let nothing = Metrics::new().summary();
    assert_eq!((nothing.span, nothing.events, nothing.tasks.len(), nothing.cpus.len()), (Nanos(0), 0, 0, 0));
    assert_eq!(nothing.share(Nanos(1)), 0.0);
}

proptest! {
    #[test]
    fn what_tasks_ran_and_what_cpus_were_busy_is_the_same_sum(schedule in schedules(200)) {
        let mut metrics = Metrics::new();
        schedule.events.iter().for_each(|e| metrics.feed(e));
        let s = metrics.summary();
        let busy: u64 = s.cpus.values().map(|c| c.busy.0).sum();
        prop_assert_eq!(s.tasks.values().map(|t| t.run_by_switches.0).sum::<u64>(), busy);
        for task in s.tasks.values() {
            prop_assert_eq!(task.per_cpu.values().map(|n| n.0).sum::<u64>(), task.run_by_switches.0);
            prop_assert!(task.run_by_charges <= task.run_by_switches, "charges end at the last switch");
            prop_assert!(task.preempted + task.voluntary <= task.switches_in);
        }
        prop_assert!(s.tasks.keys().all(|&task| schedule.tasks.get(task).is_some()));
        for cpu in s.cpus.values() {
            prop_assert!(cpu.busy + cpu.idle <= s.span);
        }
    }
}
