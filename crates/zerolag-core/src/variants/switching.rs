// SPDX-License-Identifier: GPL-2.0-only
//! The order of things while a CPU switches.

/// How long a request to skip clock updates holds during a reschedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSkip {
    /// Until the next task is chosen; requests made meanwhile are dropped with it (6.1).
    UntilPicked,
    /// For the one update at the start (6.12).
    FirstUpdate,
    /// No such request is made (2.6.29).
    Never,
}

/// In which order entities become the running ones of their levels. It is seen in load: what a lower level
/// has to hand up reaches the upper one at once only from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descent {
    /// The root first, as it is picked (up to 6.11).
    WhilePicking,
    /// The task first (6.12).
    FromTask,
}

/// In which order things are done around a switch, a wake-up or a change, where that can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The running task is put aside before the next is picked, and competes as any other; if it is picked
    /// again, its turn begins anew (up to 3.14).
    pub puts_aside_first: bool,
    /// A task whose nice level changes leaves the queue and comes back, but goes on running if it ran; a more
    /// urgent one causes a reschedule without a question (2.6.29).
    pub renices_in_place: bool,
    /// A change of policy is carried out, and a waiting task then looked at as if it had woken up, even if
    /// nothing changes (2.6.29).
    pub always_looks_after_policy: bool,
    /// A running task that comes into another group does not cause a reschedule (2.6.29).
    pub regroups_quietly: bool,
    /// A wake-up brings the clock of the CPU on which the task slept to the present, before anything else; not
    /// that of the CPU to which it goes (2.6.29).
    pub wakes_by_old_clock: bool,
    /// A task that has come from another CPU counts as cold there, even if it has just run.
    pub moved_is_cold: bool,
    /// A new task's CPU is chosen when it is made, not when it is woken (2.6.29).
    pub placed_when_made: bool,
    /// A task that may only run elsewhere goes there at once, even if it sleeps (2.6.29).
    pub moves_sleepers: bool,
}

impl Sequence {
    /// Since 6.1 at the latest.
    pub(crate) const CURRENT: Self = Self {
        puts_aside_first: false,
        renices_in_place: false,
        always_looks_after_policy: false,
        regroups_quietly: false,
        wakes_by_old_clock: false,
        moved_is_cold: true,
        placed_when_made: false,
        moves_sleepers: false,
    };
    /// Linux 2.6.29.
    pub(crate) const LINUX_2_6_29: Self = Self {
        puts_aside_first: true,
        renices_in_place: true,
        always_looks_after_policy: true,
        regroups_quietly: true,
        wakes_by_old_clock: true,
        moved_is_cold: false,
        placed_when_made: true,
        moves_sleepers: true,
    };
}
