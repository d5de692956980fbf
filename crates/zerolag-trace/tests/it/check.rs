// SPDX-License-Identifier: GPL-2.0-only
//! Each invariant is found broken where it is broken, and nowhere else.

use proptest::prelude::*;
use zerolag_core::event::EventKind::{self, Fork, Migrate, Runtime, Switch, Wakeup, WakeupNew};
use zerolag_core::event::PrevState::{Dead, Runnable, Sleeping};
use zerolag_core::event::{PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_trace::check::{Bounds, Check, Violation};

use super::random_schedule::schedules;

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const CPU0: CpuId = CpuId(0);
const CPU1: CpuId = CpuId(1);

#[track_caller]
fn check(events: &[(u64, CpuId, EventKind)], want: &[Violation]) {
    let mut check = Check::new(Bounds::EXACT);
    for &(time, cpu, kind) in events {
        check.feed(&SchedEvent { time: Instant(time), cpu, kind });
    }
    let got: Vec<Violation> = check.findings().iter().map(|f| f.violation).collect();
    assert_eq!(got, want);
    assert_eq!(check.count(), want.len() as u64);
}

fn switch(prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) -> EventKind {
    Switch { prev, prev_state, next }
}

fn wakeup(task: TaskId, target: CpuId) -> EventKind {
    Wakeup { task, target }
}

#[test]
fn time_goes_on() {
    let events =
        [(20, CPU0, wakeup(A, CPU1)), (10, CPU1, wakeup(B, CPU1)), (19, CPU0, switch(None, Runnable, None))];
    check(&events, &[Violation::TimeWentBack { from: Instant(20) }]);
}

#[test]
fn switches_form_chains() {
    let events = [(10, CPU0, switch(None, Runnable, Some(A))), (20, CPU0, switch(Some(B), Sleeping, None))];
    check(&events, &[Violation::ChainBroken { believed: Some(A), prev: Some(B) }]);
}

#[test]
fn a_task_is_on_one_cpu() {
    let events = [(10, CPU0, switch(None, Runnable, Some(A))), (20, CPU1, switch(None, Runnable, Some(A)))];
    check(&events, &[Violation::OnTwoCpus { task: A, other: CPU0 }]);
}

#[test]
fn a_sleeping_task_is_woken_before_it_runs() {
    let sleeps = (10, CPU0, switch(Some(A), Sleeping, None));
    let runs = (20, CPU0, switch(None, Runnable, Some(A)));
    check(&[sleeps, runs], &[Violation::RanUnwoken { task: A }]);
    check(&[sleeps, (20, CPU1, wakeup(A, CPU0)), runs], &[]);
    let forked = (15, CPU1, Fork { parent: None, child: B });
    let new_runs = (20, CPU0, switch(None, Runnable, Some(B)));
    check(&[forked, new_runs], &[Violation::RanUnwoken { task: B }]);
    check(&[forked, (20, CPU1, WakeupNew { task: B, target: CPU0 }), new_runs], &[]);
}

#[test]
fn a_task_runs_where_it_is_queued() {
    let woken = (10, CPU0, wakeup(A, CPU0));
    let runs = (10, CPU1, switch(None, Runnable, Some(A)));
    check(&[woken, runs], &[Violation::RanElsewhere { task: A, queued: CPU0 }]);
    check(&[woken, (10, CPU1, Migrate { task: A, from: CPU0, to: CPU1 }), runs], &[]);
}

#[test]
fn a_waiting_task_is_not_woken() {
    check(&[(10, CPU0, wakeup(A, CPU0)), (11, CPU1, wakeup(A, CPU0))], &[Violation::WokenTwice { task: A }]);
    // A task that has not left its CPU yet may be woken, as often as somebody likes.
    let runs = (10, CPU0, switch(None, Runnable, Some(A)));
    check(&[runs, (11, CPU1, wakeup(A, CPU0)), (12, CPU1, wakeup(A, CPU0))], &[]);
}

#[test]
fn the_dead_do_nothing() {
    let ends = (10, CPU0, switch(Some(A), Dead, None));
    check(&[ends, (11, CPU0, wakeup(A, CPU0))], &[Violation::ActedAfterDeath { task: A }]);
    check(&[ends, (11, CPU0, switch(None, Runnable, Some(A)))], &[Violation::ActedAfterDeath { task: A }]);
    check(
        &[ends, (11, CPU0, Migrate { task: A, from: CPU0, to: CPU1 })],
        &[Violation::ActedAfterDeath { task: A }],
    );
}

#[test]
fn a_cpu_with_work_does_not_idle() {
    let idles = (10, CPU0, switch(Some(A), Sleeping, None));
    let woken = (12, CPU1, wakeup(B, CPU0));
    let runs = |time| (time, CPU0, switch(None, Runnable, Some(B)));
    check(&[idles, woken, runs(12)], &[]);
    check(&[idles, woken, runs(15)], &[Violation::IdledWithWork { task: B, span: Nanos(3) }]);
    // It waited for something else before the CPU went idle.
    check(
        &[(5, CPU1, wakeup(B, CPU0)), idles, runs(15)],
        &[Violation::IdledWithWork { task: B, span: Nanos(5) }],
    );
}

fn charge(time: u64, task: TaskId, ran: u64) -> (u64, CpuId, EventKind) {
    (time, CPU0, Runtime { task, ran: Nanos(ran) })
}

#[test]
fn a_task_is_charged_what_it_ran() {
    let runs = (10, CPU0, switch(None, Runnable, Some(A)));
    let sleeps = (30, CPU0, switch(Some(A), Sleeping, None));
    check(&[runs, charge(20, A, 10), charge(30, A, 10), sleeps], &[]);
    let (ran, left, charged) = (Nanos(20), Nanos::ZERO, Nanos(21));
    let wrong = Violation::ChargedWrongly { task: A, ran, left, charged };
    check(&[runs, charge(20, A, 10), charge(30, A, 11), sleeps], &[wrong]);
    check(&[runs, sleeps], &[]);
}

#[test]
fn what_a_switch_leaves_uncharged_may_be_charged_to_the_next_task() {
    let a_runs = (10, CPU0, switch(None, Runnable, Some(A)));
    let b_runs = (30, CPU0, switch(Some(A), Sleeping, Some(B)));
    let b_sleeps = (40, CPU0, switch(Some(B), Sleeping, None));
    let wrong = |ran, left, charged| {
        let [ran, left, charged] = [ran, left, charged].map(Nanos);
        Violation::ChargedWrongly { task: B, ran, left, charged }
    };
    check(&[a_runs, charge(25, A, 15), b_runs, charge(40, B, 15), b_sleeps], &[]);
    // The clock did not move while A ran.
    check(&[a_runs, b_runs, charge(40, B, 30), b_sleeps], &[]);
    // It moved between them.
    check(&[a_runs, charge(25, A, 15), b_runs, charge(40, B, 10), b_sleeps], &[]);
    // Not more than was left, and not less than it ran itself.
    check(&[a_runs, charge(25, A, 15), b_runs, charge(40, B, 16), b_sleeps], &[wrong(10, 5, 16)]);
    check(&[a_runs, charge(25, A, 15), b_runs, charge(40, B, 9), b_sleeps], &[wrong(10, 5, 9)]);
    // Nobody is charged for it when the CPU was idle between them.
    let idles = (30, CPU0, switch(Some(A), Sleeping, None));
    let b_comes = (35, CPU0, switch(None, Runnable, Some(B)));
    check(&[a_runs, charge(25, A, 15), idles, b_comes, charge(40, B, 10), b_sleeps], &[wrong(5, 0, 10)]);
}

#[test]
fn findings_are_sentences_and_not_endless() {
    let mut check = Check::new(Bounds::default());
    for time in 0..500 {
        check.feed(&SchedEvent { time: Instant(time), cpu: CPU0, kind: wakeup(A, CPU1) });
    }
    assert_eq!((check.findings().len(), check.count()), (100, 499));
    assert_eq!(check.findings()[0].to_string(), "0.000000001 cpu0: T0 is woken again before it ran");
}

proptest! {
    #[test]
    fn a_schedule_that_a_kernel_could_make_has_no_findings(schedule in schedules(300)) {
        let bounds = Bounds { idle_with_work: None, charge: Some(Nanos::ZERO) };
        let mut check = Check::new(bounds);
        schedule.events.iter().for_each(|e| check.feed(e));
        prop_assert_eq!(check.findings(), &[]);
    }

    #[test]
    fn a_switch_that_is_lost_is_noticed(schedule in schedules(300), at in any::<prop::sample::Index>()) {
        let mut events = schedule.events;
        let switches: Vec<usize> =
            (0..events.len()).filter(|&i| matches!(events[i].kind, Switch { .. })).collect();
        prop_assume!(!switches.is_empty());
        let lost = switches[at.index(switches.len())];
        let cpu = events[lost].cpu;
        let before = switches.iter().any(|&i| i < lost && events[i].cpu == cpu);
        let after = switches.iter().any(|&i| i > lost && events[i].cpu == cpu);
        prop_assume!(before && after);
        events.remove(lost);
        let mut check = Check::new(Bounds::default());
        events.iter().for_each(|e| check.feed(e));
        prop_assert!(check.count() > 0);
    }
}
