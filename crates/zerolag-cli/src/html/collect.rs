// SPDX-License-Identifier: GPL-2.0-only
//! Everything a report shows of one schedule, collected while it passes by.

use std::collections::BTreeMap;

use zerolag_core::event::{BalanceKind, EventKind};
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::task::TaskState;
use zerolag_core::units::{Instant, Weight};
use zerolag_sim::sim::Sim;
use zerolag_trace::metrics::{Metrics, Summary};

use super::series::{Band, Counts, Pieces};
use super::timeline::Timeline;
use crate::context::{Bindings, recorded_weight};
use crate::schedule::{Ending, Moment};

/// Of how many tasks, the first that appear, lag and load are followed.
const TASKS_FOLLOWED: usize = 200;

/// The kinds of balancing, and what they are called.
pub(crate) const KINDS: [(BalanceKind, &str); 4] = [
    (BalanceKind::Periodic, "periodic"),
    (BalanceKind::NewlyIdle, "newly idle"),
    (BalanceKind::Nohz, "for idle CPUs (NOHZ)"),
    (BalanceKind::Active, "active, by the stopper"),
];

/// A schedule as a report shows it.
pub(crate) struct Collected {
    pub(crate) ending: Ending,
    pub(crate) summary: Summary,
    pub(crate) timeline: Timeline,
    pub(crate) from: Instant,
    /// Lag in virtual nanoseconds and load, of the first tasks; nothing in a recording.
    pub(crate) lag: Vec<Band>,
    pub(crate) load: Vec<Band>,
    /// Runnable tasks on each memory node, if there are several; nothing in a recording.
    pub(crate) nodes: Vec<Band>,
    /// Passes that moved tasks, and tasks moved, by [`KINDS`].
    pub(crate) passes: [Counts; 4],
    pub(crate) moved: [Counts; 4],
    pub(crate) migrations: Counts,
    /// How many CPUs idle without a tick (NOHZ); nothing in a recording.
    pub(crate) tickless: Band,
    /// Length of a piece of these series.
    pub(crate) piece_ns: u64,
    /// The weights of tasks and of groups, at the end.
    pub(crate) weights: Weights,
}

/// Who competes with whom, with which weight.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    /// By task; of a recording, from its nice level.
    pub(crate) tasks: BTreeMap<TaskId, Weight>,
    /// By path of the group.
    pub(crate) groups: BTreeMap<String, Weight>,
}

/// Collects.
pub(crate) struct Collector {
    metrics: Metrics,
    timeline: Timeline,
    from: Instant,
    pieces: Pieces,
    lag: Vec<Band>,
    load: Vec<Band>,
    nodes: Nodes,
    passes: [Counts; 4],
    moved: [Counts; 4],
    migrations: Counts,
    tickless: Band,
    weights: Weights,
    bindings: Bindings,
}

/// Runnable tasks on each memory node.
#[derive(Default)]
struct Nodes {
    /// By CPU.
    runnable: Vec<u32>,
    /// By node.
    sums: Vec<u32>,
    bands: Vec<Band>,
}

impl Nodes {
    /// What runs or waits on a CPU may have changed.
    fn look(&mut self, cpu: CpuId, at: usize, sim: &Sim) {
        let scheduler = sim.scheduler();
        let topology = scheduler.topology();
        if topology.nodes().len() < 2 {
            return;
        }
        if self.runnable.is_empty() {
            self.runnable.resize(topology.cpu_count(), 0);
            self.sums.resize(topology.nodes().len(), 0);
            self.bands.resize(topology.nodes().len(), Band::default());
        }
        let node = topology.node_of(cpu).index();
        let known = &mut self.runnable[cpu.index()];
        let now = scheduler.cpus()[cpu].nr_running;
        self.sums[node] = self.sums[node] - *known + now;
        *known = now;
        self.bands[node].add(at, self.sums[node].into());
    }
}

impl Collector {
    /// Nothing yet, of a schedule that begins at `from`; the timeline has room for so many segments.
    pub(crate) fn new(from: Instant, room: usize) -> Self {
        Self {
            metrics: Metrics::new(),
            timeline: Timeline::new(room),
            from,
            pieces: Pieces::new(from),
            lag: Vec::new(),
            load: Vec::new(),
            nodes: Nodes::default(),
            passes: Default::default(),
            moved: Default::default(),
            migrations: Counts::default(),
            tickless: Band::default(),
            weights: Weights::default(),
            bindings: Bindings::default(),
        }
    }

