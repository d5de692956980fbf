// SPDX-License-Identifier: GPL-2.0-only
//! What each task of a recording did: how long it ran, whom it woke, when and until when it slept.
//!
//! ```text
//!            switch in        waking of B       switch out, S          waking of A    switch in
//! A  ───────────┴▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇┴▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇┴───────────────────────┴─────────────┴▇▇▇
//!                     Ran            Woke   Ran              Slept {from, until, wake}
//! ```
//!
//! * *Being preempted is not sleeping*: a switch out in a runnable state ends nothing, and what the task runs
//!   afterwards is more of the same [`Step::Ran`].
//! * A wake-up of a task that has not left its CPU yet ends its next sleep the moment that begins, if there is
//!   one before the wake-up is complete, and else means nothing.
//!
//! # Holes
//!
//! Recordings lose events; on some virtual machines, all those of a CPU's idle task, so that a task is seen to
//! leave the CPU but not to come. A charge of CPU time (`sched_stat_runtime`) to a task that is not known to
//! run gives it away: it has run for that long, on the CPU where it was expected or, if that is taken, on the
//! one where the charge was recorded. Wake-ups that this CPU recorded meanwhile were the task's own.

use zerolag_core::event::{EventKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, IdVec, TaskId};
use zerolag_core::units::{Instant, Nanos};

use super::binding::Waits;
use super::call::PREPARES_MAX;
use super::latency::Wakeup;
use super::phase::{Charges, Recent};
use super::resize;

/// After so much CPU time a task is where it was put.
const SETTLED: Nanos = Nanos::from_millis(20);

/// The number of a wake-up in its history.
pub(super) type WakeNumber = usize;

/// Something that a task did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It had a CPU for so long.
    Ran {
        /// CPU time.
        work: Nanos,
        /// When it first had one.
        from: Instant,
        /// When it last had one.
        until: Instant,
    },
    /// While it ran, this wake-up was begun on its CPU: by it, or by an interrupt.
    Woke(WakeNumber),
    /// It made a new task.
    Forked(TaskId),
    /// It slept.
    Slept {
        /// Since when; nothing if it slept when the recording began.
        from: Option<Instant>,
        /// Until when; nothing if it was not woken before the recording ended.
        until: Option<Instant>,
        /// What ended it, where that was seen.
        wake: Option<WakeNumber>,
    },
    /// It ended.
    Exited,
}

impl Step {
    /// CPU time that it took.
    pub(super) fn work(&self) -> Nanos {
        match *self {
            Self::Ran { work, .. } => work,
            _ => Nanos::ZERO,
        }
    }
}

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WakeUp {
    /// When it began.
    pub(super) at: Instant,
    /// On which CPU.
    pub(super) on: CpuId,
    /// Who ran there; nothing if that CPU was idle, or it is not known.
    pub(super) by: Option<TaskId>,
    /// Who was woken.
    pub(super) task: TaskId,
    /// Where that task was last.
    pub(super) left: CpuId,
    /// It ended a sleep.
    pub(super) ended_sleep: bool,
    /// Soon after it, the one who woke lost the CPU to the one who was woken, or to somebody else.
    pub(super) handed_over: bool,
    pub(super) lost_cpu: bool,
}

/// How a task came into the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was there, running or waiting for this CPU.
    Runnable(CpuId),
    /// It was there, asleep, last on this CPU.
    Asleep(CpuId),
    /// It was forked by a task.
    Forked,
    /// It came into being, at this time and on this CPU, nobody knows by whom.
    Appeared(Instant, CpuId),
}

/// One task.
#[derive(Clone, Debug)]
pub(super) struct TaskHistory {
    /// Nothing if no event says anything of what it did.
    pub(super) origin: Option<Origin>,
    pub(super) steps: Vec<Step>,
    pub(super) waits: Waits,
    state: State,
    /// Where it is, or is expected.
    cpu: CpuId,
    /// When it left its CPU, or became runnable.
    since: Instant,
    /// A wake-up that came before it left its CPU.
    pending: Option<WakeNumber>,
    /// It said that it ends.
    exiting: bool,
    /// Where it had how much of its first CPU time: programs are forked here and started there.
    settling: Vec<(CpuId, Nanos)>,
    /// What it has had of the CPU it is on, and what of that it was charged for.
    had: Nanos,
    charged: Nanos,
}

