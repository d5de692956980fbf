// SPDX-License-Identifier: GPL-2.0-only
//! Decides from which group to take how much.
//!
//! Everything here is a function of what was collected; nothing looks at the machine.
//!
//! | busiest \ local | has spare | fully busy | overloaded |
//! |---|---|---|---|
//! | has spare | spread or fill idle CPUs | balanced | balanced |
//! | fully busy | spread or fill idle CPUs | fill idle CPUs | balanced |
//! | misfit task | take it | take it | take it |
//! | SMT balance | take one | take one | balanced |
//! | asym packing | take all | take all | take all |
//! | imbalanced | take one | take one | take one |
//! | overloaded | fill up | even out | even out beyond a margin |
//!
//! *Spread* and *fill idle CPUs* count tasks, *fill up* and *even out* compare utilisation and load. A local
//! group can also be imbalanced; that is between fully busy and overloaded.
//!
//! Source: kernel/sched/fair.c, `update_sd_pick_busiest()`, `sched_balance_find_src_group()`,
//! `calculate_imbalance()`, `need_active_balance()`, 6.12; others differ as [`super::BalanceRules`] says.

use core::cmp::Ordering;

use crate::balance::classify::{GroupStats, GroupType, adjust_numa_imbalance};
use crate::balance::collect::{Aim, Side, Survey};
use crate::domain::DomainFlags;

/// In what an imbalance is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Load: everybody should have the same, relative to capacity.
    Load,
    /// Utilisation: idle capacity should be used.
    Util,
    /// Tasks.
    Tasks,
    /// One task that is too big for its CPU.
    Misfit,
}

/// How much should be moved. An amount of 0 is an imbalance not worth a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Imbalance {
    pub(crate) measure: Measure,
    pub(crate) amount: i64,
}

impl Imbalance {
    const fn tasks(amount: i64) -> Self {
        Self { measure: Measure::Tasks, amount }
    }
}

/// Greater by more than noise: by more than 5 % (`capacity_greater()`).
pub(crate) const fn is_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}

/// Whether a remote group should be relieved although its CPUs are not overloaded: because packing prefers
/// the CPU that asks, and because it is a core that runs several tasks.
pub(super) fn wants_relief(aim: &Aim, side: &Side) -> (bool, bool) {
    if !aim.idle.is_idle() {
        return (false, false);
    }
    let stats = &side.stats;
    // A core whose threads are all busy but one gains nothing from being left by the one.
    let packable = !side.smt || stats.weight - stats.idle_cpus == 1;
    let asym_packing = stats.h_nr_running > 0 && packable && aim.packs_from(side.first);
    let smt_balance = aim.rules.smt_aware && side.smt && stats.h_nr_running > 1;
    (asym_packing, smt_balance)
}

/// Whether a group should rather be relieved than the best so far.
pub(super) fn is_busier(aim: &Aim, local: &GroupStats, best: Option<&Side>, side: &Side) -> bool {
    let stats = &side.stats;
    if stats.h_nr_running == 0 {
        return false;
    }
    if aim.flags.contains(DomainFlags::ASYM_CPUCAPACITY) && stats.group_type == GroupType::MisfitTask {
        let helps = (aim.core_idle || !aim.rules.misfit_needs_idle_core)
            && is_greater(aim.capacity, side.max_capacity)
            && local.group_type == GroupType::HasSpare;
        if !helps {
            return false;
        }
    }
    let better_off = is_better_off(aim, side);
    if better_off && aim.rules.bigger_left_out_first {
        return false;
    }
    // The first is compared with a group that has spare, and nobody to spare.
    let Some(best) = best else { return !better_off || stats.group_type > GroupType::HasSpare };
    match stats.group_type.cmp(&best.stats.group_type) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => is_busier_of_same_type(aim, best, side),
    }
}

/// Tasks on bigger CPUs that need not wait are better off there.
fn is_better_off(aim: &Aim, side: &Side) -> bool {
    aim.flags.contains(DomainFlags::ASYM_CPUCAPACITY)
        && side.stats.group_type <= GroupType::FullyBusy
        && is_greater(side.min_capacity, aim.capacity)
}

