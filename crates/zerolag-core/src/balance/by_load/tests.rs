// SPDX-License-Identifier: GPL-2.0-only
//! Decisions of balancing by load, as tables.

use super::ByLoad;
use super::collect::{State, Sums, Survey};
use crate::balance::IdleType;
use crate::ids::{Id, SchedGroupId};

/// A group of two CPUs with so many tasks of nice 0.
fn sums(group: usize, running: u32) -> Sums {
    let load = 1024 * u64::from(running);
    Sums {
        load,
        avg_load: load * 1024 / 2048,
        load_per_task: if running == 0 { 0 } else { 1024 },
        capacity: 2048,
        util: load.min(2048),
        running,
        idle_cpus: 2_u32.saturating_sub(running),
        weight: 2,
        no_capacity: running > 2,
        state: if running > 2 { State::Overloaded } else { State::Other },
        ..Sums::empty(SchedGroupId::from_index(group))
    }
}

fn survey(idle: IdleType, local: Sums, busiest: Sums) -> Survey {
    Survey {
        idle,
        imbalance_pct: 125,
        local,
        own_load_per_task: 0,
        busiest: Some(busiest),
        total_load: local.load + busiest.load,
        total_capacity: local.capacity + busiest.capacity,
        overloaded: false,
    }
}

#[track_caller]
fn moves(idle: IdleType, local: u32, busiest: u32) -> Option<i64> {
    survey(idle, sums(0, local), sums(1, busiest)).imbalance(ByLoad::LINUX_4_11)
}

#[test]
fn equal_groups_are_balanced() {
    for idle in [IdleType::Busy, IdleType::Idle, IdleType::NewlyIdle] {
        assert_eq!(moves(idle, 2, 2), None);
        assert_eq!(moves(idle, 1, 1), None);
    }
}

#[test]
fn a_busy_group_is_evened_out_down_to_the_average() {
    assert_eq!(moves(IdleType::Busy, 2, 4), Some(1024));
    assert_eq!(moves(IdleType::Busy, 2, 6), Some(2048));
    // Within the margin of 25 %.
    assert_eq!(moves(IdleType::Busy, 4, 5), None);
}

#[test]
fn an_idle_group_leaves_tasks_that_need_not_wait() {
    assert_eq!(moves(IdleType::Idle, 1, 2), None);
    assert_eq!(moves(IdleType::Idle, 0, 2), Some(1024));
}

#[test]
fn a_group_that_ran_dry_takes_from_one_without_capacity_whatever_the_load() {
    let mut light = sums(1, 3);
    (light.load, light.avg_load, light.load_per_task) = (9, 4, 3);
    let busy = survey(IdleType::Busy, sums(0, 1), light).imbalance(ByLoad::LINUX_4_11);
    let dry = survey(IdleType::NewlyIdle, sums(0, 1), light).imbalance(ByLoad::LINUX_4_11);
    assert_eq!((busy, dry), (None, Some(3)));
    // Since 4.16 one that is idle already takes as well.
    let idle = |rules| survey(IdleType::Idle, sums(0, 1), light).imbalance(rules);
    assert_eq!((idle(ByLoad::LINUX_4_11), idle(ByLoad::LINUX_4_17)), (None, Some(3)));
}
