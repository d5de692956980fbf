// SPDX-License-Identifier: GPL-2.0-only
//! Putting programs together, and refusing those that make no sense.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::units::Nanos;

use super::{AffinityId, Attribute, Op, Program, Times};
use crate::length::{Distribution, DistributionId, Length};
use crate::resource::TimerRef;

/// How deep loops may be nested.
pub const LOOP_DEPTH_MAX: usize = 32;

/// Why a program was refused. Positions count operations from 0, as in [`Program::ops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// [`ProgramBuilder::end`] without a loop that is open.
    #[error("operation {at}: a loop ends that did not begin")]
    EndWithoutBegin {
        /// Where.
        at: usize,
    },
    /// A loop that was not ended.
    #[error("operation {at}: this loop has no end")]
    BeginWithoutEnd {
        /// Where it begins.
        at: usize,
    },
    /// Loops within loops within loops.
    #[error("operation {at}: loops are nested more than {LOOP_DEPTH_MAX} deep")]
    TooDeep {
        /// Where.
        at: usize,
    },
    /// An endless loop that neither takes time nor waits: nothing else would ever happen.
    #[error(
        "operation {at}: this endless loop takes no time: it must run, sleep or wait for something at least \
         once in a while"
    )]
    TakesNoTime {
        /// Where it begins.
        at: usize,
    },
    /// A distribution that the program does not have.
    #[error("operation {at}: the program has no distribution number {number}")]
    UnknownDistribution {
        /// Where.
        at: usize,
        /// The number used.
        number: u16,
    },
    /// A CPU set that the program does not have.
    #[error("operation {at}: the program has no CPU set number {number}")]
    UnknownAffinity {
        /// Where.
        at: usize,
        /// The number used.
        number: u16,
    },
    /// A read or write of nothing.
    #[error("operation {at}: reads or writes 0 bytes")]
    NoBytes {
        /// Where.
        at: usize,
    },
}

/// Builds a [`Program`]. Mistakes are reported by [`build`](Self::build), so that calls can be chained.
#[derive(Clone, Debug, Default)]
pub struct ProgramBuilder {
    ops: Vec<Op>,
    distributions: Vec<Distribution>,
    affinities: Vec<CpuSet>,
    /// Positions of the loops that are open.
    open: Vec<usize>,
    loop_depth: usize,
    error: Option<ProgramError>,
}

impl ProgramBuilder {
    /// A program without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an operation. Loops are made by [`begin`](Self::begin) and [`end`](Self::end), not with this.
    pub fn op(&mut self, op: Op) -> &mut Self {
        debug_assert!(!matches!(op, Op::Repeat { .. } | Op::Again { .. }), "use begin() and end()");
        self.ops.push(op);
        self
    }

    /// Begins a loop.
    pub fn begin(&mut self, times: Times) -> &mut Self {
        let at = self.ops.len();
        if self.open.len() == LOOP_DEPTH_MAX {
            self.fail(ProgramError::TooDeep { at });
        }
        self.open.push(at);
        self.loop_depth = self.loop_depth.max(self.open.len());
        self.ops.push(Op::Repeat { times, again: 0 });
        self
    }

    /// Ends the innermost loop that is open.
    pub fn end(&mut self) -> &mut Self {
        let at = self.ops.len();
        let Some(start) = self.open.pop() else {
            self.fail(ProgramError::EndWithoutBegin { at });
            return self;
        };
        if let Op::Repeat { again, .. } = &mut self.ops[start] {
            *again = at as u32;
        }
        self.ops.push(Op::Again { body: start as u32 + 1, depth: self.open.len() as u8 });
        self
    }

    /// Adds a distribution, to be drawn from with [`Length::Drawn`]. An equal one is not added twice.
    pub fn distribution(&mut self, distribution: Distribution) -> DistributionId {
        DistributionId(position_or_push(&mut self.distributions, distribution))
    }

    /// Adds a set of CPUs, for [`Attribute::Affinity`]. An equal one is not added twice.
    pub fn affinity(&mut self, cpus: CpuSet) -> AffinityId {
        AffinityId(position_or_push(&mut self.affinities, cpus))
    }

