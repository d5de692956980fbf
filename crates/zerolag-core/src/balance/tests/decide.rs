// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::balance::decide::{
    Imbalance, Measure, PushCandidate, find_imbalance, is_busier, is_greater, needs_push, wants_relief,
};
use GroupType::{AsymPacking, FullyBusy, HasSpare, Imbalanced, MisfitTask, Overloaded, SmtBalance};

fn tasks(amount: i64) -> Option<Imbalance> {
    Some(Imbalance { measure: Measure::Tasks, amount })
}

fn load(amount: i64) -> Option<Imbalance> {
    Some(Imbalance { measure: Measure::Load, amount })
}

fn util(amount: i64) -> Option<Imbalance> {
    Some(Imbalance { measure: Measure::Util, amount })
}

/// Four tasks here, six there; one and no idle CPU; loads 2000 and 6000.
fn contrast(local: GroupType, busiest: GroupType) -> Survey {
    let mut local = loaded(running(side(0, local), 3, 2), 2000);
    local.stats.util = 1000;
    domain(local, loaded(running(side(1, busiest), 6, 0), 6000))
}

#[test]
fn the_table_of_states_holds() {
    // Even is 4000 for each group.
    let table = [
        (HasSpare, HasSpare, tasks(1)),
        (HasSpare, FullyBusy, None),
        (HasSpare, Imbalanced, None),
        (HasSpare, Overloaded, None),
        (FullyBusy, HasSpare, tasks(1)),
        (FullyBusy, FullyBusy, None),
        (FullyBusy, Overloaded, None),
        (SmtBalance, HasSpare, tasks(1)),
        (SmtBalance, FullyBusy, tasks(1)),
        (SmtBalance, Overloaded, None),
        (AsymPacking, HasSpare, tasks(6)),
        (AsymPacking, FullyBusy, tasks(6)),
        (AsymPacking, Overloaded, tasks(6)),
        (Imbalanced, HasSpare, tasks(1)),
        (Imbalanced, Overloaded, tasks(1)),
        (Overloaded, HasSpare, util(3096)),
        (Overloaded, FullyBusy, load(2000)),
        (Overloaded, Imbalanced, load(2000)),
        (Overloaded, Overloaded, load(2000)),
    ];
    for (busiest, local, expected) in table {
        let found = find_imbalance(&aim(), &contrast(local, busiest));
        assert_eq!(found, expected, "busiest {busiest:?}, local {local:?}");
    }
}

#[test]
fn a_busy_cpu_only_relieves_the_overloaded() {
    let busy = Aim { idle: IdleType::Busy, ..aim() };
    for busiest in [HasSpare, FullyBusy] {
        assert_eq!(find_imbalance(&busy, &contrast(HasSpare, busiest)), None, "{busiest:?}");
    }
    assert_eq!(find_imbalance(&busy, &contrast(HasSpare, Overloaded)), util(3096));
}

#[test]
fn a_misfit_task_is_taken_whole() {
    let mut survey = contrast(HasSpare, MisfitTask);
    survey.busiest.as_mut().unwrap().stats.misfit_task_load = 700;
    assert_eq!(find_imbalance(&aim(), &survey), load(700));
    let asymmetric = Aim { flags: DomainFlags::ASYM_CPUCAPACITY, ..aim() };
    let found = find_imbalance(&asymmetric, &survey);
    assert_eq!(found, Some(Imbalance { measure: Measure::Misfit, amount: 1 }));
}

#[test]
fn two_overloaded_groups_tolerate_a_margin() {
    // 117 % of the local load is the limit.
    for (there, expected) in [(11_000, None), (11_700, None), (11_800, load(900))] {
        let here = loaded(running(side(0, Overloaded), 9, 0), 10_000);
        let survey = domain(here, loaded(running(side(1, Overloaded), 9, 0), there));
        assert_eq!(find_imbalance(&aim(), &survey), expected, "{there}");
    }
}

#[test]
fn groups_that_ask_for_it_share_tasks_rather_than_idle_cpus() {
    // (tasks here, tasks there, moved): half of the difference.
    for (here, there, expected) in [(0, 2, tasks(1)), (1, 2, None), (1, 3, tasks(1)), (0, 5, tasks(2))] {
        let local = running(side(0, HasSpare), here, 4 - here);
        let mut busiest = running(side(1, HasSpare), there, 4_u32.saturating_sub(there));
        busiest.spreads = true;
        let found = find_imbalance(&aim(), &domain(local, busiest));
        assert_eq!(found, expected, "{here} here, {there} there");
    }
}

