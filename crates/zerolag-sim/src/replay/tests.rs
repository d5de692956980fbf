// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use proptest::prelude::*;
use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_trace::metrics::{Metrics, Summary};

use super::history::{Origin, Step};
use super::*;
use crate::scenario::{self, Overrides};

const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);

fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

fn at(n: u64) -> Instant {
    Instant(us(n).0)
}

/// Events at microseconds, all on CPU 0 unless told otherwise.
struct Events(Vec<SchedEvent>);

impl Events {
    fn on(&mut self, cpu: u32, time: u64, kind: EventKind) -> &mut Self {
        self.0.push(SchedEvent { time: at(time), cpu: CpuId(cpu), kind });
        self
    }

    fn switch(&mut self, time: u64, prev: Option<TaskId>, how: PrevState, next: Option<TaskId>) -> &mut Self {
        self.on(0, time, EventKind::Switch { prev, prev_state: how, next })
    }

    fn waking(&mut self, time: u64, task: TaskId) -> &mut Self {
        self.on(0, time, EventKind::Waking { task, target: CpuId(0) })
    }

    fn history(&self) -> History {
        let mut history = History::new();
        self.0.iter().for_each(|e| history.feed(e));
        history.finish();
        history
    }

    /// The steps of a task, without the times at which it ran.
    fn steps(&self, task: TaskId) -> Vec<Step> {
        let mut steps = self.history().tasks[task.index()].steps.clone();
        for step in &mut steps {
            if let Step::Ran { from, until, .. } = step {
                (*from, *until) = (at(0), at(0));
            }
        }
        steps
    }
}

fn events() -> Events {
    Events(Vec::new())
}

fn ran(work: u64) -> Step {
    Step::Ran { work: us(work), from: at(0), until: at(0) }
}

use PrevState::{Runnable, Sleeping};

#[test]
fn being_preempted_is_not_sleeping() {
    let mut e = events();
    e.switch(10, Some(A), Runnable, Some(B)).switch(30, Some(B), Runnable, Some(A)).switch(
        100,
        Some(A),
        Sleeping,
        None,
    );
    let history = e.history();
    assert_eq!(history.tasks[0].origin, Some(Origin::Runnable(CpuId(0))));
    let slept = Step::Slept { from: Some(at(100)), until: None, wake: None };
    // From 10 on since that is when the recording begins.
    assert_eq!(e.steps(A), [ran(70), slept]);
    assert_eq!(e.steps(B), [ran(20)]);
}

#[test]
fn a_sleep_ends_at_the_waking_and_remembers_who_ran_there() {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A))
        .switch(10, Some(A), Sleeping, Some(B))
        .waking(50, A)
        .switch(60, Some(B), Runnable, Some(A))
        .switch(65, Some(A), Sleeping, None)
        .waking(90, A);
    let history = e.history();
    let sleep =
        |from, until, wake| Step::Slept { from: Some(at(from)), until: Some(at(until)), wake: Some(wake) };
    assert_eq!(e.steps(A), [ran(10), sleep(10, 50, 0), ran(5), sleep(65, 90, 1)]);
    assert_eq!((history.wakes[0].by, history.wakes[1].by), (Some(B), None));
    assert_eq!(e.steps(B), [ran(40), Step::Woke(0), ran(10)]);
}

#[test]
fn a_wake_up_that_comes_before_the_sleep_ends_it_at_once() {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A)).on(1, 8, EventKind::Waking { task: A, target: CpuId(0) }).switch(
        10,
        Some(A),
        Sleeping,
        None,
    );
    let sleep = Step::Slept { from: Some(at(10)), until: Some(at(10)), wake: Some(0) };
    assert_eq!(e.steps(A), [ran(10), sleep]);
    // One that finds the task still on its CPU does not end a later sleep.
    let mut e = events();
    e.switch(0, None, Runnable, Some(A))
        .waking(8, A)
        .on(0, 9, EventKind::Wakeup { task: A, target: CpuId(0) })
        .switch(20, Some(A), Sleeping, None);
    assert_eq!(e.steps(A).last(), Some(&Step::Slept { from: Some(at(20)), until: None, wake: None }));
    assert!(!e.history().wakes[0].ended_sleep);
}

