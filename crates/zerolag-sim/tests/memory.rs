// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation costs in memory: nothing per event, and little per task.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::scenario::{Overrides, read};
use zerolag_sim::sim::Sim;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn sim(text: &str) -> Sim {
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = read("test.toml", text.as_bytes(), &Overrides::default(), &files);
    scenario.unwrap_or_else(|e| panic!("{e}")).simulate().unwrap_or_else(|e| panic!("{e}"))
}

/// One test, since the counters count for all threads.
#[test]
fn memory_is_bounded() {
    no_event_allocates();
    a_task_takes_less_than_a_kibibyte();
}

/// On a few CPUs and on many, with all that goes on there: searches for idle CPUs, balancing, and passes over those
/// whose tick is stopped.
fn no_event_allocates() {
    for (kernel, machine, scale, until_grown_ms, ms) in [
        ("6.12", "4cpu", 1, 4000, 2000),
        ("6.1", "4cpu", 1, 4000, 2000),
        ("6.12", "numa4x48", 40, 3500, 250),
        ("6.1", "numa4x48", 40, 3500, 250),
    ] {
        let mut sim = busy(kernel, machine, scale);
        // Queues, lists and heaps grow to what they need.
        sim.run_until(Instant(Nanos::from_millis(until_grown_ms).0), &mut ());
        let before = sim.stats().events;
        let region = Region::new(ALLOCATOR);
        sim.run_until(Instant(Nanos::from_millis(until_grown_ms + ms).0), &mut ());
        let used = region.change();
        let events = sim.stats().events - before;
        assert!(events > 100_000, "{events}");
        // A list that never had a member gets its memory with the first one, and keeps it.
        assert_eq!(used.deallocations, 0, "{kernel} on {machine}: {used:?} in {events} events");
        let grown = used.allocations + used.reallocations;
        assert!(grown * 100_000 <= events as usize, "{kernel} on {machine}: {used:?} in {events} events");
    }
}

/// Tasks of every kind, of most kinds `scale` times as many as on four CPUs.
fn busy(kernel: &str, machine: &str, scale: usize) -> Sim {
    let (hogs, sleepers, spinners) = (3 * scale, 20 * scale, 2);
    sim(&format!(
        r#"
kernel = "{kernel}"
machine = "{machine}"
duration = "1s"
costs = "x86-server"
cgroup."/a/b" = {{}}
channel.c = {{ capacity = 4096, overhead = 64 }}
[[workload]]
kind = "hog"
name = "hog"
count = {hogs}
cgroup = "/a/b"
[[workload]]
name = "sleeper"
count = {sleepers}
program = "forever {{ run exponential(100us); sleep exponential(1ms); post s }}"
[[workload]]
name = "woken"
count = 2
program = "forever {{ acquire s; lock m; run 10us; unlock m }}"
[[workload]]
name = "writer"
program = "forever {{ run 10us; write c 100 sync }}"
[[workload]]
name = "reader"
program = "forever {{ read c 100; run 12us }}"
[[workload]]
name = "spinner"
count = {spinners}
program = "forever {{ spin-lock l; run 5us; spin-unlock l; io 1ms d }}"
"#
    ))
}

fn a_task_takes_less_than_a_kibibyte() {
    // Arenas double; just below a power of two, so that what is counted is used.
    const TASKS: usize = 16_000;
    let mut sim = sim(&format!(
        r#"
machine = "2cpu"
duration = "1s"
[[workload]]
name = "t"
count = {TASKS}
program = "forever {{ timer 10s; repeat 2 {{ run 1us }} }}"
"#
    ));
    let region = Region::new(ALLOCATOR);
    sim.run_until(Instant(Nanos::from_secs(1).0), &mut ());
    let used = region.change();
    assert_eq!(sim.task_count(), TASKS);
    let bytes = used.bytes_allocated - used.bytes_deallocated;
    // What it started from: a place in the list of starts, with a name of its own.
    let each = bytes / TASKS + 120;
    assert!(each <= 800, "{each} bytes");
}
