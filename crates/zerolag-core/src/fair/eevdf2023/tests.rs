// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::fair::driver::{Driver, Place, any_nice};
use crate::kernel::Kernel;
use crate::nice::Nice;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Entities of nice 0 in these places (vruntime, deadline).
fn waiting(places: &[(u64, u64)]) -> (Driver, QueueId, Vec<EntityId>) {
    let place = |&(vruntime, deadline)| Place { vruntime, deadline, nice: Nice::ZERO };
    Driver::with_waiting(Kernel::EevdfRfc, &places.iter().map(place).collect::<Vec<_>>())
}

fn pick(driver: &Driver, q: QueueId, search: Search) -> Option<EntityId> {
    driver.s.queues[q].pick_by_vruntime(&driver.s.entities, search, None)
}

#[test]
fn t5_to_t7_virtual_time_is_rounded_toward_zero() {
    let (driver, q, ids) = waiting(&[(0, 0), (u64::MAX - 4, 0)]);
    assert_eq!(driver.s.virtual_time(q), VTime(u64::MAX - 1), "-5/2 is -2");
    let queue = &driver.s.queues[q];
    let mean = queue.mean(&driver.s.entities);
    assert!(!queue.is_eligible_at(mean, VTime(u64::MAX - 1)), "so whoever stands there is not eligible");
    assert!(!queue.is_eligible(&driver.s.entities, ids[0]) && queue.is_eligible(&driver.s.entities, ids[1]));
    let (driver, q, _) = waiting(&[(0, 0), (3, 0), (4, 0)]);
    assert_eq!(driver.s.virtual_time(q), VTime(2), "7/3");
}

#[test]
fn t13_and_t14_a_short_request_forgets_debt() {
    let (mut driver, q, _) = waiting(&[(0, 9), (0, 9)]);
    let queue = &mut driver.s.queues[q];
    queue.slice_weight_sum = 2048 * 3_000_000;
    assert!(queue.is_short(Nanos(42_812)));
    assert!(!queue.is_short(Nanos(3_000_000)), "the mean itself is not short");
    assert_eq!([-30_000, -50_000, 10_000].map(|lag| fudge(lag, 42_812)), [0, -7_188, 0]);
}

#[test]
fn t19_reweighting_in_6_6_keeps_vruntime_and_the_rest_of_the_request() {
    let (mut driver, q, ids) = waiting(&[(400, 2400), (1600, 9000)]);
    driver.s.config_mut().variants.reweight = Reweight::RescaleRequest;
    let double = LoadWeight { weight: crate::units::Weight::from_table(2048), inverse: 0 };
    driver.s.reweight(q, ids[0], double);
    let entity = &driver.s.entities[ids[0]];
    assert_eq!((entity.vruntime, entity.deadline), (VTime(400), VTime(1400)));
}

#[test]
fn in_the_series_reweighting_moves_nothing() {
    let (mut driver, q, ids) = waiting(&[(400, 2400), (1600, 9000)]);
    let double = LoadWeight { weight: crate::units::Weight::from_table(2048), inverse: 0 };
    driver.s.reweight(q, ids[0], double);
    let entity = &driver.s.entities[ids[0]];
    assert_eq!((entity.vruntime, entity.deadline), (VTime(400), VTime(2400)));
    assert_eq!(driver.s.virtual_time(q), VTime(800));
}

#[test]
fn t21_the_literal_search_leaves_the_best_behind() {
    let (driver, q, ids) = waiting(&[(4, 17), (7, 27), (13, 15)]);
    assert_eq!(pick(&driver, q, Search::Exact), Some(ids[0]));
    assert_eq!(pick(&driver, q, Search::TwoDescents), Some(ids[0]));
    assert_eq!(pick(&driver, q, Search::Literal), Some(ids[1]));
}

#[test]
fn among_equal_deadlines_the_searches_prefer_different_ones() {
    // 1 at the root, 0 and 2 below it; all eligible but the last, all due at the same time.
    let (driver, q, ids) = waiting(&[(0, 20), (3, 20), (9, 20)]);
    assert_eq!(pick(&driver, q, Search::Literal), Some(ids[1]), "the first node met");
    assert_eq!(pick(&driver, q, Search::Exact), Some(ids[0]), "the leftmost");
    assert_eq!(pick(&driver, q, Search::TwoDescents), Some(ids[0]), "one in the subtree left behind");
}

