// SPDX-License-Identifier: GPL-2.0-only
//! Linux's own files, from archives and directories.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use zerolag_core::topology::Topology;

use super::{check, draw, refusal};
use crate::machines::{SysTree, open, sysfs};

/// Files by path; an empty text stands for a link.
type Files = Vec<(String, String)>;

/// Four cores in two nodes: two threads each, or one; CPU 5 is offline.
pub(super) fn small() -> Files {
    let mut files: Files = Vec::new();
    let mut file = |path: String, text: &str| files.push((path, format!("{text}\n")));
    file("cpu/online".into(), "0-4");
    file("cpu/present".into(), "0-5");
    for (cpu, core, cache) in
        [(0, "0,3", "0-1,3"), (1, "1", "0-1,3"), (3, "0,3", "0-1,3"), (2, "2", "2,4"), (4, "4", "2,4")]
    {
        file(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), core);
        file(format!("cpu/cpu{cpu}/topology/physical_package_id"), "0");
        for (index, level, kind, shared) in [
            (0, 1, "Data", core),
            (1, 1, "Instruction", core),
            (2, 2, "Unified", core),
            (3, 3, "Unified", cache),
        ] {
            let cache = format!("cpu/cpu{cpu}/cache/index{index}");
            file(format!("{cache}/level"), &level.to_string());
            file(format!("{cache}/type"), kind);
            file(format!("{cache}/shared_cpu_list"), shared);
        }
    }
    file("cpu/cpu5/online".into(), "0");
    file("node/node0/cpumap".into(), "00000000,0000000b");
    file("node/node0/distance".into(), "10 25");
    file("node/node3/cpulist".into(), "2,4");
    file("node/node3/distance".into(), "26 10");
    files.push(("node/node3/cpu5".into(), String::new()));
    files
}

const SMALL: &str = "cores 0,3 1 2 4 5
    clusters 0,3 1 2 4 5
    llcs 0-1,3 2,4 5
    nodes 0-1,3 2,4-5
    packages 0-5
    capacity 1024 1024 1024 1024 1024 1024
    online 0-4
    distance 10 25
    distance 26 10";

/// A tar archive of the files below `sys/devices/system`, padded to pages as recorders of `/sys` do.
pub(super) fn archive(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        let mut contents = text.clone().into_bytes();
        if text.is_empty() {
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_link_name("../../cpu/cpu5").unwrap();
        } else {
            contents.resize(4096, 0);
        }
        header.set_size(contents.len() as u64);
        builder
            .append_data(&mut header, format!("machine/sys/devices/system/{path}"), &contents[..])
            .unwrap();
    }
    builder.into_inner().unwrap()
}

/// The same, packed.
pub(super) fn packed() -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&archive(&small())).unwrap();
    packer.finish().unwrap()
}

/// The machine of these files and those of `small()` that they do not replace.
fn with(changes: &[(&str, &str)]) -> Result<Topology, String> {
    let mut tree = SysTree::new("m");
    for (path, text) in small() {
        tree.add_file(&path, text.as_bytes());
    }
    for (path, text) in changes {
        tree.add_file(path, text.as_bytes());
    }
    sysfs::machine(&tree).map_err(|e| e.to_string())
}

#[test]
fn archives_are_read_packed_or_not() {
    check("m.tar", &archive(&small()), SMALL);
    check("m.tgz", &packed(), SMALL);
    let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packer.write_all(&archive(&small())).unwrap();
    check("m.tbz", &packer.finish().unwrap(), SMALL);
}

