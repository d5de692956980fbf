// SPDX-License-Identifier: GPL-2.0-only
//! Long work without the interpreter: other threads run meanwhile, Ctrl-C is heard, and somebody may be told
//! how far it is.

use std::time::{Duration, Instant as HostInstant};

use pyo3::prelude::*;
use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::note::Note;
use zerolag_sim::scenario::UNTIL_OVER;
use zerolag_sim::sim::{Observer, Sim};
use zerolag_sim::workload::model::Watch;
use zerolag_study::follow::Listener;
use zerolag_study::report::Watcher;

use crate::events::Events;

/// How often the interpreter is asked for.
const PERIOD: Duration = Duration::from_millis(50);
/// The clock is not read more often than after so many steps.
const STEPS: u32 = 1 << 10;

/// Asks the interpreter from time to time.
#[derive(Debug)]
pub(crate) struct Pulse {
    progress: Option<Py<PyAny>>,
    /// What there is to do in all, if that is known.
    pub(crate) all: Option<u64>,
    last: HostInstant,
    steps: u32,
}

impl Pulse {
    pub(crate) fn new(progress: Option<Py<PyAny>>, all: Option<u64>) -> Self {
        Self { progress, all, last: HostInstant::now(), steps: 0 }
    }

    /// For something that is simulated until then, in nanoseconds.
    pub(crate) fn until(progress: Option<Py<PyAny>>, end: Instant) -> Self {
        Self::new(progress, Some(end.0).filter(|&ns| ns != UNTIL_OVER.0))
    }

    /// After a step of whatever is done.
    pub(crate) fn beat(&mut self, done: u64) -> PyResult<()> {
        self.steps += 1;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        self.look(done)
    }

    /// The same for steps that take long enough to look at the clock after each.
    pub(crate) fn look(&mut self, done: u64) -> PyResult<()> {
        if self.last.elapsed() < PERIOD {
            return Ok(());
        }
        let outcome = self.tell(done);
        self.last = HostInstant::now();
        outcome
    }

    /// Checks for signals and tells how far it is, now.
    pub(crate) fn tell(&self, done: u64) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = &self.progress else { return Ok(()) };
            progress.call1(py, (done, self.all)).map(|_| ())
        })
    }
}

/// Listens to a run.
#[derive(Debug)]
pub(crate) struct Ear {
    pub(crate) watcher: Watcher,
    pub(crate) events: Option<Events>,
    pub(crate) pulse: Pulse,
}

impl Listener<PyErr> for Ear {
    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> PyResult<()> {
        self.watcher.event(event, sim);
        if let Some(events) = &mut self.events {
            events.add(event);
        }
        Ok(())
    }

    fn stepped(&mut self, sim: &mut Sim) -> PyResult<()> {
        self.pulse.beat(sim.now().0)
    }
}

/// Lets somebody watch a benchmark, and the interpreter in between.
pub(crate) struct Watching<'a> {
    pub(crate) watch: &'a mut dyn Watch,
    pub(crate) pulse: &'a mut Pulse,
    /// What Python raised.
    pub(crate) outcome: PyResult<()>,
}

impl Observer for Watching<'_> {
    fn event(&mut self, event: &SchedEvent) {
        self.watch.event(event);
        if self.outcome.is_ok() {
            self.outcome = self.pulse.beat(event.time.0);
        }
    }

    fn note(&mut self, note: &Note) {
        self.watch.note(note);
    }

    fn wants_more(&self) -> bool {
        !self.watch.is_over() && self.outcome.is_ok()
    }
}
