// SPDX-License-Identifier: GPL-2.0-only
//! Replays as they are asked for: with what is known beside the recording, as a whole otherwise, and with changes.

use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use zerolag_core::event::SchedEvent;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_sim::costs::Costs;
use zerolag_sim::machines::{self, MachineError};
use zerolag_sim::replay::{self, Context, Options, Replay};
use zerolag_sim::scenario::{Overrides, ScenarioError, Watches};
use zerolag_sim::setting::{self, SettingError};
use zerolag_sim::sim::{RecordedError, Sim, Stop};
use zerolag_trace::metrics::Metrics;

use super::{Change, ChangeError, Comparison, Recording, Replayed};
use crate::follow::{Follower, Listener};

/// A context file (see [`replay::context`]).
#[derive(Clone, Debug)]
pub struct ContextFile {
    /// What it is called in messages.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Where files that it names are.
    pub beside: PathBuf,
}

impl ContextFile {
    /// Reads one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path.display().to_string(), fs::read(path)?, path))
    }

    /// From its contents; files that it names are beside `path`.
    pub fn new(name: String, bytes: Vec<u8>, path: &Path) -> Self {
        Self { name, bytes, beside: path.parent().unwrap_or(Path::new("")).to_owned() }
    }

    /// What it says. `cpus` is how many the machine has if the file does not say.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(&self, overrides: &Overrides, cpus: usize) -> Result<Context, ScenarioError> {
        let files = |name: &str| fs::read(self.beside.join(name));
        replay::context::read(&self.name, &self.bytes, overrides, &files, Some(cpus))
    }
}

