// SPDX-License-Identifier: GPL-2.0-only
//! Machines from files: what other programs know about a computer becomes a [`Topology`].
//!
//! | source | how to get one |
//! |---|---|
//! | hwloc XML, versions 1 to 3 | `lstopo --of xml > machine.xml` |
//! | a Linux machine's own files | `cd /sys/devices && tar czf ~/machine.tgz system/cpu system/node $(ls -d cpu_*/cpus 2>/dev/null)`; what tar says of files that shrink or cannot be read does not matter |
//! | such files in a directory | `/sys` itself, or an unpacked archive |
//! | TOML | written by hand, see [`form`]; [`form::write`] writes it |
//!
//! (`tar` complains of files that shrank and that it may not read; the archive is good nevertheless. It may be
//! packed with gzip or bzip2, or not at all.)
//!
//! What scheduling needs is read the way Linux itself reads it:
//!
//! * the last-level cache is the highest one that the CPU has, cut at the borders of its memory node; without
//!   any it is the package;
//! * the cluster is what the firmware says or, where Linux says nothing, the second-level cache; one that
//!   spans more than the last-level cache widens that;
//! * capacities are what `cpu_capacity` says (hwloc: `LinuxCapacity`). On Intel's hybrid machines, which lack
//!   it, they are the ratio of the highest performance levels that the kinds of cores have. Elsewhere all CPUs
//!   are equal;
//! * a CPU that is offline tells nothing about itself: it becomes a core with a cache of its own. CPU numbers
//!   that the machine does not use are treated so too;
//! * memory nodes without CPUs are left out, the others numbered anew in their order.
//!
//! Nothing here panics on any input, and input is bounded in size.

mod archive;
mod error;
pub mod form;
mod hwloc;
mod list;
mod parts;
mod sysfs;
mod tree;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use zerolag_core::topology::Topology;

pub use error::{MachineError, MachineFault, Place};
pub use tree::SysTree;

/// The greatest size of a file: a tree of files of a machine of thousands of CPUs has some ten megabytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The machine that `name` stands for: a preset, or a file or directory of any of the kinds above.
///
/// # Errors
/// If it is neither, or what it says makes no machine.
pub fn open(name: &str) -> Result<Topology, MachineError> {
    let path = Path::new(name);
    let preset = Topology::preset(name);
    if preset.is_ok() || !path.exists() {
        return preset.map_err(|e| MachineFault::from(e).no_preset().in_file(name));
    }
    if path.is_dir() {
        return sysfs::machine(&SysTree::of_directory(path)?);
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|e| MachineFault::Unreadable(e).in_file(name))?;
    parse(name, &bytes)
}

/// The machine that the contents of a file describe; `name` is used in errors.
///
/// # Errors
/// If they are of no known kind, or what they say makes no machine.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Topology, MachineError> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(MachineFault::TooBig { what: "the file", limit: FILE_BYTES_MAX }.in_file(name));
    }
    if let Some(packing) = archive::Packing::of(bytes) {
        return sysfs::machine(&SysTree::of_archive(name, bytes, packing)?);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| MachineFault::UnknownKind.in_file(name))?;
    match text.trim_start().starts_with('<') {
        true => hwloc::machine(name, text),
        false => form::read(name, text),
    }
}

#[cfg(test)]
mod tests;
