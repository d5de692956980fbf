// SPDX-License-Identifier: GPL-2.0-only
//! What could have been different.

use std::fmt;

use zerolag_core::group::Shares;
use zerolag_core::ids::{GroupId, Id};
use zerolag_core::kernel::Kernel;
use zerolag_core::nice::Nice;
use zerolag_core::units::Nanos;
use zerolag_sim::pattern::Pattern;
use zerolag_sim::replay::Context;
use zerolag_sim::replay::context::{AboutTasks, Whom};
use zerolag_sim::scenario::Overrides;
use zerolag_sim::workload::Attributes;

use crate::args::high::settings::span;
use crate::args::high::{implemented, machine};
use crate::args::low;
use crate::failure::Failure;

/// One thing that is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The kernel.
    Kernel(Kernel),
    /// The number of CPUs.
    Cpus(u16),
    /// The weight of a group.
    Weight { path: String, weight: u64 },
    /// How nice some tasks are.
    Nice { pattern: String, nice: Nice },
    /// What they ask for.
    Slice { pattern: String, slice: Nanos },
}

impl Change {
    /// All that the command line asks for.
    pub(super) fn all(args: &low::Replay) -> Result<Vec<Self>, Failure> {
        let mut changes = Vec::new();
        if args.kernel.len() > 1 {
            for &kernel in &args.kernel {
                changes.push(Self::Kernel(implemented(kernel)?));
            }
        }
        changes.extend(args.cpus.iter().map(|&n| Self::Cpus(n)));
        for text in &args.weights {
            let (path, weight) = parts("--weight", text, "GROUP=N")?;
            let weight = weight.parse().ok().filter(|w| (1..=10_000).contains(w));
            let weight = weight.ok_or_else(|| wrong("--weight", text, "a weight is from 1 to 10000"))?;
            changes.push(Self::Weight { path, weight });
        }
        for text in &args.nices {
            let (pattern, nice) = parts("--nice", text, "PATTERN=N")?;
            let nice = nice.parse().ok().and_then(Nice::new);
            let nice = nice.ok_or_else(|| wrong("--nice", text, "nice levels are from -20 to 19"))?;
            changes.push(Self::Nice { pattern, nice });
        }
        for text in &args.slices {
            let (pattern, slice) = parts("--slice", text, "PATTERN=TIME")?;
            let slice = span(slice).map_err(|e| wrong("--slice", text, &e))?;
            if slice == Nanos::ZERO {
                return Err(wrong("--slice", text, "a slice is not 0"));
            }
            changes.push(Self::Slice { pattern, slice });
        }
        Ok(changes)
    }

    /// What it makes of the machine and the kernel, if anything.
    pub(super) fn overrides(&self, args: &low::Replay) -> Result<Option<Overrides>, Failure> {
        let as_a_whole = args.machine.as_deref().map(machine).transpose()?;
        let kernel = if let [kernel] = args.kernel[..] { Some(kernel) } else { None };
        Ok(match self {
            Self::Kernel(kernel) => {
                Some(Overrides { kernel: Some(*kernel), machine: as_a_whole, ..Overrides::default() })
            }
            Self::Cpus(n) => {
                let machine = Some(machine(&format!("{n}cpu"))?);
                Some(Overrides { kernel, machine, ..Overrides::default() })
            }
            Self::Weight { .. } | Self::Nice { .. } | Self::Slice { .. } => None,
        })
    }

    /// What it makes of groups and tasks.
    pub(super) fn apply(&self, context: &mut Context) -> Result<(), Failure> {
        let attributes = match self {
            Self::Kernel(_) | Self::Cpus(_) => return Ok(()),
            Self::Weight { path, weight } => {
                let paths: Vec<&str> = context.groups.iter().skip(1).map(|(_, g)| g.path.as_str()).collect();
                let Some(at) = paths.iter().position(|p| p == path) else {
                    let known = if paths.is_empty() { "none".into() } else { paths.join(", ") };
                    return Err(wrong("--weight", path, &format!("groups that the context has: {known}")));
                };
                if let Some(shares) = Shares::from_weight(*weight) {
                    context.groups[GroupId::from_index(at + 1)].shares = shares;
                }
                return Ok(());
            }
            Self::Nice { nice, .. } => Attributes { nice: Some(*nice), ..Attributes::default() },
            Self::Slice { slice, .. } => Attributes { slice: Some(*slice), ..Attributes::default() },
        };
        if let Self::Nice { pattern, .. } | Self::Slice { pattern, .. } = self {
            // The first who says something counts.
            let whom = Whom::Named(Pattern::new(pattern.clone()));
            context.tasks.insert(0, AboutTasks { whom, attributes });
        }
        Ok(())
    }
}

/// Both sides of the last equals sign: names may have some too.
fn parts<'t>(option: &str, text: &'t str, form: &str) -> Result<(String, &'t str), Failure> {
    match text.rsplit_once('=') {
        Some((left, right)) if !left.is_empty() => Ok((left.to_owned(), right)),
        _ => Err(wrong(option, text, &format!("expected {form}"))),
    }
}

fn wrong(option: &str, text: &str, why: &str) -> Failure {
    Failure::Input(format!("{option} {text}: {why}"))
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