    /// The program.
    ///
    /// # Errors
    /// The first thing that keeps it from making sense.
    pub fn build(&self) -> Result<Program, ProgramError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if let Some(&at) = self.open.last() {
            return Err(ProgramError::BeginWithoutEnd { at });
        }
        for (at, &op) in self.ops.iter().enumerate() {
            self.check_op(at, op)?;
        }
        Ok(Program {
            ops: self.ops.clone(),
            distributions: self.distributions.clone(),
            affinities: self.affinities.clone(),
            loop_depth: self.loop_depth,
            own_timers: self.ops.iter().map(|&op| own_timers(op)).max().unwrap_or(0),
            arguments: self.ops.iter().map(|&op| arguments(op)).max().unwrap_or(0),
        })
    }

    fn fail(&mut self, error: ProgramError) {
        self.error.get_or_insert(error);
    }

    fn check_op(&self, at: usize, op: Op) -> Result<(), ProgramError> {
        if let Op::Run(length)
        | Op::RunFor { wall: length, .. }
        | Op::Sleep(length)
        | Op::Io { service: length, .. } = op
            && let Length::Drawn(DistributionId(number)) = length
            && usize::from(number) >= self.distributions.len()
        {
            return Err(ProgramError::UnknownDistribution { at, number });
        }
        match op {
            Op::Set(Attribute::Affinity(AffinityId(number)))
                if usize::from(number) >= self.affinities.len() =>
            {
                Err(ProgramError::UnknownAffinity { at, number })
            }
            Op::Read { bytes: 0, .. } | Op::Write { bytes: 0, .. } => Err(ProgramError::NoBytes { at }),
            Op::Repeat { times: Times::Forever, again }
                if !self.ops[at + 1..again as usize].iter().any(|&op| self.may_take_time(op)) =>
            {
                Err(ProgramError::TakesNoTime { at })
            }
            _ => Ok(()),
        }
    }

    /// Whether time can pass during the operation. An exit in a loop is a way out of it.
    fn may_take_time(&self, op: Op) -> bool {
        let is_some = |length| match length {
            Length::Exactly(span) => span != Nanos::ZERO,
            Length::Drawn(id) => !self.distributions[usize::from(id.0)].is_always_zero(),
        };
        match op {
            Op::Run(length) | Op::RunFor { wall: length, .. } | Op::Io { service: length, .. } => {
                is_some(length)
            }
            Op::Timer { period, .. } => period != Nanos::ZERO,
            Op::Sleep(_)
            | Op::Until(_)
            | Op::Lock(_)
            | Op::SpinLock(_)
            | Op::Wait { .. }
            | Op::Sync { .. }
            | Op::Barrier(_)
            | Op::Acquire(_)
            | Op::Read { .. }
            | Op::Write { .. }
            | Op::Exit => true,
            Op::Epoch(_)
            | Op::Delay(_)
            | Op::Unlock(_)
            | Op::SpinUnlock(_)
            | Op::Signal(_)
            | Op::Broadcast(_)
            | Op::Post(_)
            | Op::Drain(_)
            | Op::Enlist { .. }
            | Op::Release(_)
            | Op::Yield
            | Op::Fork(_)
            | Op::Set(_)
            | Op::Mark(_)
            | Op::Repeat { .. }
            | Op::PostHere(_)
            | Op::Submit { .. }
            | Op::Exec
            | Op::Again { .. } => false,
        }
    }
}

fn position_or_push<T: PartialEq>(items: &mut Vec<T>, item: T) -> u16 {
    let at = items.iter().position(|i| *i == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    });
    u16::try_from(at).expect("a program has fewer than 65536 distributions and CPU sets")
}

fn own_timers(op: Op) -> usize {
    match op {
        Op::Timer { timer: TimerRef::Own(n), .. } => usize::from(n) + 1,
        _ => 0,
    }
}

fn arguments(op: Op) -> usize {
    match op {
        Op::Lock(m) | Op::Unlock(m) => m.arguments_needed(),
        Op::SpinLock(s) | Op::SpinUnlock(s) => s.arguments_needed(),
        Op::Wait { condition, mutex } | Op::Sync { condition, mutex } => {
            condition.arguments_needed().max(mutex.map_or(0, |m| m.arguments_needed()))
        }
        Op::Signal(c) | Op::Broadcast(c) => c.arguments_needed(),
        Op::Barrier(b) => b.arguments_needed(),
        Op::Post(s) | Op::Acquire(s) | Op::Drain(s) => s.arguments_needed(),
        Op::Enlist { roster, semaphore } => roster.arguments_needed().max(semaphore.arguments_needed()),
        Op::Release(r) => r.arguments_needed(),
        Op::Read { channel, .. } | Op::Write { channel, .. } => channel.arguments_needed(),
        Op::Submit { device, done, .. } => device.arguments_needed().max(done.arguments_needed()),
        Op::Io { device, .. } => device.map_or(0, |d| d.arguments_needed()),
        _ => 0,
    }
}
