// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag schbench …`, `zerolag hackbench …`: runs a workload model alone and prints what the tool prints.

use std::io::Write;

use serde_json::json;
use zerolag_sim::benchmark::{Benchmark, BenchmarkError, Watching};
use zerolag_sim::sim::Setup;

use super::drive;
use crate::args::high::{self, settings};
use crate::args::low;
use crate::failure::Failure;
use crate::report::json::metrics;

/// Runs the model, and again for as long as the tool would.
pub(crate) fn run(args: &low::Model, out: &mut dyn Write) -> Result<(), Failure> {
    let low::Model { kind, args } = args;
    let mut model = kind.parse(&args.options).map_err(Failure::input)?;
    let setup = setup(args)?;
    let mut text = String::new();
    let (mut runs, mut duration_ns) = (0, 0);
    let outcome = loop {
        let mut benchmark = Benchmark::new(model.as_ref(), setup.clone()).map_err(Failure::input)?;
        drive::drive(&mut benchmark.sim, benchmark.end, &mut Watching(benchmark.watch.as_mut()));
        let outcome = benchmark.outcome().map_err(failure)?;
        text.push_str(&outcome.text);
        runs += 1;
        duration_ns += benchmark.sim.now().0;
        if !args.json {
            out.write_all(outcome.text.as_bytes())?;
            out.flush()?;
        }
        match model.again(&outcome) {
            Some(next) => model = next,
            None => break outcome,
        }
    };
    if args.json {
        let report = json!({
            "schema": "zerolag.benchmark/1",
            "model": kind.name,
            "options": args.options,
            "kernel": setup.config.kernel.name(),
            "machine": args.machine,
            "cpu_count": setup.topology.cpu_count(),
            "seed": args.seed,
            "runs": runs,
            "duration_ms": duration_ns as f64 / 1e6,
            "metrics": metrics(&outcome.metrics),
            "text": text,
        });
        writeln!(out, "{report:#}")?;
    }
    Ok(())
}

fn setup(args: &low::ModelArgs) -> Result<Setup, Failure> {
    let topology = high::machine(&args.machine)?;
    let config = high::config(args.kernel, topology.cpu_count())?;
    let mut setup = Setup::new(topology, config);
    setup.seed = args.seed;
    for assignment in &args.settings {
        settings::apply(&mut setup, assignment)?;
    }
    Ok(setup)
}

fn failure(error: BenchmarkError) -> Failure {
    match error {
        BenchmarkError::Stuck(_) => Failure::Check(error.to_string()),
        _ => Failure::input(error),
    }
}