/// What a recording is to be replayed with.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the recording cannot carry.
    pub context: Option<ContextFile>,
    /// The kernel, in place of the context's.
    pub kernel: Option<Kernel>,
    /// The machine, in place of the context's: a name, or a file.
    pub machine: Option<String>,
    /// Settings (see [`setting`]), in order.
    pub settings: Vec<String>,
    /// How often each replay is done, with chance falling out differently.
    pub repeat: NonZeroU32,
    /// What is changed, each by itself.
    pub changes: Vec<Change>,
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// There is no such machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The context makes no sense, or what is replayed cannot run on the machine.
    #[error(transparent)]
    Context(#[from] ScenarioError),
    /// Something cannot be set.
    #[error("set {0}")]
    Setting(#[from] SettingError),
    /// Something cannot be changed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Event scripts have no words for it.
    #[error(transparent)]
    Script(#[from] RecordedError),
    /// A task took no time.
    #[error("task {0} goes on and on without time passing (at operation {1} of its program)")]
    Livelock(String, usize),
}

/// An event of a replay, at or after the beginning of the recording.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'r> {
    /// The number of the replay; 0 is the first one as asked.
    pub number: u64,
    /// What is replayed.
    pub replay: &'r Replay,
    /// The event, in simulated time.
    pub event: &'r SchedEvent,
    /// The simulation after it.
    pub sim: &'r Sim,
}

impl Request {
    /// How many replays it takes.
    pub fn replays(&self) -> u64 {
        let what = 1 + usize::from(self.is_changed_as_a_whole()) + self.changes.len();
        what as u64 * u64::from(self.repeat.get())
    }

    /// Something differs from what was recorded in all replays.
    fn is_changed_as_a_whole(&self) -> bool {
        self.kernel.is_some() || self.machine.is_some() || !self.settings.is_empty()
    }

    /// Replays the recording. `heard` is told of each event.
    ///
    /// # Errors
    /// If it makes no sense or gets stuck, and those of `heard`.
    pub fn run<E: From<ReplayError>>(
        &self,
        recording: &Recording,
        heard: impl FnMut(Heard<'_>) -> Result<(), E>,
    ) -> Result<Comparison, E> {
        let cpus = recording.history.cpu_count();
        let machine = self.topology()?;
        let base = self.context(self.kernel, machine.as_ref(), cpus)?;
        let mut series = Series { recording, repeat: self.repeat, number: 0, heard };
        let mut comparison = Comparison::new(recording, &series.replay(&base)?);
        if self.is_changed_as_a_whole() {
            let recorded = self.known(&Overrides::default(), cpus)?;
            comparison.add_as_recorded(&series.replay(&recorded)?);
        }
        for change in &self.changes {
            let mut context = match *change {
                // One of several kernels goes without what it does not have.
                Change::Kernel(kernel) => {
                    self.context_unless(Some(kernel), machine.as_ref(), cpus, |error| {
                        comparison.remarks.push(format!("without {}: {}", error.assignment, error.fault));
                        Ok(())
                    })?
                }
                Change::Cpus(n) => {
                    let other = machines::open(&format!("{n}cpu")).map_err(ReplayError::from)?;
                    self.context(self.kernel, Some(&other), cpus)?
                }
                _ => base.clone(),
            };
            change.apply(&mut context).map_err(ReplayError::from)?;
            comparison.add_what_if(change.to_string(), &series.replay(&context)?);
        }
        Ok(comparison)
    }

    /// What the scheduler is asked to do in the first replay, from the moment the machine is switched on, as an
    /// event script. `write` gets it piece by piece.
    ///
    /// # Errors
    /// If it makes no sense, or scripts have no words for what happens, and those of `write`.
    pub fn script<E: From<ReplayError>>(
        &self,
        recording: &Recording,
        mut write: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let context = self.context(self.kernel, self.topology()?.as_ref(), recording.history.cpu_count())?;
        let options = Options { duration: recording.limit, repetition: 0 };
        let replay = Replay::new(&recording.history, &recording.tasks, &context, options);
        let mut sim = replay.simulate_recorded().map_err(ReplayError::from)?;
        while sim.step(replay.end(), &mut ()) {
            let text = sim.take_script().map_err(|e| ReplayError::Script(e.into()))?;
            write(&text)?;
        }
        Ok(())
    }

    /// The machine that is asked for.
    fn topology(&self) -> Result<Option<Topology>, ReplayError> {
        Ok(self.machine.as_deref().map(machines::open).transpose()?)
    }

    /// What is known beside the recording, changed as a whole.
    fn context(
        &self,
        kernel: Option<Kernel>,
        machine: Option<&Topology>,
        cpus: usize,
    ) -> Result<Context, ReplayError> {
        self.context_unless(kernel, machine, cpus, Err)
    }

    /// The same; settings that the kernel lacks are up to `lacking`.
    fn context_unless(
        &self,
        kernel: Option<Kernel>,
        machine: Option<&Topology>,
        cpus: usize,
        mut lacking: impl FnMut(SettingError) -> Result<(), SettingError>,
    ) -> Result<Context, ReplayError> {
        let overrides = Overrides { kernel, machine: machine.cloned(), ..Overrides::default() };
        let mut context = self.known(&overrides, cpus)?;
        for assignment in &self.settings {
            match apply(&mut context, assignment) {
                Err(error) if error.fault.is_lack() => lacking(error)?,
                done => done?,
            }
        }
        Ok(context)
    }

    fn known(&self, overrides: &Overrides, cpus: usize) -> Result<Context, ReplayError> {
        let known = match &self.context {
            Some(file) => file.read(overrides, cpus),
            None => Context::unknown(overrides, cpus),
        };
        Ok(known?)
    }
}

/// Sets something as a whole.
fn apply(context: &mut Context, assignment: &str) -> Result<(), SettingError> {
    setting::apply(&mut context.setup, assignment)?;
    let name = assignment.split('=').next().unwrap_or_default().trim();
    context.has_costs |= name == "costs";
    context.single_costs.extend(Costs::NAMES.into_iter().find(|&cost| cost == name));
    Ok(())
}

/// Replays of a recording, one after the other.
struct Series<'r, H> {
    recording: &'r Recording,
    repeat: NonZeroU32,
    /// Of the next one.
    number: u64,
    heard: H,
}

impl<H> Series<'_, H> {
    fn replay<E: From<ReplayError>>(&mut self, context: &Context) -> Result<Replayed, E>
    where
        H: FnMut(Heard<'_>) -> Result<(), E>,
    {
        let mut first = self.once(context, 0)?;
        for repetition in 1..self.repeat.get() {
            first.repeat(self.once(context, repetition)?);
        }
        Ok(first)
    }

    /// Figures are those from the beginning of the recording on.
    fn once<E: From<ReplayError>>(&mut self, context: &Context, repetition: u32) -> Result<Replayed, E>
    where
        H: FnMut(Heard<'_>) -> Result<(), E>,
    {
        let Self { recording, number, heard, .. } = self;
        let options = Options { duration: recording.limit, repetition };
        let replay = Replay::new(&recording.history, &recording.tasks, context, options);
        let mut sim = replay.simulate().map_err(ReplayError::from)?;
        let mut ear = Ear { metrics: Metrics::new(), number: *number, replay: &replay, heard };
        Follower::new(Watches::default()).run_until(&mut sim, replay.end(), &mut ear)?;
        let mut metrics = ear.metrics;
        if let Some(Stop::Livelock { name, at, .. }) = sim.stop() {
            return Err(ReplayError::Livelock(name.clone(), *at).into());
        }
        metrics.advance(replay.end());
        *number += 1;
        Ok(Replayed::new(replay, &sim, &metrics.summary(), recording.has_wakeups))
    }
}

/// Listens to one replay, from the beginning of the recording on.
struct Ear<'r, H> {
    metrics: Metrics,
    number: u64,
    replay: &'r Replay,
    heard: &'r mut H,
}

impl<E, H: FnMut(Heard<'_>) -> Result<(), E>> Listener<E> for Ear<'_, H> {
    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> Result<(), E> {
        if event.time < self.replay.begin() {
            return Ok(());
        }
        self.metrics.feed(event);
        (self.heard)(Heard { number: self.number, replay: self.replay, event, sim })
    }
}
