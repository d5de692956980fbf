// SPDX-License-Identifier: GPL-2.0-only
//! What a recording shows of a wait: who ran meanwhile, which CPUs were idle, and how it ended.
//!
//! It does not show why: lag, deadlines and what balancing saw are not recorded, and nothing can be tried. A
//! recording is read twice, for waits first and then for what happened during the chosen ones.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_core::units::{Instant, Nanos};

use super::text::{drawing, span};
use super::waits::{Begin, Wait, Waits};
use crate::failure::Failure;
use crate::schedule::{Ending, Schedule};

/// More stretches than this are not kept one by one.
const STRETCHES_MAX: usize = 10_000;
/// How many are told one by one.
const TOLD_MAX: usize = 12;
/// Events beyond this are not drawn.
const EVENTS_MAX: usize = 200_000;

/// Who ran on the CPU on whose queue the task waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) cpu: CpuId,
    pub(crate) ran: Ran,
    /// How it left the CPU; nothing if the wait ended first.
    pub(crate) left: Option<PrevState>,
}

/// Who had a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ran {
    Unknown,
    Idle,
    Task(TaskId),
}

/// A wait, and what is recorded of it.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) wait: Wait,
    pub(crate) len: Nanos,
    /// Who ran where it was woken from.
    pub(crate) waker: Ran,
    /// Where it last ran.
    pub(crate) last_cpu: Option<CpuId>,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) migrated: Vec<(Instant, CpuId, CpuId)>,
    /// CPUs that were idle when the wait began, and for how long each was during it.
    pub(crate) idle_then: Vec<CpuId>,
    pub(crate) idle: Vec<(CpuId, Nanos)>,
    /// For the drawing.
    events: Vec<SchedEvent>,
}

/// All waits of a recording's tasks, and what is known when it is over.
pub(crate) fn find(schedule: Schedule) -> Result<(Vec<Wait>, Ending), Failure> {
    let mut waits = Waits::of_recording();
    let mut found = Vec::new();
    let ending = schedule.follow(&mut |moment| {
        found.extend(waits.feed(moment.event));
        Ok(())
    })?;
    found.extend(waits.rest());
    Ok((found, ending))
}

/// Looks at what happened during these waits of the same recording, which ends at `end`.
pub(crate) fn look(schedule: Schedule, waits: Vec<Wait>, end: Instant) -> Result<Vec<Recorded>, Failure> {
    let mut looks: Vec<Look> = waits.into_iter().map(|wait| Look::new(wait, end)).collect();
    let mut machine = Machine::default();
    schedule.follow_silently(&mut |moment| {
        machine.passes(moment.event.time);
        for look in &mut looks {
            look.before(moment.event, &machine);
        }
        machine.feed(moment.event);
        for look in &mut looks {
            look.after(moment.event, &machine);
        }
        Ok(())
    })?;
    machine.passes(end);
    Ok(looks.into_iter().map(|look| look.finish(&machine)).collect())
}

/// Who has each CPU, and how long it was idle.
#[derive(Debug, Default)]
struct Machine {
    cpus: Vec<(Ran, Nanos)>,
    last_cpu: Vec<Option<CpuId>>,
    now: Instant,
}

impl Machine {
    fn passes(&mut self, now: Instant) {
        let passed = now.saturating_since(self.now);
        self.now = self.now.max(now);
        self.cpus.iter_mut().filter(|c| c.0 == Ran::Idle).for_each(|c| c.1 += passed);
    }

    fn runs(&self, cpu: CpuId) -> Ran {
        self.cpus.get(cpu.index()).map_or(Ran::Unknown, |c| c.0)
    }

    fn idle(&self) -> impl Iterator<Item = CpuId> {
        (0..).map(CpuId).zip(&self.cpus).filter(|(_, c)| c.0 == Ran::Idle).map(|(cpu, _)| cpu)
    }

    fn feed(&mut self, event: &SchedEvent) {
        let EventKind::Switch { next, .. } = event.kind else { return };
        let at = event.cpu.index();
        if at >= self.cpus.len() {
            self.cpus.resize(at + 1, (Ran::Unknown, Nanos::ZERO));
        }
        self.cpus[at].0 = next.map_or(Ran::Idle, Ran::Task);
        if let Some(task) = next {
            if task.index() >= self.last_cpu.len() {
                self.last_cpu.resize(task.index() + 1, None);
            }
            self.last_cpu[task.index()] = Some(event.cpu);
        }
    }
}

/// One wait that is being looked at.
struct Look {
    found: Recorded,
    state: State,
    at: CpuId,
    since: Instant,
    /// How long each CPU was idle before it.
    idle_before: Vec<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    During,
    After,
}

