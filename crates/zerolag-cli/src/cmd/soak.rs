// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag soak`: configurations nobody thought of, run until one of them shows a fault.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant as HostInstant};

use indicatif::{ProgressBar, ProgressStyle};
use zerolag_core::event::SchedEvent;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Instant;
use zerolag_sim::scenario::{self, Overrides};
use zerolag_sim::sim::{Observer, Sim, Stop};
use zerolag_sim::swarm::{self, Case, Liveness, Space};

use crate::args::{high, low};
use crate::failure::Failure;
use crate::file;
use crate::guard::Guard;

/// What a run of a case showed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    /// The reader of scenarios refuses what was drawn.
    Refused(String),
    /// The program stopped in the middle.
    Panicked(String),
    /// An invariant does not hold.
    Unsafe(String),
    /// Somebody waits too long, or for ever.
    Stuck(String),
}

impl Fault {
    /// Shrinking keeps to faults of the same kind.
    fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "the scenario is refused: {why}"),
            Self::Panicked(why) => write!(f, "panic: {why}"),
            Self::Unsafe(what) | Self::Stuck(what) => f.write_str(what),
        }
    }
}

/// What was looked at in all.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cases: u64,
    events: u64,
    judged: u64,
    not_judged: u64,
}

/// A fault, and the smallest case found that shows it.
struct Found {
    seed: u64,
    fault: Fault,
    small: Case,
}

/// Draws and runs.
pub(crate) fn run(args: &low::Soak, out: &mut dyn Write) -> Result<(), Failure> {
    let kernels = if args.kernel.is_empty() { Kernel::implemented().collect() } else { args.kernel.clone() };
    for &kernel in &kernels {
        high::implemented(kernel)?;
    }
    let space = Space::everything(kernels);
    fs::create_dir_all(&args.out).map_err(|e| file::failure(&args.out, &e))?;
    if let Some(count) = args.draw {
        for seed in args.seed..args.seed.saturating_add(count) {
            writeln!(out, "{}", save(args, seed, &swarm::draw(seed, &space))?)?;
        }
        return Ok(());
    }

    // A panic is reported with the case that shows it, not where it happens to be printed.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let (tally, found) = all(args, &space);
    panic::set_hook(hook);

    writeln!(
        out,
        "{} configurations, {} scheduling events, {} waits judged, {} with no bound in time, {} faults",
        tally.cases,
        tally.events,
        tally.judged,
        tally.not_judged,
        found.len()
    )?;
    for Found { seed, fault, small } in &found {
        let path = save(args, *seed, small)?;
        writeln!(out, "\nseed {seed}: {fault}\n  zerolag run {path} --check")?;
        if let Fault::Stuck(_) = fault {
            // How long somebody may wait is judged here only.
            let kernels = args.kernel.iter().map(|k| format!(" --kernel {k}")).collect::<String>();
            writeln!(out, "  zerolag soak --seed {seed} --cases 1{kernels}")?;
        }
    }
    match found.len() {
        0 => Ok(()),
        n => Err(Failure::Invariant(format!("{n} of {} configurations show a fault", tally.cases))),
    }
}

