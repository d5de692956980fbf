// SPDX-License-Identifier: GPL-2.0-only
//! One module for each command.

mod bench;
mod capture;
mod compare;
mod convert;
pub(crate) mod drive;
mod explain;
mod features;
mod hunt;
mod latency;
mod model;
mod replay;
mod report;
mod reproduce;
mod run;
mod script;
mod setup;
mod soak;
mod stat;
mod study;
mod sweep;
mod timehist;
mod topology;
mod tune;

use std::io::Write;

use crate::args::low::{Cli, Command};
use crate::failure::Failure;

/// Does what the user asked for.
pub(crate) fn run(cli: Cli, out: &mut dyn Write) -> Result<(), Failure> {
    match cli.command {
        Command::Run(args) => run::run(&args, out),
        Command::Compare(args) => compare::run(&args, out),
        Command::Sweep(args) => sweep::run(&args, out),
        Command::Tune(args) => tune::run(&args),
        Command::Replay(args) => replay::run(&args, out),
        Command::Reproduce(args) => reproduce::run(&args, out),
        Command::Capture(args) => capture::run(&args, out),
        Command::Script(args) => script::run(&args, out),
        Command::Latency(args) => latency::run(&args, out),
        Command::Timehist(args) => timehist::run(&args, out),
        Command::Stat(args) => stat::run(&args, out),
        Command::Explain(args) => explain::run(&args, out),
        Command::Convert(args) => convert::run(&args),
        Command::Report(args) => report::run(&args, crate::rerun()),
        Command::Features(args) => features::run(&args, out),
        Command::Topology(args) => topology::run(&args, out),
        Command::Model(args) => model::run(&args, out),
        Command::Hunt(args) => hunt::run(&args, out),
        Command::Soak(args) => soak::run(&args, out),
        Command::Bench(args) => bench::run(&args, out),
        Command::Completions(args) => setup::completions(&args, out),
        Command::Man(args) => setup::man(&args),
    }
}
