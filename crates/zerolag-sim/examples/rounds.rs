// SPDX-License-Identifier: GPL-2.0-only
//! Decisions with nothing around them, for counting their instructions: `ci/instructions` runs it under callgrind.
//!
//! `cargo run --release -p zerolag-sim --example rounds -- KERNEL TASKS DEPTH ROUNDS`
//!
//! The loops are those of `zerolag bench`, without the clock: so many ticks with a switch, then, half of the
//! tasks asleep, so many wake-ups with a sleep. Both begin with a warm-up whose length hangs on the tasks alone.

use std::process::ExitCode;

use zerolag_core::kernel::Kernel;
use zerolag_sim::loops::{Loop, PING_PONG_STEP, ROUND_ROBIN_STEP};

struct Args {
    kernel: Kernel,
    tasks: usize,
    depth: usize,
    rounds: usize,
}

fn parse() -> Option<Args> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, tasks, depth, rounds] = args.as_slice() else { return None };
    let tasks = tasks.parse().ok().filter(|&tasks| tasks > 0)?;
    Some(Args {
        kernel: Kernel::by_name(kernel)?,
        tasks,
        depth: depth.parse().ok()?,
        rounds: rounds.parse().ok()?,
    })
}

fn main() -> ExitCode {
    let Some(Args { kernel, tasks, depth, rounds }) = parse() else {
        eprintln!("rounds: takes a kernel, how many tasks, how deep in groups, how many rounds");
        return ExitCode::from(2);
    };
    let config = kernel.config(1).expect("every kernel has a machine of one CPU");
    let mut machine = Loop::new(config, tasks, depth);
    let warm_up = 2 * tasks + 1000;
    for _ in 0..warm_up + rounds {
        machine.advance(ROUND_ROBIN_STEP);
        machine.tick();
        machine.switch();
    }
    for _ in 0..tasks / 2 {
        machine.advance(PING_PONG_STEP);
        machine.sleep();
    }
    for _ in 0..warm_up + rounds {
        machine.advance(PING_PONG_STEP);
        machine.wake();
        machine.advance(PING_PONG_STEP);
        machine.sleep();
    }
    ExitCode::SUCCESS
}