#[test]
fn a_charge_gives_a_task_away_whose_switch_was_lost() {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A)).switch(10, Some(A), Sleeping, None);
    // A is woken and switched to unseen, wakes B, and is charged 30 us at 100.
    e.waking(75, B).on(0, 100, EventKind::Runtime { task: A, ran: us(30) }).switch(
        101,
        Some(A),
        Sleeping,
        Some(B),
    );
    let history = e.history();
    let sleep = Step::Slept { from: Some(at(10)), until: Some(at(70)), wake: None };
    let rest = Step::Slept { from: Some(at(101)), until: None, wake: None };
    assert_eq!(e.steps(A), [ran(10), sleep, ran(5), Step::Woke(0), ran(26), rest]);
    assert_eq!((history.wakes[0].by, history.holes()), (Some(A), 1));
}

#[test]
fn a_task_that_vanishes_ran_for_what_it_was_charged() {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A)).on(0, 20, EventKind::Runtime { task: A, ran: us(20) }).switch(
        5_000,
        None,
        Runnable,
        Some(B),
    );
    assert_eq!(e.steps(A), [ran(20)]);
    e.waking(6_000, A);
    let sleep = Step::Slept { from: Some(at(20)), until: Some(at(6_000)), wake: Some(0) };
    assert_eq!(e.steps(A), [ran(20), sleep]);
}

#[test]
fn whoever_had_left_unseen_woke_nobody() {
    let mut e = events();
    // A is charged for 20 us and leaves unseen; an interrupt on the idle CPU wakes B much later.
    e.switch(0, None, Runnable, Some(A)).on(0, 20, EventKind::Runtime { task: A, ran: us(20) }).waking(5, C);
    e.0.sort_by_key(|e| e.time);
    e.waking(4_000, B).switch(4_010, None, Runnable, Some(B));
    let history = e.history();
    assert_eq!(e.steps(A), [ran(5), Step::Woke(0), ran(15)]);
    assert_eq!((history.wakes[0].by, history.wakes[1].by), (Some(A), None));
}

#[test]
fn forks_are_their_parents_doing() {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A))
        .on(0, 5, EventKind::Fork { parent: Some(A), child: B })
        .on(0, 6, EventKind::WakeupNew { task: B, target: CpuId(0) })
        .switch(9, Some(A), PrevState::Dead, Some(B))
        .on(0, 12, EventKind::WakeupNew { task: C, target: CpuId(0) });
    let history = e.history();
    assert_eq!(e.steps(A), [ran(5), Step::Forked(B), ran(4), Step::Exited]);
    assert_eq!(history.tasks[1].origin, Some(Origin::Forked));
    assert_eq!(history.tasks[2].origin, Some(Origin::Appeared(at(12), CpuId(0))));
}

fn names(n: usize) -> RecordedTasks {
    (0..n).map(|i| RecordedTask { pid: 100 + i as u32, comm: format!("t{i}"), prio: Some(120) }).collect()
}

fn context(text: &str) -> Context {
    context::read("c.toml", text.as_bytes(), &Overrides::default(), &|_| unreachable!(), Some(2)).unwrap()
}

/// Runs a scenario; what it comes to, and its events.
fn run(text: &str) -> (Summary, Vec<SchedEvent>, usize) {
    let scenario =
        scenario::read("s.toml", text.as_bytes(), &Overrides::default(), &|_| unreachable!()).unwrap();
    let mut sim = scenario.simulate().unwrap();
    let (mut metrics, mut events) = (Metrics::new(), Vec::new());
    sim.run_until(Instant(scenario.duration.0), &mut |e: &SchedEvent| {
        metrics.feed(e);
        events.push(*e);
    });
    metrics.advance(sim.now());
    (metrics.summary(), events, sim.task_count())
}

