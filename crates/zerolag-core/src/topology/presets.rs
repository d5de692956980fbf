// SPDX-License-Identifier: GPL-2.0-only
//! Machines that have a name.

use super::builder::TopologyBuilder;
use super::error::TopologyError;

/// A machine with a name, described in the machine words of event scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The machine words that make it, separated by semicolons.
    pub words: &'static str,
}

/// All presets. Besides these there is `ncpu:N`.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "2cpu",
        about: "two equal CPUs that share everything but their pipelines",
        words: "cpus 2",
    },
    Preset {
        name: "ivb-ep",
        about: "two sockets of ten cores and two threads (Ivy Bridge EP)",
        words: "cpus 40; nodes 2; smt 2 split; distance 0 1 21",
    },
    Preset {
        name: "juno-r2",
        about: "two big cores and four small ones, a last-level cache for each kind (Arm Juno r2)",
        words: "cpus 6; llcset 1,2; llcset 0,3-5; capacity 0,3-5 446",
    },
    Preset {
        name: "numa4x48",
        about: "four sockets of 24 cores and two threads, each one hop from every other",
        words: "cpus 192; nodes 4; smt 2 split; distance 0 1 21; distance 0 2 21; distance 0 3 21; \
                distance 1 2 21; distance 1 3 21; distance 2 3 21",
    },
    Preset {
        name: "zen-32",
        about: "one socket of 16 cores and two threads, an L3 for every four cores",
        words: "cpus 32; smt 2; llc 8",
    },
    Preset {
        name: "cluster-24",
        about: "24 cores without SMT, an L2 for every four of them, one last-level cache",
        words: "cpus 24; cluster 4",
    },
    Preset {
        name: "square-16",
        about: "four nodes of four CPUs in a square, the opposite one two hops away",
        words: "cpus 16; nodes 4; distance 0 1 20; distance 1 2 20; distance 2 3 20; distance 3 0 20; \
                distance 0 2 30; distance 1 3 30",
    },
    Preset {
        name: "numa8-32",
        about: "eight nodes of four CPUs: neighbour, same half, other half (three distances)",
        words: "cpus 32; nodes 8; hierarchy 12 20 32",
    },
    Preset {
        name: "opteron-64",
        about: "four sockets of two nodes of eight threads, most but not all nodes linked (AMD Opteron 6272)",
        words: "cpus 64; nodes 8; smt 2; packageset 0-15; packageset 16-31; packageset 32-47; packageset 48-63; \
                distance 0 1 16; distance 0 2 16; distance 0 3 22; distance 0 4 16; distance 0 5 22; \
                distance 0 6 16; distance 0 7 22; distance 1 2 22; distance 1 3 16; distance 1 4 16; \
                distance 1 5 22; distance 1 6 22; distance 1 7 16; distance 2 3 16; distance 2 4 16; \
                distance 2 5 16; distance 2 6 16; distance 2 7 16; distance 3 4 16; distance 3 5 16; \
                distance 3 6 22; distance 3 7 22; distance 4 5 16; distance 4 6 16; distance 4 7 22; \
                distance 5 6 22; distance 5 7 16; distance 6 7 16",
    },
    Preset {
        name: "hybrid-16",
        about: "a hybrid laptop: four big cores of two threads, eight small cores, one last-level cache",
        words: "cpus 16; coreset 0,1; coreset 2,3; coreset 4,5; coreset 6,7; capacity 8-15 623",
    },
    Preset {
        name: "phone-8",
        about: "a phone of three sizes of CPU: four small, two middle, two big, one last-level cache",
        words: "cpus 8; capacity 0-3 160; capacity 4,5 498",
    },
    Preset {
        name: "server-384",
        about: "two sockets of 96 cores and two threads, an L3 for every eight cores",
        words: "cpus 384; nodes 2; smt 2 split; llc 16; distance 0 1 32",
    },
    Preset {
        name: "server-1024",
        about: "eight sockets of 64 cores and two threads, two hops between the halves",
        words: "cpus 1024; nodes 8; smt 2 split; hierarchy 16 18 25",
    },
];

impl TopologyBuilder {
    /// Takes over the description of a preset, `ncpu:N` or `Ncpu`; what is said afterwards overrides it.
    ///
    /// # Errors
    /// [`TopologyError::UnknownMachine`] if there is no such name.
    pub fn preset(&mut self, name: &str) -> Result<&mut Self, TopologyError> {
        if let Some(preset) = PRESETS.iter().find(|p| p.name == name) {
            for line in preset.words.split(';') {
                self.line(line)?;
            }
            return Ok(self);
        }
        let count = name.strip_prefix("ncpu:").or_else(|| name.strip_suffix("cpu"));
        match count.and_then(|n| n.parse().ok()) {
            Some(count) => Ok(self.cpus(count)),
            None => Err(TopologyError::UnknownMachine { found: name.into() }),
        }
    }
}
