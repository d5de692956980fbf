// SPDX-License-Identifier: GPL-2.0-only
//! Event scripts, run under the kernel that the first byte chooses.
#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use zerolag_sim::script::{Build, Output, run};

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, script)) = bytes.split_first() else { return };
    let builds: Vec<&str> = Build::names().collect();
    let build = Build::by_name(builds[usize::from(choice) % builds.len()]).unwrap();
    _ = run(build, Output::Full, script, &mut io::sink());
});
