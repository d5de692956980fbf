// SPDX-License-Identifier: GPL-2.0-only
//! Importers on small machines of our own, on faults of each kind, and on arbitrary input.

mod form;
mod hwloc;
mod sysfs;

use proptest::prelude::*;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{Id, IdVec};
use zerolag_core::topology::{PRESETS, Topology};

use super::form as toml;
use super::{open, parse};

/// A machine as text: one line for each level, with what each CPU shares.
fn draw(topology: &Topology) -> String {
    fn sets<I: Id>(level: &IdVec<I, CpuSet>) -> String {
        level.iter().map(|(_, set)| set.to_string()).collect::<Vec<_>>().join(" ")
    }
    let capacities: Vec<String> = topology.cpus().map(|c| topology.capacity(c).0.to_string()).collect();
    let mut text = format!(
        "cores {}\nclusters {}\nllcs {}\nnodes {}\npackages {}\ncapacity {}\nonline {}\n",
        sets(topology.cores()),
        sets(topology.clusters()),
        sets(topology.llcs()),
        sets(topology.nodes()),
        sets(topology.packages()),
        capacities.join(" "),
        topology.online(),
    );
    for from in topology.nodes().ids() {
        let row = topology.nodes().ids().map(|to| topology.distance(from, to).to_string());
        text += &format!("distance {}\n", row.collect::<Vec<_>>().join(" "));
    }
    text
}

fn check(name: &str, bytes: &[u8], expected: &str) {
    let machine = parse(name, bytes).unwrap_or_else(|e| panic!("{e}"));
    let expected: String = expected.lines().map(|l| format!("{}\n", l.trim())).collect();
    assert_eq!(draw(&machine), expected.trim_start());
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    parse(name, bytes).expect_err("refused").to_string()
}

#[test]
fn presets_open_by_name() {
    assert_eq!(open("ivb-ep").unwrap(), Topology::preset("ivb-ep").unwrap());
    let error = open("ivb-pe").unwrap_err().to_string();
    assert!(error.starts_with("ivb-pe: no such file, and no machine 'ivb-pe'; known: 2cpu, "), "{error}");
    assert_eq!(open("ncpu:0").unwrap_err().to_string(), "ncpu:0: a machine of 0 cpus (accepted: 1 to 8192)");
}

#[test]
fn other_kinds_of_files_are_refused() {
    let accepted = "(accepted: hwloc XML, TOML, a tar of /sys plain or packed by gzip or bzip2)";
    assert_eq!(refusal("a.bin", b"\x7fELF\xff\xfe"), format!("a.bin: not a machine {accepted}"));
    assert_eq!(
        refusal("empty", b""),
        "empty: no 'cpus' in it, and no 'base'",
        "an empty file is TOML that says nothing"
    );
}

#[test]
fn every_preset_survives_being_written_and_read() {
    for preset in PRESETS {
        let machine = Topology::preset(preset.name).unwrap();
        assert_eq!(toml::read("x", &toml::write(&machine)).unwrap(), machine, "{}", preset.name);
    }
}

/// Pieces that put together come close to what the importers read.
const PIECES: &[&str] = &[
    "<topology version=\"2.0\">",
    "<object type=\"",
    "PU\" os_index=\"",
    "NUMANode\" cpuset=\"",
    "L3Cache\" cpuset=\"0x3\"",
    "Cache\" depth=\"",
    "<distances2 type=\"NUMANode\" indexing=\"os\" kind=\"5\">",
    "<indexes>0 1</indexes>",
    "<distances latency_base=\"1e300\"><latency value=\"1e300\"/></distances>",
    "</topology>",
    "\"/>",
    "\">",
    "0x00000003",
    "0xf...f",
    "cpus = ",
    "smt = ",
    "distances = [[10]]",
    "capacity = [{ cpus = \"",
    "\", value = ",
    "nodes",
    "99999999999",
    "0-3",
    "-1",
    "7",
    "\n",
    "[",
    "]",
    "{",
    "é",
];

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = parse("x", &bytes);
    }

    #[test]
    fn arbitrary_pieces_never_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        let _ = parse("x", pieces.concat().as_bytes());
    }

    #[test]
    fn damaged_files_never_panic(at in 0usize..4096, to: u8, cut in 0usize..4096) {
        for file in [hwloc::SMALL.as_bytes().to_vec(), sysfs::archive(&sysfs::small()), sysfs::packed()] {
            let mut bytes = file;
            let length = bytes.len();
            bytes[at % length] = to;
            bytes.truncate(cut % length);
            let _ = parse("x", &bytes);
        }
    }
}