#[test]
fn directories_are_read() {
    let root = std::env::temp_dir().join(format!("zerolag-machine-{}", std::process::id()));
    for (path, text) in small() {
        let path = root.join("sys/devices/system").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let machine = open(root.to_str().unwrap());
    let elsewhere = open(root.join("sys/devices/system/node").to_str().unwrap());
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(draw(&machine.unwrap()), SMALL.replace("    ", "") + "\n");
    let error = elsewhere.unwrap_err().to_string();
    assert!(
        error.ends_with("node: no system/cpu in this directory, nor in devices or sys/devices below it"),
        "{error}"
    );
}

#[test]
fn what_is_cut_short_is_refused() {
    let whole = archive(&small());
    // Within a file, in the zeros it is padded with, between two files, in the mark at the end.
    for length in [whole.len() / 2, 512 + 200, 512 + 4096, whole.len() - 1024] {
        let error = refusal("m.tar", &whole[..length]);
        assert!(error.starts_with("m.tar: damaged archive: "), "{length}: {error}");
    }
    let packed = packed();
    let error = refusal("m.tgz", &packed[..packed.len() / 2]);
    assert!(error.starts_with("m.tgz: damaged archive: "), "{error}");
}

#[test]
fn an_archive_of_something_else_is_refused() {
    let files = vec![("firmware/notes".to_owned(), "hello".to_owned())];
    assert_eq!(refusal("m.tar", &archive(&files)), "m.tar: no directory system/cpu/cpu0 or other CPU in it");
}

#[test]
fn clusters_come_from_the_firmware_and_widen_small_caches() {
    let cluster = |cpus: &'static str| {
        let files: Vec<_> =
            cpus.split(',').map(|c| format!("cpu/cpu{c}/topology/cluster_cpus_list")).collect();
        with(&files.iter().map(|f| (f.as_str(), cpus)).collect::<Vec<_>>()).unwrap()
    };
    assert!(draw(&cluster("0,1,3")).contains("clusters 0-1,3 2 4 5\nllcs 0-1,3 2,4 5\n"));
    let alone = ("cpu/cpu2/cache/index3/shared_cpu_list", "2");
    let apart = ("cpu/cpu4/cache/index3/shared_cpu_list", "4");
    let joined =
        ["cpu/cpu2/topology/cluster_cpus_list", "cpu/cpu4/topology/cluster_cpus_list"].map(|f| (f, "2,4"));
    let machine = with(&[alone, apart, joined[0], joined[1]]).unwrap();
    assert!(draw(&machine).contains("clusters 0,3 1 2,4 5\nllcs 0-1,3 2,4 5\n"));
}

#[test]
fn capacities_are_read_or_follow_from_the_kinds_of_cores() {
    let files = [("cpu/cpu2/cpu_capacity", "446"), ("cpu/cpu4/cpu_capacity", "160")];
    assert!(draw(&with(&files).unwrap()).contains("capacity 1024 1024 446 1024 160 1024\n"));
    let mut hybrid = vec![("cpu_core/cpus", "0-1,3"), ("cpu_atom/cpus", "2,4")];
    assert!(draw(&with(&hybrid).unwrap()).contains("capacity 1024 1024 1024 1024 1024 1024\n"));
    hybrid.extend([("cpu/cpu1/acpi_cppc/highest_perf", "64"), ("cpu/cpu0/acpi_cppc/highest_perf", "60")]);
    hybrid.push(("cpu/cpu4/acpi_cppc/highest_perf", "39"));
    assert!(draw(&with(&hybrid).unwrap()).contains("capacity 1024 1024 624 1024 624 1024\n"));
}

#[test]
fn a_cache_ends_at_the_border_of_its_node() {
    let files = ["0", "1", "2", "3", "4"].map(|c| format!("cpu/cpu{c}/cache/index3/shared_cpu_list"));
    let machine = with(&files.each_ref().map(|f| (f.as_str(), "0-4"))).unwrap();
    assert!(draw(&machine).contains("llcs 0-1,3 2,4 5\n"));
}

#[test]
fn faults_are_named_with_their_file() {
    let list = "(accepted: a list of CPUs as in 0-3,8)";
    let cases = [
        (("cpu/online", "0-x"), format!("m: cpu/online:1: the list is '0-x' {list}")),
        (
            ("cpu/online", "0-9"),
            "m: cpu/online:1: an online CPU is '6' (accepted: CPUs that have a directory)".into(),
        ),
        (("cpu/cpu9999/online", "0"), "m: cpu/cpu9999: its number is '9999' (accepted: 0 to 8191)".into()),
        (
            ("cpu/cpu1/cache/index3/level", "L3"),
            "m: cpu/cpu1/cache/index3/level:1: the value is 'L3' (accepted: a number)".into(),
        ),
        (("cpu/cpu2/cpu_capacity", "0"), "m: cpu/cpu2/cpu_capacity:1: the capacity is '0' (accepted: 1 to 1024)".into()),
        (("node/node3/cpulist", "2-4"), "m: node/node*/cpulist: cpu 3 is in node 0 and in node 1".into()),
        (("node/node3/cpulist", "2"), "m: node/node*/cpulist: cpu 4 is in no node".into()),
        (
            ("node/node3/distance", "26"),
            "m: node/node3/distance:1: the row is '26' (accepted: numbers, one for each node)".into(),
        ),
        (
            ("node/node3/distance", "9 10"),
            "m: node/node*/distance: distance 9 from node 1 to node 0 (accepted: 10 to itself, 11 to 254 to another)".into(),
        ),
    ];
    for (change, message) in cases {
        assert_eq!(with(&[change]).unwrap_err(), message);
    }
}
