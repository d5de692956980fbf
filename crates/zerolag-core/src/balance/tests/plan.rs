// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::balance::decide::{Imbalance, Measure};
use crate::balance::plan::{Queue, choose_queue};

fn queue(cpu: u32, h_nr_running: u32) -> Queue {
    Queue {
        cpu: CpuId(cpu),
        h_nr_running,
        capacity: 1024,
        reduced: false,
        load: 0,
        util: 0,
        misfit_load: 0,
        packs: false,
    }
}

#[track_caller]
fn check(aim: &Aim, measure: Measure, amount: i64, queues: &[Queue], expected: Option<u32>) {
    let found = choose_queue(aim, Imbalance { measure, amount }, queues.iter().copied());
    assert_eq!(found, expected.map(CpuId));
}

#[test]
fn the_queue_with_most_of_what_is_measured_is_chosen() {
    let load = |cpu, load| Queue { load, ..queue(cpu, 2) };
    check(&aim(), Measure::Load, 1, &[load(1, 10), load(2, 30), load(3, 30)], Some(2));
    let util = |cpu, util| Queue { util, ..queue(cpu, 2) };
    check(&aim(), Measure::Util, 1, &[util(1, 10), util(2, 5)], Some(1));
    check(&aim(), Measure::Tasks, 1, &[queue(1, 2), queue(2, 3), queue(3, 3)], Some(2));
    let misfit = |cpu, misfit_load| Queue { misfit_load, ..queue(cpu, 1) };
    check(&aim(), Measure::Misfit, 1, &[misfit(1, 0), misfit(2, 7)], Some(2));
    check(&aim(), Measure::Misfit, 1, &[misfit(1, 0)], None);
    check(&aim(), Measure::Tasks, 1, &[queue(1, 0)], None);
}

#[test]
fn loads_are_compared_by_capacity() {
    let small = Queue { load: 600, capacity: 446, ..queue(1, 2) };
    let big = Queue { load: 1000, ..queue(2, 2) };
    check(&aim(), Measure::Load, 1, &[big, small], Some(1));
}

#[test]
fn a_lone_task_stays_unless_moving_it_helps() {
    let lone = Queue { load: 1024, util: 500, ..queue(1, 1) };
    check(&aim(), Measure::Load, 1000, &[lone], None);
    check(&aim(), Measure::Load, 1024, &[lone], Some(1));
    check(&aim(), Measure::Load, 1000, &[Queue { reduced: true, ..lone }], Some(1));
    check(&aim(), Measure::Util, 1000, &[lone], None);
    check(&aim(), Measure::Tasks, 1, &[lone], Some(1));
    check(&aim(), Measure::Tasks, 1, &[Queue { packs: true, ..lone }], None);
    let asymmetric = Aim { flags: DomainFlags::ASYM_CPUCAPACITY, ..aim() };
    check(&asymmetric, Measure::Tasks, 1, &[lone], None);
    check(&asymmetric, Measure::Tasks, 1, &[Queue { capacity: 446, ..lone }], Some(1));
}

#[test]
fn tasks_are_taken_while_they_fit() {
    // (measure, left, size, failures, small ones are skipped, left afterwards if taken)
    let table = [
        (Measure::Load, 100, 100, 0, false, Some(0)),
        (Measure::Load, 100, 101, 0, false, None),
        (Measure::Load, 100, 201, 1, false, Some(-101)),
        (Measure::Load, 100, 1000, 99, false, Some(-900)),
        (Measure::Load, 100, 15, 0, true, None),
        (Measure::Load, 100, 15, 0, false, Some(85)),
        (Measure::Util, 100, 60, 0, true, Some(40)),
        (Measure::Util, 100, 101, 0, false, None),
        (Measure::Tasks, 3, 1, 0, false, Some(2)),
        (Measure::Misfit, 1, 1, 0, false, Some(0)),
    ];
    for (measure, amount, size, failures, skip_small, expected) in table {
        let mut left = Imbalance { measure, amount };
        let taken = left.take(size, failures, skip_small);
        assert_eq!(taken.then_some(left.amount), expected, "{measure:?}: {size} of {amount}");
    }
}
