// SPDX-License-Identifier: GPL-2.0-only
//! What can be wrong with a script.

use std::io;

use thiserror::Error;
use zerolag_core::features::FeatureError;
use zerolag_core::kernel::Kernel;
use zerolag_core::latency::LatencyError;
use zerolag_core::topology::TopologyError;

use super::RunError;
use crate::tunable::Tunable;

/// A line of a script that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {fault}: {text}")]
pub struct ScriptError {
    /// Number of the line, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What is wrong.
    pub fault: ScriptFault,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScriptFault {
    /// Bytes that are no text.
    #[error("not UTF-8")]
    NotUtf8,
    /// The first word is not of the language.
    #[error("unknown word '{word}'{}", suggestion(.nearest))]
    UnknownWord {
        /// What was found.
        word: String,
        /// The most similar word there is.
        nearest: Option<&'static str>,
    },
    /// A word is missing.
    #[error("missing argument: {expected}")]
    Missing {
        /// What should have been there.
        expected: &'static str,
    },
    /// A word is not what it should be.
    #[error("'{found}' is not {expected}")]
    Bad {
        /// What was found.
        found: String,
        /// What would be accepted.
        expected: &'static str,
    },
    /// More words than the verb takes.
    #[error("'{found}' is one word too many")]
    TooMany {
        /// The first of them.
        found: String,
    },
    /// A machine word after the first event.
    #[error("too late: the machine is running")]
    TooLate,
    /// The machine is impossible.
    #[error("{0}")]
    Machine(TopologyError),
    /// This kernel has no such feature.
    #[error(transparent)]
    NoFeature(#[from] FeatureError),
    /// This kernel has no such tunable.
    #[error("Linux {kernel} has no tunable '{found}'; it has {}", tunables_of(*.kernel))]
    NoTunable {
        /// The kernel.
        kernel: Kernel,
        /// What was asked for.
        found: String,
    },
    /// The clock was set back.
    #[error("clock goes back")]
    ClockBack,
    /// No such CPU.
    #[error("no such CPU")]
    NoCpu,
    /// No task has this number.
    #[error("there is no task {found}")]
    NoSuchTask {
        /// The number.
        found: u64,
    },
    /// This kernel has no latency nice.
    #[error("'{word}': {}", LatencyError::NotInKernel { kernel: *.kernel })]
    NoLatencyNice {
        /// The word.
        word: &'static str,
        /// The kernel.
        kernel: Kernel,
    },
    /// Part of the language that this version does not carry out.
    #[error("'{word}' is not supported with Linux {kernel}")]
    Unsupported {
        /// The word.
        word: &'static str,
        /// The kernel.
        kernel: &'static str,
    },
}

fn tunables_of(kernel: Kernel) -> String {
    Tunable::of(kernel).map(Tunable::sysctl_name).collect::<Vec<_>>().join(", ")
}

fn suggestion(word: &Option<&'static str>) -> String {
    word.map_or_else(String::new, |w| format!(" (did you mean '{w}'?)"))
}

/// A fault, or trouble with the output, before the line is known.
#[derive(Debug)]
pub(super) enum Stop {
    Fault(ScriptFault),
    Io(io::Error),
}

impl Stop {
    pub(super) fn at(self, line: usize, text: &str) -> RunError {
        match self {
            Self::Fault(fault) => ScriptError { line, text: text.trim().to_owned(), fault }.into(),
            Self::Io(error) => error.into(),
        }
    }
}

impl From<ScriptFault> for Stop {
    fn from(fault: ScriptFault) -> Self {
        Self::Fault(fault)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
