// SPDX-License-Identifier: GPL-2.0-only
//! The properties that the module documentation promises, in random places.

use super::*;
use crate::fair::driver::{CPU, Driver, Place, any_nice};
use crate::ids::{GroupId, TaskId};
use crate::kernel::Kernel;
use crate::nice::Nice;
use crate::variants::WakeupPick;
use alloc::vec::Vec;
use proptest::prelude::*;

/// Kernels whose timeline is in the order of deadlines.
const KERNELS: [Kernel; 2] = [Kernel::V6_12, Kernel::V6_18];

const MS: u64 = 1_000_000;

/// Places within some milliseconds of each other, anywhere on the circle.
fn any_places() -> impl Strategy<Value = Vec<Place>> {
    let place = (0..20 * MS, 0..20 * MS, any_nice());
    (any::<u64>(), prop::collection::vec(place, 1..20)).prop_map(|(origin, places)| {
        let at = |offset: u64| origin.wrapping_add(offset);
        let place = |(v, d, nice)| Place { vruntime: at(v), deadline: at(v + d), nice };
        places.into_iter().map(place).collect()
    })
}

/// A queue with these waiting, and somebody of this nice level who rests.
fn with_joiner(kernel: Kernel, places: &[Place], nice: crate::nice::Nice) -> (Driver, QueueId, EntityId) {
    let (mut driver, q, _) = Driver::with_waiting(kernel, places);
    let joiner = driver.resting(nice);
    (driver, q, joiner)
}

proptest! {
    #[test]
    fn an_entity_placed_at_v_is_eligible(places in any_places(), nice in any_nice()) {
        for kernel in KERNELS {
            let (mut driver, q, joiner) = with_joiner(kernel, &places, nice);
            let s = &mut driver.s;
            s.eevdf_place(q, joiner, false);
            s.put_in_timeline(q, joiner);
            prop_assert!(s.queues[q].is_eligible(&s.entities, joiner));
        }
    }

    #[test]
    fn placement_keeps_lag(places in any_places(), nice in any_nice(), lag in -6_000_000_i64..6_000_000) {
        for kernel in KERNELS {
            let (mut driver, q, joiner) = with_joiner(kernel, &places, nice);
            let s = &mut driver.s;
            s.entities[joiner].vlag = VDelta(lag);
            s.eevdf_place(q, joiner, false);
            s.put_in_timeline(q, joiner);
            let left = s.virtual_time(q).since(s.entities[joiner].vruntime).0;
            prop_assert!(left.abs_diff(lag) <= 2, "I7: lag {} became {}", lag, left);
        }
    }

    #[test]
    fn the_pick_is_eligible_and_no_eligible_one_has_an_earlier_deadline(places in any_places()) {
        for kernel in KERNELS {
            let (driver, q, ids) = Driver::with_waiting(kernel, &places);
            let (queue, entities) = (&driver.s.queues[q], &driver.s.entities);
            let pick = queue.pick_eevdf(entities, None).unwrap();
            prop_assert!(places.len() == 1 || queue.is_eligible(entities, pick));
            for id in ids.into_iter().filter(|&id| queue.is_eligible(entities, id)) {
                prop_assert!(!entities[id].deadline.before(entities[pick].deadline));
            }
        }
    }

    #[test]
    fn adding_a_constant_to_all_vruntimes_deadlines_and_the_anchor_changes_no_decision(
        places in any_places(),
        nice in any_nice(),
        shift in any::<u64>(),
    ) {
        let shifted: Vec<Place> = places
            .iter()
            .map(|p| Place {
                vruntime: p.vruntime.wrapping_add(shift),
                deadline: p.deadline.wrapping_add(shift),
                nice: p.nice,
            })
            .collect();
        for kernel in KERNELS {
            let [here, there] = [&places, &shifted].map(|places| {
                let (mut driver, q, joiner) = with_joiner(kernel, places, nice);
                let s = &mut driver.s;
                s.eevdf_place(q, joiner, false);
                s.put_in_timeline(q, joiner);
                s.queues[q].nr_queued += 1;
                (s.queues[q].pick_eevdf(&s.entities, None), s.entities[joiner].vruntime)
            });
            prop_assert_eq!(here.0, there.0);
            prop_assert_eq!(VTime(here.1.0.wrapping_add(shift)), there.1);
        }
    }

    #[test]
    fn reweighting_does_not_move_virtual_time(places in any_places(), nice in any_nice(), who in any::<usize>()) {
        for kernel in KERNELS {
            let (mut driver, q, ids) = Driver::with_waiting(kernel, &places);
            let s = &mut driver.s;
            let id = ids[who % ids.len()];
            let before = s.virtual_time(q);
            let entity = &mut s.entities[id];
            entity.slice = Nanos(100 * MS);
            let (lag, weight) = (before.since(entity.vruntime).0, entity.weight);
            // Within the limit of lag, else the entity is moved towards V.
            let limit = entity.virtual_span(Nanos(200 * MS)) as i64;
            prop_assume!(lag.abs() < limit);
            let total = s.queues[q].weight_sum;
            s.reweight(q, id, nice.load());
            let after = s.virtual_time(q);
            // V was rounded down by less than 1, which is less than W in the sum of leads; truncating the lag
            // adds less than w'. Both are spread over W'. Placing again scales the first by w/w', and inflates
            // both by W' / (W' - w').
            let (new, new_total) = (nice.table_weight(), s.queues[q].weight_sum);
            let spread = (total + new).div_ceil(new_total);
            let scaled = weight.down().div_ceil(new) + 1;
            let rounding = match s.config.variants.reweight {
                Reweight::PlaceAgain => spread + scaled * new_total.div_ceil((new_total - new).max(1)),
                _ => spread + 1,
            } as i64;
            let moved = after.since(before).0;
            prop_assert!(moved.abs() <= rounding, "I12: V moved by {}", moved);
            let kept = i128::from(after.since(s.entities[id].vruntime).0) * i128::from(new);
            let had = i128::from(lag) * i128::from(weight.down());
            let error = i128::from(rounding + 1) * i128::from(new.max(weight.down()));
            prop_assert!((kept - had).abs() <= error, "I12: {} became {}", had, kept);
        }
    }
}

