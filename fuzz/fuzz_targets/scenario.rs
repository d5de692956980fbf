// SPDX-License-Identifier: GPL-2.0-only
//! Scenario files; what is accepted runs for a millisecond.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zerolag_core::units::Instant;
use zerolag_sim::scenario::{Overrides, read};

fuzz_target!(|bytes: &[u8]| {
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let Ok(scenario) = read("fuzz", bytes, &Overrides::default(), &no_files) else { return };
    // A big machine with many tasks is slow, not wrong.
    let tasks = scenario.workload.starts.len();
    if scenario.setup.topology.cpu_count() > 64 || tasks > 100 {
        return;
    }
    if let Ok(mut sim) = scenario.simulate() {
        let mut left = 10_000;
        while left > 0 && sim.step(Instant(1_000_000), &mut ()) {
            left -= 1;
        }
    }
});
