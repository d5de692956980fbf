// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag hunt`: searches for the configuration in which a kernel does worst.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use zerolag_core::event::SchedEvent;
use zerolag_core::ids::TaskId;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::rng::{Purpose, Stream};
use zerolag_sim::scenario::{self, Overrides};
use zerolag_sim::sim::Sim;
use zerolag_sim::swarm::{self, Case, Ingredients, Space};
use zerolag_trace::metrics::{Metrics, Summary};

use crate::args::high;
use crate::args::low::{Badness, Hunt};
use crate::failure::Failure;
use crate::file;

/// How many of the worst of each kind have offspring.
const PARENTS: usize = 4;
/// What is smaller than it was by this part of it still counts as the same when shrinking.
const TOLERANCE: f64 = 0.1;
/// How many runs shrinking one of them may take.
const SHRINKING: usize = 300;
/// Tasks start where they are made and have to be spread first. That is over by then, or will not be.
const WARM_UP: Nanos = Nanos::from_millis(400);

/// A case, and how bad it is.
struct Bad {
    badness: f64,
    case: Case,
}

/// The worst of each kind, the worst first.
type Corpus = BTreeMap<Ingredients, Vec<Bad>>;

/// A figure of one run.
#[derive(Clone, Copy, Debug, Default)]
struct Figure {
    badness: f64,
    /// Of wasted time, the part in which a wake-up had put the tasks that waited where they were.
    woken: f64,
}

/// Searches.
pub(crate) fn run(args: &Hunt, out: &mut dyn Write) -> Result<(), Failure> {
    high::implemented(args.kernel)?;
    args.against.map_or(Ok(args.kernel), high::implemented)?;
    let machine = zerolag_core::topology::Topology::preset(&args.machine).map_err(Failure::input)?;
    let cpus = machine.cpu_count();
    fs::create_dir_all(&args.out).map_err(|e| file::failure(&args.out, &e))?;
    let space = Space { kernels: vec![args.kernel], machines: vec![args.machine.clone()], equal: true };

    let mut worst: Vec<Bad> = search(args, &space).into_values().flatten().collect();
    worst.sort_by(|a, b| b.badness.total_cmp(&a.badness));
    let metric = args.metric.to_possible_value().expect("no metric is hidden").get_name().to_owned();
    let against = args.against.map_or(String::new(), |kernel| format!(" more than under {kernel}"));
    writeln!(
        out,
        "{metric}, {}{against}, of {} configurations on {} ({cpus} CPUs), Linux {}",
        unit(args.metric),
        args.runs,
        args.machine,
        args.kernel
    )?;
    let mut shown: Vec<Ingredients> = Vec::new();
    for Bad { badness, case } in worst {
        if shown.len() == args.keep {
            break;
        }
        // What a case does not need it would lose; so of each kind only the worst is shrunk, and shown if nothing
        // of that kind has been.
        if shown.contains(&case.ingredients()) {
            continue;
        }
        let enough = badness * (1.0 - TOLERANCE);
        let small = swarm::shrink(&case, SHRINKING, |c| {
            // On a smaller machine, or for a shorter time, it would be another question.
            (&c.machine, c.busy, c.calm) == (&case.machine, case.busy, case.calm)
                && judge(c, args).is_some_and(|b| b >= enough)
        });
        let kind = small.ingredients();
        if shown.contains(&kind) {
            continue;
        }
        shown.push(kind);
        let now = judge(&small, args).unwrap_or(badness);
        let path = args.out.join(format!("hunt-{metric}-{}.toml", shown.len()));
        file::put(&path, small.to_toml())?;
        writeln!(
            out,
            "{badness:>10.3}  shrunk to {} parts ({kind}): {now:.3}  {}",
            small.parts(),
            path.display()
        )?;
        compare(&small, args, out)?;
    }
    Ok(())
}

/// The case under every kernel: who has the fault, and who has not.
fn compare(case: &Case, args: &Hunt, out: &mut dyn Write) -> Result<(), Failure> {
    for kernel in Kernel::implemented() {
        let Some(Figure { badness, woken }) = measure(case, kernel, args.metric) else { continue };
        write!(out, "{:>24} {badness:>10.3}", kernel.name())?;
        if args.metric == Badness::Wasted && badness > 0.0 {
            write!(out, "  {:.0} % of it after wake-ups", 100.0 * woken / badness)?;
        }
        writeln!(out, "{}", if kernel == args.kernel { "  <" } else { "" })?;
    }
    Ok(())
}