fn is_busier_of_same_type(aim: &Aim, best: &Side, side: &Side) -> bool {
    let (old, new) = (&best.stats, &side.stats);
    let fewer_idle = || match new.idle_cpus.cmp(&old.idle_cpus) {
        Ordering::Greater => false,
        Ordering::Equal => new.nr_running > old.nr_running,
        Ordering::Less => true,
    };
    let more_loaded = || match new.avg_load.cmp(&old.avg_load) {
        Ordering::Less => false,
        // Threads of one core hinder each other more than CPUs of several do.
        Ordering::Equal => aim.rules.smt_aware && !best.smt,
        Ordering::Greater => true,
    };
    match new.group_type {
        GroupType::Overloaded => new.avg_load > old.avg_load,
        GroupType::Imbalanced => false,
        // The one whose preferred CPU is the least preferred of all.
        GroupType::AsymPacking => best.first < side.first,
        GroupType::MisfitTask => match new.misfit_task_load.cmp(&old.misfit_task_load) {
            Ordering::Equal => aim.rules.later_misfit_wins,
            order => order == Ordering::Greater,
        },
        GroupType::SmtBalance if new.idle_cpus != 0 || old.idle_cpus != 0 => fewer_idle(),
        GroupType::SmtBalance | GroupType::FullyBusy => more_loaded() && !is_better_off(aim, side),
        // A core with several tasks comes before other CPUs, and those before a core with one.
        GroupType::HasSpare if aim.rules.smt_aware && best.smt != side.smt => {
            !side.smt || new.h_nr_running > 1
        }
        GroupType::HasSpare => fewer_idle() && !is_better_off(aim, side),
    }
}

/// What should be moved from the busiest group to the local one, or nothing if they are balanced.
pub(super) fn find_imbalance(aim: &Aim, survey: &Survey) -> Option<Imbalance> {
    let busiest = survey.busiest.as_ref()?;
    if !is_imbalanced(aim, survey, busiest) {
        return None;
    }
    let (local, remote) = (&survey.local.stats, &busiest.stats);
    Some(match (remote.group_type, local.group_type) {
        (GroupType::MisfitTask, _) if aim.flags.contains(DomainFlags::ASYM_CPUCAPACITY) => {
            Imbalance { measure: Measure::Misfit, amount: 1 }
        }
        (GroupType::MisfitTask, _) => {
            Imbalance { measure: Measure::Load, amount: remote.misfit_task_load as i64 }
        }
        (GroupType::AsymPacking, _) => Imbalance::tasks(i64::from(remote.h_nr_running)),
        (GroupType::SmtBalance | GroupType::Imbalanced, _) => Imbalance::tasks(1),
        (GroupType::Overloaded, GroupType::HasSpare) if !aim.flags.contains(DomainFlags::SHARE_LLC) => {
            fill_up(aim, local)
        }
        (_, GroupType::HasSpare) => Imbalance::tasks(idle_cpus_to_fill(aim, survey, busiest)),
        _ => return even_out(survey, remote),
    })
}

/// The table above, as far as it says "balanced".
fn is_imbalanced(aim: &Aim, survey: &Survey, busiest: &Side) -> bool {
    let (local, remote) = (&survey.local.stats, &busiest.stats);
    match (remote.group_type, local.group_type) {
        (GroupType::MisfitTask | GroupType::AsymPacking | GroupType::Imbalanced, _) => true,
        (remote, local) if local > remote => false,
        (_, GroupType::Overloaded) => {
            local.avg_load < remote.avg_load
                && local.avg_load < survey.avg_load()
                && 100 * remote.avg_load > u64::from(aim.imbalance_pct) * local.avg_load
        }
        (GroupType::Overloaded, _) => true,
        (_, GroupType::HasSpare) if spreads(aim, busiest) && surplus(aim, &survey.local, busiest) > 1 => true,
        _ if !aim.idle.is_idle() => false,
        (GroupType::SmtBalance, _) if survey.local.smt != busiest.smt => true,
        _ if remote.weight > 1 && local.idle_cpus <= remote.idle_cpus.wrapping_add(1) => false,
        _ => remote.h_nr_running != 1,
    }
}

/// Tasks should be spread over the groups even while CPUs are idle.
fn spreads(aim: &Aim, busiest: &Side) -> bool {
    if aim.rules.spread_asked_by_group { busiest.spreads } else { aim.child_spreads }
}

