// SPDX-License-Identifier: GPL-2.0-only
//! Explanations in sentences, with a small drawing.

use std::fmt::{self, Display};

use zerolag_core::event::{BalanceKind, EventKind, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::{Instant, Nanos};
use zerolag_trace::TaskTable;
use zerolag_trace::timeline;

use super::scene::{Level, Standing};
use super::waits::Begin;
use super::{Explanation, Stretch};

/// Columns of the drawing.
const COLUMNS: u64 = 72;
/// How many stretches are told one by one.
const TOLD_MAX: usize = 8;
/// How many changes that help are told.
const HELPFUL_MAX: usize = 6;

/// Milliseconds, with a sign if it is a lag.
pub(super) struct Ms(i64, bool);

impl Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ns, signed) = *self;
        let sign = if ns < 0 {
            "-"
        } else if signed {
            "+"
        } else {
            ""
        };
        let ns = ns.unsigned_abs();
        write!(f, "{sign}{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000)
    }
}

pub(super) fn span(span: Nanos) -> Ms {
    Ms(span.0 as i64, false)
}

fn signed(ns: i64) -> Ms {
    Ms(ns, true)
}

/// Who ran on each CPU in a window of time, and below it when the task ran (#) and waited (-).
pub(super) fn drawing(
    events: &[SchedEvent],
    names: &TaskTable,
    (from, to): (Instant, Instant),
    task: TaskId,
) -> String {
    let bucket = Nanos(to.saturating_since(from).0.div_ceil(COLUMNS).max(1));
    let mut drawn = timeline::draw(events, names, from, to, bucket);
    if drawn.is_empty() {
        return drawn;
    }
    let mine = events.iter().filter(|event| match event.kind {
        EventKind::Switch { prev, next, .. } => [prev, next].contains(&Some(task)),
        EventKind::Wakeup { task: woken, .. } | EventKind::WakeupNew { task: woken, .. } => woken == task,
        _ => false,
    });
    let only = mine.copied().map(|mut event| {
        if let EventKind::Switch { prev, next, .. } = &mut event.kind {
            *prev = prev.filter(|&other| other == task);
            *next = next.filter(|&other| other == task);
        }
        event
    });
    let only: Vec<_> = only.collect();
    drawn.push_str(&timeline::draw_tasks(&only, names, from, to, bucket));
    drawn.lines().map(|line| format!("  {line}\n")).collect()
}

impl Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (weight {}, lag {}", self.name, self.weight, signed(self.lag))?;
        if let Some(deadline) = self.deadline {
            write!(f, ", deadline {}", signed(deadline))?;
        }
        match self.eligible {
            Some(true) => write!(f, ", eligible")?,
            Some(false) => write!(f, ", not eligible")?,
            None => {}
        }
        if self.protected {
            write!(f, ", its slice of {} protected", span(self.slice))?;
        }
        f.write_str(")")
    }
}

impl Level {
    /// Why the one that ran did, as far as its place in the queue says.
    pub(crate) fn reason(&self) -> Option<String> {
        let (waits, runs) = (&self.waiting, self.running.as_ref()?);
        let (wait, run) = (&waits.name, &runs.name);
        Some(match (waits.eligible, waits.deadline.zip(runs.deadline)) {
            (Some(false), _) => {
                format!(
                    "{wait} was not eligible: it had had {} more than its share",
                    span(Nanos(waits.lag.unsigned_abs()))
                )
            }
            (Some(true), _) if runs.protected => {
                format!(
                    "{run} was protected: it may go on until its request is served, whoever has an earlier deadline"
                )
            }
            (_, Some((waiting, running))) if running <= waiting => {
                format!(
                    "{run} had the earlier deadline, by {}",
                    span(Nanos((waiting - running).unsigned_abs()))
                )
            }
            (_, Some((waiting, running))) => format!(
                "{wait} had the earlier deadline, by {}, and waited for the next decision of that CPU",
                span(Nanos((running - waiting).unsigned_abs()))
            ),
            _ if runs.lag >= waits.lag => {
                format!(
                    "{run} had had less: its vruntime was smaller by {}",
                    span(Nanos((runs.lag - waits.lag).unsigned_abs()))
                )
            }
            _ => format!(
                "{wait} had had less, by {} of virtual time, and waited until that was enough to preempt {run}",
                span(Nanos((waits.lag - runs.lag).unsigned_abs()))
            ),
        })
    }
}

