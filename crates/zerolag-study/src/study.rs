// SPDX-License-Identifier: GPL-2.0-only
//! Many runs on worker threads, their results in one store.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use zerolag_sim::scenario::ScenarioError;

use crate::case::{CaseError, Sealed};
use crate::run::{self, End, Outcome};
use crate::store::{Store, StoreError};

/// At most so many finished runs wait for the store at a time, for each worker.
const WAITING: usize = 4;

/// How long nobody is asked whether to go on.
const PATIENCE: Duration = Duration::from_millis(50);

/// Every case with every seed.
#[derive(Clone, Debug)]
pub struct Study {
    /// The cases.
    pub cases: Vec<Sealed>,
    /// The seeds.
    pub seeds: Vec<u64>,
}

/// A part of a study: of its runs, counted case by case, every `of`-th, beginning with number `part`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: NonZeroUsize,
}

impl Shard {
    /// All of it.
    pub const ALL: Self = Self { part: 0, of: NonZeroUsize::MIN };

    /// Part `number` of `of`, counted from 1.
    pub fn new(number: usize, of: usize) -> Option<Self> {
        let of = NonZeroUsize::new(of)?;
        let part = number.checked_sub(1).filter(|&part| part < of.get())?;
        Some(Self { part, of })
    }

    const fn has(self, index: usize) -> bool {
        index % self.of.get() == self.part
    }
}

/// How it is done.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// How many runs at a time.
    pub jobs: NonZeroUsize,
    /// Which part.
    pub shard: Shard,
}

/// Somebody who is told how far it is.
pub trait Progress {
    /// So many of all runs are done, and so many are being done.
    fn at(&mut self, done: usize, running: usize, all: usize);

    /// Whether it is to go on; asked several times a second. Runs that are being done are given up then.
    fn goes_on(&mut self) -> bool {
        true
    }
}

/// Nobody.
impl Progress for () {
    fn at(&mut self, _: usize, _: usize, _: usize) {}
}

/// How a study ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Runs that this part has.
    pub runs: usize,
    /// Of these, how many were in the store already.
    pub found: usize,
    /// It was stopped before all of them were.
    pub stopped: bool,
}

/// Why a study did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A case makes no sense.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// A workload cannot run on its machine.
    #[error("{error}{}", with(.chosen))]
    Workload {
        /// What is wrong.
        error: ScenarioError,
        /// What was chosen.
        chosen: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn with(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" (with {text})") }
}

/// A run of a study, by position of its case and seed.
type Index = (usize, usize);

impl Study {
    fn runs(&self) -> Range<usize> {
        0..self.cases.len() * self.seeds.len()
    }

    const fn index(&self, run: usize) -> Index {
        (run / self.seeds.len(), run % self.seeds.len())
    }

    /// The runs of a part that are not in the store.
    fn pending(&self, store: &Store, shard: Shard) -> Result<(usize, Vec<Index>), StoreError> {
        let done: Vec<Vec<u64>> =
            self.cases.iter().map(|case| store.seeds_done(case)).collect::<Result<_, _>>()?;
        let mine: Vec<Index> = self.runs().filter(|&run| shard.has(run)).map(|run| self.index(run)).collect();
        let all = mine.len();
        let is_pending = |&(case, seed): &Index| done[case].binary_search(&self.seeds[seed]).is_err();
        Ok((all, mine.into_iter().filter(is_pending).collect()))
    }

    /// Does all runs that are not in the store yet and puts them there.
    ///
    /// # Errors
    /// If a run is not possible or the store cannot be written. What was finished is in the store then.
    pub fn run(
        &self,
        store: &mut Store,
        means: Means,
        progress: &mut dyn Progress,
    ) -> Result<Account, StudyError> {
        store.add_cases(&self.cases)?;
        let (all, pending) = self.pending(store, means.shard)?;
        let found = all - pending.len();
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, results) = mpsc::sync_channel(means.jobs.get() * WAITING);
        let work = |sender: mpsc::SyncSender<(Index, Result<Outcome, StudyError>)>| {
            while let Some(&index) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = self.one(index, &mut || !stop.load(Ordering::Relaxed)).transpose();
                let Some(outcome) = outcome.filter(|_| !stop.load(Ordering::Relaxed)) else { return };
                if sender.send((index, outcome)).is_err() {
                    return;
                }
            }
        };
        let (mut done, mut stopped) = (found, false);
        thread::scope(|scope| {
            for _ in 0..means.jobs.get().min(pending.len()) {
                let (sender, work) = (sender.clone(), &work);
                scope.spawn(move || work(sender));
            }
            drop(sender);
            let mut keep = || -> Result<(), StudyError> {
                progress.at(done, means.jobs.get().min(all - done), all);
                loop {
                    let first = match results.recv_timeout(PATIENCE) {
                        Ok(first) => first,
                        Err(RecvTimeoutError::Disconnected) => return Ok(()),
                        Err(RecvTimeoutError::Timeout) if progress.goes_on() => continue,
                        Err(RecvTimeoutError::Timeout) => {
                            stopped = true;
                            return Ok(());
                        }
                    };
                    // Whatever else is ready goes into the same transaction.
                    let ready: Vec<_> = std::iter::once(first).chain(results.try_iter()).collect();
                    let mut runs = Vec::with_capacity(ready.len());
                    let mut error = None;
                    for ((case, seed), result) in ready {
                        match result {
                            Ok(outcome) => runs.push((&self.cases[case], self.seeds[seed], outcome)),
                            Err(e) => error = Some(e),
                        }
                    }
                    store.add_runs(&runs)?;
                    if let Some(error) = error {
                        return Err(error);
                    }
                    done += runs.len();
                    progress.at(done, means.jobs.get().min(all - done), all);
                    if !progress.goes_on() {
                        stopped = true;
                        return Ok(());
                    }
                }
            };
            let kept = keep();
            stop.store(true, Ordering::Relaxed);
            // Workers that wait to be heard would wait for ever.
            drop(results);
            kept
        })?;
        Ok(Account { runs: all, found, stopped: stopped && done < all })
    }

    fn one(
        &self,
        (case, seed): Index,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Outcome>, StudyError> {
        let case = &self.cases[case];
        let input = case.input(self.seeds[seed])?;
        run::run(&input, goes_on)
            .map_err(|error| StudyError::Workload { error, chosen: case.case().chosen() })
    }

    /// Runs that got stuck, as far as they are in the store.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn stuck(&self, store: &Store) -> Result<Vec<(&Sealed, u64, End)>, StoreError> {
        let mut stuck = Vec::new();
        for (case, seed) in self.runs().map(|run| self.index(run)) {
            let (case, seed) = (&self.cases[case], self.seeds[seed]);
            if let Some((end, _)) = store.figures(case, seed)?
                && !end.is_good()
            {
                stuck.push((case, seed, end));
            }
        }
        Ok(stuck)
    }
}

#[cfg(test)]
pub(crate) mod tests;