impl Look {
    fn new(wait: Wait, end: Instant) -> Self {
        Self {
            found: Recorded {
                wait,
                len: wait.len(end),
                waker: Ran::Unknown,
                last_cpu: None,
                stretches: Vec::new(),
                migrated: Vec::new(),
                idle_then: Vec::new(),
                idle: Vec::new(),
                events: Vec::new(),
            },
            state: State::Before,
            at: wait.cpu,
            since: wait.from,
            idle_before: Vec::new(),
        }
    }

    /// The machine has not taken the event in yet.
    fn before(&mut self, event: &SchedEvent, machine: &Machine) {
        if self.state != State::During {
            return;
        }
        let mine = self.found.wait.task;
        match event.kind {
            EventKind::Switch { prev_state, .. } if event.cpu == self.at => {
                self.close(event.time, Some(prev_state), machine);
            }
            EventKind::Switch { next, .. } if next == Some(mine) => self.close(event.time, None, machine),
            EventKind::Migrate { task, from, to } if task == mine => {
                self.close(event.time, None, machine);
                self.found.migrated.push((event.time, from, to));
                self.at = to;
            }
            EventKind::Wakeup { task, target } if task == mine && target != self.at => {
                self.close(event.time, None, machine);
                self.at = target;
            }
            _ => {}
        }
    }

    fn after(&mut self, event: &SchedEvent, machine: &Machine) {
        let wait = self.found.wait;
        match self.state {
            State::Before if event.time == wait.from && begins(event, wait.task) => {
                self.begin(event, machine)
            }
            State::During => {
                if self.found.events.len() < EVENTS_MAX {
                    self.found.events.push(*event);
                }
                if matches!(event.kind, EventKind::Switch { next, .. } if next == Some(wait.task)) {
                    self.end(machine);
                }
            }
            State::Before | State::After => {}
        }
    }

    fn begin(&mut self, event: &SchedEvent, machine: &Machine) {
        self.state = State::During;
        let wait = self.found.wait;
        if let Begin::Woken { by } | Begin::New { by } = wait.begin {
            self.found.waker = machine.runs(by);
        }
        self.found.last_cpu = machine.last_cpu.get(wait.task.index()).copied().flatten();
        self.found.idle_then = machine.idle().collect();
        self.idle_before = machine.cpus.iter().map(|c| c.1).collect();
        // The drawing begins with who runs then.
        for (cpu, &(ran, _)) in (0..).map(CpuId).zip(&machine.cpus) {
            let next = match ran {
                Ran::Unknown => continue,
                Ran::Idle => None,
                Ran::Task(task) => Some(task),
            };
            let kind = EventKind::Switch { prev: None, prev_state: PrevState::Runnable, next };
            self.found.events.push(SchedEvent { time: wait.from, cpu, kind });
        }
        self.found.events.push(*event);
    }

    fn close(&mut self, now: Instant, left: Option<PrevState>, machine: &Machine) {
        let (from, cpu) = (std::mem::replace(&mut self.since, now), self.at);
        if from < now && self.found.stretches.len() < STRETCHES_MAX {
            self.found.stretches.push(Stretch { from, to: now, cpu, ran: machine.runs(cpu), left });
        }
    }

    fn end(&mut self, machine: &Machine) {
        self.state = State::After;
        for (cpu, &(_, idle)) in (0..).map(CpuId).zip(&machine.cpus) {
            let before = self.idle_before.get(cpu.index()).copied().unwrap_or_default();
            let span = idle.saturating_sub(before);
            if span > Nanos::ZERO {
                self.found.idle.push((cpu, span));
            }
        }
    }

    fn finish(mut self, machine: &Machine) -> Recorded {
        if self.state == State::During {
            self.close(machine.now, None, machine);
            self.end(machine);
        }
        self.found
    }
}

/// Whether a wait of the task may begin with this event.
fn begins(event: &SchedEvent, mine: TaskId) -> bool {
    match event.kind {
        EventKind::Waking { task, .. }
        | EventKind::Wakeup { task, .. }
        | EventKind::WakeupNew { task, .. } => task == mine,
        EventKind::Switch { prev, .. } => prev == Some(mine),
        _ => false,
    }
}

/// A wait with the names of those who took part in it.
pub(crate) struct Told<'a> {
    pub(crate) found: &'a Recorded,
    pub(crate) ending: &'a Ending,
}

