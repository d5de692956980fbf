// SPDX-License-Identifier: GPL-2.0-only
//! Groups by path, and the refusal of workloads that refer to nothing.

use super::*;
use crate::program::{Op, ProgramBuilder};
use crate::resource::Ref;

fn one_task(op: Op) -> Workload {
    let mut w = Workload::new();
    let t = w.template(Template::new("a", ProgramBuilder::new().op(op).build().unwrap()));
    w.start(Start::new(t));
    w
}

#[test]
fn groups_are_found_or_made_by_path() {
    let mut w = Workload::new();
    let b = w.group("/a/b");
    assert_eq!(w.groups[b].path, "/a/b");
    assert_eq!(w.groups[b].parent, w.group_by_path("/a"));
    assert_eq!(w.group("a//b/"), b);
    assert_eq!(w.group("/"), GroupId::ROOT);
    assert_eq!(w.groups.len(), 3);
}

#[test]
fn numbers_of_nothing_are_refused() {
    let cpus = CpuSet::first_n(2);
    let unknown = |kind, number| Err(WorkloadError::Unknown { task: "a".into(), at: 0, kind, number });
    assert_eq!(one_task(Op::Lock(MutexId(7).into())).check(&cpus), unknown("mutex", 7));
    let mut w = one_task(Op::PostHere(SemaphoreId(0)));
    w.semaphores.push(SemaphoreSpec { name: "on CPU 0".into(), initial: 0, max: 1 });
    assert_eq!(w.check(&cpus), unknown("semaphore", 1));
    assert_eq!(one_task(Op::Fork(TemplateId(1))).check(&cpus), unknown("template", 1));

    let mut w = one_task(Op::Post(Ref::Argument(0)));
    assert_eq!(w.check(&cpus), Err(WorkloadError::Arguments { task: "a".into(), found: 0, needed: 1 }));
    w.starts[0].arguments = Some(vec![4]);
    assert_eq!(w.check(&cpus), unknown("semaphore", 4));
    w.starts[0].arguments = Some(vec![0]);
    w.semaphores.push(SemaphoreSpec { name: "s".into(), initial: 0, max: 1 });
    assert_eq!(w.check(&cpus), Ok(()));
}

#[test]
fn a_task_needs_a_cpu_and_a_group_that_exist() {
    let cpus = CpuSet::first_n(2);
    let mut w = one_task(Op::Yield);
    w.templates[TemplateId(0)].attributes.affinity = Some("3-4".parse().unwrap());
    let error = w.check(&cpus).unwrap_err();
    assert_eq!(error.to_string(), "task a may only run on CPUs {3-4}, but the machine has 2 (0 to 1)");
    w.templates[TemplateId(0)].attributes = Attributes { group: Some(GroupId(1)), ..Attributes::default() };
    assert_eq!(w.check(&cpus), Err(WorkloadError::NoGroup { task: "a".into(), number: 1 }));
}

#[test]
fn a_barrier_for_nobody_is_refused() {
    let mut w = Workload::new();
    w.barriers.push(BarrierSpec { name: "b".into(), parties: 0 });
    let error = w.check(&CpuSet::first_n(1)).unwrap_err();
    assert_eq!(error.to_string(), "barrier b: parties must be at least 1");
}
