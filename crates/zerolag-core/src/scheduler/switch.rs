// SPDX-License-Identifier: GPL-2.0-only
//! Switching: who runs next on a CPU, and what it takes to get there.
//!
//! Classes are strictly ranked: a real-time task runs before any fair one, the idle task when there is
//! nobody.
//!
//! Source: kernel/sched/core.c, `__schedule()`, `__pick_next_task()`, `sched_tick()`, `do_sched_yield()`,
//! 6.12.

use crate::balance::NewIdle;
use crate::event::{EventKind, PrevState};
use crate::fair::{Dequeue, Enqueue};
use crate::features::Feature;
use crate::ids::{CpuId, TaskId};
use crate::nice::Policy;
use crate::realtime::RR_SLICE;
use crate::scheduler::{Arrival, Scheduler};
use crate::task::{OnRq, TaskState};
use crate::units::{Instant, Nanos};
use crate::variants::Descent;

/// Scheduling classes, the least urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Nobody.
    Idle,
    /// Normal, batch, idle policy.
    Fair,
    /// FIFO and round robin, by priority.
    RealTime,
    /// The stopper.
    Stop,
}

impl Scheduler {
    /// Switches if somebody else should run: what happens at the next opportunity after
    /// [`Effect::Resched`](crate::scheduler::Effect::Resched). Returns true if another task runs now.
    pub fn schedule(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        self.cpus[cpu].need_resched && self.switch(cpu)
    }

    /// Picks anew whether that is needed or not. Returns true if another task runs now.
    pub fn reschedule(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        self.switch(cpu)
    }

    /// The running task goes to sleep, uninterruptibly if `io`. Returns false if the CPU is idle.
    pub fn block(&mut self, now: Instant, cpu: CpuId, io: bool) -> bool {
        self.at(now);
        let Some(task) = self.cpus[cpu].curr else { return false };
        self.tasks[task].state = if io { TaskState::Uninterruptible } else { TaskState::Sleeping };
        self.switch(cpu);
        true
    }

    /// The running task ends. Returns it, or nothing if the CPU is idle.
    pub fn exit(&mut self, now: Instant, cpu: CpuId) -> Option<TaskId> {
        self.at(now);
        let task = self.cpus[cpu].curr?;
        self.tasks[task].state = TaskState::Dead;
        self.trace(cpu, EventKind::Exit { task });
        self.switch(cpu);
        self.bury(task);
        Some(task)
    }

    /// The running task gives way to others (`sched_yield()`). Returns false if the CPU is idle.
    pub fn yield_now(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        let Some(task) = self.cpus[cpu].curr else { return false };
        match self.tasks[task].policy {
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => {
                self.cpus[cpu].rt.rotate(priority);
            }
            _ => self.fair_yield(cpu, task),
        }
        self.switch(cpu);
        true
    }

    /// The running task gives way to `other`, which is queued on the same CPU (`yield_to()` of a hypervisor):
    /// it becomes the next buddy. Returns false, and does nothing, if it is not queued there.
    pub fn yield_to(&mut self, now: Instant, cpu: CpuId, other: TaskId) -> bool {
        self.at(now);
        let Some(task) = self.cpus[cpu].curr else { return false };
        let se = self.tasks[other].entity;
        let o = &self.tasks[other];
        let both_fair = o.policy.is_fair() && self.tasks[task].policy.is_fair();
        if o.state == TaskState::Dead
            || other == task
            || !both_fair
            || o.cpu != cpu
            || !self.entities[se].on_rq
            || self.entities[se].delayed
            || self.is_out_of_play(self.entities[se].queue)
        {
            return false;
        }
        self.set_next_buddy(se);
        self.fair_yield(cpu, task);
        self.switch(cpu);
        true
    }

    /// The periodic timer interrupt. Returns whether somebody else should run.
    pub fn tick(&mut self, now: Instant, cpu: CpuId) -> bool {
        self.at(now);
        self.trace(cpu, EventKind::Tick);
        self.update_clock(cpu);
        let by_weight = self.config.variants.balance.by_weight;
        if by_weight {
            self.tick_weight_history(cpu);
        }
        if let Some(task) = self.cpus[cpu].curr {
            match self.tasks[task].policy {
                Policy::Fifo(_) => self.charge_rt(cpu, task),
                Policy::RoundRobin(priority) => self.rr_tick(cpu, task, priority),
                _ => {
                    self.fair_tick(task, false);
                    self.update_misfit(cpu, Some(task));
                }
            }
        }
        self.tick_history(cpu);
        self.cpus[cpu].balance.idle_at_tick = if by_weight { self.runs_idle(cpu) } else { self.is_idle(cpu) };
        self.balance_trigger(cpu);
        self.cpus[cpu].need_resched
    }