const US: u64 = 1000;

/// Three tasks that sleep, under 6.18 with this rule.
fn sleepers(rule: WakeupPick) -> (Driver, [TaskId; 3]) {
    let mut driver = Driver::new(Kernel::V6_18);
    driver.s.config_mut().variants.wakeup_pick = rule;
    let tasks = [(); 3].map(|()| {
        let task = driver.start(GroupId::ROOT, Nice::ZERO);
        driver.schedule();
        driver.s.block(driver.now, CPU, false);
        task
    });
    (driver, tasks)
}

fn runs_for(driver: &mut Driver, us: u64) {
    driver.pass(Nanos(us * US));
}

/// Wakes the task. Returns whether it preempts.
fn preempts(driver: &mut Driver, task: TaskId) -> bool {
    driver.s.wake(driver.now, CPU, task, false);
    driver.s.cpus()[CPU].need_resched
}

/// a runs for 100 us and goes to sleep with a debt; b, woken meanwhile, runs for as long, after which a is the
/// earliest that is eligible. Then c wakes.
#[test]
fn a_delayed_entity_in_the_way_of_a_wakee_stands_or_leaves() {
    for (rule, c_preempts) in [(WakeupPick::Looks, false), (WakeupPick::Dequeues, true)] {
        let (mut driver, [a, b, c]) = sleepers(rule);
        preempts(&mut driver, a);
        driver.schedule();
        runs_for(&mut driver, 50);
        assert!(!preempts(&mut driver, b), "{rule:?}: a is protected");
        runs_for(&mut driver, 50);
        driver.s.block(driver.now, CPU, false);
        let entity_of = |driver: &Driver, task| driver.s.entities[driver.s.entity_of(task)].clone();
        assert!(entity_of(&driver, a).delayed, "{rule:?}: a has a debt");
        runs_for(&mut driver, 100);
        assert_eq!(preempts(&mut driver, c), c_preempts, "{rule:?}");
        assert_eq!(entity_of(&driver, a).on_rq, !c_preempts, "{rule:?}");
        driver.schedule();
        let expected = if c_preempts { c } else { b };
        assert_eq!(driver.s.cpus()[CPU].curr, Some(expected), "{rule:?}");
    }
}

/// a is ahead of b, which waits, and so not eligible any more. A new task has half a request before it, and so the
/// earliest deadline.
#[test]
fn a_new_task_preempts_or_does_not() {
    for (rule, new_preempts) in [(WakeupPick::Looks, true), (WakeupPick::Dequeues, false)] {
        let (mut driver, [a, b, _]) = sleepers(rule);
        preempts(&mut driver, a);
        driver.schedule();
        assert!(!preempts(&mut driver, b), "{rule:?}: a is protected");
        runs_for(&mut driver, 100);
        driver.start(GroupId::ROOT, Nice::ZERO);
        assert_eq!(driver.s.cpus()[CPU].need_resched, new_preempts, "{rule:?}");
    }
}