#[test]
fn groups_of_different_size_share_tasks_by_core() {
    // Four cores there, two here; even at 2:1.
    let survey = |here: u32, there: u32| {
        let local = running(side(0, HasSpare), here, 4 - here);
        let mut busiest = running(side(1, HasSpare), there, 8 - there);
        (busiest.cores, busiest.stats.weight, busiest.spreads) = (4, 8, true);
        domain(local, busiest)
    };
    assert_eq!(find_imbalance(&aim(), &survey(2, 4)), None, "even");
    assert_eq!(find_imbalance(&aim(), &survey(1, 5)), tasks(1));
    assert_eq!(find_imbalance(&aim(), &survey(0, 2)), tasks(1), "an idle group helps two tasks");
    let before = Aim { rules: BalanceRules::LINUX_6_1, child_spreads: true, ..aim() };
    assert_eq!(find_imbalance(&before, &survey(2, 4)), tasks(1), "6.1 counts tasks only");
}

#[test]
fn nodes_keep_a_pair_of_tasks_together() {
    let numa = Aim { flags: DomainFlags::NUMA, imb_numa_nr: 4, ..aim() };
    let survey = |there| {
        let mut busiest = running(side(1, HasSpare), there, 4 - there);
        busiest.spreads = true;
        domain(running(side(0, HasSpare), 0, 4), busiest)
    };
    // An imbalance that is tolerated is found, but of an amount of nothing.
    assert_eq!(find_imbalance(&numa, &survey(2)), tasks(0));
    assert_eq!(find_imbalance(&numa, &survey(4)), tasks(2));
}

#[test]
fn within_a_cache_an_overloaded_group_fills_idle_cpus() {
    let cache = Aim { flags: DomainFlags::SHARE_LLC, ..aim() };
    assert_eq!(find_imbalance(&cache, &contrast(HasSpare, Overloaded)), tasks(1));
    // The difference of idle CPUs is unsigned.
    let local = running(side(0, HasSpare), 4, 0);
    let survey = domain(local, running(side(1, Overloaded), 6, 1));
    assert_eq!(find_imbalance(&cache, &survey), tasks(i64::from(u32::MAX) / 2));
}

#[test]
fn the_busier_group_is_of_the_higher_type_or_has_more_of_it() {
    let spare = |tasks, idle| running(side(1, HasSpare), tasks, idle);
    let full = |load| {
        let mut side = running(side(1, FullyBusy), 4, 0);
        side.stats.avg_load = load;
        side
    };
    let over = |load| loaded(running(side(1, Overloaded), 6, 0), load);
    let smt = |side| Side { smt: true, ..side };
    // (best so far, candidate, candidate is busier)
    let table = [
        (None, spare(0, 4), false),
        (None, spare(1, 3), true),
        (Some(spare(2, 2)), spare(2, 2), false),
        (Some(spare(2, 2)), spare(3, 2), true),
        (Some(spare(2, 2)), spare(3, 1), true),
        (Some(spare(2, 1)), spare(9, 2), false),
        (Some(spare(1, 3)), smt(spare(1, 3)), false),
        (Some(spare(3, 1)), smt(spare(2, 2)), true),
        (Some(smt(spare(3, 1))), spare(1, 3), true),
        (Some(full(5)), spare(4, 0), false),
        (Some(full(5)), full(6), true),
        (Some(full(5)), full(5), true),
        (Some(smt(full(5))), full(5), false),
        (Some(full(6)), full(5), false),
        (Some(full(5)), over(1), true),
        (Some(over(5000)), over(5000), false),
        (Some(over(5000)), over(6000), true),
    ];
    let local = side(0, HasSpare);
    for (best, candidate, expected) in table {
        let found = is_busier(&aim(), &local.stats, best.as_ref(), &candidate);
        assert_eq!(found, expected, "\nbest {best:?}\ncandidate {candidate:?}");
    }
}

#[test]
fn a_misfit_task_moves_up_only() {
    let asymmetric = Aim { flags: DomainFlags::ASYM_CPUCAPACITY, ..aim() };
    let local = side(0, HasSpare).stats;
    let small = |group_type| {
        let side = running(side(1, group_type), 1, 3);
        Side { min_capacity: 446, max_capacity: 446, ..side }
    };
    assert!(is_busier(&asymmetric, &local, None, &small(MisfitTask)));
    let thread_busy = Aim { core_idle: false, ..asymmetric };
    assert!(!is_busier(&thread_busy, &local, None, &small(MisfitTask)));
    let equal = Aim { capacity: 446, ..asymmetric };
    assert!(!is_busier(&equal, &local, None, &small(MisfitTask)));
    assert!(!is_busier(&asymmetric, &side(0, FullyBusy).stats, None, &small(MisfitTask)));
    // And nothing that need not wait moves down.
    let from_big = Side { min_capacity: 1024, max_capacity: 1024, ..small(FullyBusy) };
    assert!(!is_busier(&equal, &local, None, &from_big));
    let waiting = running(Side { min_capacity: 1024, max_capacity: 1024, ..small(Overloaded) }, 6, 0);
    assert!(is_busier(&equal, &local, None, &waiting));
}

