// SPDX-License-Identifier: GPL-2.0-only
//! The recording: read once, for its own figures and for what its tasks did.

use zerolag_core::event::EventKind;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::replay::{Clock, History, RecordedTask, RecordedTasks};
use zerolag_trace::metrics::{Metrics, Summary};
use zerolag_trace::read::{ReadError, Trace};
use zerolag_trace::tasks::TaskInfo;

/// More CPUs than any machine has: a number beyond is damage.
const CPUS_MAX: u32 = zerolag_core::cpu_set::CPUS_MAX as u32;

/// What was recorded.
#[derive(Debug)]
pub struct Recording {
    /// Where it came from.
    pub name: String,
    /// What tasks did.
    pub history: History,
    /// Who they are.
    pub tasks: RecordedTasks,
    /// Its own figures.
    pub summary: Summary,
    /// How many events it has.
    pub events: u64,
    /// Completed wake-ups were recorded, not just their beginnings.
    pub has_wakeups: bool,
    /// What is odd about it.
    pub remarks: Vec<String>,
    /// Only so much of its beginning was to be read.
    pub limit: Option<Nanos>,
}

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] ReadError),
    /// It has no length.
    #[error("all events are of the same moment: there is nothing to replay")]
    OneMoment,
    /// Nothing of it was to be read.
    #[error("a replay of no time shows nothing")]
    NoTime,
    /// Whoever was asked did not want to go on.
    #[error("reading was given up")]
    GivenUp,
}

/// Who a task of a recording is.
pub fn recorded(info: &TaskInfo) -> RecordedTask {
    RecordedTask { pid: info.pid, comm: info.comm.clone(), prio: info.prio }
}

impl Recording {
    /// Reads it, or so much of its beginning. `goes_on` is asked at each event whether to.
    ///
    /// # Errors
    /// If it cannot be read, or there is nothing to replay.
    pub fn read(
        name: String,
        mut trace: Trace<'_>,
        limit: Option<Nanos>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, RecordingError> {
        if limit == Some(Nanos::ZERO) {
            return Err(RecordingError::NoTime);
        }
        let (mut history, mut metrics, mut clock) = (History::new(), Metrics::new(), Clock::new());
        let mut first: Option<Instant> = None;
        let (mut events, mut beyond, mut has_wakeups) = (0, 0, false);
        for event in trace.by_ref() {
            let event = clock.mend(&event?);
            if !goes_on() {
                return Err(RecordingError::GivenUp);
            }
            if event.cpu.0 >= CPUS_MAX {
                beyond += 1;
                continue;
            }
            let first = *first.get_or_insert(event.time);
            if limit.is_some_and(|d| event.time.saturating_since(first) > d) {
                break;
            }
            events += 1;
            has_wakeups |= matches!(event.kind, EventKind::Wakeup { .. });
            history.feed(&event);
            metrics.feed(&event);
        }
        history.finish();
        let (table, loss) = trace.into_parts();
        let mut remarks: Vec<String> = loss.to_string().lines().map(str::to_owned).collect();
        let told = [
            (clock.back(), "events at which time went back; it was taken to stand still"),
            (clock.leaps(), "gaps of more than a minute were closed"),
            (beyond, "events on CPUs that no machine has"),
        ];
        remarks.extend(told.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        if history.last() == history.first() {
            return Err(RecordingError::OneMoment);
        }
        let tasks = table.iter().map(|(_, info)| recorded(info)).collect();
        let summary = metrics.summary();
        Ok(Self { name, history, tasks, summary, events, has_wakeups, remarks, limit })
    }
}