impl Default for TaskHistory {
    fn default() -> Self {
        Self {
            origin: None,
            steps: Vec::new(),
            waits: Waits::default(),
            state: State::Unseen,
            cpu: CpuId(0),
            since: Instant::ZERO,
            pending: None,
            exiting: false,
            settling: Vec::new(),
            had: Nanos::ZERO,
            charged: Nanos::ZERO,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unseen,
    Running,
    Ready,
    Asleep,
    /// It ran and then no longer did; whether it was preempted or fell asleep is not known.
    Lost,
    Gone,
}

#[derive(Clone, Debug, Default)]
struct Cpu {
    /// Who runs; nothing before that is known.
    current: Option<Option<TaskId>>,
    /// The running task's time is accounted for up to here; the idle CPU's idle time too.
    since: Instant,
    /// Wake-ups begun here while nobody was known to run.
    nobodys: Vec<WakeNumber>,
    /// How long it was idle before `since`.
    idle: Nanos,
    /// How often it has switched.
    switches: u64,
    /// Its last events, as far as they tell ticks from other charges.
    recent: Recent,
}

impl Cpu {
    fn running(&self) -> Option<TaskId> {
        self.current.flatten()
    }

    fn idle_until(&self, now: Instant) -> Nanos {
        let going_on =
            if self.current == Some(None) { now.saturating_since(self.since) } else { Nanos::ZERO };
        self.idle + going_on
    }
}

/// What happened in a recording, task by task. Fed with its events in the order of time.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) tasks: Vec<TaskHistory>,
    pub(super) wakes: Vec<WakeUp>,
    cpus: Vec<Cpu>,
    first: Option<Instant>,
    last: Instant,
    /// The recording has `sched_waking`, so that `sched_wakeup` says nothing new of causes.
    has_waking: bool,
    /// The recording has `sched_stat_runtime`, of which there is one whenever a fair task leaves a CPU.
    has_charges: bool,
    /// Runs whose beginning was not recorded.
    holes: u64,
    /// From wake-up to running, where the CPU that was woken on had nothing better to do.
    pub(super) prompt: super::latency::Prompt,
    /// When CPUs ticked.
    pub(super) charges: Charges,
}

impl History {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event in. Time that goes backwards is taken to stand still.
    pub fn feed(&mut self, event: &SchedEvent) {
        let first = *self.first.get_or_insert(event.time);
        let now = event.time.max(self.last);
        self.last = now;
        let cpu = event.cpu;
        if resize(&mut self.cpus, cpu) {
            // Until something else is known it may have been doing anything.
            self.cpus.iter_mut().for_each(|c| c.since = c.since.max(first));
        }
        match event.kind {
            EventKind::Switch { prev, prev_state, next } => {
                if !prev_state.is_runnable() {
                    self.cpu(cpu).recent.sleeps(now);
                }
                self.switch(now, cpu, prev, prev_state, next);
            }
            EventKind::Waking { task, target } => {
                self.has_waking = true;
                self.cpu(cpu).recent.waking(now);
                self.begin_wake(now, cpu, task, target);
            }
            EventKind::Wakeup { task, target } => self.wakeup(now, cpu, task, target),
            EventKind::WakeupNew { task, target } => self.wakeup_new(now, task, target),
            EventKind::Migrate { task, to, .. } => self.task(task).cpu = to,
            EventKind::Fork { parent, child } => self.fork(now, cpu, parent, child),
            EventKind::Exit { task } => self.task(task).exiting = true,
            EventKind::Runtime { task, ran } => {
                self.has_charges = true;
                self.charges.record(&mut self.cpus[cpu.0 as usize].recent, now);
                self.charge(now, cpu, task, ran);
            }
            _ => {}
        }
    }

    /// Nothing more happens: who runs has run until now.
    pub fn finish(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.account(self.last, CpuId(cpu as u32));
        }
        // Some recordings do not tell the last switch of a task from its other ones.
        for task in self.tasks.iter_mut().filter(|t| t.exiting && t.state == State::Asleep) {
            if let Some(last @ Step::Slept { .. }) = task.steps.last_mut() {
                *last = Step::Exited;
            }
        }
    }

    /// Time of the first event.
    pub fn first(&self) -> Instant {
        self.first.unwrap_or_default()
    }

    /// Time of the last event.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// One more than the highest number of a CPU that an event came from.
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// How often a task was found to run though nobody saw it begin.
    pub fn holes(&self) -> u64 {
        self.holes
    }

    fn task(&mut self, task: TaskId) -> &mut TaskHistory {
        resize(&mut self.tasks, task);
        &mut self.tasks[task.0 as usize]
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        resize(&mut self.cpus, cpu);
        &mut self.cpus[cpu.0 as usize]
    }