#[test]
fn a_bonus_puts_a_wakee_to_the_left_but_not_its_deadline() {
    // The worked examples of the specification's section on placement.
    for (asleep_at, expected) in [(9_200_000, 9_200_000), (5_000_000, 8_500_000)] {
        let (mut driver, q, _) = waiting(&[(10_000_000, 13_000_000)]);
        let joiner = driver.resting(Nice::ZERO);
        let s = &mut driver.s;
        s.config_mut().features.set(Feature::PlaceBonus, true);
        s.entities[joiner].slice = Nanos(3_000_000);
        s.entities[joiner].vruntime = VTime(asleep_at);
        s.eevdf2023_place(q, joiner, Enqueue { wakeup: true, ..Enqueue::default() });
        let entity = &s.entities[joiner];
        assert_eq!((entity.vruntime, entity.deadline), (VTime(expected), VTime(13_000_000)));
    }
}

#[test]
fn a_groups_latency_nice_lets_the_sum_drift_as_in_the_series() {
    for (exact, holds) in [(false, false), (true, true)] {
        let mut driver = Driver::new(Kernel::EevdfRfc);
        driver.s.config_mut().variants.slice_sums_exact = exact;
        let root = crate::ids::GroupId::ROOT;
        let group = driver.s.add_group(driver.now, root);
        driver.start(root, Nice::ZERO);
        driver.schedule();
        driver.start(group, Nice::ZERO);
        let level = crate::latency::LatencyNice::new(-10).unwrap();
        driver.s.set_group_latency_nice(driver.now, group, level).unwrap();
        driver.s.config_mut().variants.slice_sums_exact = true;
        assert_eq!(crate::fair::audit::audit(&driver.s).is_ok(), holds, "exact = {exact}");
    }
}

#[test]
#[should_panic(expected = "V2 does not hold")]
fn validation_at_each_insertion_finds_a_wrong_sum() {
    let (mut driver, q, _) = waiting(&[(4, 17), (7, 27)]);
    driver.s.config_mut().features.set(Feature::ValidateQueue, true);
    driver.s.queues[q].weight_sum += 1;
    let joiner = driver.resting(Nice::ZERO);
    driver.s.put_in_timeline(q, joiner);
}

/// Places within some milliseconds of each other; few different deadlines, so that some are equal.
fn any_places() -> impl Strategy<Value = Vec<Place>> {
    let place = (0_u64..20, 0_u64..12, any_nice());
    (any::<u64>(), prop::collection::vec(place, 1..40)).prop_map(|(origin, places)| {
        let at = |offset: u64| origin.wrapping_add(offset * 1_000_000);
        let place = |(v, d, nice)| Place { vruntime: at(v), deadline: at(v / 2 + d), nice };
        places.into_iter().map(place).collect()
    })
}

/// The least deadline of the eligible, in the plainest way.
fn earliest(driver: &Driver, q: QueueId, ids: &[EntityId]) -> VTime {
    let (queue, entities) = (&driver.s.queues[q], &driver.s.entities);
    let eligible = ids.iter().filter(|&&id| queue.is_eligible(entities, id));
    eligible.map(|&id| entities[id].deadline).reduce(VTime::min).unwrap()
}

#[test]
fn in_6_6_virtual_time_is_rounded_down() {
    let places = [(0, 0), (u64::MAX - 4, 0)];
    let place = |&(vruntime, deadline)| Place { vruntime, deadline, nice: Nice::ZERO };
    let (driver, q, _) = Driver::with_waiting(Kernel::V6_6, &places.iter().map(place).collect::<Vec<_>>());
    assert_eq!(driver.s.virtual_time(q), VTime(u64::MAX - 2), "-5/2 is -3");
}

/// START_DEBIT is gone: who is new joins at zero lag, wherever its parent is.
#[test]
fn a_child_is_placed_at_virtual_time_in_every_eevdf() {
    for kernel in [Kernel::EevdfRfc, Kernel::V6_6, Kernel::V6_12, Kernel::V6_18] {
        let mut driver = Driver::new(kernel);
        let root = crate::ids::GroupId::ROOT;
        for nice in [0, -4, 7] {
            driver.start(root, Nice::new(nice).unwrap());
        }
        driver.schedule();
        driver.pass(Nanos(1_234_567));
        let child = driver.start(root, Nice::ZERO);
        let entity = &driver.s.entities[driver.s.entity_of(child)];
        let lag = driver.s.virtual_time(entity.queue).since(entity.vruntime);
        assert!(lag.0.abs() <= 1, "{kernel}: {lag:?}");
    }
}

