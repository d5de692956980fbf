// SPDX-License-Identifier: GPL-2.0-only
//! One run, from its input to its figures.

use std::fmt;

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::input::Input;
use zerolag_sim::note::Note;
use zerolag_sim::scenario::{ScenarioError, Watches};
use zerolag_sim::sim::{Observer, Stop};
use zerolag_sim::workload::model::Metric;
use zerolag_sim::workload::rtapp;
use zerolag_trace::metrics::Metrics;

use crate::figures;
use crate::nodes::Nodes;

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// Figures, in the order in which they are worth showing.
    pub metrics: Vec<Metric>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The time was up.
    Duration,
    /// All tasks had ended, or all benchmarks were over.
    Finished,
    /// All tasks waited for each other.
    Deadlock,
    /// A task went on without time passing.
    Livelock,
}

impl End {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Duration, Self::Finished, Self::Deadlock, Self::Livelock];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Finished => "finished",
            Self::Deadlock => "deadlock",
            Self::Livelock => "livelock",
        }
    }

    /// Whether the run went as it should.
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Duration | Self::Finished)
    }
}

impl From<Option<&Stop>> for End {
    fn from(stop: Option<&Stop>) -> Self {
        match stop {
            None => Self::Duration,
            Some(Stop::Finished) => Self::Finished,
            Some(Stop::Deadlock(_)) => Self::Deadlock,
            Some(Stop::Livelock { .. }) => Self::Livelock,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// After so many events somebody is asked whether a run is to go on.
const PATIENCE: u32 = 1 << 12;

/// Listens for everybody who wants to know.
struct Ear<'a> {
    goes_on: &'a mut dyn FnMut() -> bool,
    stopped: bool,
    unasked: u32,
    metrics: Metrics,
    watches: Watches,
    nodes: Option<Nodes>,
    rtapps: Vec<rtapp::Observer<'a>>,
}

impl Observer for Ear<'_> {
    fn event(&mut self, event: &SchedEvent) {
        self.metrics.feed(event);
        self.watches.event(event);
        if let Some(nodes) = &mut self.nodes {
            nodes.event(event);
        }
        self.unasked += 1;
        if self.unasked >= PATIENCE {
            self.unasked = 0;
            self.stopped |= !(self.goes_on)();
        }
    }

    fn note(&mut self, note: &Note) {
        self.watches.note(note);
        for app in &mut self.rtapps {
            app.note(note);
        }
    }

    fn wants_more(&self) -> bool {
        self.watches.wants_more() && !self.stopped
    }
}

/// Runs it, unless `goes_on`, which is asked again and again, says that it is not to go on: then there is no
/// outcome.
///
/// # Errors
/// If the workload cannot run on the machine.
pub fn run(input: &Input, goes_on: &mut dyn FnMut() -> bool) -> Result<Option<Outcome>, ScenarioError> {
    let scenario = &input.scenario;
    let mut sim = scenario.simulate()?;
    let alone = input.app.as_ref().map(|(app, compiled)| (app, compiled));
    let parts = scenario.rtapps.iter().map(|part| (&part.app, &part.compiled));
    let rtapps = alone.into_iter().chain(parts).map(|(app, compiled)| rtapp::Observer::new(app, compiled));
    let (metrics, watches) = (Metrics::new(), scenario.watches());
    let nodes = scenario.runnable_per_node.map(Nodes::new);
    let mut ear =
        Ear { goes_on, stopped: false, unasked: 0, metrics, watches, nodes, rtapps: rtapps.collect() };
    sim.run_until(Instant(scenario.duration.0), &mut ear);
    if ear.stopped {
        return Ok(None);
    }
    ear.metrics.advance(sim.now());
    let end = if ear.watches.wants_more() { End::from(sim.stop()) } else { End::Finished };
    let mut metrics = figures::of_models(&ear.watches.finish(sim.now()));
    metrics.extend(figures::of_machine(&sim, end, &ear.metrics.summary()));
    if let Some(nodes) = ear.nodes {
        metrics.extend(nodes.finish(&sim));
    }
    for app in ear.rtapps {
        let record = app.finish(sim.now(), sim.stop().is_none(), |task| sim.task_name(task));
        metrics.extend(figures::of_rtapp(&record));
    }
    // SQL has no infinities, and a figure that is none says nothing.
    metrics.retain(|m| m.value.is_finite());
    Ok(Some(Outcome { end, metrics }))
}
