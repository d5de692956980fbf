// SPDX-License-Identifier: GPL-2.0-only
//! The files below `/sys/devices` that describe a machine's CPUs, from wherever they come.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use zerolag_core::cpu_set::CPUS_MAX;
use zerolag_core::topology::NODES_MAX;

use super::archive::{Bounded, Packing};
use super::error::{MachineError, MachineFault};

/// The greatest size of a file in the tree: the biggest hold a mask or a list of 8192 CPUs.
const ENTRY_BYTES_MAX: u64 = 64 << 10;
/// What archives are made of.
const BLOCK_BYTES: u64 = 512;
/// The greatest size of an unpacked archive. Recorders pad files to pages, so that thousands of CPUs with a
/// hundred files each make gigabytes of zeros.
const UNPACKED_BYTES_MAX: u64 = 8 << 30;

/// Files by path below `/sys/devices/system` (`cpu/online`, `node/node0/cpulist`) and, of hybrid machines,
/// below `/sys/devices` (`cpu_core/cpus`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysTree {
    /// Where the files are from, for messages.
    pub origin: String,
    files: BTreeMap<String, String>,
    /// The directories of CPUs and nodes, with the links between them: `cpu/cpu0`, `node/node0/cpu0`.
    directories: BTreeSet<String>,
}

impl SysTree {
    /// An empty tree.
    pub fn new(origin: &str) -> Self {
        Self { origin: origin.into(), ..Self::default() }
    }

    /// Adds a file, if it is one that says something about CPUs. Recorders pad files of `/sys` with zeros: the
    /// contents end at the first.
    pub fn add_file(&mut self, path: &str, contents: &[u8]) {
        if is_wanted(path) {
            self.add_directories(path);
            let end = contents.iter().position(|&b| b == 0).unwrap_or(contents.len());
            let text = String::from_utf8_lossy(&contents[..end]).trim().to_owned();
            self.files.insert(path.to_owned(), text);
        }
    }

    /// Adds the directories of a CPU and a node that the path leads through.
    fn add_directories(&mut self, path: &str) {
        let mut parts = path.split('/');
        let (Some(top @ ("cpu" | "node")), Some(one)) = (parts.next(), parts.next()) else { return };
        if number_after(one, top).is_none() {
            return;
        }
        self.directories.insert(format!("{top}/{one}"));
        let other = if top == "cpu" { "node" } else { "cpu" };
        if let Some(link) = parts.next().filter(|name| number_after(name, other).is_some()) {
            self.directories.insert(format!("{top}/{one}/{link}"));
        }
    }

    /// The contents of a file.
    pub fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The numbers of all directories `prefix` + number.
    pub(super) fn numbers(&self, prefix: &str) -> impl Iterator<Item = u32> + use<> {
        let mut numbers: Vec<u32> = self
            .directories
            .range(prefix.to_owned()..)
            .take_while(|path| path.starts_with(prefix))
            .filter_map(|path| number_after(path, prefix))
            .collect();
        numbers.sort_unstable();
        numbers.into_iter()
    }

    /// Reads an archive.
    pub(super) fn of_archive(name: &str, bytes: &[u8], packing: Packing) -> Result<Self, MachineError> {
        let mut tree = Self::new(name);
        tree.read_archive(packing.unpack(bytes, UNPACKED_BYTES_MAX))
            .map_err(|e| MachineFault::Archive(e).in_file(name))?;
        tree.check_size().map_err(|fault| fault.in_file(name))?;
        Ok(tree)
    }

