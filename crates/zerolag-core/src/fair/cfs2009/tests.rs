// SPDX-License-Identifier: GPL-2.0-only
use alloc::vec::Vec;

use super::*;
use crate::fair::driver::{CPU, Driver};
use crate::ids::GroupId;
use crate::kernel::Kernel;
use crate::nice::Nice;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A machine on which the first of the tasks runs and the others wait.
fn machine(kernel: Kernel, levels: &[i64]) -> (Driver, Vec<TaskId>) {
    let mut driver = Driver::new(kernel);
    driver.s.config_mut().tunables.child_runs_first = false;
    let tasks = levels
        .iter()
        .map(|&level| {
            let task = driver.start(GroupId::ROOT, Nice::new(level).expect("a nice level"));
            driver.schedule();
            task
        })
        .collect();
    (driver, tasks)
}

#[test]
fn a_turn_is_shortened_by_rounding() {
    // 20 ms * 1024/1024, with an inverse of 1 + (2^32 - 512)/1025.
    assert_eq!(scale_rounded(20 * MS, 1024, rounded_inverse(1024)), 19_980_488);
    assert_eq!(scale_rounded(1, 1, rounded_inverse(1)), 1);
}

proptest! {
    #[test]
    fn rounding_stays_near_the_quotient(us in 1_u64..1_000_000, w in 15_u64..88_762, total in 15_u64..1_000_000) {
        let (span, total) = (us * 1000, total.max(w));
        let exact = u128::from(span) * u128::from(w) / u128::from(total);
        let scaled = u128::from(scale_rounded(span, w, rounded_inverse(total)));
        // The inverse is one too great a divisor, then rounded: relative errors of 1/total and total/2^32.
        let bound = exact / u128::from(total) + exact * u128::from(total) / (1 << 32) + 2;
        prop_assert!(scaled.abs_diff(exact) <= bound, "{scaled} for {exact}");
    }
}

#[test]
fn the_granularity_adapts_to_the_wakee() {
    let (mut driver, tasks) = machine(Kernel::V2_6_29Pw, &[0, 0]);
    let constant = driver.s.config.tunables.wakeup_granularity.0;
    let (runner, wakee) = (driver.s.cpus[CPU].curr.expect("somebody runs"), tasks[1]);
    let ids = [runner, wakee].map(|t| driver.s.tasks[t].entity);
    for (mean, ran, granularity) in [
        (100_000, 150_000, 250_000),
        (100_000, 500_000, 0),
        (constant, 150_000, constant),
        (constant, 4 * constant - 7, 7),
    ] {
        driver.s.tasks[wakee].wakes.avg_wakeup = Nanos(mean);
        let entity = &mut driver.s.entities[ids[0]];
        entity.sum_exec.0 = entity.prev_sum_exec.0 + ran;
        assert_eq!(driver.s.granularity_2009(ids[0], ids[1]), granularity, "{mean} {ran}");
    }
}

#[test]
fn the_granularity_is_scaled_by_one_side() {
    // Nice -5 weighs 3121, nice 5 weighs 335; the constant is 5 ms.
    for (kernel, asym, runner, wakee, granularity) in [
        (Kernel::V2_6_29, true, -5, 0, 1_640_500),
        (Kernel::V2_6_29, true, 5, 0, 5_000_000),
        (Kernel::V2_6_29, true, 0, 5, 5_000_000),
        (Kernel::V2_6_29, false, 5, 0, 15_283_582),
        (Kernel::V2_6_29Pw, true, -5, 0, 5_000_000),
        (Kernel::V2_6_29Pw, true, 0, -5, 1_640_500),
        (Kernel::V2_6_29Pw, true, 0, 5, 15_283_582),
        (Kernel::V2_6_29Pw, false, -5, 0, 1_640_500),
    ] {
        let (mut driver, tasks) = machine(kernel, &[runner, wakee]);
        let features = &mut driver.s.config_mut().features;
        features.set(Feature::AsymGran, asym);
        features.set(Feature::AdaptiveGran, false);
        let [runner, wakee] = [tasks[0], tasks[1]].map(|t| driver.s.tasks[t].entity);
        let found = driver.s.granularity_2009(runner, wakee);
        assert!(found.abs_diff(granularity) < 1000, "{kernel} {asym}: {found} for {granularity}");
    }
}

#[test]
fn a_group_that_waits_preempts_at_once_since_it_wakes_nobody() {
    for (kernel, granularity) in [(Kernel::V2_6_29, 5 * MS), (Kernel::V2_6_29Pw, 0)] {
        let mut driver = Driver::new(kernel);
        let groups = [0, 1].map(|_| driver.s.add_group(driver.now, GroupId::ROOT));
        for group in groups {
            driver.start(group, Nice::ZERO);
            driver.schedule();
        }
        let [a, b] = groups.map(|g| driver.s.groups[g].on(CPU).entity.expect("a group has an entity"));
        assert_eq!(driver.s.granularity_2009(a, b), granularity, "{kernel}");
    }
}
