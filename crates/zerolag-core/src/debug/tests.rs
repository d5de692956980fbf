// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use crate::fair::driver::{CPU, Driver};
use crate::kernel::Kernel;
use crate::nice::Nice;
use crate::units::Nanos;
use alloc::format;
use alloc::string::ToString;

struct Plain;

impl Names for Plain {
    fn comm(&self, task: TaskId) -> String {
        format!("a-task-with-a-long-name-{task}")
    }
    fn pid(&self, task: TaskId) -> u64 {
        u64::from(task.0) + 1
    }
    fn path(&self, group: GroupId) -> String {
        if group == GroupId::ROOT { "/".into() } else { format!("/g{}", group.0) }
    }
}

/// Two tasks of a group, of which one sleeps, and one outside.
fn busy(kernel: Kernel) -> Driver {
    let mut driver = Driver::new(kernel);
    let group = driver.s.add_group(driver.now, GroupId::ROOT);
    for (group, nice) in [(group, 0), (group, 5), (GroupId::ROOT, -3)] {
        driver.start(group, Nice::new(nice).unwrap());
    }
    for _ in 0..5 {
        driver.schedule();
        driver.pass(Nanos(4_000_000));
        driver.s.tick(driver.now, CPU);
    }
    driver
}

fn value<'t>(text: &'t str, name: &str) -> &'t str {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(left, _)| left.trim().trim_start_matches('.').trim_end() == name);
    found.unwrap_or_else(|| panic!("no {name} in\n{text}")).1.trim()
}

#[test]
fn times_are_split_as_the_kernel_does() {
    let text = |ns: i64| Millis(ns).to_string();
    assert_eq!([text(1_500_000), text(-1_500_000), text(42)], ["1.500000", "-1.500000", "0.000042"]);
    assert_eq!(text(-1), "0.000001", "the sign is lost");
    assert_eq!(
        format!("{:>9}", Millis(1_500_000)),
        "        1.500000",
        "the width is that of the milliseconds"
    );
}

#[test]
fn a_task_is_shown_with_its_numbers() {
    for kernel in [Kernel::V6_1, Kernel::V6_12] {
        let driver = busy(kernel);
        let s = &driver.s;
        for (id, task) in s.tasks().iter() {
            let text = ShowTask { scheduler: s, names: &Plain, task: id }.to_string();
            let entity = &s.entities()[task.entity];
            assert!(text.starts_with(&format!("a-task-with-a-l ({}, #threads: 1)\n", id.0 + 1)), "{text}");
            assert_eq!(text.lines().nth(1).unwrap(), "-".repeat(67));
            assert!(
                text.lines().skip(2).all(|line| line.len() == 67 && line.as_bytes()[45] == b':'),
                "{text}"
            );
            assert_eq!(value(&text, "se.vruntime"), Millis(entity.vruntime.0 as i64).to_string());
            assert_eq!(value(&text, "se.load.weight"), entity.weight.0.to_string());
            assert_eq!(value(&text, "se.avg.util_avg"), entity.avg.util_avg.to_string());
            assert_eq!(value(&text, "prio"), (120 + task.nice.get()).to_string());
            assert_eq!(text.contains("se.slice"), kernel == Kernel::V6_12);
            assert_eq!(text.contains("util_est.ewma"), kernel == Kernel::V6_1);
        }
    }
}

/// Kernels that print something else are shown in the nearer of the two layouts.
#[test]
fn every_kernel_with_cfs_is_shown_as_6_1_and_the_others_as_6_12() {
    for kernel in Kernel::implemented() {
        let driver = busy(kernel);
        let (s, names) = (&driver.s, &Plain);
        let cfs = !s.config().features.has(crate::features::Feature::PlaceLag);
        let queues = ShowQueues { scheduler: s, names }.to_string();
        assert_eq!(queues.contains("MIN_vruntime"), cfs, "{kernel}");
        assert_eq!(queues.contains("tree-key"), cfs, "{kernel}");
        assert_eq!(queues.contains("left_deadline"), !cfs, "{kernel}");
        let task = ShowTask { scheduler: s, names, task: TaskId(0) }.to_string();
        assert_eq!(task.contains("se.slice"), !cfs, "{kernel}");
    }
}

