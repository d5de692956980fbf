// SPDX-License-Identifier: GPL-2.0-only
//! Promises of a simulation as a whole: the same again, clones, diagnoses, memory.

use zerolag_core::kernel::Kernel;
use zerolag_core::units::Nanos;

use super::*;
use crate::length::{Distribution, Length};
use crate::program::{Op, Program, ProgramBuilder, Times};
use crate::resource::{BarrierSpec, MutexId, Named, SemaphoreId, SemaphoreSpec};
use crate::workload::{Start, Template};

const MS: Nanos = Nanos::from_millis(1);

fn setup(machine: &str) -> Setup {
    let topology = Topology::preset(machine).unwrap();
    let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
    Setup::new(topology, config)
}

fn once(ops: &[Op]) -> Program {
    let mut b = ProgramBuilder::new();
    for &op in ops {
        b.op(op);
    }
    b.build().unwrap()
}

fn workload(programs: &[(&str, Program)]) -> Workload {
    let mut w = Workload::new();
    for (name, program) in programs {
        let t = w.template(Template::new(*name, program.clone()));
        w.start(Start::new(t));
    }
    w
}

/// Hogs, random sleepers and a pair, more than the machine can do.
fn mixed() -> Workload {
    let mut b = ProgramBuilder::new();
    let think = b.distribution(Distribution::Exponential { mean: MS });
    let sleeper = b
        .begin(Times::Forever)
        .op(Op::Run(Length::Drawn(think)))
        .op(Op::Sleep(Length::Drawn(think)))
        .op(Op::Post(SemaphoreId(0).into()))
        .end()
        .build()
        .unwrap();
    let reader = ProgramBuilder::new()
        .begin(Times::Forever)
        .op(Op::Acquire(SemaphoreId(0).into()))
        .op(Op::Run(MS.into()))
        .end()
        .build()
        .unwrap();
    let hog = ProgramBuilder::new().begin(Times::Forever).op(Op::Run(MS.into())).end().build().unwrap();
    let mut w = workload(&[("a", sleeper.clone()), ("b", sleeper), ("reader", reader), ("hog", hog)]);
    w.semaphores.push(SemaphoreSpec { name: "s".into(), initial: 0, max: 100 });
    w
}

fn hash_of(sim: &mut Sim, end: Instant) -> u64 {
    let mut hash = EventHash::default();
    assert_eq!(sim.run_until(end, &mut hash), None);
    hash.get()
}

/// The kernel's clock is never 0 when a task is born, so ours is not either; what observers see begins at 0 all the same.
#[test]
fn who_is_born_at_time_0_is_tracked() {
    let hog = once(&[Op::Run(Nanos::from_secs(1).into())]);
    let mut sim = Sim::new(setup("1cpu"), workload(&[("hog", hog)])).unwrap();
    let mut times = Vec::new();
    sim.run_until(Instant(500_000_000), &mut |event: &SchedEvent| times.push(event.time));
    let scheduler = sim.scheduler();
    let hog = &scheduler.entities()[scheduler.tasks()[TaskId(0)].entity];
    assert!(hog.avg.util_avg >= 1023, "it has run for 476 periods: {}", hog.avg.util_avg);
    assert_eq!((times[0], *times.last().unwrap()), (Instant::ZERO, Instant(500_000_000)));
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let run = |seed| {
        let mut sim = Sim::new(Setup { seed, costs: Costs::X86_SERVER, ..setup("2cpu") }, mixed()).unwrap();
        (hash_of(&mut sim, Instant(2_000_000_000)), sim)
    };
    let (first, sim) = run(7);
    let (second, other) = run(7);
    assert_eq!(first, second);
    assert!(sim == other, "the whole states are equal");
    assert_ne!(first, run(8).0);
}

