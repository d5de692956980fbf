// SPDX-License-Identifier: GPL-2.0-only
//! Where a task may run, concluded from where it did not.
//!
//! A recording does not say which CPUs a task is bound to. But a task that waits behind others while another
//! CPU is idle is soon taken there, unless it may not go. So a CPU that was idle for long while the task
//! waited, and on which it never ran, is one that it may not use.
//!
//! Of kernel threads that belong to a CPU their names say so: `kworker/1:0H`, `ksoftirqd/1`, `migration/1`.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, Id};
use zerolag_core::units::{Instant, Nanos};

use super::latency::Wakeup;
use super::resize;

/// A CPU that was idle for so long, all in all, while a task waited elsewhere would have taken it: several
/// rounds of balancing at any tick rate.
const IDLE_MIN: Nanos = Nanos::from_millis(40);

/// How a task waited for CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// How long each CPU had been idle when the present wait began.
    idle_before: Vec<Nanos>,
    waiting_since: Option<Instant>,
    /// How long each CPU was idle while the task waited, since it last ran there.
    passed_over: Vec<Nanos>,
    /// It was woken and has not run since.
    wakeup: Option<Wakeup>,
}

impl Waits {
    pub(super) fn begin(&mut self, now: Instant, idle: Vec<Nanos>) {
        self.idle_before = idle;
        self.waiting_since = Some(now);
    }

    pub(super) fn end(&mut self, _now: Instant, idle: &[Nanos]) {
        if self.waiting_since.take().is_none() {
            return;
        }
        for (i, &after) in idle.iter().enumerate() {
            let before = self.idle_before.get(i).copied().unwrap_or(after);
            *resize_to(&mut self.passed_over, i) += after.saturating_sub(before);
        }
    }

    /// What was passed over before does not count: it may have been bound later.
    pub(super) fn ran_on(&mut self, cpu: CpuId) {
        *resize_to(&mut self.passed_over, cpu.index()) = Nanos::ZERO;
    }

    pub(super) fn set_wakeup(&mut self, wakeup: Wakeup) {
        self.wakeup = Some(wakeup);
    }

    pub(super) fn take_wakeup(&mut self) -> Option<Wakeup> {
        self.wakeup.take()
    }

    /// The CPUs of a machine with `count` that the task may use; nothing if it may use all, as far as one can
    /// tell. With them, for how long the others were idle while it waited.
    pub(super) fn bound_to(&self, count: usize) -> Option<(CpuSet, Nanos)> {
        let mut cpus = CpuSet::first_n(count);
        let mut idle = Nanos::ZERO;
        for (i, &span) in self.passed_over.iter().enumerate().take(count) {
            let cpu = CpuId::from_index(i);
            if span >= IDLE_MIN {
                cpus.remove(cpu);
                idle = idle.max(span);
            }
        }
        (idle > Nanos::ZERO && !cpus.is_empty()).then_some((cpus, idle))
    }
}

fn resize_to(table: &mut Vec<Nanos>, index: usize) -> &mut Nanos {
    resize(table, CpuId::from_index(index));
    &mut table[index]
}

/// Kernel threads of which there is one for each CPU, or several.
const OF_EACH_CPU: [&str; 5] = ["kworker/", "ksoftirqd/", "migration/", "cpuhp/", "rcuc/"];

/// The CPU to which the kernel binds a thread of this name. A worker that belongs to none is a `kworker/u8:1`.
pub(super) fn of_kernel_thread(comm: &str) -> Option<CpuId> {
    let name = OF_EACH_CPU.iter().find_map(|kind| comm.strip_prefix(kind))?;
    let cpu = name.split(':').next()?;
    cpu.parse().ok().map(CpuId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernel_threads_say_where_they_belong() {
        let cases = [
            ("kworker/1:0", Some(1)),
            ("kworker/12:1H-kblockd", Some(12)),
            ("ksoftirqd/0", Some(0)),
            ("migration/3", Some(3)),
            ("kworker/u8:1", None),
            ("kworker/R-slub", None),
            ("migration/", None),
            ("hog/1", None),
        ];
        for (comm, cpu) in cases {
            assert_eq!(of_kernel_thread(comm), cpu.map(CpuId), "{comm}");
        }
    }
}
