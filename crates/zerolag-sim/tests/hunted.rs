// SPDX-License-Identifier: GPL-2.0-only
//! What `zerolag hunt` found (docs/validation.md) is there still: CPU time lost from 400 ms on, under the kernel that
//! has a fault, beside kernels in which it is repaired, or without what sets it off.

use zerolag_core::event::SchedEvent;
use zerolag_core::kernel::Kernel;
use zerolag_core::units::Instant;
use zerolag_sim::conservation::Conservation;
use zerolag_sim::scenario::{Overrides, read};

const GROUPS: &str = include_str!("../../../scenarios/hunted/group-imbalance.toml");
const HOTPLUG: &str = include_str!("../../../scenarios/hunted/missing-domains.toml");

/// CPU time by which the run falls short of an ideal assignment, once it is warm, in nanoseconds.
fn short(text: &str, kernel: Kernel) -> u64 {
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let overrides = Overrides { kernel: Some(kernel), ..Overrides::default() };
    let scenario = read("hunted", text.as_bytes(), &overrides, &files).unwrap();
    let mut sim = scenario.simulate().unwrap();
    let mut found = Conservation::new(sim.scheduler());
    let mut before = 0;
    for until in [400_000_000, scenario.duration.0].map(Instant) {
        before = found.short_of_ideal().0;
        let mut heard: Vec<SchedEvent> = Vec::new();
        while sim.step(until, &mut |event: &SchedEvent| heard.push(*event)) {
            heard.drain(..).for_each(|event| found.event(&event, sim.scheduler()));
        }
        found.advance(until);
    }
    found.short_of_ideal().0 - before
}

/// The 2016 patch helps, and the balancing that came with 5.5 does.
#[test]
fn a_wide_group_is_crowded_beside_what_runs_outside() {
    let [before, patched, later] =
        [Kernel::V4_6Unpatched, Kernel::V4_6, Kernel::V6_1].map(|k| short(GROUPS, k));
    assert!(before > 3 * patched / 2 && before > 5 * later, "{before}, {patched}, {later}");
}

/// It takes a CPU that comes back, and was repaired in 4.10.
#[test]
fn nothing_is_balanced_between_nodes_after_a_cpu_came_back() {
    let without = HOTPLUG.split_once("\n[[at]]").unwrap().0;
    let [before, later] = [Kernel::V4_6Unpatched, Kernel::V4_11].map(|k| short(HOTPLUG, k));
    let undisturbed = short(without, Kernel::V4_6Unpatched);
    assert!(before > 3 * later && before > 3 * undisturbed, "{before}, {later}, {undisturbed}");
}
