// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::fair::driver::{CPU, Driver, Step, any_step};
use crate::ids::{Id, TaskId};
use crate::kernel::Kernel;
use crate::nice::Nice;
use crate::task::OnRq;
use crate::topology::Topology;
use crate::units::{Nanos, VDelta, Weight};
use crate::variants::WakeupPick;
use proptest::prelude::*;

/// A machine in the middle of something: four tasks of a group and one outside, on one CPU.
fn busy() -> Scheduler {
    let mut driver = Driver::new(Kernel::V6_12);
    let group = driver.s.add_group(driver.now, GroupId::ROOT);
    for (group, nice) in [(group, 0), (group, 5), (group, -3), (group, 0), (GroupId::ROOT, 0)] {
        driver.start(group, Nice::new(nice).unwrap());
    }
    driver.schedule();
    for _ in 0..20 {
        driver.pass(Nanos(900_000));
        driver.s.tick(driver.now, CPU);
        driver.schedule();
    }
    driver.s
}

/// A queue in which several wait.
fn populated(s: &Scheduler) -> QueueId {
    let several = |q: &QueueId| s.queues[*q].timeline.iter(&s.entities).count() > 1;
    s.queues.ids().find(several).unwrap()
}

fn violated(s: &Scheduler) -> Option<Invariant> {
    audit(s).err().map(|v| v.invariant)
}

#[test]
fn a_sound_state_passes() {
    assert_eq!(audit(&busy()), Ok(()));
}

#[test]
fn a_wrong_sum_of_keys_is_found() {
    let mut s = busy();
    let q = populated(&s);
    s.queues[q].key_weight_sum += 1;
    assert_eq!(violated(&s), Some(Invariant::KeySum));
}

#[test]
fn a_wrong_sum_of_weights_is_found() {
    let mut s = busy();
    let q = populated(&s);
    s.queues[q].weight_sum += 1;
    assert_eq!(violated(&s), Some(Invariant::WeightSum));
}

/// Somebody who waits in `q`.
fn waiting(s: &Scheduler, q: QueueId) -> TaskId {
    s.queues[q].timeline.iter(&s.entities).find_map(|id| s.entities[id].task()).unwrap()
}

#[test]
fn a_task_that_counts_as_asleep_and_waits_is_found() {
    let mut s = busy();
    let task = waiting(&s, populated(&s));
    s.tasks[task].on_rq = OnRq::No;
    assert_eq!(violated(&s), Some(Invariant::OnePlace));
}

#[test]
fn a_task_on_a_wake_list_and_in_a_queue_is_found() {
    let mut s = busy();
    let task = waiting(&s, populated(&s));
    s.wake_lists[CPU].push(task);
    assert_eq!(violated(&s), Some(Invariant::OnePlace));
}

#[test]
fn a_task_in_the_queue_of_another_group_is_found() {
    let mut s = busy();
    let task = waiting(&s, populated(&s));
    s.tasks[task].group = GroupId::ROOT;
    assert_eq!(violated(&s), Some(Invariant::OnePlace));
}

#[test]
fn a_task_with_a_nice_level_that_it_does_not_weigh_is_found() {
    let mut s = busy();
    let task = waiting(&s, populated(&s));
    s.tasks[task].nice = Nice::new(7).unwrap();
    assert_eq!(violated(&s), Some(Invariant::TaskWeight));
}

#[test]
fn a_task_that_runs_and_sleeps_is_found() {
    let mut s = busy();
    let task = s.cpus[CPU].curr.unwrap();
    s.tasks[task].state = TaskState::Sleeping;
    assert_eq!(violated(&s), Some(Invariant::RunningIsQueued));
}

#[test]
fn a_group_that_competes_with_nobody_in_it_is_found() {
    let mut driver = Driver::new(Kernel::V6_12);
    let group = driver.s.add_group(driver.now, GroupId::ROOT);
    assert_eq!(violated(&driver.s), None);
    let entity = driver.s.groups[group].on(CPU).entity.unwrap();
    driver.s.entities[entity].on_rq = true;
    assert_eq!(violated(&driver.s), Some(Invariant::GroupQueued));
}

#[test]
fn a_wrong_count_of_running_tasks_is_found() {
    let mut s = busy();
    s.cpus[CPU].nr_running += 1;
    assert_eq!(violated(&s), Some(Invariant::RunningCount));
}

#[test]
fn a_group_load_that_nobody_contributed_is_found() {
    let mut s = busy();
    let group = s.queues[populated(&s)].group;
    s.groups[group].load_avg += 1;
    assert_eq!(violated(&s), Some(Invariant::GroupLoad));
}

/// A machine with a group in which nobody is, whose queue is throttled; nothing else is wrong.
fn throttled() -> (Scheduler, GroupId, QueueId) {
    let mut driver = Driver::new(Kernel::V6_12);
    let group = driver.s.add_group(driver.now, GroupId::ROOT);
    let q = driver.s.groups[group].on(CPU).queue;
    driver.s.bandwidth_used = true;
    driver.s.groups[group].bandwidth.throttled.push_back(q);
    (driver.s.queues[q].throttle.throttled, driver.s.queues[q].throttle.throttle_count) = (true, 1);
    assert_eq!(violated(&driver.s), None);
    (driver.s, group, q)
}

#[test]
fn a_throttled_queue_that_nobody_will_set_free_is_found() {
    let (mut s, group, _) = throttled();
    s.groups[group].bandwidth.throttled.clear();
    assert_eq!(violated(&s), Some(Invariant::ThrottledIsListed));
}