    /// The timer that [`Effect::Hrtick`](crate::scheduler::Effect::Hrtick) asked for.
    pub fn hrtick(&mut self, now: Instant, cpu: CpuId) {
        self.at(now);
        self.cpus[cpu].hrtick_set = false;
        self.update_clock(cpu);
        if let Some(task) = self.cpus[cpu].curr.filter(|&t| self.tasks[t].policy.is_fair()) {
            self.fair_tick(task, true);
        }
    }

    fn rr_tick(&mut self, cpu: CpuId, task: TaskId, priority: u8) {
        self.charge_rt(cpu, task);
        let left = self.tasks[task].rr_left.saturating_sub(self.config.tick());
        self.tasks[task].rr_left = left;
        if left == Nanos::ZERO {
            self.tasks[task].rr_left = RR_SLICE;
            if self.cpus[cpu].rt.rotate(priority) {
                self.resched(cpu);
            }
        }
    }

    pub(crate) fn class_of(&self, task: Option<TaskId>) -> Class {
        match task {
            None => Class::Idle,
            Some(t) if self.tasks[t].policy.is_fair() => Class::Fair,
            Some(_) => Class::RealTime,
        }
    }

    /// The class of whatever runs on the CPU.
    pub(crate) fn running_class(&self, cpu: CpuId) -> Class {
        let rq = &self.cpus[cpu];
        if rq.stopping { Class::Stop } else { self.class_of(rq.curr) }
    }

    /// The heart of it: dequeues the running task if it sleeps, picks, and switches. Returns true if another
    /// task runs now.
    fn switch(&mut self, cpu: CpuId) -> bool {
        if self.config.features.has(Feature::Hrtick) {
            self.set_hrtick(cpu, None);
        }
        let variants = &self.config.variants;
        let rq = &mut self.cpus[cpu];
        rq.begin_switch(self.now, variants.clock_skip);
        let prev = rq.curr;
        let asked_first = variants.sequence.puts_aside_first;
        if asked_first {
            rq.need_resched = false;
        }
        let prev_state = match prev {
            None if rq.nr_running == 0 && !variants.idle_loop_picks => {
                // The idle loop does not look for work elsewhere.
                rq.need_resched = false;
                return false;
            }
            None => PrevState::Runnable,
            Some(task) => {
                if asked_first {
                    self.tasks[task].gives_way = false;
                }
                self.leave(task)
            }
        };
        let next = self.pick_next(cpu, prev);
        let again = asked_first && self.hand_over_request(cpu, prev, next);
        let rq = &mut self.cpus[cpu];
        rq.need_resched = false;
        rq.end_pick(self.config.variants.clock_skip);
        if next == prev {
            self.push_if_dying(cpu);
            return again && self.switch(cpu);
        }
        let rq = &mut self.cpus[cpu];
        rq.nr_switches += 1;
        rq.curr = next;
        if let Some(task) = prev {
            if prev_state.is_runnable() {
                self.tasks[task].involuntary_switches += 1;
            } else {
                self.tasks[task].voluntary_switches += 1;
            }
        }
        if asked_first && prev.is_none() {
            self.leaves_idle_by_weight(cpu);
        }
        self.trace(cpu, EventKind::Switch { prev, prev_state, next });
        self.push_if_dying(cpu);
        if again {
            self.switch(cpu);
            return self.cpus[cpu].curr != prev;
        }
        true
    }

    /// Where the request to reschedule is a task's, one that arises during a switch is that of the task that ran,
    /// and waits until it runs next. Returns true if the one that runs now has to give way at once.
    fn hand_over_request(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) -> bool {
        let asked = self.cpus[cpu].need_resched;
        if prev == next {
            return asked;
        }
        let request = |s: &mut Self, task: Option<TaskId>, new: bool| match task {
            Some(task) => core::mem::replace(&mut s.tasks[task].gives_way, new),
            None => core::mem::replace(&mut s.cpus[cpu].idle_gives_way, new),
        };
        request(self, prev, asked);
        request(self, next, false)
    }

    /// If the running task is not runnable any more it leaves the run queue, or stays on it delayed.
    fn leave(&mut self, task: TaskId) -> PrevState {
        let (state, special) = match self.tasks[task].state {
            TaskState::Sleeping => (PrevState::Sleeping, false),
            TaskState::Uninterruptible => (PrevState::Uninterruptible, false),
            TaskState::Dead => (PrevState::Dead, true),
            TaskState::Runnable | TaskState::New => return PrevState::Runnable,
        };
        self.remember_sleep(task);
        if self.dequeue(task, Dequeue { sleep: true, special, ..Dequeue::default() }) {
            self.tasks[task].on_rq = OnRq::No;
        }
        state
    }