#[test]
fn ticks_are_late_by_less_than_the_jitter_and_by_chance() {
    use zerolag_core::event::EventKind;
    let ticks = |seed| {
        let jitter = Setup { seed, tick_jitter: Nanos(20_000), ..setup("1cpu") };
        let mut ticks = Vec::new();
        Sim::new(jitter, mixed()).unwrap().run_until(Instant(1_000_000_000), &mut |event: &SchedEvent| {
            if event.kind == EventKind::Tick {
                ticks.push(event.time.0);
            }
        });
        ticks
    };
    let late: Vec<u64> = ticks(7).iter().map(|at| at % 4_000_000).collect();
    assert!(late.len() > 200 && late.iter().all(|&late| late < 20_000), "{late:?}");
    assert!(late.iter().any(|&late| late < 5_000) && late.iter().any(|&late| late > 15_000));
    assert_eq!(ticks(7), ticks(7));
    assert_ne!(ticks(7), ticks(8));
}

#[test]
fn observing_changes_nothing() {
    let mut watched = Sim::new(setup("2cpu"), mixed()).unwrap();
    let mut unwatched = watched.clone();
    hash_of(&mut watched, Instant(1_000_000_000));
    unwatched.run_until(Instant(1_000_000_000), &mut ());
    assert_eq!(watched.stats(), unwatched.stats());
}

#[test]
fn a_clone_goes_on_as_the_original_does() {
    let mut sim = Sim::new(setup("2cpu"), mixed()).unwrap();
    hash_of(&mut sim, Instant(123_456_789));
    let mut clone = sim.clone();
    assert_eq!(hash_of(&mut sim, Instant(1_000_000_000)), hash_of(&mut clone, Instant(1_000_000_000)));

    clone.change_at(
        Instant::ZERO,
        Change::Tasks {
            pattern: crate::pattern::Pattern::new("hog"),
            change: TaskChange::Nice(zerolag_core::nice::Nice::MAX),
        },
    );
    assert_ne!(hash_of(&mut sim, Instant(2_000_000_000)), hash_of(&mut clone, Instant(2_000_000_000)));
}

#[test]
fn stopping_and_going_on_is_the_same_as_going_on() {
    let mut sim = Sim::new(setup("2cpu"), mixed()).unwrap();
    let mut steps = sim.clone();
    let mut hash = EventHash::default();
    for ms in (0..=1000).step_by(7) {
        steps.run_until(Instant(ms * 1_000_000), &mut hash);
    }
    assert_eq!(hash.get(), hash_of(&mut sim, Instant(994_000_000)));
}

#[test]
fn two_hogs_share_a_cpu_equally() {
    let hog = once(&[Op::Run(Nanos::from_secs(10).into())]);
    let mut sim = Sim::new(setup("1cpu"), workload(&[("a", hog.clone()), ("b", hog)])).unwrap();
    let mut ran = [Nanos::ZERO; 2];
    sim.run_until(Instant(6_000_000_000), &mut |e: &SchedEvent| {
        if let zerolag_core::event::EventKind::Runtime { task, ran: span } = e.kind {
            ran[task.0 as usize] += span;
        }
    });
    // Charges lag behind by at most a tick, and a request is 0.7 ms: within one tick and one request.
    assert!(ran[0].0.abs_diff(ran[1].0) <= 8_000_000, "{ran:?}");
}

#[test]
fn a_lock_that_is_never_released_is_diagnosed() {
    let m = MutexId(0).into();
    let holder = once(&[Op::Lock(m), Op::Run(MS.into())]);
    let waiter = once(&[Op::Sleep(MS.into()), Op::Lock(m), Op::Run(MS.into())]);
    let mut w = workload(&[("holder", holder), ("waiter", waiter)]);
    w.mutexes.push(Named { name: "m".into() });
    let mut sim = Sim::new(setup("1cpu"), w).unwrap();
    let Some(Stop::Deadlock(waits)) = sim.run_until(Instant::MAX, &mut ()).cloned() else { panic!() };
    assert_eq!(waits.len(), 1);
    assert_eq!(
        waits[0].to_string(),
        "waiter has waited since 0.002050000 for mutex m, which holder had when it ended"
    );
    assert_eq!(sim.now(), Instant(2_050_000));
}

