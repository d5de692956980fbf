// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag hunt`: searches for the configuration in which a kernel does worst.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use zerolag_core::event::SchedEvent;
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::rng::{Purpose, Stream};
use zerolag_sim::scenario::{self, Overrides};
use zerolag_sim::sim::Sim;
use zerolag_sim::swarm::{self, Case, Space};
use zerolag_trace::metrics::{Metrics, Summary};

use crate::args::high;
use crate::args::low::{Badness, Hunt};
use crate::failure::Failure;
use crate::file;

/// How many of the worst have offspring.
const PARENTS: usize = 12;
/// What is smaller than it was by this part of it still counts as the same when shrinking.
const TOLERANCE: f64 = 0.1;
/// How many runs shrinking one of them may take.
const SHRINKING: usize = 300;
/// Tasks start where they are made and have to be spread first. That is over by then, or will not be.
const WARM_UP: Nanos = Nanos::from_millis(400);
/// How long is looked at from then on.
const MEASURED: Nanos = Nanos::from_millis(600);

/// Searches.
pub(crate) fn run(args: &Hunt, out: &mut dyn Write) -> Result<(), Failure> {
    high::implemented(args.kernel)?;
    let presets = zerolag_core::topology::Topology::preset(&args.machine).map_err(Failure::input)?;
    let cpus = presets.cpu_count();
    fs::create_dir_all(&args.out).map_err(|e| file::failure(&args.out, &e))?;
    let space = Space { kernels: vec![args.kernel], machines: vec![args.machine.clone()], equal: true };

    let worst = search(args, &space);
    let metric = args.metric.to_possible_value().expect("no metric is hidden").get_name().to_owned();
    writeln!(
        out,
        "{metric}, {}, of {} configurations on {} ({cpus} CPUs), Linux {}",
        unit(args.metric),
        args.runs,
        args.machine,
        args.kernel
    )?;
    for (rank, (badness, case)) in worst.into_iter().take(args.keep).enumerate() {
        let enough = badness * (1.0 - TOLERANCE);
        let small = swarm::shrink(&case, SHRINKING, |c| {
            // On a smaller machine, or for a shorter time, it would be another question.
            (&c.machine, c.busy, c.calm) == (&case.machine, case.busy, case.calm)
                && measure(c, args.metric).is_some_and(|b| b >= enough)
        });
        let now = measure(&small, args.metric).unwrap_or(badness);
        let path = args.out.join(format!("hunt-{metric}-{}.toml", rank + 1));
        file::put(&path, small.to_toml())?;
        writeln!(out, "{badness:>10.3}  shrunk to {} parts: {now:.3}  {}", small.parts(), path.display())?;
    }
    Ok(())
}

/// The worst that were seen, the worst first.
fn search(args: &Hunt, space: &Space) -> Vec<(f64, Case)> {
    let mut chance = Stream::new(args.seed, Purpose::Workload, 2);
    let mut worst: Vec<(f64, Case)> = Vec::new();
    let progress = ProgressBar::new(args.runs as u64).with_style(
        ProgressStyle::with_template("{bar:40} {pos} of {len} {eta} left, worst {msg}")
            .expect("the template is well-formed"),
    );
    for _ in 0..args.runs {
        let seed = chance.bits() >> 1;
        let candidate = if worst.is_empty() || chance.below(2) == 0 {
            Case { busy: WARM_UP, calm: MEASURED, ..swarm::draw(seed, space) }
        } else {
            let parent = chance.below(worst.len() as u64) as usize;
            swarm::mutate(&worst[parent].1, seed, space)
        };
        if let Some(badness) = measure(&candidate, args.metric) {
            let at = worst.partition_point(|(b, _)| *b >= badness);
            // Of those that are equally bad, the one that was first.
            if at < PARENTS && !worst[..at].iter().any(|(b, _)| *b == badness) {
                worst.insert(at, (badness, candidate));
                worst.truncate(PARENTS);
                progress.set_message(format!("{:.3}", worst[0].0));
            }
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    worst
}

const fn unit(metric: Badness) -> &'static str {
    match metric {
        Badness::Starvation | Badness::P999 => "ms",
        Badness::ShareError => "percent of a CPU",
        Badness::Wasted => "percent of all CPUs",
    }
}

/// How bad a case is once it is warm, if it can be run at all.
fn measure(case: &Case, metric: Badness) -> Option<f64> {
    let no_files = |_: &str| Err(io::ErrorKind::NotFound.into());
    let text = case.to_toml();
    let scenario = scenario::read("case", text.as_bytes(), &Overrides::default(), &no_files).ok()?;
    let mut sim = scenario.simulate().ok()?;
    let mut metrics = Metrics::new();
    sim.run_until(Instant(case.busy.0), &mut |event: &SchedEvent| metrics.feed(event));
    metrics.restart(sim.now());
    if case.works.iter().any(|work| work.cpus.is_some()) {
        let tasks = sim.scheduler().tasks();
        tasks.iter().for_each(|(task, about)| metrics.bind(task, Some(about.affinity.clone())));
    }
    sim.run_until(Instant(case.duration().0), &mut |event: &SchedEvent| metrics.feed(event));
    metrics.advance(sim.now());
    Some(figure(&metrics.summary(), &sim, metric))
}

fn figure(summary: &Summary, sim: &Sim, metric: Badness) -> f64 {
    let millis = |span: Option<Nanos>| span.map_or(0.0, |n| n.0 as f64 / 1e6);
    let tasks = summary.tasks.values();
    match metric {
        Badness::Starvation => {
            tasks.map(|t| millis(t.wakeup.max()).max(millis(t.preempt_delay.max()))).fold(0.0, f64::max)
        }
        Badness::P999 => tasks.map(|t| millis(t.wakeup.quantile(0.999))).fold(0.0, f64::max),
        Badness::Wasted => {
            let all = summary.span.0 as f64 * sim.scheduler().cpus().len() as f64;
            100.0 * summary.idle_while_overloaded_cpu.0 as f64 / all.max(1.0)
        }
        Badness::ShareError => share_error(summary, sim),
    }
}

/// Of those that never gave up a CPU, the greatest difference between tasks of one workload.
fn share_error(summary: &Summary, sim: &Sim) -> f64 {
    let mut ranges: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    let hogs = summary.tasks.iter().filter(|(_, figures)| figures.voluntary == 0);
    for (&task, figures) in hogs {
        let task: TaskId = task;
        let run = figures.run().0;
        let range = ranges.entry(sim.template_of(task)).or_insert((run, run));
        *range = (range.0.min(run), range.1.max(run));
    }
    let spread = ranges.values().map(|(least, most)| most - least).max().unwrap_or(0);
    100.0 * spread as f64 / summary.span.0.max(1) as f64
}
