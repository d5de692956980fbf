// SPDX-License-Identifier: GPL-2.0-only
//! How many scheduling events per second the simulator handles, by number of CPUs.
//!
//! `cargo run --release -p zerolag-sim --example speed`
//!
//! The load: for each CPU a hog and two tasks that run 100 µs and sleep 400 µs (together more than the CPU
//! has), and a pair of tasks that wake each other. Events are switches, wake-ups, ticks, births and ends.
//!
//! The clock runs once everybody is born and has found a place: the first 20 ms are not counted, in which thousands of
//! forks look for the idlest of a thousand CPUs.

use std::time::Instant as HostInstant;

use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::program::{Op, Program, ProgramBuilder, Times};
use zerolag_sim::resource::{Ref, SemaphoreSpec};
use zerolag_sim::sim::{EventHash, Setup, Sim};
use zerolag_sim::workload::{Start, Template, Workload};

/// From here on the clock runs.
const STEADY: Instant = Instant(20_000_000);
/// Simulated time, of all CPUs together.
const CPU_TIME: Nanos = Nanos::from_secs(64);

fn main() {
    println!(
        "{:>5} {:>12} {:>10} {:>12} {:>12}  event hash",
        "CPUs", "events", "host s", "events/s", "queue ev/s"
    );
    for cpus in [2, 8, 64, 384, 1024] {
        let span = Nanos(CPU_TIME.0 / cpus);
        let mut sim = sim(cpus);
        sim.run_until(STEADY, &mut ());
        let before = (sim.stats().scheduling_events(), sim.stats().events);
        let began = HostInstant::now();
        sim.run_until(STEADY + span, &mut ());
        let seconds = began.elapsed().as_secs_f64();
        let events = sim.stats().scheduling_events() - before.0;

        let mut hash = EventHash::default();
        self::sim(cpus).run_until(Instant(span.0 / 20), &mut hash);
        println!(
            "{cpus:>5} {events:>12} {seconds:>10.3} {:>12.0} {:>12.0}  {:016x}",
            events as f64 / seconds,
            (sim.stats().events - before.1) as f64 / seconds,
            hash.get()
        );
    }
}

fn sim(cpus: u64) -> Sim {
    let topology = Topology::preset(&format!("{cpus}cpu")).expect("a regular machine");
    let config = Kernel::V6_12.config(topology.cpu_count()).expect("an implemented kernel");
    Sim::new(Setup::new(topology, config), workload(cpus as u32)).expect("a workload that makes sense")
}

fn forever(ops: &[Op]) -> Program {
    let mut b = ProgramBuilder::new();
    b.begin(Times::Forever);
    for &op in ops {
        b.op(op);
    }
    b.end().build().expect("a program that makes sense")
}

fn workload(cpus: u32) -> Workload {
    let us = Nanos::from_micros;
    let mut w = Workload::new();
    let hog = w.template(Template::new("hog", forever(&[Op::Run(Nanos::from_secs(1).into())])));
    let periodic =
        w.template(Template::new("periodic", forever(&[Op::Run(us(100).into()), Op::Sleep(us(400).into())])));
    let pair = w.template(Template::new(
        "pair",
        forever(&[Op::Acquire(Ref::Argument(0)), Op::Run(us(5).into()), Op::Post(Ref::Argument(1))]),
    ));
    for cpu in 0..cpus {
        w.start(Start::new(hog));
        w.start(Start::new(periodic));
        w.start(Start::new(periodic));
        for side in 0..2 {
            w.semaphores.push(SemaphoreSpec { name: format!("{cpu}.{side}"), initial: side, max: 1 });
        }
        for side in 0..2 {
            w.start(Start { arguments: Some(vec![2 * cpu + side, 2 * cpu + 1 - side]), ..Start::new(pair) });
        }
    }
    w
}
