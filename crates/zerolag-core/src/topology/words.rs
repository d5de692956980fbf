// SPDX-License-Identifier: GPL-2.0-only
//! The machine words of event scripts: one line of text for one property of the machine.
//!
//! | word | meaning |
//! |---|---|
//! | `cpus N` | how many CPUs |
//! | `nodes K` | cores divided among K nodes, the last takes the rest |
//! | `smt K [split]` | K threads per core, adjacent numbers or (split) the first threads of all cores first |
//! | `cluster K` | K cores share an L2 |
//! | `llc K` | K CPUs share a last-level cache |
//! | `distance I J D` | between two nodes, both ways |
//! | `hierarchy A B C` | A if node numbers differ in bit 0 only, B up to bit 1, C beyond |
//! | `capacity LIST V` | of these CPUs, 1 to 1024 |
//! | `coreset LIST` `clusterset LIST` `llcset LIST` `nodeset LIST` `packageset LIST` | one core, ... |
//! | `machine NAME` | a preset |

use alloc::vec::Vec;

use super::builder::TopologyBuilder;
use super::error::{Level, TopologyError};
use crate::cpu_set::CpuSet;

/// What may follow each word.
const ACCEPTED: &[(&str, &str)] = &[
    ("cpus", "N"),
    ("nodes", "K"),
    ("smt", "K [split]"),
    ("cluster", "K"),
    ("llc", "K"),
    ("distance", "I J D"),
    ("hierarchy", "A B C"),
    ("capacity", "LIST V"),
    ("coreset", "LIST"),
    ("clusterset", "LIST"),
    ("llcset", "LIST"),
    ("nodeset", "LIST"),
    ("packageset", "LIST"),
    ("machine", "NAME"),
];

impl TopologyBuilder {
    /// Takes a line that has been split into words. Returns false if the first is no machine word.
    ///
    /// # Errors
    /// [`TopologyError::Word`] if the words after it are wrong, [`TopologyError::UnknownMachine`]. What is
    /// wrong with the machine as a whole is found by [`TopologyBuilder::build`].
    pub fn word(&mut self, words: &[&str]) -> Result<bool, TopologyError> {
        let Some((&word, values)) = words.split_first() else { return Ok(false) };
        let Some(&(_, accepted)) = ACCEPTED.iter().find(|(name, _)| *name == word) else {
            return Ok(false);
        };
        if let ("machine", [name]) = (word, values) {
            self.preset(name)?;
        } else if self.apply(word, values).is_none() {
            return Err(TopologyError::Word { word: word.into(), found: values.join(" "), accepted });
        }
        Ok(true)
    }

    /// Takes a line of text.
    pub(super) fn line(&mut self, line: &str) -> Result<bool, TopologyError> {
        self.word(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Nothing if the values are not what the word takes.
    fn apply(&mut self, word: &str, values: &[&str]) -> Option<()> {
        match (word, values) {
            ("cpus", [n]) => self.cpus(number(n)?),
            ("nodes", [k]) => self.nodes(number(k)?),
            ("smt", [k]) => self.smt(number(k)?, false),
            ("smt", [k, "split"]) => self.smt(number(k)?, true),
            ("cluster", [k]) => self.cluster(number(k)?),
            ("llc", [k]) => self.llc(number(k)?),
            ("distance", [i, j, d]) => self.distance(number(i)?, number(j)?, number(d)? as u32),
            ("hierarchy", [a, b, c]) => {
                self.hierarchy([number(a)? as u32, number(b)? as u32, number(c)? as u32])
            }
            ("capacity", [list, v]) => self.capacity(set(list)?, number(v)? as u32),
            ("coreset", [list]) => self.set(Level::Core, set(list)?),
            ("clusterset", [list]) => self.set(Level::Cluster, set(list)?),
            ("llcset", [list]) => self.set(Level::Llc, set(list)?),
            ("nodeset", [list]) => self.set(Level::Node, set(list)?),
            ("packageset", [list]) => self.set(Level::Package, set(list)?),
            _ => return None,
        };
        Some(())
    }
}

/// A decimal number, or a hexadecimal one after `0x`, that fits 32 bits.
fn number(text: &str) -> Option<usize> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.ok().map(|n| n as usize)
}

fn set(list: &str) -> Option<CpuSet> {
    list.parse().ok()
}
