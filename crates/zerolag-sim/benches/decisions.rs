// SPDX-License-Identifier: GPL-2.0-only
//! What picking, enqueueing, a tick and load tracking cost, by number of tasks and depth of groups.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use zerolag_core::kernel::Kernel;
use zerolag_core::pelt::{Sample, SchedAvg};
use zerolag_core::units::Instant;
use zerolag_sim::loops::{Loop, PING_PONG_STEP, ROUND_ROBIN_STEP};

const SIZES: [(usize, usize); 5] = [(2, 0), (16, 0), (1024, 0), (16, 3), (1024, 3)];

fn machine(tasks: usize, depth: usize) -> Loop {
    Loop::new(Kernel::V6_12.config(1).expect("6.12 is implemented"), tasks, depth)
}

/// A tick, then a switch: the running task is put back, another is picked.
fn round_robin(c: &mut Criterion) {
    let mut group = c.benchmark_group("tick and pick");
    for (tasks, depth) in SIZES {
        let mut machine = machine(tasks, depth);
        group.bench_function(BenchmarkId::from_parameter(format!("{tasks} tasks, {depth} deep")), |b| {
            b.iter(|| {
                machine.advance(ROUND_ROBIN_STEP);
                machine.tick();
                machine.switch()
            });
        });
    }
    group.finish();
}

/// A wake-up, then the running task goes to sleep and another is picked.
fn ping_pong(c: &mut Criterion) {
    let mut group = c.benchmark_group("enqueue, dequeue and pick");
    for (tasks, depth) in SIZES {
        let mut machine = machine(tasks, depth);
        for _ in 0..tasks / 2 {
            machine.advance(PING_PONG_STEP);
            machine.sleep();
        }
        group.bench_function(BenchmarkId::from_parameter(format!("{tasks} tasks, {depth} deep")), |b| {
            b.iter(|| {
                machine.advance(PING_PONG_STEP);
                machine.wake();
                machine.advance(PING_PONG_STEP);
                machine.sleep()
            });
        });
    }
    group.finish();
}

/// One update of one entity's averages, after a short and after a long time.
fn pelt(c: &mut Criterion) {
    let mut group = c.benchmark_group("load tracking");
    let sample = Sample { load: 1, runnable: 1, running: true };
    for (name, step) in [("20 us", 20_480), ("4 ms", 4_096_000), ("1 s", 1_024_000_000)] {
        let (mut average, mut now) = (SchedAvg::default(), 0);
        group.bench_function(name, |b| {
            b.iter(|| {
                now += step;
                black_box(&mut average).update(Instant(now), sample, 1024)
            });
        });
    }
    group.finish();
}

criterion_group!(decisions, round_robin, ping_pong, pelt);
criterion_main!(decisions);
