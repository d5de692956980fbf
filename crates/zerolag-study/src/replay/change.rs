// SPDX-License-Identifier: GPL-2.0-only
//! What could have been different.

use std::fmt;
use std::str::FromStr;

use zerolag_core::cpu_set::CPUS_MAX;
use zerolag_core::group::Shares;
use zerolag_core::ids::{GroupId, Id};
use zerolag_core::kernel::Kernel;
use zerolag_core::nice::Nice;
use zerolag_core::units::Nanos;
use zerolag_sim::duration;
use zerolag_sim::pattern::Pattern;
use zerolag_sim::replay::Context;
use zerolag_sim::replay::context::{AboutTasks, Whom};
use zerolag_sim::workload::Attributes;

/// One thing that is different. As text: `kernel=6.1`, `cpus=4`, `weight=/batch=50`, `nice=worker*=5`,
/// `slice=worker*=3ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The kernel.
    Kernel(Kernel),
    /// The number of CPUs.
    Cpus(u16),
    /// The weight of a group, 1 to 10000.
    Weight {
        /// Its path.
        path: String,
        /// As of `cpu.weight`.
        weight: u64,
    },
    /// How nice some tasks are.
    Nice {
        /// What they are called.
        pattern: String,
        /// The level.
        nice: Nice,
    },
    /// What they ask for.
    Slice {
        /// What they are called.
        pattern: String,
        /// Not 0.
        slice: Nanos,
    },
}

/// Why something cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{change}: {why}")]
pub struct ChangeError {
    /// What, as given.
    pub change: String,
    /// What would be accepted.
    pub why: String,
}

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        let (what, value) = text.split_once('=').unwrap_or((text, ""));
        let wrong = |why: String| ChangeError { change: text.to_owned(), why };
        match what {
            "kernel" => {
                let known = || Kernel::implemented().map(Kernel::name).collect::<Vec<_>>().join(", ");
                let kernel = Kernel::by_name(value);
                kernel.map(Self::Kernel).ok_or_else(|| wrong(format!("there are {}", known())))
            }
            "cpus" => {
                let n = value.parse().ok().filter(|n| (1..=CPUS_MAX).contains(&usize::from(*n)));
                n.map(Self::Cpus).ok_or_else(|| wrong(format!("a machine has 1 to {CPUS_MAX} CPUs")))
            }
            "weight" => Self::weight(value),
            "nice" => Self::nice(value),
            "slice" => Self::slice(value),
            _ => Err(wrong(
                "accepted: kernel=K, cpus=N, weight=GROUP=N, nice=PATTERN=N, slice=PATTERN=TIME".into(),
            )),
        }
    }
}

impl Change {
    /// Of `GROUP=N`.
    ///
    /// # Errors
    /// If it is no weight of a group.
    pub fn weight(text: &str) -> Result<Self, ChangeError> {
        let (path, weight) = parts("weight", text, "GROUP=N")?;
        let weight = weight.parse().ok().filter(|w| (1..=10_000).contains(w));
        let weight = weight.ok_or_else(|| wrong("weight", text, "a weight is from 1 to 10000"))?;
        Ok(Self::Weight { path, weight })
    }

    /// Of `PATTERN=N`.
    ///
    /// # Errors
    /// If it is no nice level of tasks.
    pub fn nice(text: &str) -> Result<Self, ChangeError> {
        let (pattern, nice) = parts("nice", text, "PATTERN=N")?;
        let nice = nice.parse().ok().and_then(Nice::new);
        let nice = nice.ok_or_else(|| wrong("nice", text, "nice levels are from -20 to 19"))?;
        Ok(Self::Nice { pattern, nice })
    }

    /// Of `PATTERN=TIME`.
    ///
    /// # Errors
    /// If it is no slice of tasks.
    pub fn slice(text: &str) -> Result<Self, ChangeError> {
        let (pattern, slice) = parts("slice", text, "PATTERN=TIME")?;
        let slice = duration::parse(slice)
            .map_err(|e| wrong("slice", text, &format!("{e}; accepted: {}", duration::ACCEPTED)))?;
        if slice == Nanos::ZERO {
            return Err(wrong("slice", text, "a slice is not 0"));
        }
        Ok(Self::Slice { pattern, slice })
    }

    /// What it makes of groups and tasks. Kernel and machine are chosen when a context is read.
    pub(super) fn apply(&self, context: &mut Context) -> Result<(), ChangeError> {
        let (pattern, attributes) = match self {
            Self::Kernel(_) | Self::Cpus(_) => return Ok(()),
            Self::Weight { path, weight } => {
                let paths: Vec<&str> = context.groups.iter().skip(1).map(|(_, g)| g.path.as_str()).collect();
                let Some(at) = paths.iter().position(|p| p == path) else {
                    let known = if paths.is_empty() { "none".into() } else { paths.join(", ") };
                    return Err(wrong("weight", path, &format!("groups that the context has: {known}")));
                };
                if let Some(shares) = Shares::from_weight(*weight) {
                    context.groups[GroupId::from_index(at + 1)].shares = shares;
                }
                return Ok(());
            }
            Self::Nice { pattern, nice } => {
                (pattern, Attributes { nice: Some(*nice), ..Attributes::default() })
            }
            Self::Slice { pattern, slice } => {
                (pattern, Attributes { slice: Some(*slice), ..Attributes::default() })
            }
        };
        // The first who says something counts.
        let whom = Whom::Named(Pattern::new(pattern.clone()));
        context.tasks.insert(0, AboutTasks { whom, attributes });
        Ok(())
    }
}

/// Both sides of the last equals sign: names may have some too.
fn parts<'t>(what: &str, text: &'t str, form: &str) -> Result<(String, &'t str), ChangeError> {
    match text.rsplit_once('=') {
        Some((left, right)) if !left.is_empty() => Ok((left.to_owned(), right)),
        _ => Err(wrong(what, text, &format!("expected {form}"))),
    }
}

fn wrong(what: &str, text: &str, why: &str) -> ChangeError {
    ChangeError { change: format!("{what} {text}"), why: why.to_owned() }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(kernel) => write!(f, "{kernel}"),
            Self::Cpus(n) => write!(f, "{n} cpus"),
            Self::Weight { path, weight } => write!(f, "weight {path}={weight}"),
            Self::Nice { pattern, nice } => write!(f, "nice {pattern}={}", nice.get()),
            Self::Slice { pattern, slice } => write!(f, "slice {pattern}={}us", slice.0 as f64 / 1e3),
        }
    }
}
