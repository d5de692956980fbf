// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag bench`: what a decision costs, in the reference's own loops, timed as the reference times them.
//!
//! Each step is timed by itself, the cost of reading the clock is taken off, and of seven repetitions the
//! least counts: the question is what the code costs, not how busy the computer was. oracle/bench prints the
//! result beside the reference's from the same run.

use std::io::Write;
use std::time::{Duration, Instant};

use zerolag_core::config::Config;
use zerolag_sim::loops::{Loop, ManyCpus, PING_PONG_STEP, ROUND_ROBIN_STEP};

use crate::args::high;
use crate::args::low;
use crate::failure::Failure;
use crate::table;

const REPETITIONS: usize = 7;

/// Measures and prints, for each number of tasks.
pub(crate) fn run(args: &low::Bench, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(cpus) = args.cpus {
        return run_many(args, cpus, out);
    }
    let config = high::config(args.kernel, 1)?;
    let clock = Clock::calibrate();
    let columns = ["TASKS", "DEPTH", "TICK_NS", "SWITCH_NS", "WAKE_NS", "SLEEP_NS"];
    let rows = args.tasks.iter().map(|&tasks| {
        let costs = measure(&clock, &config, tasks, args.depth, args.iterations);
        let ns = [costs.tick, costs.switch, costs.wake, costs.sleep].map(|ns| format!("{ns:.1}"));
        [tasks.to_string(), args.depth.to_string()].into_iter().chain(ns).collect()
    });
    Ok(table::write(out, &columns, rows)?)
}

/// The same on several CPUs.
fn run_many(args: &low::Bench, cpus: usize, out: &mut dyn Write) -> Result<(), Failure> {
    let config = high::config(args.kernel, cpus)?;
    let clock = Clock::calibrate();
    let mut machine = ManyCpus::new(config, cpus, args.nodes).map_err(|e| Failure::input(e.to_string()))?;
    let mut least = [f64::INFINITY; 4];
    for _ in 0..REPETITIONS {
        let mut steps = [(Duration::ZERO, 0_u32); 4];
        for _ in 0..args.iterations {
            machine.round(&mut |step, act| {
                let (total, times) = &mut steps[step as usize];
                clock.time(total, act);
                *times += 1;
            });
        }
        for (least, (total, times)) in least.iter_mut().zip(steps) {
            // What hardly ever happens does not make an average.
            if times >= 100 {
                *least = least.min(total.as_nanos() as f64 / f64::from(times));
            }
        }
    }
    let columns = ["CPUS", "NODES", "WAKE_NS", "SLEEP_NS", "RESCHED_NS", "TICK_NS"];
    let ns = least.map(|ns| if ns.is_finite() { format!("{ns:.1}") } else { "-".to_string() });
    let row = [cpus.to_string(), args.nodes.to_string()].into_iter().chain(ns).collect();
    Ok(table::write(out, &columns, [row])?)
}

/// Nanoseconds for each step, on average.
#[derive(Clone, Copy)]
struct Costs {
    tick: f64,
    switch: f64,
    wake: f64,
    sleep: f64,
}

impl Costs {
    fn min(self, other: Self) -> Self {
        Self {
            tick: self.tick.min(other.tick),
            switch: self.switch.min(other.switch),
            wake: self.wake.min(other.wake),
            sleep: self.sleep.min(other.sleep),
        }
    }
}

/// The computer's clock, and what reading it costs.
struct Clock {
    reading: Duration,
}

impl Clock {
    fn calibrate() -> Self {
        let once = |_| Instant::now().elapsed();
        Self { reading: (0..10_000).map(once).min().unwrap_or_default() }
    }

    fn time(&self, total: &mut Duration, step: impl FnOnce()) {
        let before = Instant::now();
        step();
        *total += before.elapsed().saturating_sub(self.reading);
    }
}

fn measure(clock: &Clock, config: &Config, tasks: usize, depth: usize, iterations: u32) -> Costs {
    let mut machine = Loop::new(config.clone(), tasks, depth);
    let warm_up = 2 * tasks as u32 + 1000;
    let repeat = |_| {
        round_robin(clock, &mut machine, warm_up);
        let [tick, switch] = round_robin(clock, &mut machine, iterations);
        for _ in 0..tasks / 2 {
            machine.advance(PING_PONG_STEP);
            machine.sleep();
        }
        ping_pong(clock, &mut machine, warm_up);
        let [wake, sleep] = ping_pong(clock, &mut machine, iterations);
        while machine.wake() {}
        let each = |total: Duration| total.as_nanos() as f64 / f64::from(iterations);
        Costs { tick: each(tick), switch: each(switch), wake: each(wake), sleep: each(sleep) }
    };
    (0..REPETITIONS).map(repeat).reduce(Costs::min).expect("there is at least one repetition")
}

fn round_robin(clock: &Clock, machine: &mut Loop, iterations: u32) -> [Duration; 2] {
    let [mut tick, mut switch] = [Duration::ZERO; 2];
    for _ in 0..iterations {
        machine.advance(ROUND_ROBIN_STEP);
        clock.time(&mut tick, || machine.tick());
        clock.time(&mut switch, || {
            machine.switch();
        });
    }
    [tick, switch]
}

fn ping_pong(clock: &Clock, machine: &mut Loop, iterations: u32) -> [Duration; 2] {
    let [mut wake, mut sleep] = [Duration::ZERO; 2];
    for _ in 0..iterations {
        machine.advance(PING_PONG_STEP);
        clock.time(&mut wake, || {
            machine.wake();
        });
        machine.advance(PING_PONG_STEP);
        clock.time(&mut sleep, || {
            machine.sleep();
        });
    }
    [wake, sleep]
}
