// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag schbench …`, `zerolag hackbench …`: runs a workload model alone and prints what the tool prints.

use std::io::Write;

use zerolag_sim::benchmark::{BenchmarkError, Watching};
use zerolag_sim::workload::model::Outcome;
use zerolag_study::benchmark::{Request, RequestError};

use super::drive;
use crate::args::low;
use crate::failure::Failure;

/// Runs the model, and again for as long as the tool would.
pub(crate) fn run(args: &low::Model, out: &mut dyn Write) -> Result<(), Failure> {
    let low::Model { kind, args } = args;
    let request = Request {
        kind,
        options: args.options.clone(),
        kernel: args.kernel,
        machine: args.machine.clone(),
        seed: args.seed,
        settings: args.settings.clone(),
    };
    let mut said = |outcome: &Outcome| -> Result<(), Failure> {
        if !args.json {
            out.write_all(outcome.text.as_bytes())?;
            out.flush()?;
        }
        Ok(())
    };
    let report = request.run(
        |benchmark| {
            drive::drive(&mut benchmark.sim, benchmark.end, &mut Watching(benchmark.watch.as_mut()));
            Ok::<(), Failure>(())
        },
        &mut said,
    )?;
    if args.json {
        writeln!(out, "{:#}", report.to_json())?;
    }
    Ok(())
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Benchmark(BenchmarkError::Stuck(_)) => Self::Check(error.to_string()),
            _ => Self::input(error),
        }
    }
}
