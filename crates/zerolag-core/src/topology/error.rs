// SPDX-License-Identifier: GPL-2.0-only
//! What can be wrong with the description of a machine.

use alloc::string::String;
use core::fmt;

use super::presets::PRESETS;
use crate::cpu_set::CPUS_MAX;
use crate::ids::CpuId;

/// A level of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Hardware threads of one core.
    Core,
    /// Cores that share a cache below the last level.
    Cluster,
    /// CPUs that share the last-level cache.
    Llc,
    /// CPUs of one memory node.
    Node,
    /// CPUs of one socket.
    Package,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "core",
            Self::Cluster => "cluster",
            Self::Llc => "last-level cache",
            Self::Node => "node",
            Self::Package => "package",
        })
    }
}

/// Why a description is not one of a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// A machine word with something wrong after it.
    #[error("'{word}' with '{found}'; accepted: {word} {accepted}")]
    Word {
        /// The word.
        word: String,
        /// What came after it.
        found: String,
        /// What may come after it.
        accepted: &'static str,
    },
    /// No preset has this name.
    #[error("no machine '{found}'; known: {}", PresetNames)]
    UnknownMachine {
        /// The name.
        found: String,
    },
    /// The number of CPUs is out of range.
    #[error("a machine of {found} cpus (accepted: 1 to {CPUS_MAX})")]
    CpuCount {
        /// The number.
        found: usize,
    },
    /// The number of threads of a core is out of range.
    #[error("a core of {found} threads (accepted: 1 to {max})")]
    Threads {
        /// The number.
        found: usize,
        /// The greatest number accepted.
        max: usize,
    },
    /// The CPUs do not make whole cores.
    #[error("{cpus} cpus do not make whole cores of {smt} threads")]
    PartialCore {
        /// Number of CPUs.
        cpus: usize,
        /// Threads per core.
        smt: usize,
    },
    /// The CPUs of a last-level cache do not make whole cores.
    #[error("a last-level cache of {llc} cpus does not hold whole cores of {smt} threads")]
    PartialLlc {
        /// CPUs per last-level cache.
        llc: usize,
        /// Threads per core.
        smt: usize,
    },
    /// A node would have no core, or there are none or too many.
    #[error("{nodes} nodes (accepted: 1 to one for each core, which is {max} here)")]
    NodeCount {
        /// Number of nodes.
        nodes: usize,
        /// The greatest number accepted.
        max: usize,
    },
    /// A core, node and so on without CPUs.
    #[error("{level} {index} has no cpus")]
    Empty {
        /// Which level.
        level: Level,
        /// Which of that level, in the order they were given.
        index: usize,
    },
    /// A CPU that the machine does not have.
    #[error("{what} names cpu {cpu}, but the machine has cpus 0 to {last}")]
    NoSuchCpu {
        /// Who names it.
        what: &'static str,
        /// The CPU.
        cpu: CpuId,
        /// The machine's last CPU.
        last: CpuId,
    },
    /// A CPU in two cores, two nodes and so on.
    #[error("cpu {cpu} is in {level} {first} and in {level} {second}")]
    InTwo {
        /// Which level.
        level: Level,
        /// The CPU.
        cpu: CpuId,
        /// One place, in the order they were given.
        first: usize,
        /// The other.
        second: usize,
    },
    /// A CPU in no node, no last-level cache and so on though some were given.
    #[error("cpu {cpu} is in no {level}")]
    LeftOut {
        /// Which level.
        level: Level,
        /// The CPU.
        cpu: CpuId,
    },
    /// CPUs of one core in different nodes, and so on.
    #[error("cpus {a} and {b} share a {inner} but not a {outer}")]
    NotNested {
        /// The smaller level.
        inner: Level,
        /// The bigger level, which must contain the smaller.
        outer: Level,
        /// A CPU.
        a: CpuId,
        /// Another CPU of the same `inner` but not the same `outer`.
        b: CpuId,
    },
    /// A node that the machine does not have.
    #[error("a distance names node {node}, but the machine has nodes 0 to {last}")]
    NoSuchNode {
        /// The node.
        node: usize,
        /// The machine's last node.
        last: usize,
    },
    /// A distance that is none.
    #[error("distance {found} from node {from} to node {to} (accepted: 10 to itself, 11 to 254 to another)")]
    Distance {
        /// Where from.
        from: usize,
        /// Where to.
        to: usize,
        /// The distance.
        found: u32,
    },
    /// A capacity out of range.
    #[error("capacity {found} of cpu {cpu} (accepted: 1 to 1024)")]
    Capacity {
        /// Whose.
        cpu: CpuId,
        /// The capacity.
        found: u32,
    },
    /// No CPU is online.
    #[error("no cpu is online")]
    AllOffline,
}

/// Prints the names of all presets.
struct PresetNames;

impl fmt::Display for PresetNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for preset in PRESETS {
            write!(f, "{}, ", preset.name)?;
        }
        f.write_str("ncpu:N")
    }
}
