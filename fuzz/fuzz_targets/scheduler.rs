// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler through whole configurations: a seed draws one, and it runs with every invariant audited.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use zerolag_core::fair::audit::Auditor;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::scenario::{Overrides, read};
use zerolag_sim::swarm::{Case, Space, draw};

/// Parts of two cases, so that the fuzzer can mix what each draws.
#[derive(Debug, Arbitrary)]
struct Mix {
    one: u64,
    other: u64,
    kernel: u8,
    groups_of_other: bool,
    works_of_other: bool,
    features_of_other: bool,
}

fuzz_target!(|mix: Mix| {
    let kernels: Vec<Kernel> = Kernel::implemented().collect();
    let space = Space::everything(vec![kernels[usize::from(mix.kernel) % kernels.len()]]);
    let (one, other) = (draw(mix.one, &space), draw(mix.other, &space));
    let case = Case {
        groups: if mix.groups_of_other { other.groups } else { one.groups },
        works: if mix.works_of_other { other.works } else { one.works },
        features: if mix.features_of_other { other.features } else { one.features },
        busy: Nanos::from_millis(20),
        calm: Nanos::ZERO,
        ..one
    };
    let no_files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    // A mixture may name CPUs or groups that are not there; that is refused.
    let Ok(scenario) = read("fuzz", case.to_toml().as_bytes(), &Overrides::default(), &no_files) else { return };
    let Ok(mut sim) = scenario.simulate() else { return };
    let mut auditor = Auditor::new();
    while sim.step(Instant(20_000_000), &mut ()) {
        auditor.observe(sim.scheduler()).unwrap_or_else(|violation| panic!("{violation}\n{}", case.to_toml()));
    }
});