#[test]
fn a_deadly_embrace_is_diagnosed() {
    let (a, b) = (MutexId(0).into(), MutexId(1).into());
    let one = once(&[Op::Lock(a), Op::Sleep(MS.into()), Op::Lock(b)]);
    let other = once(&[Op::Lock(b), Op::Sleep(MS.into()), Op::Lock(a)]);
    let mut w = workload(&[("one", one), ("other", other)]);
    w.mutexes.push(Named { name: "a".into() });
    w.mutexes.push(Named { name: "b".into() });
    let mut sim = Sim::new(setup("2cpu"), w).unwrap();
    let Some(Stop::Deadlock(waits)) = sim.run_until(Instant::MAX, &mut ()) else { panic!() };
    let said: Vec<_> = waits.iter().map(Wait::to_string).collect();
    assert_eq!(
        said,
        [
            "one has waited since 0.001050000 for mutex b, which other has",
            "other has waited since 0.001050000 for mutex a, which one has"
        ]
    );
}

#[test]
fn taking_a_mutex_twice_waits_for_oneself() {
    let m = MutexId(0).into();
    let mut w = workload(&[("a", once(&[Op::Lock(m), Op::Lock(m)]))]);
    w.mutexes.push(Named { name: "m".into() });
    let mut sim = Sim::new(setup("1cpu"), w).unwrap();
    let Some(Stop::Deadlock(waits)) = sim.run_until(Instant::MAX, &mut ()) else { panic!() };
    assert_eq!(waits[0].to_string(), "a has waited since 0.000000000 for mutex m, which it has itself");
}

#[test]
fn tasks_that_go_on_without_time_passing_are_diagnosed() {
    let pass = |from, to| {
        let mut b = ProgramBuilder::new();
        b.begin(Times::Forever)
            .op(Op::Acquire(SemaphoreId(from).into()))
            .op(Op::Post(SemaphoreId(to).into()));
        b.end().build().unwrap()
    };
    let mut w = workload(&[("ping", pass(0, 1)), ("pong", pass(1, 0))]);
    for initial in [1, 0] {
        w.semaphores.push(SemaphoreSpec { name: "s".into(), initial, max: 1 });
    }
    let mut sim = Sim::new(setup("1cpu"), w.clone()).unwrap();
    let stop = sim.run_until(Instant(1_000_000_000), &mut ());
    assert!(matches!(stop, Some(Stop::Livelock { .. })), "{stop:?}");

    // When switching takes time the same workload is a benchmark.
    let mut sim = Sim::new(Setup { costs: Costs::X86_SERVER, ..setup("1cpu") }, w).unwrap();
    assert_eq!(sim.run_until(Instant(10_000_000), &mut ()), None);
}

#[test]
fn a_run_ends_with_its_last_task() {
    let b = crate::resource::BarrierId(0).into();
    let mut w = workload(&[
        ("a", once(&[Op::Run(MS.into()), Op::Barrier(b), Op::Run(MS.into())])),
        ("b", once(&[Op::Run(Nanos(3 * MS.0).into()), Op::Barrier(b)])),
    ]);
    w.barriers.push(BarrierSpec { name: "b".into(), parties: 2 });
    let mut sim = Sim::new(setup("2cpu"), w).unwrap();
    assert_eq!(sim.run_until(Instant::MAX, &mut ()), Some(&Stop::Finished));
    assert_eq!(sim.now(), Instant(4_000_000));
}

#[test]
fn nothing_to_run_is_finished_at_once() {
    let mut sim = Sim::new(setup("1cpu"), Workload::new()).unwrap();
    assert_eq!(sim.run_until(Instant::MAX, &mut ()), Some(&Stop::Finished));
}

#[test]
fn ties_may_come_in_any_order_and_work_is_still_done() {
    let total = |ties| {
        let mut sim = Sim::new(Setup { ties, ..setup("4cpu") }, mixed()).unwrap();
        let mut busy = 0;
        sim.run_until(Instant(1_000_000_000), &mut |e: &SchedEvent| {
            if let zerolag_core::event::EventKind::Runtime { ran, .. } = e.kind {
                busy += ran.0;
            }
        });
        busy
    };
    let plain = total(None);
    for seed in 1..4 {
        // Chance is drawn by the tasks, so only who runs where can differ.
        assert!(total(Some(seed)).abs_diff(plain) * 20 < plain);
    }
}
