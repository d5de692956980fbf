// SPDX-License-Identifier: GPL-2.0-only
//! One event as it was recorded, before its pids are turned into tasks: what every reader produces.

use zerolag_core::event::PrevState;
use zerolag_core::ids::CpuId;
use zerolag_core::units::{Instant, Nanos};

use super::naming::Thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) time: Instant,
    pub(crate) cpu: CpuId,
    /// Thread and process id of the current task, where the recorder says both.
    pub(crate) process: Option<(u32, u32)>,
    pub(crate) body: Body<'a>,
}

/// What the tracepoints of the `sched` group say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    Switch {
        prev: Thread<'a>,
        prev_state: State,
        next: Thread<'a>,
    },
    Waking(Wake<'a>),
    Wakeup(Wake<'a>),
    WakeupNew(Wake<'a>),
    Migrate {
        task: Thread<'a>,
        from: CpuId,
        to: CpuId,
    },
    Fork {
        parent: Thread<'a>,
        child: Thread<'a>,
    },
    Exit(Thread<'a>),
    Exec {
        pid: u32,
        old_pid: u32,
    },
    Runtime {
        task: Thread<'a>,
        ran: Nanos,
    },
    /// Understood, and nothing that changes a schedule: another tracepoint, or a wake-up that failed.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wake<'a> {
    pub(crate) task: Thread<'a>,
    pub(crate) target: CpuId,
}

/// `prev_state` of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) state: PrevState,
    /// The task is gone for good; its pid can come back as another task.
    pub(crate) last: bool,
}

impl State {
    /// From the kernel's text: letters joined by `|`, `R` if there are none, `+` for preempted.
    ///
    /// libtraceevent's plugin (`plugin`) prints letters of old kernels for the bits of new ones: there `W`
    /// is an idle sleep and `x` is parked, while in a kernel's own text `x` is dead.
    pub(crate) fn from_letters(letters: &[u8], plugin: bool) -> Option<Self> {
        let (state, last) = match (letters.first()?, plugin) {
            (b'R', _) if letters.ends_with(b"+") => (PrevState::Preempted, false),
            (b'R', _) => (PrevState::Runnable, false),
            (b'S', _) => (PrevState::Sleeping, false),
            (b'D', _) => (PrevState::Uninterruptible, false),
            (b'I', _) | (b'W', true) => (PrevState::IdleSleep, false),
            (b'T' | b't', _) => (PrevState::Stopped, false),
            (b'X' | b'Z', _) | (b'x', false) => (PrevState::Dead, true),
            (b'0'..=b'9', _) => return Self::from_number(letters),
            (letter, _) if letter.is_ascii_alphabetic() => (PrevState::Other, false),
            _ => return None,
        };
        Some(Self { state, last })
    }

    /// `prev_state=1` or `0x1`, as raw output prints it.
    fn from_number(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let bits = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => text.parse().ok()?,
        };
        Some(Self::from_bits(bits))
    }

    /// From the number in a binary record. Bits as reported since 4.14; what older kernels put elsewhere
    /// gives the same answer except for parked (then 0x40 was dead).
    pub(crate) const fn from_bits(bits: u64) -> Self {
        let state = match bits & 0xff {
            0 => match bits {
                0 => PrevState::Runnable,
                0x200 => PrevState::Other,
                // What says "preempted" moved with the states: 0x100 now, a higher bit before.
                _ => PrevState::Preempted,
            },
            b if b & 0x01 != 0 => PrevState::Sleeping,
            b if b & 0x02 != 0 => PrevState::Uninterruptible,
            b if b & 0x0c != 0 => PrevState::Stopped,
            b if b & 0x30 != 0 => PrevState::Dead,
            0x80 => PrevState::IdleSleep,
            _ => PrevState::Other,
        };
        Self { state, last: matches!(state, PrevState::Dead) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_all_eras() {
        for (letters, plugin, want) in [
            ("R", false, PrevState::Runnable),
            ("R+", false, PrevState::Preempted),
            ("S", false, PrevState::Sleeping),
            ("S|W", false, PrevState::Sleeping),
            ("D|K", false, PrevState::Uninterruptible),
            ("I", false, PrevState::IdleSleep),
            ("W", true, PrevState::IdleSleep),
            ("T", false, PrevState::Stopped),
            ("t", false, PrevState::Stopped),
            ("X", false, PrevState::Dead),
            ("Z", true, PrevState::Dead),
            ("x", false, PrevState::Dead),
            ("x", true, PrevState::Other),
            ("P", false, PrevState::Other),
            ("130", false, PrevState::Uninterruptible),
            ("0x100", false, PrevState::Preempted),
            ("4096", false, PrevState::Preempted),
            ("0", false, PrevState::Runnable),
        ] {
            let got = State::from_letters(letters.as_bytes(), plugin).unwrap();
            assert_eq!(got.state, want, "{letters}");
            assert_eq!(got.last, want == PrevState::Dead, "{letters}");
        }
        for nonsense in ["", "=", "0x", "99999999999999999999", "1z"] {
            assert_eq!(State::from_letters(nonsense.as_bytes(), false), None, "{nonsense}");
        }
    }
}