    /// Brings the time of whoever runs on the CPU up to date.
    fn account(&mut self, now: Instant, cpu: CpuId) {
        let c = self.cpu(cpu);
        let since = std::mem::replace(&mut c.since, now);
        let span = now.saturating_since(since);
        match c.current {
            None => {}
            Some(None) => c.idle += span,
            Some(Some(task)) => self.task(task).ran(since, now),
        }
    }

    fn idle_times(&self, now: Instant) -> Vec<Nanos> {
        self.cpus.iter().map(|c| c.idle_until(now)).collect()
    }

    /// The task waits for a CPU from now on.
    fn ready(&mut self, now: Instant, id: TaskId) {
        let idle = self.idle_times(now);
        let task = self.task(id);
        (task.state, task.since) = (State::Ready, now);
        task.waits.begin(now, idle);
    }

    /// The task gets the CPU, which may have been seen or concluded.
    fn enter(&mut self, now: Instant, cpu: CpuId, id: TaskId) {
        let before = self.task(id).state;
        match before {
            State::Unseen => {
                let first = self.first();
                let task = self.task(id);
                (task.origin, task.since) = (Some(Origin::Runnable(cpu)), first);
            }
            // Nobody saw it being woken.
            State::Asleep => self.task(id).wake(now, None),
            // It has left another CPU, unseen.
            State::Running => {
                let other = self.task(id).cpu;
                if other != cpu && self.cpu(other).running() == Some(id) {
                    self.account(now, other);
                    self.cpu(other).current = None;
                }
            }
            State::Ready | State::Lost | State::Gone => {}
        }
        if before == State::Ready {
            let idle = self.idle_times(now);
            self.task(id).waits.end(now, &idle);
        }
        let was_idle = self.cpu(cpu).current == Some(None);
        if let Some(wakeup) = self.task(id).waits.take_wakeup()
            && wakeup.is_next(cpu, self.cpu(cpu).switches)
        {
            self.prompt.record(&self.wakes[wakeup.number], wakeup.at, now, cpu, was_idle);
        }
        let task = self.task(id);
        task.waits.ran_on(cpu);
        (task.state, task.cpu) = (State::Running, cpu);
        (task.had, task.charged) = (Nanos::ZERO, Nanos::ZERO);
        let c = self.cpu(cpu);
        (c.current, c.since) = (Some(Some(id)), now);
        c.nobodys.clear();
    }

    /// The task turns out to run on a CPU since `start`.
    fn find_running(&mut self, start: Instant, cpu: CpuId, id: TaskId) {
        self.holes += 1;
        let c = self.cpu(cpu);
        if c.current == Some(None) {
            c.idle += start.saturating_since(c.since);
        }
        let own = std::mem::take(&mut c.nobodys);
        self.enter(start, cpu, id);
        for wake in own {
            let at = self.wakes[wake].at;
            if at >= start && self.wakes[wake].task != id {
                self.wakes[wake].by = Some(id);
                self.account(at, cpu);
                self.task(id).steps.push(Step::Woke(wake));
            }
        }
    }

    fn switch(
        &mut self,
        now: Instant,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_state: PrevState,
        next: Option<TaskId>,
    ) {
        let believed = self.cpu(cpu).current;
        self.cpu(cpu).switches += 1;
        if let Some(id) = prev
            && believed != Some(prev)
        {
            // It came unseen and was never charged. If others are, it ran for no time. Else it came at the
            // earliest when it was woken, and after the last thing known of this CPU.
            let for_no_time = self.has_charges && believed.is_some();
            let chain = if believed.is_some() { self.cpu(cpu).since } else { self.first() };
            let first = self.first();
            let task = self.task(id);
            let start = match task.state {
                _ if for_no_time => now,
                State::Unseen => first,
                State::Ready => task.since,
                State::Running | State::Asleep | State::Lost | State::Gone => now,
            };
            if let Some(Some(lost)) = believed {
                self.lose(now, cpu, lost);
            }
            self.find_running(start.max(chain).min(now), cpu, id);
        }
        if prev == believed.flatten() || prev.is_some() {
            self.account(now, cpu);
        }
        if let Some(id) = prev {
            if prev_state.is_runnable() {
                self.note_preemption(id, next);
            }
            self.leave(now, cpu, id, prev_state);
        } else if let Some(Some(lost)) = believed {
            self.lose(now, cpu, lost);
        }
        let was_idle = prev.is_none();
        let c = self.cpu(cpu);
        (c.current, c.since) = (Some(None), now);
        c.nobodys.clear();
        if let Some(id) = next {
            if !was_idle {
                // Only to tell `enter` that the CPU had somebody to run.
                self.cpu(cpu).current = None;
            }
            self.enter(now, cpu, id);
        }
    }