#[test]
fn a_misfit_task_needs_an_idle_core_where_that_is_the_rule() {
    let local = side(0, HasSpare).stats;
    let small = Side { max_capacity: 512, ..running(side(1, MisfitTask), 1, 3) };
    for (rules, taken) in [(BalanceRules::LINUX_6_12, false), (BalanceRules::LINUX_6_18, true)] {
        let aim = Aim { flags: DomainFlags::ASYM_CPUCAPACITY, core_idle: false, rules, ..aim() };
        assert_eq!(is_busier(&aim, &local, None, &small), taken);
    }
}

#[test]
fn tasks_on_bigger_cpus_are_left_there_unless_their_state_alone_decides() {
    let local = side(0, HasSpare).stats;
    let small_cpu = |rules| Aim { flags: DomainFlags::ASYM_CPUCAPACITY, capacity: 512, rules, ..aim() };
    let (spare, full) = (running(side(1, HasSpare), 2, 2), running(side(1, FullyBusy), 4, 0));
    for (rules, full_is_taken) in [(BalanceRules::LINUX_6_12, false), (BalanceRules::LINUX_6_18, true)] {
        let aim = small_cpu(rules);
        assert!(!is_busier(&aim, &local, None, &spare));
        assert_eq!(is_busier(&aim, &local, None, &full), full_is_taken);
        assert_eq!(is_busier(&aim, &local, Some(&spare), &full), full_is_taken);
        let fuller = running(side(2, HasSpare), 3, 1);
        assert!(!is_busier(&aim, &local, Some(&spare), &fuller), "same state: the bigger is left out");
    }
}

#[test]
fn five_percent_are_noise() {
    assert!(!is_greater(1024, 1024));
    assert!(!is_greater(1078, 1024));
    assert!(is_greater(1079, 1024));
}

#[test]
fn cores_with_two_tasks_are_relieved_by_idle_cpus() {
    let core = |tasks| {
        let mut core = running(side(1, HasSpare), tasks, 2_u32.saturating_sub(tasks));
        (core.smt, core.stats.weight) = (true, 2);
        core
    };
    for (tasks, expected) in [(1, false), (2, true)] {
        assert_eq!(wants_relief(&aim(), &core(tasks)), (false, expected), "{tasks} tasks");
    }
    let busy = Aim { idle: IdleType::Busy, ..aim() };
    assert_eq!(wants_relief(&busy, &core(2)), (false, false));
}

#[test]
fn packing_fills_the_first_cpus() {
    let packing = Aim { flags: DomainFlags::ASYM_PACKING, ..aim() };
    let core = |tasks: u32| {
        let mut core = running(side(1, HasSpare), tasks, 2 - tasks);
        (core.smt, core.stats.weight) = (true, 2);
        core
    };
    assert!(wants_relief(&packing, &core(1)).0);
    assert!(!wants_relief(&packing, &core(0)).0, "nothing to take");
    assert!(!wants_relief(&packing, &core(2)).0, "two threads busy");
    let later = Aim { to: CpuId(9), ..packing };
    assert!(!wants_relief(&later, &core(1)).0, "not towards later CPUs");
    let thread_busy = Aim { core_idle: false, ..packing };
    assert!(!wants_relief(&thread_busy, &core(1)).0);
}

#[test]
fn the_running_task_is_pushed_for_a_reason() {
    let from = PushCandidate {
        packs: false,
        h_nr_running: 1,
        capacity: 1024,
        reduced: false,
        failures: 0,
        tries: 1,
    };
    let push = |aim: &Aim, measure, from| needs_push(aim, measure, &from);
    assert!(!push(&aim(), Measure::Load, from));
    assert!(push(&aim(), Measure::Misfit, from));
    assert!(!push(&aim(), Measure::Tasks, PushCandidate { failures: 3, ..from }));
    assert!(push(&aim(), Measure::Tasks, PushCandidate { failures: 4, ..from }));
    assert!(!push(&aim(), Measure::Load, PushCandidate { failures: 9, ..from }));
    let squeezed = PushCandidate { reduced: true, capacity: 800, ..from };
    assert!(push(&aim(), Measure::Load, squeezed));
    assert!(!push(&Aim { idle: IdleType::Busy, ..aim() }, Measure::Load, squeezed));
    assert!(!push(&Aim { capacity: 900, ..aim() }, Measure::Load, squeezed), "not better here");
}
