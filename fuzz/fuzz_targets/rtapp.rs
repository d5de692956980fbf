// SPDX-License-Identifier: GPL-2.0-only
//! rt-app's JSON, in both modes, down to the programs it makes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zerolag_core::topology::Topology;
use zerolag_sim::workload::Workload;
use zerolag_sim::workload::rtapp::{self, Mode, Options, SuspendName};

fuzz_target!(|bytes: &[u8]| {
    let machine = Topology::preset("4cpu").unwrap();
    for mode in [Mode::Strict, Mode::Compatible] {
        if let Ok(app) = rtapp::read("fuzz", bytes, mode, SuspendName::default()) {
            _ = rtapp::add(&app, &mut Workload::new(), &machine, &Options::default());
        }
    }
});
