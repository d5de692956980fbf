// SPDX-License-Identifier: GPL-2.0-only
//! What commands that do many runs have in common: the store, progress, and what gets stuck.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};
use zerolag_study::figures;
use zerolag_study::store::{Begin, Store, StoreError};
use zerolag_study::study::{Account, Means, Progress, Shard, Study, StudyError};

use crate::args::low::study;
use crate::failure::Failure;
use crate::file::{self, NewFile};

/// The store that the user asked for; one in memory without.
pub(super) fn open(means: &study::Means) -> Result<Store, Failure> {
    match (&means.store, means.resume) {
        (Some(path), resume) => open_at(path, resume),
        (None, true) => {
            Err(Failure::input("--resume goes on from a store; say from which with --store FILE"))
        }
        (None, false) => Store::in_memory().map_err(refused),
    }
}

/// The store in this file.
pub(super) fn open_at(path: &Path, resume: bool) -> Result<Store, Failure> {
    Store::open(path, if resume { Begin::Resume } else { Begin::New }).map_err(refused)
}

/// A store that cannot be used is bad input, one that cannot be written any more is not.
pub(super) fn refused(error: StoreError) -> Failure {
    match error {
        StoreError::Full(_) | StoreError::Failing(_) | StoreError::Io { .. } => {
            Failure::Check(error.to_string())
        }
        _ => Failure::input(error),
    }
}

/// Does what is not in the store yet.
pub(super) fn run(
    study: &Study,
    store: &mut Store,
    jobs: Option<NonZeroUsize>,
    shard: Shard,
) -> Result<Account, Failure> {
    let jobs = jobs.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    let mut bar = Bar::default();
    let account = study.run(store, Means { jobs, shard }, &mut bar);
    if let Some(line) = bar.0 {
        line.finish_and_clear();
    }
    account.map_err(|e| match e {
        StudyError::Store(error) => refused(error),
        other => Failure::input(other),
    })
}

/// Says which runs got stuck, after everything else has been said.
pub(super) fn verdict(study: &Study, store: &Store) -> Result<(), Failure> {
    let stuck = study.stuck(store).map_err(refused)?;
    let Some((case, seed, end)) = stuck.first() else { return Ok(()) };
    let of = case.case();
    let chosen = of.chosen();
    let with = if chosen.is_empty() { String::new() } else { format!(" with {chosen}") };
    Err(Failure::Check(format!(
        "{} of {} runs got stuck; the first: {}{with}, seed {seed}: {end}",
        stuck.len(),
        study.cases.len() * study.seeds.len(),
        of.file
    )))
}

/// A line at the bottom of a terminal; hidden by itself where standard error is none.
#[derive(Default)]
struct Bar(Option<ProgressBar>);

impl Progress for Bar {
    fn at(&mut self, done: usize, running: usize, all: usize) {
        let begin = || {
            let style = "{bar:40} {pos} of {len} runs done, {msg} running, {eta} left";
            let style = ProgressStyle::with_template(style).expect("the template is well-formed");
            // What was done before does not say how fast it goes now.
            ProgressBar::new(all as u64).with_style(style).with_position(done as u64)
        };
        let bar = self.0.get_or_insert_with(begin);
        bar.set_message(running.to_string());
        bar.set_position(done as u64);
    }
}

/// Whether a figure is to be shown.
pub(super) fn wanted(shown: &study::Shown) -> impl Fn(&str) -> bool {
    figures::wanted(&shown.metrics)
}

/// Writes the store's rows where the user wants them. Returns whether that was standard output.
pub(super) fn csv(store: &Store, shown: &study::Shown, out: &mut dyn Write) -> Result<bool, Failure> {
    let Some(path) = &shown.csv else { return Ok(false) };
    if path == Path::new("-") {
        return store.write_csv(out).map(|()| true).map_err(|e| unwritten(e, Failure::Output));
    }
    let mut file = NewFile::create(path)?;
    store.write_csv(&mut file).map_err(|e| unwritten(e, |error| file::failure(path, &error)))?;
    file.finish()?;
    Ok(false)
}

/// Rows could not be read, or not be written.
fn unwritten(error: StoreError, output: impl FnOnce(io::Error) -> Failure) -> Failure {
    match error {
        StoreError::Io { error, .. } => output(error),
        other => refused(other),
    }
}

/// A number with four significant digits, or all of those before the point.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = value.abs().log10().floor() as i32;
    format!("{value:.*}", (3 - digits).clamp(0, 9) as usize)
}

/// Percent with a sign.
pub(super) fn signed(percent: f64) -> String {
    format!("{percent:+.1}%")
}

/// Percent without one.
pub(super) fn percent(percent: Option<f64>) -> String {
    percent.map_or("-".into(), |p| format!("{p:.1}%"))
}