    /// Chooses the next task and makes it the running one of its class.
    fn pick_next(&mut self, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        if self.config.variants.sequence.puts_aside_first {
            return self.pick_of_waiting(cpu, prev);
        }
        let next = self.choose_next(cpu, prev);
        match (prev, next) {
            (None, None) if self.config.variants.idle_loop_picks => self.set_next(cpu, None),
            (Some(p), Some(n))
                if p == n && self.config.variants.starts_who_stays && self.class_of(next) == Class::Fair =>
            {
                self.fair_started(cpu, n);
            }
            (p, n) if p == n => {}
            (Some(p), Some(n))
                if self.class_of(prev) == Class::Fair && self.class_of(next) == Class::Fair =>
            {
                if self.is_put_aside(cpu) {
                    self.set_next_picked(cpu, next);
                } else {
                    self.fair_switch(p, n);
                    self.fair_started(cpu, n);
                }
            }
            _ => {
                self.put_prev(cpu, prev);
                self.set_next_picked(cpu, next);
            }
        }
        next
    }

    /// The running task is put aside, and competes with those who wait. It becomes the running one anew if it is
    /// picked again.
    fn pick_of_waiting(&mut self, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        if self.cpus[cpu].nr_running == 0 {
            self.newidle_balance(cpu);
        }
        self.put_prev(cpu, prev);
        let next = self.cpus[cpu].rt.first().or_else(|| self.fair_pick(cpu));
        self.set_next_picked(cpu, next);
        next
    }

    /// If there is nobody but fair tasks, the fair class is asked at once, and looks for work elsewhere when
    /// it has none (`__pick_next_task()`).
    fn choose_next(&mut self, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        let only_fair = |s: &Self| s.cpus[cpu].nr_running == s.queues[s.cpus[cpu].root].h_nr_queued;
        if self.class_of(prev) > Class::Fair || !only_fair(self) {
            return if prev.is_some() {
                self.pick_after_higher(cpu, prev)
            } else {
                self.cpus[cpu].rt.first().or_else(|| self.fair_pick(cpu))
            };
        }
        loop {
            if let Some(task) = self.fair_pick(cpu) {
                return Some(task);
            }
            match self.newidle_balance(cpu) {
                NewIdle::Pulled => {}
                NewIdle::Nothing => return None,
                NewIdle::HigherClass => return self.pick_after_higher(cpu, prev),
            }
        }
    }

    /// The general case: the fair class may look for work elsewhere once, before the classes are asked in
    /// turn. `prev` = who gives way, nobody if that is the stopper.
    pub(super) fn pick_after_higher(&mut self, cpu: CpuId, prev: Option<TaskId>) -> Option<TaskId> {
        if self.class_of(prev) == Class::Fair || self.cpus[cpu].rt.first().is_none() {
            self.balance_if_dry(cpu);
        }
        self.cpus[cpu].rt.first().or_else(|| self.fair_pick(cpu))
    }

    /// A fair task gives way to the stopper. Its own class takes no notice of who comes: if it has nobody left,
    /// since the task's group has been throttled, it looks for work as if the CPU ran dry (`prev_balance()`).
    pub(super) fn balance_before_stopper(&mut self, cpu: CpuId, prev: Option<TaskId>) {
        if self.class_of(prev) == Class::Fair {
            self.balance_if_dry(cpu);
        }
    }

    fn balance_if_dry(&mut self, cpu: CpuId) {
        let rq = &self.cpus[cpu];
        let dry = if self.config.variants.balance.dry_without_fair {
            self.queues[rq.root].nr_queued == 0
        } else {
            rq.nr_running == 0
        };
        if dry {
            self.newidle_balance(cpu);
        }
    }

    /// A fair task has become the running one (`__set_next_task_fair()`).
    fn fair_started(&mut self, cpu: CpuId, next: TaskId) {
        self.note_fair_use(cpu, next);
        self.update_misfit(cpu, Some(next));
        self.hrtick_start(cpu, next);
    }

    /// The task is the last of those queued to be taken for cold.
    fn note_fair_use(&mut self, cpu: CpuId, task: TaskId) {
        let rules = self.config.variants.balance;
        let by_use = !rules.by_weight && rules.by_load.is_none_or(|rules| rules.longest_waiting_first);
        if by_use && self.has_domains && self.tasks[task].on_rq == OnRq::Queued {
            self.cpus[cpu].cfs_tasks.move_to_front(&mut self.tasks, task);
        }
    }

    /// The end of the new running task's slice.
    fn hrtick_start(&mut self, cpu: CpuId, next: TaskId) {
        if self.config.features.has(Feature::Hrtick) {
            let old = self.cpus[cpu].curr.replace(next);
            self.hrtick_update(cpu);
            self.cpus[cpu].curr = old;
        }
    }

    /// One task more on the CPU's run queue.
    pub(crate) fn add_running(&mut self, cpu: CpuId) {
        self.add_running_tasks(cpu, 1);
    }