/// Replays events; what that comes to, by recorded task.
fn replay(events: &[SchedEvent], tasks: usize, context: &Context) -> (Replay, Summary) {
    let mut history = History::new();
    events.iter().for_each(|e| history.feed(e));
    history.finish();
    let replay = Replay::new(&history, &names(tasks), context, Options::default());
    let mut sim = replay.simulate().unwrap();
    let mut metrics = Metrics::new();
    sim.run_until(replay.end(), &mut |e: &SchedEvent| {
        if e.time >= replay.begin() {
            metrics.feed(e);
        }
    });
    metrics.advance(replay.end());
    let mut summary = metrics.summary();
    let by_recorded: BTreeMap<_, _> =
        summary.tasks.iter().map(|(&t, f)| (replay.recorded(&sim, t), f.clone())).collect();
    summary.tasks = by_recorded;
    (replay, summary)
}

const MIX: &str = r#"
    machine = "1cpu"
    duration = "2s"
    [[workload]]
    kind = "hog"
    name = "hog"
    [[workload]]
    kind = "hog"
    name = "nice"
    nice = 5
    [[workload]]
    name = "client"
    program = "forever { run 300us; post work; sleep 9ms }"
    [[workload]]
    name = "server"
    program = "forever { acquire work; run 1ms }"
"#;

#[test]
fn a_schedule_replays_as_itself() {
    let (recorded, events, tasks) = run(MIX);
    let context =
        context("kernel = \"6.12\"\ncpus = 1\ncosts = \"ideal\"\n[[task]]\nmatch = \"t1\"\nnice = 5");
    let (replay, simulated) = replay(&events, tasks, &context);
    assert_eq!(replay.remarks.len(), 2, "the hogs go on: {:?}", replay.remarks);
    for (task, before) in &recorded.tasks {
        let after = &simulated.tasks[task];
        let (x, y) = (recorded.share(before.run()), simulated.share(after.run()));
        assert!((x - y).abs() < 0.005, "{task:?}: {x} {y}");
        let (x, y) = (before.switches_in, after.switches_in);
        assert!(x.abs_diff(y) * 20 <= x, "{task:?}: {x} {y}");
    }
}

#[test]
fn hogs_follow_weights_that_they_were_not_recorded_with() {
    let (_, events, tasks) = run(MIX);
    // In the recording the second hog was nice.
    let equal = context("kernel = \"6.12\"\ncpus = 1\ncosts = \"ideal\"\n[[task]]\nmatch = \"*\"\nnice = 0");
    let (_, simulated) = replay(&events, tasks, &equal);
    let share = |t: TaskId| simulated.share(simulated.tasks[&t].run());
    assert!((share(A) - share(B)).abs() < 0.01, "{} {}", share(A), share(B));
}

#[test]
fn a_wake_up_keeps_its_cause() {
    let (_, events, tasks) = run(MIX);
    // A client that is slowed down asks less often, and the server has less to do.
    let slow = context("kernel = \"6.12\"\ncpus = 1\n[[task]]\nmatch = \"t2\"\npolicy = \"idle\"");
    let (_, simulated) = replay(&events, tasks, &slow);
    let (client, server) = (&simulated.tasks[&C], &simulated.tasks[&TaskId(3)]);
    assert!(client.voluntary < 100, "{}", client.voluntary);
    assert!(server.voluntary.abs_diff(client.voluntary) <= 2, "{} {}", server.voluntary, client.voluntary);
}

/// A calls B every 80 us, which takes 40 to 50 for the answer. In the first `slept` of 14 rounds A falls asleep until
/// the answer comes, in the others B preempts it at once.
fn calls(slept: u64) -> Events {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A));
    for round in 0..14 {
        let t = round * 80;
        e.waking(t + 30, B);
        if round < slept {
            e.switch(t + 33, Some(A), Sleeping, Some(B)).waking(t + 70, A);
            e.switch(t + 75, Some(B), Sleeping, Some(A));
        } else {
            e.switch(t + 31, Some(A), Runnable, Some(B)).switch(t + 80, Some(B), Sleeping, Some(A));
        }
    }
    e.switch(1_160, Some(A), Sleeping, None);
    e
}