    /// A task is preempted: if it has just woken somebody, that may be why.
    fn note_preemption(&mut self, id: TaskId, next: Option<TaskId>) {
        let mut ran = Nanos::ZERO;
        for step in self.tasks[id.0 as usize].steps.iter().rev() {
            match *step {
                Step::Ran { work, .. } => ran += work,
                Step::Woke(number) => {
                    let wake = &mut self.wakes[number];
                    if next == Some(wake.task) {
                        wake.handed_over = true;
                        return;
                    }
                    wake.lost_cpu = true;
                }
                Step::Forked(_) | Step::Slept { .. } | Step::Exited => return,
            }
            if ran > PREPARES_MAX {
                return;
            }
        }
    }

    /// The task is no longer where it was believed to run. What it was not charged for it did not have, and whom it
    /// would have woken in that time was woken by an interrupt.
    fn lose(&mut self, now: Instant, cpu: CpuId, id: TaskId) {
        self.account(now, cpu);
        self.cpu(cpu).current = None;
        let has_charges = self.has_charges;
        let task = self.task(id);
        if task.state != State::Running {
            return;
        }
        let mut excess = if has_charges { task.had.saturating_sub(task.charged) } else { Nanos::ZERO };
        let mut not_its = Vec::new();
        for (n, step) in task.steps.iter_mut().enumerate().rev() {
            if excess == Nanos::ZERO {
                break;
            }
            match step {
                Step::Ran { work, until, .. } => {
                    let less = excess.min(*work);
                    *work -= less;
                    excess -= less;
                    *until = Instant(until.0.saturating_sub(less.0));
                    task.since = *until;
                    if *work == Nanos::ZERO {
                        not_its.push((n, None));
                    }
                }
                Step::Woke(number) => not_its.push((n, Some(*number))),
                Step::Forked(_) => {}
                Step::Slept { .. } | Step::Exited => break,
            }
        }
        for &(n, _) in &not_its {
            task.steps.remove(n);
        }
        task.state = State::Lost;
        for (_, wake) in not_its {
            if let Some(number) = wake {
                self.wakes[number].by = None;
            }
        }
    }

    fn leave(&mut self, now: Instant, cpu: CpuId, id: TaskId, how: PrevState) {
        let task = self.task(id);
        task.cpu = cpu;
        task.since = now;
        let pending = task.pending.take();
        if how == PrevState::Dead {
            task.steps.push(Step::Exited);
            task.state = State::Gone;
        } else if how.is_runnable() {
            self.ready(now, id);
        } else {
            task.steps.push(Step::Slept { from: Some(now), until: None, wake: None });
            task.state = State::Asleep;
            if let Some(wake) = pending {
                self.wake(now, id, Some(wake));
            }
        }
    }

    /// A sleeping task is to run again.
    fn wake(&mut self, now: Instant, id: TaskId, wake: Option<WakeNumber>) {
        if let Some(wake) = wake {
            self.wakes[wake].ended_sleep = true;
        }
        self.task(id).wake(now, wake);
        self.ready(now, id);
        if let Some(wake) = wake {
            self.expect(now, id, wake);
        }
    }

    /// The task should come next on its CPU, if it does not have to wait.
    fn expect(&mut self, now: Instant, id: TaskId, number: WakeNumber) {
        let cpu = self.task(id).cpu;
        let switches = self.cpu(cpu).switches;
        self.task(id).waits.set_wakeup(Wakeup { number, at: now, cpu, switches });
    }

    fn begin_wake(&mut self, now: Instant, cpu: CpuId, id: TaskId, target: CpuId) {
        let by = self.cpu(cpu).running();
        let task = self.task(id);
        let left = if task.state == State::Unseen { target } else { task.cpu };
        let number = self.wakes.len();
        self.wakes.push(WakeUp {
            at: now,
            on: cpu,
            by: by.filter(|&by| by != id),
            task: id,
            left,
            ended_sleep: false,
            handed_over: false,
            lost_cpu: false,
        });
        match by {
            Some(by) if by != id => {
                self.account(now, cpu);
                self.task(by).steps.push(Step::Woke(number));
            }
            Some(_) => {}
            None => self.cpu(cpu).nobodys.push(number),
        }
        self.task(id).cpu = target;
        match self.task(id).state {
            State::Unseen => {
                let task = self.task(id);
                task.origin = Some(Origin::Asleep(target));
                task.steps.push(Step::Slept { from: None, until: None, wake: None });
                self.wake(now, id, Some(number));
            }
            State::Asleep => self.wake(now, id, Some(number)),
            // So it had fallen asleep, when it was last known to run.
            State::Lost => {
                let task = self.task(id);
                task.steps.push(Step::Slept { from: Some(task.since), until: None, wake: None });
                self.wake(now, id, Some(number));
            }
            State::Running => self.task(id).pending = Some(number),
            State::Ready | State::Gone => {}
        }
    }

