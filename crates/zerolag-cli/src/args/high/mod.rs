// SPDX-License-Identifier: GPL-2.0-only
//! What the words mean: from what the user typed to the libraries' own types.

pub(crate) mod dump;
pub(crate) mod settings;
pub(crate) mod workload;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use zerolag_core::config::Config;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_sim::machines;

use crate::failure::Failure;

/// A kernel whose scheduler this version has.
pub(crate) fn implemented(kernel: Kernel) -> Result<Kernel, Failure> {
    config(kernel, 1).map(|_| kernel)
}

/// The configuration of a kernel on a machine with `cpus` CPUs.
pub(crate) fn config(kernel: Kernel, cpus: usize) -> Result<Config, Failure> {
    if let Some(config) = kernel.config(cpus) {
        return Ok(config);
    }
    let have: Vec<_> = Kernel::implemented().map(Kernel::name).collect();
    Err(Failure::Input(format!(
        "this version does not have the scheduler of Linux {kernel}; it has: {}",
        have.join(", ")
    )))
}

/// The machine of this name, or in this file or directory.
pub(crate) fn machine(name: &str) -> Result<Topology, Failure> {
    machines::open(name).map_err(Failure::input)
}

/// Where input comes from: a file, or standard input (`-`).
pub(crate) struct Source {
    path: PathBuf,
}

impl Source {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It is the standard input.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Opens it for reading in order.
    pub(crate) fn open(&self) -> Result<BufReader<Box<dyn Read>>, Failure> {
        let reader: Box<dyn Read> = if self.is_standard_input() {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(&self.path).map_err(|e| self.failure(e))?)
        };
        Ok(BufReader::new(reader))
    }

    /// All of it.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(|e| self.failure(e))?;
        Ok(bytes)
    }

    /// What is wrong with it.
    pub(crate) fn failure(&self, what: impl fmt::Display) -> Failure {
        Failure::Input(format!("{self}: {what}"))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_standard_input() { f.write_str("standard input") } else { self.path.display().fmt(f) }
    }
}