#[test]
fn a_caller_waits_for_answers_that_it_found_as_well() {
    let apart = "kernel = \"6.12\"\ncpus = 2\ncosts = \"ideal\"\n[[task]]\npid = 100\ncpus = \"0\"\n\
                 [[task]]\npid = 101\ncpus = \"1\"";
    let sleeps = |slept| {
        let (_, simulated) = replay(&calls(slept).0, 2, &context(apart));
        (simulated.tasks[&A].voluntary, simulated.tasks[&B].voluntary)
    };
    // On a CPU of its own, A falls asleep after each call, and B between them.
    let (a, b) = sleeps(5);
    assert!(a >= 13 && b >= 13, "{a} {b}");
    // If it was never seen to sleep, it does not wait: nothing says that it needs an answer.
    let (a, b) = sleeps(0);
    assert!(a <= 2, "{a} {b}");
}

#[test]
fn who_calls_first_is_answered_first() {
    // A and C, on CPUs of their own, call B in turn. In the replay C has next to no CPU time.
    let mut e = events();
    e.switch(0, None, Runnable, Some(A)).on(
        1,
        0,
        EventKind::Switch { prev: None, prev_state: Runnable, next: Some(C) },
    );
    for round in 0..20 {
        let t = round * 400;
        e.waking(t + 100, B).switch(t + 105, Some(A), Sleeping, Some(B)).waking(t + 150, A);
        e.switch(t + 155, Some(B), Sleeping, Some(A));
        e.on(1, t + 200, EventKind::Waking { task: B, target: CpuId(0) });
        e.switch(t + 201, Some(A), Runnable, Some(B));
        e.on(1, t + 205, EventKind::Switch { prev: Some(C), prev_state: Sleeping, next: None });
        e.on(0, t + 250, EventKind::Waking { task: C, target: CpuId(1) });
        e.on(1, t + 252, EventKind::Switch { prev: None, prev_state: Runnable, next: Some(C) });
        e.switch(t + 255, Some(B), Sleeping, Some(A));
    }
    e.switch(8_050, Some(A), Sleeping, None);
    let limited = "kernel = \"6.12\"\ncpus = 2\ncosts = \"ideal\"\n[cgroup.\"/c\"]\n\"cpu.max\" = \"1000 100000\"\n\
                   [[task]]\npid = 102\ncpus = \"1\"\ncgroup = \"/c\"\n[[task]]\nmatch = \"*\"\ncpus = \"0\"";
    let (_, simulated) = replay(&e.0, 3, &context(limited));
    assert!(simulated.tasks[&C].voluntary < 10, "C hardly gets on: {}", simulated.tasks[&C].voluntary);
    // A has 6 ms to do; if B answered in the recorded order, it would get no further than C.
    assert!(simulated.tasks[&A].run() >= us(5_000), "A does: {:?}", simulated.tasks[&A].run());
}

#[test]
fn timers_that_find_another_task_running_are_not_its_doing() {
    // B and A share CPU 0. In each round B sleeps for 150 us, at the end of which A runs, and then until C on CPU 1
    // wakes it.
    let mut e = events();
    e.on(1, 0, EventKind::Switch { prev: None, prev_state: Runnable, next: Some(C) });
    e.switch(0, None, Runnable, Some(B));
    let mut t = 0;
    for round in 0..20 {
        t += 2_000;
        e.switch(t, Some(B), Sleeping, Some(A)).waking(t + 150, B).switch(
            t + 151,
            Some(A),
            Runnable,
            Some(B),
        );
        e.switch(t + 400, Some(B), Sleeping, Some(A)).switch(t + 420, Some(A), Sleeping, None);
        e.on(1, t + 430, EventKind::Waking { task: A, target: CpuId(0) }).switch(
            t + 435,
            None,
            Runnable,
            Some(A),
        );
        let later = t + 700 + round * round * 37 % 600;
        e.on(1, later, EventKind::Waking { task: B, target: CpuId(0) });
        e.switch(later + 5, Some(A), Runnable, Some(B));
    }
    let history = e.history();
    let causes = super::cause::Causes::of(&history);
    let (timers, others): (Vec<&super::history::WakeUp>, Vec<_>) =
        history.wakes.iter().partition(|wake| wake.on == CpuId(0));
    assert_eq!((timers.len(), others.len()), (20, 40));
    assert!(timers.iter().all(|wake| wake.by == Some(A) && !causes.is_by_task(wake)));
    assert!(others.iter().all(|wake| wake.by == Some(C) && causes.is_by_task(wake)));
}

