// SPDX-License-Identifier: GPL-2.0-only
//! Worked examples, by number: T1 to T25 of the specification of EEVDF. (T1 to T4, conversion between wall
//! and virtual time, stand in `entity`; T20, order around the wrap, in `units`.)

use super::*;
use crate::fair::driver::{Driver, Place};
use crate::ids::GroupId;
use crate::kernel::Kernel;
use crate::nice::Nice;
use alloc::vec::Vec;

fn nice(level: i64) -> Nice {
    Nice::new(level).unwrap()
}

/// Entities of nice 0 in these places (vruntime, deadline).
fn waiting(kernel: Kernel, places: &[(u64, u64)]) -> (Driver, QueueId, Vec<EntityId>) {
    let place = |&(vruntime, deadline)| Place { vruntime, deadline, nice: Nice::ZERO };
    Driver::with_waiting(kernel, &places.iter().map(place).collect::<Vec<_>>())
}

#[test]
fn t5_to_t7_virtual_time_is_rounded_down() {
    // K / W = -7 / 3: entities one, two and four below the anchor, equal weights.
    let (mut driver, q, _) = waiting(Kernel::V6_18, &[(99, 0), (98, 0), (96, 0)]);
    let queue = &mut driver.s.queues[q];
    queue.anchor = VTime(0);
    queue.key_weight_sum = 1024 * (99 + 98 + 96);
    assert_eq!(driver.s.virtual_time(q), VTime(97), "97.67");
    let (driver, q, _) = waiting(Kernel::V6_12, &[(0, 0), (3, 0), (4, 0)]);
    assert_eq!(driver.s.virtual_time(q), VTime(2), "7/3");
    let (driver, q, _) = waiting(Kernel::V6_12, &[(0, 0), (u64::MAX - 4, 0)]);
    assert_eq!(driver.s.virtual_time(q), VTime(u64::MAX - 2), "-5/2 is -3");
    let queue = &driver.s.queues[q];
    let mean = queue.mean(&driver.s.entities);
    assert!(queue.is_eligible_at(mean, VTime(u64::MAX - 2)));
    assert!(!queue.is_eligible_at(mean, VTime(u64::MAX - 1)));
}

#[test]
fn t8_who_is_exactly_even_is_eligible() {
    let (driver, q, ids) = waiting(Kernel::V6_12, &[(0, 9), (3, 9), (6, 9)]);
    let eligible = ids.iter().map(|&id| driver.s.queues[q].is_eligible(&driver.s.entities, id));
    assert_eq!(eligible.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn t9_and_t10_inflated_lag_is_truncated_toward_zero() {
    assert_eq!(inflate_lag(VDelta(-1_000_001), 2048, 1024), -1_500_001);
    assert_eq!(inflate_lag(VDelta(999), 15, 88_761), 5_912_481);
    assert_eq!(inflate_lag(VDelta(1_000_000), 2048, 1024), 1_500_000);
}

#[test]
fn t11_and_t12_lag_is_limited_to_two_requests_or_a_tick() {
    let mut driver = Driver::new(Kernel::V6_12);
    let id = driver.resting(Nice::ZERO);
    let entity = &mut driver.s.entities[id];
    let (slow, fast) = (Nanos(4_000_000), Nanos(1_000_000));
    entity.slice = Nanos(3_000_000);
    entity.vruntime = VTime(0);
    assert_eq!(entity.lag_at(VTime(9_000_000), fast), VDelta(6_000_000));
    assert_eq!(entity.lag_at(VTime(9_000_000_u64.wrapping_neg()), fast), VDelta(-6_000_000));
    entity.slice = Nanos(42_812);
    assert_eq!(entity.lag_at(VTime(9_000_000), slow), VDelta(4_000_000));
    assert_eq!(entity.lag_at(VTime(9_000_000_u64.wrapping_neg()), slow), VDelta(-4_000_000));
}

#[test]
fn t15_a_new_task_starts_with_half_a_request() {
    let mut driver = Driver::new(Kernel::V6_12);
    let id = driver.resting(Nice::ZERO);
    let s = &mut driver.s;
    let q = s.cpus.iter().next().unwrap().1.root;
    s.queues[q].anchor = VTime(100);
    s.entities[id].slice = Nanos(3_000_001);
    s.entities[id].custom_slice = true;
    s.eevdf_place(q, id, true);
    let entity = &s.entities[id];
    assert_eq!((entity.vruntime, entity.deadline), (VTime(100), VTime(100 + 1_500_000)));
}

#[test]
fn t16_moving_the_anchor_corrects_the_sum() {
    let (mut driver, q, _) = waiting(Kernel::V6_18, &[(0, 9), (0, 9)]);
    let queue = &mut driver.s.queues[q];
    queue.key_weight_sum = 1_000_000;
    queue.move_anchor(500);
    assert_eq!(queue.key_weight_sum, -24_000);
}

#[test]
fn t17_lag_of_a_sleeper_is_rescaled() {
    let mut driver = Driver::new(Kernel::V6_12);
    let id = driver.resting(Nice::ZERO);
    let entity = &mut driver.s.entities[id];
    entity.vlag = VDelta(1000);
    entity.rescale_lag(nice(-5).load().weight);
    assert_eq!(entity.vlag, VDelta(328));
}

#[test]
fn t18_reweighting_keeps_lag_and_rest_as_cpu_time() {
    let mut driver = Driver::new(Kernel::V6_12);
    let id = driver.resting(Nice::ZERO);
    let s = &mut driver.s;
    (s.entities[id].vruntime, s.entities[id].deadline) = (VTime(400), VTime(2400));
    s.eevdf_reweight(id, VTime(1000), Weight::from_table(2048));
    assert_eq!((s.entities[id].vruntime, s.entities[id].deadline), (VTime(700), VTime(1700)));
}

#[test]
fn t21_the_earliest_deadline_of_the_eligible() {
    let (driver, q, ids) = waiting(Kernel::V6_12, &[(4, 17), (7, 27), (13, 15)]);
    assert_eq!(driver.s.virtual_time(q), VTime(8));
    assert_eq!(driver.s.queues[q].pick_eevdf(&driver.s.entities, None), Some(ids[0]));
}

#[test]
fn t22_slices_that_are_asked_for_are_limited() {
    let mut driver = Driver::new(Kernel::V6_12);
    let task = driver.start(GroupId::ROOT, Nice::ZERO);
    let base = driver.s.config().tunables.base_slice;
    for (asked, given, custom) in [
        (Some(50_000), Nanos(100_000), true),
        (Some(250_000_000), Nanos(100_000_000), true),
        (None, base, false),
    ] {
        let policy = driver.s.tasks()[task].policy;
        driver.s.set_attributes(driver.now, task, policy, asked.map(Nanos));
        let entity = &driver.s.entities[driver.s.entity_of(task)];
        assert_eq!((entity.slice, entity.custom_slice), (given, custom));
    }
}