/// How many tasks more the busiest group has (`sibling_imbalance()`).
///
/// Where the groups have different numbers of cores, `cl` and `cb`, and run `nl` and `nb` tasks, they are even
/// when `nl / cl = nb / cb`. Moving `m` tasks makes them so for `m = (cl*nb - cb*nl) / (cl + cb)`; what is
/// returned is twice that, rounded, since half of it will be moved.
fn surplus(aim: &Aim, local: &Side, busiest: &Side) -> i64 {
    let (running, here) = (busiest.stats.nr_running, local.stats.nr_running);
    if !aim.rules.smt_aware {
        return i64::from(running.saturating_sub(here));
    }
    if !aim.idle.is_idle() || running == 0 {
        return 0;
    }
    if busiest.cores == local.cores {
        return i64::from(running.saturating_sub(here));
    }
    let cores = i64::from(local.cores + busiest.cores);
    let difference = (local.cores * running).saturating_sub(busiest.cores * here);
    let surplus = (2 * i64::from(difference) + cores) / cores;
    // An idle core takes one of two tasks of another, however the cores compare.
    if surplus <= 1 && here == 0 && running > 1 { 2 } else { surplus }
}

/// The local group has room and the other must wait: moves as much utilisation as there is room for.
fn fill_up(aim: &Aim, local: &GroupStats) -> Imbalance {
    let room = local.capacity.saturating_sub(local.util);
    // Utilisation can claim that a group with an idle CPU is full.
    if room == 0 && aim.idle.is_idle() {
        return Imbalance::tasks(1);
    }
    Imbalance { measure: Measure::Util, amount: room as i64 }
}

/// The local group has room and the other need not wait, or is near: evens out the number of tasks, or of
/// idle CPUs. Of a difference, half is moved.
fn idle_cpus_to_fill(aim: &Aim, survey: &Survey, busiest: &Side) -> i64 {
    let (local, remote) = (&survey.local.stats, &busiest.stats);
    let difference = if remote.weight == 1 || spreads(aim, busiest) {
        surplus(aim, &survey.local, busiest)
    } else {
        // Unsigned in the kernel: if the other group has more idle CPUs, there is no limit.
        i64::from(local.idle_cpus.wrapping_sub(remote.idle_cpus))
    };
    let difference = if aim.flags.contains(DomainFlags::NUMA) {
        adjust_numa_imbalance(difference, local.nr_running + 1, aim.imb_numa_nr)
    } else {
        difference
    };
    difference >> 1
}

/// Neither has room: evens out load relative to capacity. As much as brings the busiest group down to the
/// average of the domain, but no more than brings the local one up to it:
///
/// ```text
///     min((busiest.avg - avg) * busiest.capacity, (avg - local.avg) * local.capacity) / 1024
/// ```
fn even_out(survey: &Survey, remote: &GroupStats) -> Option<Imbalance> {
    let mut local = survey.local.stats.clone();
    let average = survey.avg_load();
    if local.group_type < GroupType::Overloaded {
        local.set_avg_load();
        if local.avg_load >= remote.avg_load || local.avg_load >= average {
            return None;
        }
    }
    let above = remote.avg_load.wrapping_sub(average).wrapping_mul(remote.capacity);
    let below = average.wrapping_sub(local.avg_load).wrapping_mul(local.capacity);
    Some(Imbalance { measure: Measure::Load, amount: (above.min(below) / 1024) as i64 })
}

/// What is to be known of a queue whose running task may have to be pushed off it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PushCandidate {
    /// Packing prefers the CPU that asks.
    pub(crate) packs: bool,
    pub(crate) h_nr_running: u32,
    /// What the CPU has for fair tasks.
    pub(crate) capacity: u64,
    /// Higher classes take noticeably much of it.
    pub(crate) reduced: bool,
    /// So many passes over the domain moved nothing.
    pub(crate) failures: u32,
    /// So many are tolerated.
    pub(crate) tries: u32,
}

/// Nothing could be moved: should the running task be pushed off the queue? (`need_active_balance()`)
pub(super) fn needs_push(aim: &Aim, measure: Measure, from: &PushCandidate) -> bool {
    let idle = aim.idle.is_idle();
    let better_here = from.capacity * u64::from(aim.imbalance_pct) < aim.capacity * 100;
    idle && from.packs
        || measure == Measure::Tasks && from.failures > from.tries + 2
        || idle && from.h_nr_running == 1 && from.reduced && better_here
        || measure == Measure::Misfit
}