/// Runs case after case on as many threads as asked for. What comes back is in the order of seeds.
fn all(args: &low::Soak, space: &Space) -> (Tally, Vec<Found>) {
    let jobs = args.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into));
    let next = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let results = Mutex::new((Tally::default(), Vec::new()));
    let limit = Duration::from_secs_f64(args.hours * 3600.0);
    let began = HostInstant::now();
    let progress = ProgressBar::new(args.cases.unwrap_or(limit.as_secs())).with_style(
        ProgressStyle::with_template("{bar:40} {percent}% {msg}").expect("the template is well-formed"),
    );
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let enough = match args.cases {
                        Some(cases) => number >= cases,
                        None => began.elapsed() >= limit,
                    };
                    if enough {
                        over.store(true, Ordering::Relaxed);
                        break;
                    }
                    let seed = args.seed.wrapping_add(number);
                    let case = swarm::draw(seed, space);
                    let mut tally = Tally { cases: 1, ..Tally::default() };
                    let found = attempt(&case, &mut tally).err().map(|fault| {
                        let small = swarm::shrink(&case, args.shrink, |candidate| {
                            let again = attempt(candidate, &mut Tally::default());
                            again.is_err_and(|other| other.same_kind(&fault))
                        });
                        let fault = attempt(&small, &mut Tally::default()).err().unwrap_or(fault);
                        Found { seed, fault, small }
                    });
                    let mut results = results.lock().expect("nobody panics with it");
                    let (all, faults) = &mut *results;
                    all.cases += tally.cases;
                    all.events += tally.events;
                    all.judged += tally.judged;
                    all.not_judged += tally.not_judged;
                    faults.extend(found);
                    progress.set_position(args.cases.map_or(began.elapsed().as_secs(), |_| all.cases));
                    progress.set_message(format!("{} configurations, {} faults", all.cases, faults.len()));
                }
            });
        }
    });
    progress.finish_and_clear();
    let (tally, mut found) = results.into_inner().expect("nobody panicked with it");
    found.sort_by_key(|f| f.seed);
    (tally, found)
}

/// Runs a case once, whatever happens in it.
fn attempt(case: &Case, tally: &mut Tally) -> Result<(), Fault> {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| once(case, tally)));
    outcome.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(Fault::Panicked(text.unwrap_or("no message").into()))
    })
}

struct Ear(Guard);

impl Observer for Ear {
    fn event(&mut self, event: &SchedEvent) {
        self.0.feed(event);
    }
}

fn once(case: &Case, tally: &mut Tally) -> Result<(), Fault> {
    let text = case.to_toml();
    let no_files = |_: &str| Err(io::ErrorKind::NotFound.into());
    let scenario = scenario::read("case", text.as_bytes(), &Overrides::default(), &no_files)
        .map_err(|e| Fault::Refused(e.to_string()))?;
    let mut sim = scenario.simulate().map_err(|e| Fault::Refused(e.to_string()))?;
    let mut ear = Ear(Guard::new(&scenario));
    // Safety.
    until(&mut sim, Instant(case.busy.0), &mut ear, |_| ())?;
    // And liveness.
    let mut liveness = Liveness::begin(&sim);
    until(&mut sim, Instant(case.duration().0), &mut ear, |sim| liveness.look(sim))?;
    tally.events += sim.stats().scheduling_events();
    let verdict = liveness.verdict(&sim, case.calm);
    tally.judged += verdict.judged as u64;
    tally.not_judged += verdict.not_judged as u64;
    if let Some(worst) = verdict.overdue.first() {
        return Err(Fault::Stuck(format!(
            "{} waits {} ns after all changes, in which it is owed {} ns, and should be at most {} ns",
            sim.task_name(worst.task),
            worst.waited.0,
            worst.owed.0,
            worst.bound.0
        )));
    }
    match sim.stop() {
        None | Some(Stop::Finished) => Ok(()),
        Some(Stop::Deadlock(waits)) => {
            let waits: Vec<_> = waits.iter().map(ToString::to_string).collect();
            Err(Fault::Stuck(format!("deadlock: {}", waits.join("; "))))
        }
        Some(Stop::Livelock { name, .. }) => {
            Err(Fault::Stuck(format!("{name} goes on without time passing")))
        }
    }
}

fn until(sim: &mut Sim, end: Instant, ear: &mut Ear, mut look: impl FnMut(&Sim)) -> Result<(), Fault> {
    while sim.step(end, ear) {
        ear.0.look(sim).map_err(|breach| Fault::Unsafe(breach.to_string()))?;
        look(sim);
    }
    sim.run_until(end, ear);
    Ok(())
}

/// Writes a case as a scenario, whole or not at all. Returns the name of the file.
fn save(args: &low::Soak, seed: u64, case: &Case) -> Result<String, Failure> {
    let path = args.out.join(format!("soak-{seed}.toml"));
    file::put(&path, case.to_toml())?;
    Ok(path.display().to_string())
}
