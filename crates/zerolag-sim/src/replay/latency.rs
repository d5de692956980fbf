// SPDX-License-Identifier: GPL-2.0-only
//! What wake-ups cost on the recorded machine: the floor under its latencies.
//!
//! The time from a wake-up to running is waiting, which the scheduler decides on, and the machinery's own:
//! leaving an idle state, an interrupt on its way, the switch, the recorder itself. Only the latter is measured
//! here, from wake-ups whose task came next on its CPU, without waiting for a tick.

use zerolag_core::ids::CpuId;
use zerolag_core::units::{Instant, Nanos};

use super::history::{WakeNumber, WakeUp};
use crate::costs::Costs;

/// Longer than this is waiting.
const PROMPT_MAX: Nanos = Nanos::from_micros(200);
/// Fewer do not make a measurement.
const SAMPLES_MIN: usize = 10;
/// More do not make it better.
const SAMPLES_MAX: usize = 100_000;

/// A wake-up that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wakeup {
    pub(super) number: WakeNumber,
    /// When it was complete.
    pub(super) at: Instant,
    /// Where the task waits.
    pub(super) cpu: CpuId,
    /// How often that CPU had switched.
    pub(super) switches: u64,
}

impl Wakeup {
    /// Whether a CPU that has switched so often did so to the task first.
    pub(super) fn is_next(&self, cpu: CpuId, switches: u64) -> bool {
        cpu == self.cpu && switches == self.switches + 1
    }
}

/// Wake-ups that were answered at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Prompt {
    /// Woken on its own CPU: from the wake-up to running.
    here: Vec<Nanos>,
    /// Woken from another CPU, while its own was idle: from the beginning of the wake-up to running.
    across: Vec<Nanos>,
}

impl Prompt {
    pub(super) fn record(&mut self, wake: &WakeUp, woken: Instant, now: Instant, cpu: CpuId, was_idle: bool) {
        let (samples, span) = if wake.on == cpu {
            (&mut self.here, now.saturating_since(woken))
        } else if was_idle {
            (&mut self.across, now.saturating_since(wake.at))
        } else {
            return;
        };
        if span <= PROMPT_MAX && samples.len() < SAMPLES_MAX {
            samples.push(span);
        }
    }

    /// Costs that give such latencies. What a switch and a tick take is in the recorded run times already.
    pub(super) fn costs(&self) -> Costs {
        let wakeup = median(&self.here).unwrap_or_default();
        let across = median(&self.across).unwrap_or_default();
        Costs { wakeup, idle_exit: across, ..Costs::IDEAL }
    }
}

fn median(samples: &[Nanos]) -> Option<Nanos> {
    if samples.len() < SAMPLES_MIN {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    Some(sorted[sorted.len() / 2])
}