    fn wakeup(&mut self, now: Instant, cpu: CpuId, id: TaskId, target: CpuId) {
        let state = self.task(id).state;
        match state {
            State::Unseen | State::Asleep | State::Lost => self.begin_wake(now, cpu, id, target),
            State::Running if self.has_waking => self.task(id).pending = None,
            State::Running | State::Ready | State::Gone => {}
        }
        let task = self.task(id);
        if task.state != State::Running {
            task.cpu = target;
            if let Some(wakeup) = task.waits.take_wakeup() {
                self.expect(now, id, wakeup.number);
            }
        }
    }

    fn wakeup_new(&mut self, now: Instant, id: TaskId, target: CpuId) {
        let task = self.task(id);
        if task.state == State::Unseen {
            task.origin.get_or_insert(Origin::Appeared(now, target));
            self.ready(now, id);
        }
        self.task(id).cpu = target;
    }

    fn fork(&mut self, now: Instant, cpu: CpuId, parent: Option<TaskId>, child: TaskId) {
        if self.task(child).origin.is_some() {
            return;
        }
        let running = self.cpu(cpu).running();
        match parent.filter(|_| parent == running && parent != Some(child)) {
            Some(parent) => {
                self.account(now, cpu);
                self.task(parent).steps.push(Step::Forked(child));
                self.task(child).origin = Some(Origin::Forked);
            }
            None => self.task(child).origin = Some(Origin::Appeared(now, cpu)),
        }
    }

    fn charge(&mut self, now: Instant, cpu: CpuId, id: TaskId, ran: Nanos) {
        let task = self.task(id);
        task.charged += ran;
        if task.state == State::Running || task.state == State::Gone {
            return;
        }
        let (state, since, expected) = (task.state, task.since, task.cpu);
        let start = Instant(now.0.saturating_sub(ran.0)).max(self.first());
        // What it ran before it left is settled when it leaves.
        if state != State::Unseen && ran > Nanos::ZERO && now.saturating_since(since) < Nanos(ran.0 / 2) {
            return;
        }
        let is_free = |h: &Self, c: CpuId| h.cpus.get(c.0 as usize).is_none_or(|c| c.running().is_none());
        let places = if state == State::Unseen { [cpu, cpu] } else { [expected, cpu] };
        let since_left = since.max(self.first());
        if let Some(place) = places.into_iter().find(|&c| is_free(self, c)) {
            let since = self.cpu(place).since;
            let known = self.cpu(place).current.is_some();
            let start = if known { start.max(since) } else { start };
            self.find_running(start.max(since_left).min(now), place, id);
            self.task(id).charged = ran;
        }
    }
}

impl TaskHistory {
    /// It has run; what follows without a sleep or anything else in between is one run.
    fn ran(&mut self, since: Instant, now: Instant) {
        let span = now.saturating_since(since);
        self.had += span;
        if self.settling.iter().map(|s| s.1.0).sum::<u64>() < SETTLED.0 {
            match self.settling.iter_mut().find(|s| s.0 == self.cpu) {
                Some((_, time)) => *time += span,
                None => self.settling.push((self.cpu, span)),
            }
        }
        match self.steps.last_mut() {
            Some(Step::Ran { work, until, .. }) => {
                *work += span;
                *until = now;
            }
            _ if span == Nanos::ZERO => {}
            _ => self.steps.push(Step::Ran { work: span, from: since, until: now }),
        }
    }

    fn wake(&mut self, now: Instant, wake: Option<WakeNumber>) {
        if let Some(Step::Slept { until, wake: cause, .. }) = self.steps.last_mut() {
            (*until, *cause) = (Some(now), wake);
        }
    }

    /// Where it came to rest after it was made.
    pub(super) fn settled_on(&self) -> Option<CpuId> {
        self.settling.iter().max_by_key(|s| s.1).map(|s| s.0)
    }

    /// It could run, or did, when the recording ended.
    pub(super) fn is_cut_off(&self) -> bool {
        matches!(self.state, State::Running | State::Ready)
    }
}

/// Names and priorities of a recording's tasks, by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTask {
    /// Its thread id.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// Its kernel priority, if known: 120 + nice, 99 less the real-time priority, or -1.
    pub prio: Option<i16>,
}

/// The tasks of a recording.
pub type RecordedTasks = IdVec<TaskId, RecordedTask>;