/// The merged tree kept the call pattern of the series: the half request given when a task is made is
/// overwritten when it is queued for the first time. 6.12 places it once.
#[test]
fn a_childs_first_request_is_whole_in_6_6_and_half_in_6_12() {
    for (kernel, parts) in [(Kernel::EevdfRfc, 1), (Kernel::V6_6, 1), (Kernel::V6_12, 2), (Kernel::V6_18, 2)]
    {
        let mut driver = Driver::new(kernel);
        let root = crate::ids::GroupId::ROOT;
        driver.start(root, Nice::ZERO);
        driver.schedule();
        let child = driver.start(root, Nice::ZERO);
        let entity = &driver.s.entities[driver.s.entity_of(child)];
        let request = entity.slice.0 / parts;
        assert_eq!(entity.deadline.since(entity.vruntime), VDelta(request as i64), "{kernel}");
    }
}

/// 6.6 lets the running one finish its request; the series asks at each tick whether it would still be picked.
#[test]
fn a_tick_ends_no_request_since_6_6() {
    for (kernel, goes_on) in [(Kernel::EevdfRfc, false), (Kernel::V6_6, true)] {
        let mut driver = Driver::new(kernel);
        driver.s.config_mut().tunables.base_slice = Nanos(10_000_000);
        let root = crate::ids::GroupId::ROOT;
        for _ in 0..2 {
            driver.start(root, Nice::ZERO);
        }
        driver.schedule();
        driver.pass(Nanos(4_000_000));
        driver.s.tick(driver.now, crate::fair::driver::CPU);
        let asked = driver.s.cpus[crate::fair::driver::CPU].need_resched;
        assert_eq!(asked, !goes_on, "{kernel}: the other one is behind, with a request as urgent");
    }
}

#[test]
fn yielding_in_6_6_moves_the_deadline_only() {
    let mut driver = Driver::new(Kernel::V6_6);
    let root = crate::ids::GroupId::ROOT;
    let task = driver.start(root, Nice::ZERO);
    driver.start(root, Nice::ZERO);
    driver.schedule();
    let se = driver.s.entity_of(task);
    let (v, d) = (driver.s.entities[se].vruntime, driver.s.entities[se].deadline);
    driver.s.yield_now(driver.now, crate::fair::driver::CPU);
    let entity = &driver.s.entities[se];
    assert_eq!((entity.vruntime, entity.deadline), (v, d + VDelta(entity.slice.0 as i64)));
}

proptest! {
    #[test]
    fn the_exact_search_finds_the_earliest_deadline_of_the_eligible(places in any_places()) {
        let (driver, q, ids) = Driver::with_waiting(Kernel::EevdfRfc, &places);
        let found = pick(&driver, q, Search::Exact).unwrap();
        prop_assert!(driver.s.queues[q].is_eligible(&driver.s.entities, found));
        let least = earliest(&driver, q, &ids);
        prop_assert_eq!(driver.s.entities[found].deadline, least);
        let timeline = &driver.s.queues[q].timeline;
        let leftmost = timeline.iter(&driver.s.entities).find(|&id| driver.s.entities[id].deadline == least);
        prop_assert_eq!(leftmost, Some(found), "of several, the leftmost");
    }

    #[test]
    fn the_search_of_6_6_finds_it_too(places in any_places()) {
        let (driver, q, ids) = Driver::with_waiting(Kernel::EevdfRfc, &places);
        let found = pick(&driver, q, Search::TwoDescents).unwrap();
        prop_assert!(driver.s.queues[q].is_eligible(&driver.s.entities, found));
        prop_assert_eq!(driver.s.entities[found].deadline, earliest(&driver, q, &ids));
    }

    #[test]
    fn the_literal_search_errs_only_when_a_less_urgent_eligible_one_is_found(places in any_places()) {
        let (driver, q, ids) = Driver::with_waiting(Kernel::EevdfRfc, &places);
        let found = pick(&driver, q, Search::Literal).unwrap();
        prop_assert!(driver.s.queues[q].is_eligible(&driver.s.entities, found));
        prop_assert!(!driver.s.entities[found].deadline.before(earliest(&driver, q, &ids)));
    }
}