    fn read_archive<R: Read>(&mut self, unpacked: Bounded<R>) -> io::Result<()> {
        let mut archive = tar::Archive::new(unpacked);
        let mut end = 0;
        for entry in archive.entries()? {
            let mut entry = entry?;
            end = entry.raw_file_position().saturating_add(entry.header().entry_size()?);
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let Some(path) = below_system(&path) else { continue };
            if entry.header().entry_type().is_file() {
                if is_wanted(path) {
                    let mut contents = Vec::new();
                    entry.by_ref().take(ENTRY_BYTES_MAX).read_to_end(&mut contents)?;
                    self.add_file(path, &contents);
                }
            } else {
                self.add_directories(path);
            }
        }
        // An archive ends with blocks of zeros; without, more would have come.
        let blocks = end.div_ceil(BLOCK_BYTES) + 1;
        if archive.into_inner().count() / BLOCK_BYTES < blocks {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Reads the files below a directory: `/sys`, or wherever they have been unpacked to.
    pub(super) fn of_directory(root: &Path) -> Result<Self, MachineError> {
        let name = root.display().to_string();
        let mut tree = Self::new(&name);
        let fault = |e: io::Error| MachineFault::Unreadable(e).in_file(&name);
        let Some(devices) = find_devices(root).map_err(fault)? else {
            let missing = "no system/cpu in this directory, nor in devices or sys/devices below it";
            return Err(MachineFault::Missing(missing).in_file(name));
        };
        tree.read_devices(&devices).map_err(fault)?;
        tree.check_size().map_err(|fault| fault.in_file(name.as_str()))?;
        Ok(tree)
    }

    fn read_devices(&mut self, devices: &Path) -> io::Result<()> {
        for kind in HYBRID {
            self.read_file(devices, &format!("{kind}/cpus"))?;
        }
        let system = devices.join("system");
        for file in ["cpu/online", "cpu/present"] {
            self.read_file(&system, file)?;
        }
        for (top, other) in [("cpu", "node"), ("node", "cpu")] {
            for name in names(&system.join(top))?.iter().filter(|n| number_after(n, top).is_some()) {
                let directory = format!("{top}/{name}");
                self.add_directories(&directory);
                for link in names(&system.join(&directory))?.iter().filter(|n| n.starts_with(other)) {
                    self.add_directories(&format!("{directory}/{link}"));
                }
                let files = if top == "cpu" { CPU_FILES } else { NODE_FILES };
                for file in files {
                    self.read_file(&system, &format!("{directory}/{file}"))?;
                }
                for cache in names(&system.join(&directory).join("cache"))? {
                    for file in CACHE_FILES {
                        self.read_file(&system, &format!("{directory}/cache/{cache}/{file}"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn read_file(&mut self, root: &Path, path: &str) -> io::Result<()> {
        let mut contents = Vec::new();
        match File::open(root.join(path)).and_then(|f| f.take(ENTRY_BYTES_MAX).read_to_end(&mut contents)) {
            Ok(_) => self.add_file(path, &contents),
            // Files that are not there, and those of CPUs that are offline, say nothing.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(e) if e.raw_os_error() == Some(ENXIO) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), MachineFault> {
        let [cpus, nodes] = ["cpu/cpu", "node/node"].map(|prefix| self.numbers(prefix).count());
        if cpus > CPUS_MAX || nodes > NODES_MAX {
            let (what, found) = ("the machine".to_owned(), format!("one of {cpus} cpus and {nodes} nodes"));
            return Err(MachineFault::Value { what, found, accepted: "8192 cpus, 1024 nodes" });
        }
        Ok(())
    }
}

/// What reading from a CPU that is offline fails with, "no such device or address".
const ENXIO: i32 = 6;

/// The kinds of cores of Intel's hybrid machines.
pub(super) const HYBRID: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

const CPU_FILES: &[&str] = &[
    "online",
    "cpu_capacity",
    "acpi_cppc/highest_perf",
    "topology/core_cpus_list",
    "topology/core_cpus",
    "topology/thread_siblings_list",
    "topology/thread_siblings",
    "topology/cluster_cpus_list",
    "topology/cluster_cpus",
    "topology/package_cpus_list",
    "topology/package_cpus",
    "topology/core_siblings_list",
    "topology/core_siblings",
];
const CACHE_FILES: &[&str] = &["level", "type", "shared_cpu_list", "shared_cpu_map"];
const NODE_FILES: &[&str] = &["cpulist", "cpumap", "distance"];

/// True for the files that are read.
fn is_wanted(path: &str) -> bool {
    let mut parts = path.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("cpu"), Some("online" | "present"), None) => true,
        (Some(kind), Some("cpus"), None) => HYBRID.contains(&kind),
        (Some("node"), Some(node), Some(file)) => {
            number_after(node, "node").is_some() && NODE_FILES.contains(&file)
        }
        (Some("cpu"), Some(cpu), Some(file)) if number_after(cpu, "cpu").is_some() => {
            let cache = file.strip_prefix("cache/").and_then(|f| f.split_once('/'));
            CPU_FILES.contains(&file) || cache.is_some_and(|(_, file)| CACHE_FILES.contains(&file))
        }
        _ => false,
    }
}

/// The part of a path below `/sys/devices/system`, or below `/sys/devices` for hybrid kinds.
fn below_system(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    for (start, _) in path.match_indices(|c: char| c.is_ascii_lowercase()) {
        if start > 0 && path.as_bytes()[start - 1] != b'/' {
            continue;
        }
        let rest = &path[start..];
        if let Some(below) = rest.strip_prefix("system/")
            && (below.starts_with("cpu/") || below.starts_with("node/"))
        {
            return Some(below);
        }
        if HYBRID.iter().any(|kind| rest.strip_prefix(kind) == Some("/cpus")) {
            return Some(rest);
        }
    }
    None
}

/// The number in a name that is `prefix` + number.
fn number_after(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// The directory that has `system/cpu`: this, `devices` or `sys/devices` in it, or the same one level down, as
/// archives unpack.
fn find_devices(root: &Path) -> io::Result<Option<PathBuf>> {
    let places = |root: &Path| ["", "devices", "sys/devices"].map(|place| root.join(place));
    let has_cpus = |devices: &PathBuf| devices.join("system/cpu").is_dir();
    if let Some(found) = places(root).into_iter().find(has_cpus) {
        return Ok(Some(found));
    }
    let below = names(root)?;
    Ok(below.iter().flat_map(|name| places(&root.join(name))).find(has_cpus))
}

/// What is in a directory, in order; nothing if it is none.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(e) => return Err(e),
    };
    let mut names: Vec<String> =
        entries.map(|e| e.map(|e| e.file_name().to_string_lossy().into_owned())).collect::<Result<_, _>>()?;
    names.sort();
    Ok(names)
}