#[test]
fn repetitions_have_their_own_chance_and_nothing_else() {
    let (_, mut events, tasks) = run(&MIX.replace("1cpu", "2cpu"));
    // Ticks are a little late now and then, as on a machine.
    for (n, event) in events.iter_mut().enumerate() {
        if let EventKind::Runtime { .. } = event.kind {
            event.time += us(n as u64 * 7 % 9);
        }
    }
    let mut history = History::new();
    events.iter().for_each(|e| history.feed(e));
    history.finish();
    let context = context("kernel = \"6.12\"\ncpus = 2");
    let of = |repetition| {
        let options = Options { repetition, ..Options::default() };
        Replay::new(&history, &names(tasks), &context, options)
    };
    assert!(of(0).setup.tick_jitter > Nanos::ZERO && of(0).setup.tick_jitter < us(12));
    assert_eq!(of(3), of(3));
    assert_eq!(of(0).workload, of(3).workload);
    assert_ne!(
        (of(0).setup.seed, of(0).setup.config.newidle_seed),
        (of(3).setup.seed, of(3).setup.config.newidle_seed)
    );
}

#[test]
fn a_task_that_waits_beside_an_idle_cpu_is_taken_to_be_bound() {
    let bound = MIX.replace("1cpu", "2cpu").replace("kind = \"hog\"", "kind = \"hog\"\ncpus = \"1\"");
    let (_, events, tasks) = run(&bound);
    let context = context("kernel = \"6.12\"\ncpus = 2");
    let (replay, simulated) = replay(&events, tasks, &context);
    assert!(
        replay.remarks.iter().any(|r| r.to_string().starts_with("t0 (100) is taken to be bound to CPU 1"))
    );
    assert_eq!(simulated.tasks[&A].per_cpu.keys().collect::<Vec<_>>(), [&CpuId(1)]);
}

#[test]
fn cpus_that_a_smaller_machine_lacks_bind_nobody() {
    let (_, events, tasks) = run(MIX);
    let one = Overrides {
        machine: Some(zerolag_core::topology::Topology::preset("1cpu").unwrap()),
        ..Overrides::default()
    };
    let text = b"cpus = 4\n[[task]]\npid = 100\ncpus = \"3\"";
    let context = context::read("c.toml", text, &one, &|_| unreachable!(), None).unwrap();
    let (replay, _) = replay(&events, tasks, &context);
    assert!(replay.remarks.iter().any(|r| r.to_string().starts_with("t0 (100) is bound to CPUs that")));
}

#[test]
fn mistakes_in_a_context_are_named_with_their_place() {
    let complaint = |text: &str| {
        let no_file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let read = context::read("c.toml", text.as_bytes(), &Overrides::default(), &no_file, None);
        read.unwrap_err().to_string()
    };
    for (text, said) in [
        ("kernel = \"6.12\"", "has no 'cpus'"),
        ("cpus = 2\nmachine = \"2cpu\"", "both 'machine' and 'cpus'"),
        ("cpus = 0", "c.toml:1:8: 'cpus' is 0"),
        ("cpus = 2\nkernle = \"6.1\"", "did you mean 'kernel'?"),
        ("cpus = 2\n[[task]]\ncpus = \"1\"", "has no 'match'"),
        ("cpus = 2\n[[task]]\nmatch = \"a\"\npid = 1", "both 'match' and 'pid'"),
        ("cpus = 2\n[[task]]\nmatch = \"a\"\ncpus = \"2\"", "0 to 1"),
        ("cpus = 2\n[[task]]\nmatch = \"a\"\ncgroup = \"/b\"", "a group declared"),
        ("cpus = 2\n[cgroup.\"/b\"]\n\"cpu.max\" = \"1 2 3\"", "c.toml:3:13: 'cpu.max'"),
    ] {
        assert!(complaint(text).contains(said), "{text}: {}", complaint(text));
    }
}