impl Told<'_> {
    /// Name, pid, and what else is known.
    fn called(&self, task: TaskId) -> String {
        let names = &self.ending.names;
        let mut known = vec![format!("pid {}", names.pid(task).unwrap_or(0))];
        if let Some(prio) = names.get(task).and_then(|info| info.prio) {
            known.push(match prio {
                100..=139 => format!("nice {}", prio - 120),
                0..=98 => format!("real-time priority {}", 99 - prio),
                99 => "real-time priority 0".to_owned(),
                _ => "deadline".to_owned(),
            });
        }
        if let Some(group) = self.ending.groups.as_ref().and_then(|groups| groups.get(&task)) {
            known.push(format!("group {group}"));
        }
        format!("{} ({})", names.comm(task), known.join(", "))
    }

    fn who(&self, ran: Ran) -> String {
        match ran {
            Ran::Unknown => "somebody whom the recording does not name".to_owned(),
            Ran::Idle => "the idle task".to_owned(),
            Ran::Task(task) => self.called(task),
        }
    }

    /// The CPUs that the task may use, if the context says so.
    pub(crate) fn allowed(&self) -> Option<CpuSet> {
        let info = self.ending.names.get(self.found.wait.task)?;
        self.ending.beside.as_ref()?.affinity(info)
    }

    fn opening(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = &self.found.wait;
        let who = self.called(wait.task);
        write!(f, "{who} waited {} on cpu{}, from {} s", span(self.found.len), wait.cpu, wait.from)?;
        match wait.to {
            Some(to) => write!(f, " to {to} s.")?,
            None => write!(f, " to the end of the recording.")?,
        }
        match (wait.begin, self.found.waker) {
            (Begin::Woken { by }, Ran::Task(task)) => {
                let name = self.called(task);
                writeln!(
                    f,
                    " It was woken on cpu{by} by {name}, which ran there, or by an interrupt under it."
                )
            }
            (Begin::Woken { by }, Ran::Idle) => {
                writeln!(f, " It was woken by an interrupt on cpu{by}, which was idle.")
            }
            (Begin::Woken { by }, Ran::Unknown) => writeln!(f, " It was woken on cpu{by}."),
            (Begin::New { by }, _) => writeln!(f, " It was new, made on cpu{by}."),
            (Begin::Preempted, _) => writeln!(f, " It was preempted there."),
        }
    }

    fn rivals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stretches = &self.found.stretches;
        writeln!(f, "Who ran meanwhile:")?;
        for stretch in stretches.iter().take(TOLD_MAX) {
            let at = stretch.from.saturating_since(self.found.wait.from);
            let len = stretch.to.saturating_since(stretch.from);
            let how = match (stretch.ran, stretch.left) {
                (Ran::Task(_), Some(PrevState::Dead)) => ", then ended",
                (Ran::Task(_), Some(state)) if state.is_runnable() => ", then was preempted",
                (Ran::Task(_), Some(_)) => ", then slept",
                _ => "",
            };
            writeln!(
                f,
                "  +{}: {} ran for {} on cpu{}{how}.",
                span(at),
                self.who(stretch.ran),
                span(len),
                stretch.cpu
            )?;
        }
        if stretches.len() > TOLD_MAX {
            writeln!(f, "  and {} more.", stretches.len() - TOLD_MAX)?;
        }
        let sums = self.sums();
        if stretches.len() > sums.len() {
            writeln!(f, "Added up:")?;
            for (ran, sum) in sums.into_iter().take(TOLD_MAX) {
                writeln!(f, "  {}: {}", self.who(ran), span(sum))?;
            }
        }
        Ok(())
    }

    /// How long each ran, the longest first.
    fn sums(&self) -> Vec<(Ran, Nanos)> {
        let mut sums: BTreeMap<Ran, Nanos> = BTreeMap::new();
        for stretch in &self.found.stretches {
            *sums.entry(stretch.ran).or_default() += stretch.to.saturating_since(stretch.from);
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|&(ran, sum)| (Reverse(sum), ran));
        sums
    }

    fn places(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.last_cpu {
            Some(last) if last != self.found.wait.cpu => writeln!(f, "It last ran on cpu{last}.")?,
            _ => {}
        }
        for (time, from, to) in &self.found.migrated {
            writeln!(f, "At {time} s it was moved from cpu{from} to cpu{to}.")?;
        }
        let allowed = self.allowed();
        let may = |cpu: CpuId| allowed.as_ref().is_none_or(|allowed| allowed.contains(cpu));
        let list = |idle: Vec<&(CpuId, Nanos)>| {
            idle.into_iter()
                .map(|(cpu, time)| format!("cpu{cpu} for {}", span(*time)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (open, closed): (Vec<_>, Vec<_>) = self.found.idle.iter().partition(|(cpu, _)| may(*cpu));
        if self.found.idle.is_empty() {
            return writeln!(f, "No CPU was idle meanwhile.");
        }
        if !open.is_empty() {
            let sure = if allowed.is_some() {
                "which it may use"
            } else {
                "whether it may run there is not recorded"
            };
            writeln!(f, "Idle meanwhile: {} ({sure}).", list(open))?;
        }
        if !closed.is_empty() {
            writeln!(f, "Idle meanwhile, but not allowed for it: {}.", list(closed))?;
        }
        Ok(())
    }
}

impl Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.opening(f)?;
        let wait = &self.found.wait;
        let to = wait.from + self.found.len;
        let drawn = drawing(&self.found.events, &self.ending.names, (wait.from, to), wait.task);
        if !drawn.is_empty() {
            writeln!(f, "\n{drawn}")?;
        }
        self.rivals(f)?;
        writeln!(f)?;
        self.places(f)
    }
}