#[test]
fn a_wrong_count_of_throttled_queues_above_is_found() {
    let mut s = busy();
    let q = populated(&s);
    s.bandwidth_used = true;
    s.queues[q].throttle.throttle_count = 1;
    assert_eq!(violated(&s), Some(Invariant::ThrottleCount));
}

#[test]
fn a_throttled_queue_with_runtime_is_found() {
    let (mut s, _, q) = throttled();
    s.queues[q].throttle.runtime_remaining = 1;
    assert_eq!(violated(&s), Some(Invariant::ThrottledIsSpent));
}

#[test]
fn a_throttled_group_that_competes_is_found() {
    let mut s = busy();
    let q = populated(&s);
    s.bandwidth_used = true;
    s.queues[q].throttle.throttled = true;
    assert_eq!(violated(&s), Some(Invariant::GroupQueued));
}

#[test]
fn a_cpu_that_is_noted_as_idle_and_has_a_tick_is_found() {
    let config = Kernel::V6_12.config(2).unwrap();
    let mut s = Scheduler::new(config, Topology::preset("2cpu").unwrap());
    assert_eq!(violated(&s), None);
    s.nohz.idle_cpus.insert(CPU);
    assert_eq!(violated(&s), Some(Invariant::NohzMask));
    s.cpus[CPU].balance.nohz_tick_stopped = true;
    assert_eq!(violated(&s), Some(Invariant::NohzMask), "it is not counted");
}

#[test]
fn a_wrong_count_of_busy_cpus_is_found() {
    let config = Kernel::V6_12.config(2).unwrap();
    let mut s = Scheduler::new(config, Topology::preset("2cpu").unwrap());
    let shared = s.domains.cpu(CPU).shared.unwrap();
    s.states.shared[shared].nr_busy_cpus -= 1;
    assert_eq!(violated(&s), Some(Invariant::BusyCpus));
}

#[test]
fn an_average_without_a_sum_is_found() {
    let mut s = busy();
    let root = s.cpus[CPU].root;
    assert!(s.queues[root].avg.util_avg > 0);
    s.queues[root].avg.util_sum = 0;
    assert_eq!(violated(&s), Some(Invariant::SumsCarryAverages));
}

#[test]
fn more_load_than_always_running_gives_is_found() {
    let mut s = busy();
    let task = s.cpus[CPU].curr.unwrap();
    let se = s.tasks[task].entity;
    s.entities[se].avg.load_sum = 47_743;
    assert_eq!(violated(&s), Some(Invariant::SumsBounded));
}

#[test]
fn a_wrong_summary_is_found() {
    let mut s = busy();
    let q = populated(&s);
    let root = s.queues[q].timeline.root().unwrap();
    s.entities[root].subtree_min += VDelta(1);
    assert_eq!(violated(&s), Some(Invariant::RootSummary));
}

#[test]
fn a_wrong_order_is_found() {
    let mut s = busy();
    let q = populated(&s);
    let last = s.queues[q].timeline.last(&s.entities).unwrap();
    s.entities[last].deadline = VTime(s.entities[last].deadline.0.wrapping_sub(1 << 40));
    assert_eq!(violated(&s), Some(Invariant::Order));
}

#[test]
fn a_wrong_load_is_found() {
    let mut s = busy();
    let q = populated(&s);
    s.queues[q].load = Weight(s.queues[q].load.0 + 1);
    assert_eq!(violated(&s), Some(Invariant::Counts));
}

#[test]
fn an_idle_cpu_with_work_is_found() {
    let mut s = busy();
    s.cpus[CPU].curr = None;
    s.cpus[CPU].need_resched = false;
    let violation = audit(&s).unwrap_err();
    assert_eq!(violation.invariant, Invariant::WorkConserving);
    let text = format!("{violation}");
    assert!(text.starts_with("I13 does not hold in G0 on cpu0: it is idle, 5 wait"), "{text}");
}

#[test]
fn an_anchor_that_goes_back_is_found() {
    let mut auditor = Auditor::new();
    let mut driver = Driver::new(Kernel::V6_18);
    assert_eq!(auditor.observe(&driver.s), Ok(()));
    driver.s.queues[QueueId::from_index(0)].anchor += VDelta(-1);
    assert_eq!(auditor.observe(&driver.s).unwrap_err().invariant, Invariant::AnchorForwards);
}

#[test]
fn numbers_are_unique() {
    let all = Invariant::ALL;
    let mut ids: Vec<_> = all.iter().map(|i| i.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    assert!(all.iter().all(|i| !i.statement().is_empty() && !i.source().is_empty()));
}

fn holds_after_each(mut driver: Driver, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut auditor = Auditor::new();
    for step in steps {
        driver.step(*step);
        let kernel = driver.s.config().kernel;
        auditor
            .observe(&driver.s)
            .map_err(|violation| TestCaseError::fail(format!("Linux {kernel}: {violation}")))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn everything_holds_after_any_event_in_any_kernel(
        steps in prop::collection::vec(any_step(), 1..250),
    ) {
        for kernel in Kernel::implemented() {
            holds_after_each(Driver::new(kernel), &steps)?;
        }
        let mut updated = Driver::new(Kernel::V6_18);
        updated.s.config_mut().variants.wakeup_pick = WakeupPick::Dequeues;
        holds_after_each(updated, &steps)?;
    }
}