    /// So many tasks more on the CPU's run queue; two of them make its root domain overloaded.
    pub(crate) fn add_running_tasks(&mut self, cpu: CpuId, tasks: u32) {
        let rq = &mut self.cpus[cpu];
        let before = rq.nr_running;
        rq.nr_running += tasks;
        if before < 2 && rq.nr_running >= 2 {
            match self.domains.cpu(cpu).root {
                Some(root) => self.overloaded[root] = true,
                None => self.overloaded_outside = true,
            }
        }
    }

    /// A real-time task, or the stopper, runs.
    pub(crate) fn runs_realtime(&self, cpu: CpuId) -> bool {
        self.class_of(self.cpus[cpu].curr) == Class::RealTime
    }

    pub(crate) fn put_prev(&mut self, cpu: CpuId, prev: Option<TaskId>) {
        match prev {
            None => {}
            Some(task) if self.tasks[task].policy.is_fair() => self.fair_put_prev(task),
            Some(task) => self.charge_rt(cpu, task),
        }
    }

    /// Makes the next task the running one of its class, right after it was picked.
    pub(super) fn set_next_picked(&mut self, cpu: CpuId, next: Option<TaskId>) {
        match next.filter(|&n| self.tasks[n].policy.is_fair()) {
            Some(task) if self.config.variants.descent == Descent::WhilePicking => {
                self.fair_set_next_from_root(self.tasks[task].entity);
                self.fair_started(cpu, task);
            }
            _ => self.set_next(cpu, next),
        }
    }

    pub(crate) fn set_next(&mut self, cpu: CpuId, next: Option<TaskId>) {
        match next {
            None => {
                self.note_idle_core(cpu);
                let root = self.cpus[cpu].root;
                let fair_util_sum = self.queues[root].avg.util_sum;
                self.cpus[cpu].enter_idle(fair_util_sum);
            }
            Some(task) if self.tasks[task].policy.is_fair() => {
                self.fair_set_next(task);
                self.fair_started(cpu, task);
            }
            Some(task) => self.rt_set_next(cpu, task),
        }
    }

    /// The running task, which was taken out for a change, goes on running.
    pub(super) fn set_current(&mut self, cpu: CpuId, task: TaskId) {
        if self.tasks[task].policy.is_fair() {
            self.fair_set_next(task);
            self.note_fair_use(cpu, task);
        } else {
            self.rt_set_next(cpu, task);
        }
    }

    fn rt_set_next(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.cpus[cpu].clock_task;
        let entity = &mut self.entities[self.tasks[task].entity];
        entity.exec_start = now;
        entity.prev_sum_exec = entity.sum_exec;
    }

    /// Charges a real-time task for the time it ran.
    fn charge_rt(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.cpus[cpu].clock_task;
        let entity = &mut self.entities[self.tasks[task].entity];
        let ran = now.saturating_since(entity.exec_start);
        entity.exec_start = now;
        entity.sum_exec += ran;
        if ran != Nanos::ZERO {
            self.trace(cpu, EventKind::Runtime { task, ran });
        }
    }

    /// A task joins its CPU's run queue, whatever its class.
    pub(crate) fn enqueue(&mut self, task: TaskId, flags: Enqueue) {
        let cpu = self.tasks[task].cpu;
        match self.tasks[task].policy {
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => {
                self.cpus[cpu].rt.push_back(priority, task);
                self.add_running(cpu);
            }
            _ => self.fair_enqueue(task, flags),
        }
    }

    /// A task leaves its CPU's run queue. Returns false if its dequeue is delayed.
    pub(crate) fn dequeue(&mut self, task: TaskId, flags: Dequeue) -> bool {
        let cpu = self.tasks[task].cpu;
        match self.tasks[task].policy {
            Policy::Fifo(priority) | Policy::RoundRobin(priority) => {
                if self.cpus[cpu].curr == Some(task) {
                    self.charge_rt(cpu, task);
                }
                self.cpus[cpu].rt.remove(priority, task);
                self.cpus[cpu].nr_running -= 1;
                true
            }
            _ => self.fair_dequeue(task, flags),
        }
    }

    /// Both are of the same class.
    pub(crate) fn check_preempt_in_class(
        &mut self,
        cpu: CpuId,
        curr: TaskId,
        task: TaskId,
        arrival: Arrival,
    ) {
        match self.class_of(Some(task)) {
            Class::Fair => self.fair_check_preempt(cpu, curr, task, arrival),
            _ => {
                let priority = |t: TaskId| match self.tasks[t].policy {
                    Policy::Fifo(p) | Policy::RoundRobin(p) => p,
                    _ => 0,
                };
                if priority(task) > priority(curr) {
                    self.resched(cpu);
                }
            }
        }
    }
}