fn any_event() -> impl Strategy<Value = (u32, u64, EventKind)> {
    let task = || (0..6u32).prop_map(TaskId);
    let maybe = || proptest::option::of((0..6u32).prop_map(TaskId));
    let state = prop_oneof![
        Just(Runnable),
        Just(Sleeping),
        Just(PrevState::Dead),
        Just(PrevState::Other),
        Just(PrevState::Uninterruptible)
    ];
    let target = || (0..70u32).prop_map(CpuId);
    let kind = prop_oneof![
        4 => (maybe(), state, maybe()).prop_map(|(prev, prev_state, next)| EventKind::Switch { prev, prev_state, next }),
        2 => (task(), target()).prop_map(|(task, target)| EventKind::Waking { task, target }),
        2 => (task(), target()).prop_map(|(task, target)| EventKind::Wakeup { task, target }),
        1 => (task(), target()).prop_map(|(task, target)| EventKind::WakeupNew { task, target }),
        1 => (task(), target(), target()).prop_map(|(task, from, to)| EventKind::Migrate { task, from, to }),
        1 => (maybe(), task()).prop_map(|(parent, child)| EventKind::Fork { parent, child }),
        1 => task().prop_map(|task| EventKind::Exit { task }),
        2 => (task(), 0..5000u64).prop_map(|(task, t)| EventKind::Runtime { task, ran: us(t) }),
    ];
    (0..3u32, 0..3000u64, kind)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a damaged recording says, it is replayed, and ends.
    #[test]
    fn no_events_make_no_sense(steps in proptest::collection::vec(any_event(), 1..150)) {
        let mut now = 0;
        let events: Vec<SchedEvent> = steps
            .into_iter()
            .map(|(cpu, step, kind)| {
                now += step;
                SchedEvent { time: at(now), cpu: CpuId(cpu), kind }
            })
            .collect();
        // One task fewer than the events name.
        replay(&events, 5, &context("kernel = \"6.18\"\ncpus = 2"));
    }
}

/// The load averages of A and B so long after a replay begins.
fn loads(history: &History, context: &Context, after: Nanos) -> [u64; 2] {
    let replay = Replay::new(history, &names(2), context, Options::default());
    let mut sim = replay.simulate().unwrap();
    sim.run_until(replay.begin() + after, &mut ());
    [A, B].map(|task| {
        let here = (0..sim.task_count()).map(TaskId::from_index).find(|&t| replay.recorded(&sim, t) == task);
        let task = &sim.scheduler().tasks()[here.unwrap()];
        sim.scheduler().entities()[task.entity].avg.load_avg
    })
}

#[test]
fn who_slept_for_long_brings_no_load() {
    let mut e = events();
    e.switch(0, None, Runnable, Some(A)).waking(1_000, B).switch(1_010, Some(A), Runnable, Some(B));
    e.switch(1_100, Some(B), Sleeping, Some(A)).switch(60_000, Some(A), Sleeping, None);
    let context = context("kernel = \"6.12\"\ncpus = 1\ncosts = \"ideal\"");
    let [a, b] = loads(&e.history(), &context, us(1_050));
    assert!(a > 1000 && b < 10, "{a} {b}");
}

