// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::fair::driver::{CPU, Driver, any_step};
use crate::ids::Id;
use crate::kernel::Kernel;
use crate::nice::Nice;
use crate::units::{Nanos, VDelta, Weight};
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
    use Invariant::*;
    let all = [
        KeySum,
        WeightSum,
        RootSummary,
        SomebodyEligible,
        Order,
        Summaries,
        SliceSum,
        Structure,
        MeanOfLags,
        ZeroLagEligible,
        PickIsBest,
        AnchorForwards,
        WorkConserving,
        Counts,
    ];
    let mut ids: Vec<_> = all.iter().map(|i| i.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    assert!(all.iter().all(|i| !i.statement().is_empty() && !i.source().is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn everything_holds_after_any_event_in_any_kernel(
        steps in prop::collection::vec(any_step(), 1..250),
    ) {
        for kernel in Kernel::implemented() {
            let mut driver = Driver::new(kernel);
            let mut auditor = Auditor::new();
            for step in &steps {
                driver.step(*step);
                if let Err(violation) = auditor.observe(&driver.s) {
                    panic!("Linux {kernel}: {violation}");
                }
            }
        }
    }
}
