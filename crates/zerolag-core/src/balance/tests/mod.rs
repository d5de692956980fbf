// SPDX-License-Identifier: GPL-2.0-only
//! Decisions and plans as tables. What is built here needs no machine.

mod decide;
mod plan;

use super::classify::{GroupStats, GroupType};
use super::collect::{Aim, Side, Survey};
use super::{BalanceRules, IdleType};
use crate::domain::DomainFlags;
use crate::ids::{CpuId, Id, SchedGroupId};

/// An idle CPU 0 of full size that looks at a package.
fn aim() -> Aim {
    Aim {
        idle: IdleType::Idle,
        to: CpuId(0),
        capacity: 1024,
        core_idle: true,
        flags: DomainFlags::empty(),
        imbalance_pct: 117,
        imb_numa_nr: 0,
        child_spreads: false,
        rules: BalanceRules::LINUX_6_12,
    }
}

/// A group of four CPUs, in two cores, of this type.
fn side(group: u32, group_type: GroupType) -> Side {
    let stats = GroupStats { group_type, weight: 4, capacity: 4096, ..GroupStats::EMPTY };
    Side {
        group: SchedGroupId::from_index(group as usize),
        stats,
        smt: false,
        spreads: false,
        cores: 2,
        first: CpuId(4 * group),
        min_capacity: 1024,
        max_capacity: 1024,
    }
}

/// So many tasks, all of them fair, on so many CPUs; the others are idle.
fn running(side: Side, tasks: u32, idle_cpus: u32) -> Side {
    let stats = GroupStats { nr_running: tasks, h_nr_running: tasks, idle_cpus, ..side.stats };
    Side { stats, ..side }
}

/// This load, and the average that goes with it if the group is overloaded.
fn loaded(side: Side, load: u64) -> Side {
    let mut stats = GroupStats { load, ..side.stats };
    if stats.group_type == GroupType::Overloaded {
        stats.set_avg_load();
    }
    Side { stats, ..side }
}

/// A domain of these two groups.
fn domain(local: Side, busiest: Side) -> Survey {
    let total_load = local.stats.load + busiest.stats.load;
    let total_capacity = local.stats.capacity + busiest.stats.capacity;
    Survey::of(local, Some(busiest), total_load, total_capacity)
}
