// SPDX-License-Identifier: GPL-2.0-only
//! How a command can end other than well, and with which exit code.

use std::io;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The input was bad: exit code 2, as for arguments that do not parse.
    #[error("{0}")]
    Input(String),
    /// The run went wrong: exit code 1.
    #[error("{0}")]
    Check(String),
    /// Something that must hold does not: exit code 3. Says how to see it again.
    #[error("{0}")]
    Invariant(String),
    /// The results could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    /// The program is wrong: exit code 3.
    #[error("internal error, please report it; to see it again: {rerun}")]
    Broken {
        /// The command line that shows it.
        rerun: String,
    },
}

impl Failure {
    /// Bad input, in whatever words its reader found.
    pub(crate) fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// Whoever read the output has seen enough: no failure to speak of.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == io::ErrorKind::BrokenPipe)
    }

    /// 0 done, 1 a check failed, 2 bad input, 3 internal invariant broken.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_broken_pipe() => 0,
            Self::Input(_) => 2,
            Self::Check(_) | Self::Output(_) => 1,
            Self::Invariant(_) | Self::Broken { .. } => 3,
        }
    }
}
