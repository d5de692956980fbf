// SPDX-License-Identifier: GPL-2.0-only
//! Machines: hwloc XML, archives of /sys, TOML. What is read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zerolag_sim::machines::{form, parse};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(machine) = parse("fuzz", bytes) {
        let text = form::write(&machine);
        assert_eq!(parse("again", text.as_bytes()).as_ref().ok(), Some(&machine), "{text}");
    }
});