/// The worst that were seen.
fn search(args: &Hunt, space: &Space) -> Corpus {
    let mut chance = Stream::new(args.seed, Purpose::Workload, 2);
    let mut corpus = Corpus::new();
    let mut worst = 0.0;
    let progress = ProgressBar::new(args.runs as u64).with_style(
        ProgressStyle::with_template("{bar:40} {pos} of {len} {eta} left, worst {msg}")
            .expect("the template is well-formed"),
    );
    for _ in 0..args.runs {
        let seed = chance.bits() >> 1;
        let candidate = if corpus.is_empty() || chance.below(2) == 0 {
            Case { busy: WARM_UP, calm: args.time, ..swarm::draw(seed, space) }
        } else {
            let kind = chance.below(corpus.len() as u64) as usize;
            let parents = corpus.values().nth(kind).expect("there are so many kinds");
            let parent = chance.below(parents.len() as u64) as usize;
            swarm::mutate(&parents[parent].case, seed, space)
        };
        if let Some(badness) = enter(&mut corpus, candidate, args)
            && badness > worst
        {
            worst = badness;
            progress.set_message(format!("{worst:.3}"));
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    corpus
}

/// Keeps a case if it is one of the worst of its kind, with another seed too.
fn enter(corpus: &mut Corpus, case: Case, args: &Hunt) -> Option<f64> {
    let kind = case.ingredients();
    let place = |corpus: &Corpus, badness: f64| {
        let worst = corpus.get(&kind).map_or(&[][..], Vec::as_slice);
        let at = worst.partition_point(|other| other.badness >= badness);
        // Of those that are equally bad, the one that was first.
        (at < PARENTS && !worst[..at].iter().any(|other| other.badness == badness)).then_some(at)
    };
    let badness = once(&case, args)?;
    place(corpus, badness).filter(|_| badness > 0.0)?;
    let badness = badness.min(once(&other_seed(&case), args)?);
    let at = place(corpus, badness).filter(|_| badness > 0.0)?;
    let worst = corpus.entry(kind).or_default();
    worst.insert(at, Bad { badness, case });
    worst.truncate(PARENTS);
    Some(badness)
}

fn other_seed(case: &Case) -> Case {
    Case { seed: case.seed ^ 1, ..case.clone() }
}

/// How bad a case is with either seed.
fn judge(case: &Case, args: &Hunt) -> Option<f64> {
    Some(once(case, args)?.min(once(&other_seed(case), args)?))
}

/// How bad a case is, or how much worse than under the kernel that it is compared with.
fn once(case: &Case, args: &Hunt) -> Option<f64> {
    let under = |kernel| measure(case, kernel, args.metric).map(|figure| figure.badness);
    let badness = under(args.kernel)?;
    match args.against {
        Some(kernel) => Some(badness - under(kernel)?),
        None => Some(badness),
    }
}

const fn unit(metric: Badness) -> &'static str {
    match metric {
        Badness::Starvation | Badness::P999 => "ms",
        Badness::ShareError => "percent of a CPU",
        Badness::Wasted => "percent of all CPUs",
    }
}

/// How bad a case is under this kernel once it is warm, if it can be run at all.
fn measure(case: &Case, kernel: Kernel, metric: Badness) -> Option<Figure> {
    let no_files = |_: &str| Err(io::ErrorKind::NotFound.into());
    let text = Case { kernel, ..case.clone() }.to_toml();
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
    let summary = metrics.summary();
    Some(Figure {
        badness: figure(&summary, &sim, metric),
        woken: of_all_cpus(summary.idle_while_overloaded_woken, &summary, &sim),
    })
}

fn figure(summary: &Summary, sim: &Sim, metric: Badness) -> f64 {
    let millis = |span: Option<Nanos>| span.map_or(0.0, |n| n.0 as f64 / 1e6);
    let tasks = summary.tasks.values();
    match metric {
        Badness::Starvation => {
            tasks.map(|t| millis(t.wakeup.max()).max(millis(t.preempt_delay.max()))).fold(0.0, f64::max)
        }
        Badness::P999 => tasks.map(|t| millis(t.wakeup.quantile(0.999))).fold(0.0, f64::max),
        Badness::Wasted => of_all_cpus(summary.idle_while_overloaded_cpu, summary, sim),
        Badness::ShareError => share_error(summary, sim),
    }
}

/// CPU time in percent of what all CPUs have.
fn of_all_cpus(time: Nanos, summary: &Summary, sim: &Sim) -> f64 {
    let all = summary.span.0 as f64 * sim.scheduler().cpus().len() as f64;
    100.0 * time.0 as f64 / all.max(1.0)
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
