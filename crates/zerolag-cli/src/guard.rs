// SPDX-License-Identifier: GPL-2.0-only
//! Watches a run for invariants that break: of the scheduler's state, and of the schedule it makes.

use std::fmt;

use zerolag_core::event::SchedEvent;
use zerolag_core::fair::audit::Auditor;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::costs::Costs;
use zerolag_sim::scenario::Scenario;
use zerolag_sim::sim::Sim;
use zerolag_trace::check::{Bounds, Check};

/// What broke, where and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) at: Instant,
    pub(crate) what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} s: {}", self.at, self.what)
    }
}

/// Looks at everything that happens.
#[derive(Debug)]
pub(crate) struct Guard {
    auditor: Auditor,
    schedule: Check,
}

impl Guard {
    /// A guard for runs of this scenario.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        // Where switches cost time, somebody runs meanwhile whom nobody charges.
        let exact = scenario.setup.costs == Costs::IDEAL;
        // Real-time tasks and quotas make CPUs idle beside work, so that is not judged.
        let bounds = Bounds { charge: exact.then_some(Nanos::ZERO), ..Bounds::default() };
        Self { auditor: Auditor::new(), schedule: Check::new(bounds) }
    }

    /// Something happened.
    pub(crate) fn feed(&mut self, event: &SchedEvent) {
        self.schedule.feed(event);
    }

    /// This is what it led to.
    pub(crate) fn look(&mut self, sim: &Sim) -> Result<(), Breach> {
        if let Some(finding) = self.schedule.findings().first() {
            return Err(Breach { at: finding.time, what: finding.to_string() });
        }
        self.auditor
            .observe(sim.scheduler())
            .map_err(|violation| Breach { at: sim.now(), what: violation.to_string() })
    }
}