    /// Takes the next event in.
    pub(crate) fn feed(&mut self, moment: &Moment<'_>) {
        if let Some(beside) = moment.beside
            && let Some((task, cpus)) = self.bindings.news(moment.event, moment.names, beside)
        {
            self.metrics.bind(task, cpus);
        }
        self.metrics.feed(moment.event);
        self.timeline.feed(moment.event);
        let at = self.piece(moment.event.time);
        if let Some(sim) = moment.sim {
            self.nodes.look(moment.event.cpu, at, sim);
            match moment.event.kind {
                EventKind::Wakeup { target: cpu, .. } | EventKind::WakeupNew { target: cpu, .. } => {
                    self.nodes.look(cpu, at, sim);
                }
                EventKind::Migrate { from, to, .. } => {
                    self.nodes.look(from, at, sim);
                    self.nodes.look(to, at, sim);
                }
                _ => {}
            }
            self.tickless.add(at, sim.scheduler().nohz().nr_cpus.into());
        }
        match moment.event.kind {
            EventKind::Balance { kind, moved, .. } => {
                let index = KINDS.iter().position(|(known, _)| *known == kind).unwrap_or(0);
                self.passes[index].add(at, 1);
                self.moved[index].add(at, moved.into());
            }
            EventKind::Migrate { .. } => self.migrations.add(at, 1),
            EventKind::Switch { prev, next, .. } => {
                if let Some(sim) = moment.sim {
                    for task in [prev, next].into_iter().flatten() {
                        self.sample(task, at, sim);
                    }
                }
            }
            EventKind::Wakeup { task, .. } | EventKind::WakeupNew { task, .. } => {
                if let Some(sim) = moment.sim {
                    self.sample(task, at, sim);
                }
            }
            EventKind::Tick => {
                if let Some(sim) = moment.sim
                    && let Some(task) = sim.scheduler().cpus()[moment.event.cpu].curr
                {
                    self.sample(task, at, sim);
                }
            }
            _ => {}
        }
    }

    fn piece(&mut self, time: Instant) -> usize {
        let Self { lag, load, nodes, passes, moved, migrations, tickless, .. } = self;
        self.pieces.at(time, || {
            lag.iter_mut().chain(load.iter_mut()).chain(nodes.bands.iter_mut()).for_each(Band::halve);
            passes.iter_mut().chain(moved.iter_mut()).for_each(Counts::halve);
            migrations.halve();
            tickless.halve();
        })
    }

    fn sample(&mut self, task: TaskId, at: usize, sim: &Sim) {
        let scheduler = sim.scheduler();
        let known = &scheduler.tasks()[task];
        if known.state == TaskState::Dead {
            return;
        }
        let entity = &scheduler.entities()[known.entity];
        // Also for tasks that will have ended when the schedule has.
        self.weights.tasks.insert(task, entity.weight);
        if task.index() >= TASKS_FOLLOWED || !known.policy.is_fair() {
            return;
        }
        let len = self.lag.len().max(task.index() + 1);
        self.lag.resize(len, Band::default());
        self.load.resize(len, Band::default());
        if entity.on_rq {
            let lag = scheduler.virtual_time(entity.queue).since(entity.vruntime);
            self.lag[task.index()].add(at, lag.0);
        }
        self.load[task.index()].add(at, entity.avg.load_avg as i64);
    }

    /// The schedule is over.
    pub(crate) fn finish(mut self, ending: Ending) -> Collected {
        self.metrics.advance(ending.end);
        self.timeline.finish(ending.end);
        if ending.simulated.is_none() {
            for (task, info) in ending.names.iter() {
                let beside = ending.beside.as_ref();
                let weight = beside.map_or_else(|| recorded_weight(info), |beside| beside.weight(info));
                self.weights.tasks.extend(weight.map(|weight| (task, weight)));
            }
        }
        self.weights.groups.clone_from(&ending.weights);
        Collected {
            ending,
            summary: self.metrics.summary(),
            timeline: self.timeline,
            from: self.from,
            lag: self.lag,
            load: self.load,
            nodes: self.nodes.bands,
            passes: self.passes,
            moved: self.moved,
            migrations: self.migrations,
            tickless: self.tickless,
            piece_ns: self.pieces.len.0,
            weights: self.weights,
        }
    }
}