impl Explanation {
    fn called(&self, stretch: &Stretch) -> String {
        stretch
            .ran
            .and_then(|task| self.names.get(&task).cloned())
            .unwrap_or_else(|| "the idle task".to_owned())
    }

    fn opening(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = &self.wait;
        write!(f, "{} waited {} on cpu{}, from {} s", self.name, span(self.len), wait.cpu, wait.from)?;
        match wait.to {
            Some(to) => write!(f, " to {to} s.")?,
            None => write!(f, " to the end, without running.")?,
        }
        let by = |waker: &Option<Option<String>>| match waker {
            Some(Some(name)) => format!("{name}, which ran there"),
            _ => "an interrupt, with nobody running there".to_owned(),
        };
        match wait.begin {
            Begin::Woken { by: cpu } => {
                writeln!(f, " It was woken on cpu{cpu} by {}, or by an interrupt under it.", by(&self.waker))
            }
            Begin::New { by: cpu } => writeln!(f, " It was new, made on cpu{cpu}."),
            Begin::Preempted => writeln!(f, " It was preempted there."),
        }
    }

    fn rivals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stretch in self.stretches.iter().take(TOLD_MAX) {
            let at = stretch.from.saturating_since(self.wait.from);
            let len = stretch.to.saturating_since(stretch.from);
            writeln!(
                f,
                "  +{}: {} ran for {} on cpu{}.",
                span(at),
                self.called(stretch),
                span(len),
                stretch.cpu
            )?;
            if stretch.ran.is_none() {
                writeln!(
                    f,
                    "      The CPU was idle: the wake-up was still on its way, or the group was throttled."
                )?;
                continue;
            }
            if stretch.levels.is_empty() {
                writeln!(
                    f,
                    "      They do not compete in the fair class: one of them is of another, or not queued."
                )?;
            }
            for level in &stretch.levels {
                let others = match level.others {
                    0 => String::new(),
                    1 => "; one more waited".to_owned(),
                    n => format!("; {n} more waited"),
                };
                match &level.running {
                    Some(running) => {
                        writeln!(
                            f,
                            "      In {}: {running} ran, {} waited{others}.",
                            level.group, level.waiting
                        )?;
                    }
                    None => {
                        writeln!(f, "      In {}: both are below {}{others}.", level.group, level.waiting)?
                    }
                }
            }
            if let Some(reason) = stretch.levels.last().and_then(Level::reason) {
                writeln!(f, "      Why: {reason}.")?;
            }
        }
        if self.stretches.len() > TOLD_MAX {
            writeln!(f, "  and {} more.", self.stretches.len() - TOLD_MAX)?;
        }
        Ok(())
    }

    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, places) = (self.wait.cpu, &self.places);
        if places.allowed_count <= 1 {
            return writeln!(f, "It may run on cpu{} only.", places.allowed);
        }
        let before = if self.last_cpu == cpu { "where it was last" } else { "where it was not last" };
        if let Begin::Preempted = self.wait.begin {
            writeln!(
                f,
                "A preempted task stays where it is, on cpu{cpu}, until somebody moves it; it may run on {}.",
                places.allowed
            )?;
        } else {
            write!(f, "It may run on {}; it was put on cpu{cpu}, {before}", places.allowed)?;
            if self.last_cpu != cpu {
                write!(f, " (cpu{})", self.last_cpu)?;
            }
            let others: Vec<_> = places.idle.iter().filter(|&&(idle, _)| idle != cpu).collect();
            let (near, far): (Vec<_>, Vec<_>) = others.iter().partition(|(_, near)| *near);
            let list = |cpus: &[&&(zerolag_core::ids::CpuId, bool)]| {
                cpus.iter().map(|(cpu, _)| format!("cpu{cpu}")).collect::<Vec<_>>().join(", ")
            };
            match (near.as_slice(), far.as_slice()) {
                ([], []) => writeln!(f, ": no other CPU that it may use was idle.")?,
                ([], far) => writeln!(
                    f,
                    ": idle were only {}, in other last-level caches, where a wake-up does not look unless it was there before.",
                    list(far)
                )?,
                (near, _) => {
                    writeln!(f, ", although {} in the same last-level cache had nothing to do.", list(near))?
                }
            }
        }
        let running: Vec<_> = places
            .running
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .take(16)
            .map(|(cpu, n)| format!("cpu{cpu} {n}"))
            .collect();
        writeln!(f, "Tasks then running or waiting: {}.", running.join(", "))
    }

    fn balancing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (time, from, to) in &self.migrated {
            writeln!(f, "At {time} s it was moved from cpu{from} to cpu{to}.")?;
        }
        if self.places.allowed_count <= 1 {
            return Ok(());
        }
        let idle: Vec<_> =
            self.idle.iter().take(8).map(|(cpu, time)| format!("cpu{cpu} for {}", span(*time))).collect();
        let count = |kind| self.passes.iter().filter(|pass| pass.kind == kind).count();
        let moved: u32 = self.passes.iter().map(|pass| pass.moved).sum();
        let passes = if self.passes.is_empty() {
            "balancing moved nothing meanwhile".to_owned()
        } else {
            format!(
                "balancing moved {moved} tasks meanwhile, in {} newly idle, {} periodic, {} passes for idle CPUs and {} by \
                 the stopper",
                count(BalanceKind::NewlyIdle),
                count(BalanceKind::Periodic),
                count(BalanceKind::Nohz),
                count(BalanceKind::Active),
            )
        };
        if idle.is_empty() {
            writeln!(f, "No CPU that it may use was idle meanwhile, so there was none to pull it; {passes}.")
        } else if self.migrated.is_empty() {
            writeln!(
                f,
                "Idle meanwhile: {}; {passes}. This task was not pulled: no pass was due there, or none found the imbalance large enough.",
                idle.join(", ")
            )
        } else {
            writeln!(f, "Idle meanwhile: {}; {passes}.", idle.join(", "))
        }
    }

    fn remedies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let enough = Nanos(self.len.0 - self.len.0 / 10);
        let (helped, not): (Vec<_>, Vec<_>) = self.tried.iter().partition(|tried| tried.waited < enough);
        if helped.is_empty() {
            writeln!(f, "None of {} single changes would have let it run a tenth earlier.", not.len())?;
        } else {
            writeln!(
                f,
                "It would have run earlier with (each tried in a copy of the simulation, from just before the wait on):"
            )?;
            for tried in helped.iter().take(HELPFUL_MAX) {
                writeln!(f, "  {}: {} instead of {}", tried.what, span(tried.waited), span(self.len))?;
            }
            if helped.len() > HELPFUL_MAX {
                writeln!(f, "  and {} more", helped.len() - HELPFUL_MAX)?;
            }
            let some: Vec<_> = not.iter().take(6).map(|tried| tried.what.as_str()).collect();
            if !some.is_empty() {
                let more = if not.len() > some.len() {
                    format!(" and {} more", not.len() - some.len())
                } else {
                    String::new()
                };
                writeln!(f, "No help: {}{more}.", some.join(", "))?;
            }
        }
        Ok(())
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.opening(f)?;
        let mut names = TaskTable::new();
        for (task, name) in &self.names {
            names.add(task.0 + 1, name);
        }
        let drawing = drawing(&self.events, &names, self.window, self.wait.task);
        if !drawing.is_empty() {
            writeln!(f, "\n{drawing}")?;
        }
        writeln!(f, "Who ran meanwhile:")?;
        self.rivals(f)?;
        writeln!(f)?;
        self.place(f)?;
        self.balancing(f)?;
        writeln!(f)?;
        self.remedies(f)
    }
}