#[test]
fn a_call_on_somebody_who_is_awake_is_one_as_well() {
    // A and C, on CPUs of their own, call B. In every other round C does so while B works for A: nobody is woken.
    let on_its_cpu = |prev, prev_state, next| EventKind::Switch { prev, prev_state, next };
    let mut e = events();
    e.on(1, 0, on_its_cpu(None, Runnable, Some(A))).on(0, 0, on_its_cpu(None, Runnable, Some(C)));
    let b = |e: &mut Events, time, prev, how, next| _ = e.on(2, time, on_its_cpu(prev, how, next));
    b(&mut e, 1, Some(B), Sleeping, None);
    for round in 0..20 {
        let t = round * 400;
        e.on(1, t + 100, EventKind::Waking { task: B, target: CpuId(2) });
        b(&mut e, t + 101, None, Runnable, Some(B));
        e.on(1, t + 102, on_its_cpu(Some(A), Sleeping, None));
        if round % 2 == 0 {
            e.switch(t + 120, Some(C), Sleeping, None);
        }
        e.on(2, t + 140, EventKind::Waking { task: A, target: CpuId(1) });
        e.on(1, t + 141, on_its_cpu(None, Runnable, Some(A)));
        if round % 2 == 0 {
            e.on(2, t + 145, EventKind::Waking { task: C, target: CpuId(0) });
            e.switch(t + 146, None, Runnable, Some(C));
        }
        b(&mut e, t + 150, Some(B), Sleeping, None);
        if round % 2 == 1 {
            e.waking(t + 200, B);
            b(&mut e, t + 201, None, Runnable, Some(B));
            e.switch(t + 202, Some(C), Sleeping, None);
            e.on(2, t + 230, EventKind::Waking { task: C, target: CpuId(0) });
            e.switch(t + 231, None, Runnable, Some(C));
            b(&mut e, t + 240, Some(B), Sleeping, None);
        }
    }
    // In the replay A has next to no CPU time. C asks no less often for that, and is answered.
    let limited = "kernel = \"6.12\"\ncpus = 3\ncosts = \"ideal\"\n[cgroup.\"/a\"]\n\"cpu.max\" = \"1000 100000\"\n\
                   [[task]]\npid = 100\ncpus = \"1\"\ncgroup = \"/a\"\n[[task]]\npid = 101\ncpus = \"2\"\n\
                   [[task]]\npid = 102\ncpus = \"0\"";
    let (_, simulated) = replay(&e.0, 3, &context(limited));
    assert!(simulated.tasks[&A].voluntary < 10, "A hardly gets on: {}", simulated.tasks[&A].voluntary);
    assert!(simulated.tasks[&C].run() >= us(5_000), "C does: {:?}", simulated.tasks[&C].run());
}

#[test]
fn who_mostly_sleeps_and_is_awake_at_the_beginning_brings_no_load_either() {
    let mut e = events();
    e.switch(0, Some(A), Runnable, Some(B)).switch(100, Some(B), Sleeping, Some(A));
    e.waking(50_000, B).switch(50_010, Some(A), Runnable, Some(B)).switch(50_100, Some(B), Sleeping, Some(A));
    e.switch(60_000, Some(A), Sleeping, None);
    let context = context("kernel = \"6.12\"\ncpus = 1\ncosts = \"ideal\"");
    let [a, b] = loads(&e.history(), &context, us(5_000));
    assert!(a > 1000 && b < 200, "{a} {b}");
}

#[test]
fn who_keeps_a_beat_and_is_late_falls_asleep_all_the_same() {
    // A runs for 200 us of each ms, B all the time.
    let mut e = events();
    e.switch(0, None, Runnable, Some(B));
    for beat in 1..=40 {
        let t = beat * 1000;
        e.waking(t, A).switch(t + 5, Some(B), Runnable, Some(A));
        e.switch(t + 200, Some(A), Sleeping, Some(B));
    }
    e.switch(41_500, Some(B), Sleeping, None);
    // In the replay B does not give way so soon: for a tick of 4 ms, three beats are missed.
    let context =
        context("kernel = \"6.12\"\ncpus = 1\nhz = 250\ncosts = \"ideal\"\n[[task]]\npid = 100\nnice = 4");
    let (_, simulated) = replay(&e.0, 2, &context);
    let a = &simulated.tasks[&A];
    assert!(a.wakeup.max().is_some_and(|late| late > us(2_500)), "{:?}", a.wakeup.max());
    assert!(a.voluntary >= 36, "{}", a.voluntary);
}