#[test]
fn a_queue_is_shown_with_its_numbers_and_children_come_first() {
    for kernel in [Kernel::V6_1, Kernel::V6_12, Kernel::V6_18] {
        let driver = busy(kernel);
        let s = &driver.s;
        let text = ShowQueues { scheduler: s, names: &Plain }.to_string();
        let (group, root) = (text.find("\ncfs_rq[0]:/g1\n").unwrap(), text.find("\ncfs_rq[0]:/\n").unwrap());
        assert!(text.starts_with("cpu#0\n") && group < root, "{text}");
        let below = s.group_on(GroupId(1), CPU);
        let (queue, entity) = (&s.queues()[below.queue], &s.entities()[below.entity.unwrap()]);
        let part = &text[group..root];
        assert_eq!(value(part, "load"), queue.load.0.to_string());
        assert_eq!(value(part, "tg_load_avg"), s.groups()[GroupId(1)].load_avg.to_string());
        assert_eq!(value(part, "se->load.weight"), entity.weight.0.to_string());
        let anchor = if kernel == Kernel::V6_12 { "zero_vruntime" } else { "min_vruntime" };
        assert_eq!(value(part, anchor), Millis(queue.anchor.0 as i64).to_string());
        assert!(!text[root..].contains("se->"), "the root group has no entity");
        let tasks: alloc::vec::Vec<&str> = text.lines().filter(|line| line.contains(" a-task-")).collect();
        assert_eq!(tasks.len(), 3);
        assert_eq!(tasks.iter().filter(|line| line.starts_with(">R")).count(), 1);
        assert!(tasks[0].ends_with(" /g1") && tasks[2].ends_with(" /"), "{text}");
    }
}

/// Every column, word for word: what a kernel prints with these formats for these numbers.
#[test]
fn the_tables_of_tasks_have_the_kernels_columns() {
    let row = |kernel| {
        let mut driver = busy(kernel);
        let task = TaskId(2);
        let se = driver.s.entity_of(task);
        let entity = &mut driver.s.entities[se];
        entity.vruntime = crate::units::VTime(12_345_678);
        entity.deadline = crate::units::VTime(1 << 60);
        entity.slice = Nanos(700_000);
        entity.sum_exec = Nanos(987_654_321);
        (driver.s.tasks[task].voluntary_switches, driver.s.tasks[task].involuntary_switches) = (7, 5);
        driver.s.cpus[CPU].curr = Some(task);
        let text = ShowQueues { scheduler: &driver.s, names: &Plain }.to_string();
        let lines: alloc::vec::Vec<&str> = text.lines().collect();
        let table = lines.iter().position(|line| *line == "runnable tasks:").unwrap();
        lines[table + 1..]
            .iter()
            .filter(|l| !l.starts_with(" R"))
            .map(|l| format!("{l}\n"))
            .collect::<String>()
    };
    assert_eq!(
        row(Kernel::V6_1),
        format!(
            " S            task   PID         tree-key  switches  prio     wait-time             sum-exec        \
             sum-sleep\n{}\n>R a-task-with-a-l     3        12.345678        12   117         0.000000       \
             987.654321         0.000000         0.000000 /\n\n",
            "-".repeat(109)
        )
    );
    assert_eq!(
        row(Kernel::V6_12),
        format!(
            " S            task   PID       vruntime   eligible    deadline             slice          sum-exec\
             {:6}switches  prio         wait-time        sum-sleep       sum-block  group-path\n{}\n\
             >R a-task-with-a-l     3        12.345678   N   1152921504606.846976           0.700000       \
             987.654321        12     117         0.000000         0.000000         0.000000        /\n\n",
            "",
            "-".repeat(177)
        )
    );
}
