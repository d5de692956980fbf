// SPDX-License-Identifier: GPL-2.0-only
//! The recording: read once, for its own figures and for what its tasks did.

use zerolag_core::event::EventKind;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::replay::{Clock, History, RecordedTasks};
use zerolag_trace::metrics::{Metrics, Summary};
use zerolag_trace::read::{self, Trace};

use crate::args::high::Source;
use crate::failure::Failure;

/// More CPUs than any machine has: a number beyond is damage.
const CPUS_MAX: u32 = zerolag_core::cpu_set::CPUS_MAX as u32;

/// What was recorded.
#[derive(Debug)]
pub(super) struct Recording {
    /// Where it came from.
    pub(super) name: String,
    pub(super) history: History,
    pub(super) tasks: RecordedTasks,
    pub(super) summary: Summary,
    pub(super) events: u64,
    /// Completed wake-ups were recorded, not just their beginnings.
    pub(super) has_wakeups: bool,
}

impl Recording {
    /// Reads it, or so much of its beginning. What is odd about it is told on standard error.
    pub(super) fn read(source: &Source, duration: Option<Nanos>) -> Result<Self, Failure> {
        let failure = |e| source.failure(e);
        let mut trace = open(source)?;
        let (mut history, mut metrics, mut clock) = (History::new(), Metrics::new(), Clock::new());
        let mut first: Option<Instant> = None;
        let (mut events, mut beyond, mut has_wakeups) = (0, 0, false);
        for event in trace.by_ref() {
            let event = clock.mend(&event.map_err(failure)?);
            if event.cpu.0 >= CPUS_MAX {
                beyond += 1;
                continue;
            }
            let first = *first.get_or_insert(event.time);
            if duration.is_some_and(|d| event.time.saturating_since(first) > d) {
                break;
            }
            events += 1;
            has_wakeups |= matches!(event.kind, EventKind::Wakeup { .. });
            history.feed(&event);
            metrics.feed(&event);
        }
        history.finish();
        let (table, loss) = trace.into_parts();
        for line in loss.to_string().lines() {
            eprintln!("zerolag: {source}: {line}");
        }
        let told = |n: u64, what: &str| {
            if n > 0 {
                eprintln!("zerolag: {source}: {n} {what}");
            }
        };
        told(clock.back(), "events at which time went back; it was taken to stand still");
        told(clock.leaps(), "gaps of more than a minute were closed");
        told(beyond, "events on CPUs that no machine has");
        if history.last() == history.first() {
            return Err(source.failure("all events are of the same moment: there is nothing to replay"));
        }
        let tasks = table.iter().map(|(_, info)| crate::context::recorded(info)).collect();
        let summary = metrics.summary();
        Ok(Self { name: source.to_string(), history, tasks, summary, events, has_wakeups })
    }
}

fn open(source: &Source) -> Result<Trace<'static>, Failure> {
    let trace = match source.is_standard_input() {
        true => read::open(std::io::stdin()),
        false => read::open_path(source.path()),
    };
    trace.map_err(|e| source.failure(e))
}
