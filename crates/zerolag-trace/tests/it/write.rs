// SPDX-License-Identifier: GPL-2.0-only
//! What is written is read back, and looks as the tools' own output does.

use std::collections::BTreeMap;

use expect_test::expect;
use proptest::prelude::*;
use zerolag_core::event::EventKind::{self, Balance, Fork, Runtime, Switch, Tick, Wakeup};
use zerolag_core::event::{BalanceKind, PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_trace::TaskTable;
use zerolag_trace::read::open;
use zerolag_trace::write::{EventWriter, Ftrace, PerfScript, Perfetto};

use super::random_schedule::{Schedule, schedules};

fn perf_script(events: &[SchedEvent], names: &TaskTable) -> Vec<u8> {
    let mut out = Vec::new();
    write_all(&mut PerfScript::new(&mut out), events, names);
    out
}

fn ftrace(events: &[SchedEvent], names: &TaskTable) -> Vec<u8> {
    let mut out = Vec::new();
    write_all(&mut Ftrace::new(&mut out), events, names);
    out
}

fn perfetto(events: &[SchedEvent], names: &TaskTable) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Perfetto::new(&mut out);
    let counter = writer.counter("events", "").unwrap();
    for (event, count) in events.iter().zip(0..) {
        writer.event(event, names).unwrap();
        writer.set(counter, event.time, count).unwrap();
        writer.set_float(counter, event.time, 0.5).unwrap();
    }
    writer.finish().unwrap();
    out
}

fn write_all(writer: &mut dyn EventWriter, events: &[SchedEvent], names: &TaskTable) {
    events.iter().for_each(|event| writer.event(event, names).unwrap());
    writer.finish().unwrap();
}

/// Reads events back with the tasks numbered as in `names`, which are found by their pids.
fn read_back(text: &[u8], names: &TaskTable) -> Vec<SchedEvent> {
    let mut trace = open(text).unwrap();
    let events: Vec<SchedEvent> = trace.by_ref().map(Result::unwrap).collect();
    assert!(trace.loss().is_clean(), "{}", trace.loss());
    let (tasks, _) = trace.into_parts();
    let number: BTreeMap<TaskId, TaskId> = tasks
        .iter()
        .map(|(id, info)| (id, names.by_pid(info.pid).expect("a pid that was written")))
        .collect();
    for (id, info) in tasks.iter() {
        let written = names.get(number[&id]).unwrap();
        assert_eq!((&info.comm, info.prio.or(Some(120))), (&written.comm, written.prio.or(Some(120))));
    }
    events.into_iter().map(|event| SchedEvent { kind: renumber(event.kind, &number), ..event }).collect()
}

fn renumber(kind: EventKind, number: &BTreeMap<TaskId, TaskId>) -> EventKind {
    let id = |task: TaskId| number[&task];
    match kind {
        Switch { prev, prev_state, next } => Switch { prev: prev.map(id), prev_state, next: next.map(id) },
        EventKind::Waking { task, target } => EventKind::Waking { task: id(task), target },
        Wakeup { task, target } => Wakeup { task: id(task), target },
        EventKind::WakeupNew { task, target } => EventKind::WakeupNew { task: id(task), target },
        EventKind::Migrate { task, from, to } => EventKind::Migrate { task: id(task), from, to },
        Fork { parent, child } => Fork { parent: parent.map(id), child: id(child) },
        EventKind::Exit { task } => EventKind::Exit { task: id(task) },
        Runtime { task, ran } => Runtime { task: id(task), ran },
        other => other,
    }
}

fn small_schedule() -> (Vec<SchedEvent>, TaskTable) {
    let (a, b) = (TaskId(0), TaskId(1));
    let mut names = TaskTable::from_iter([(7, "my ==> app [0]"), (8, "a-name-that-is-too-long")]);
    (names.get_mut(a).unwrap().tgid, names.get_mut(a).unwrap().prio) = (Some(6), Some(115));
    let (cpu0, cpu1) = (CpuId(0), CpuId(1));
    let balance = Balance { kind: BalanceKind::Periodic, target: cpu0, moved: 1 };
    let events = [
        (1_000_000_001, cpu0, Wakeup { task: a, target: cpu0 }),
        (1_000_002_002, cpu0, Switch { prev: None, prev_state: PrevState::Runnable, next: Some(a) }),
        (1_000_003_000, cpu0, Tick),
        (1_000_003_000, cpu0, balance),
        (1_000_004_000, cpu0, Fork { parent: Some(a), child: b }),
        (1_000_005_000, cpu0, EventKind::WakeupNew { task: b, target: cpu1 }),
        (1_000_006_000, cpu1, Switch { prev: None, prev_state: PrevState::Runnable, next: Some(b) }),
        (1_000_007_000, cpu0, Runtime { task: a, ran: Nanos(5000) }),
        (1_000_008_000, cpu0, Switch { prev: Some(a), prev_state: PrevState::Preempted, next: None }),
    ];
    (events.map(|(time, cpu, kind)| SchedEvent { time: Instant(time), cpu, kind }).to_vec(), names)
}

/// With a margin, so that leading spaces are seen.
fn margin(text: &[u8]) -> String {
    std::str::from_utf8(text).unwrap().lines().map(|line| format!("|{line}\n")).collect()
}

#[test]
fn perf_script_looks_like_perf_script() {
    let (events, names) = small_schedule();
    expect![[r#"
        |         swapper       0 [000]     1.000000001:       sched:sched_wakeup: comm=my ==> app [0] pid=7 prio=115 target_cpu=000
        |         swapper       0 [000]     1.000002002:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my ==> app [0] next_pid=7 next_prio=115
        |  my ==> app [0]       7 [000]     1.000004000: sched:sched_process_fork: comm=my ==> app [0] pid=7 child_comm=a-name-that-is- child_pid=8
        |  my ==> app [0]       7 [000]     1.000005000:   sched:sched_wakeup_new: comm=a-name-that-is- pid=8 prio=120 target_cpu=001
        |         swapper       0 [001]     1.000006000:       sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a-name-that-is- next_pid=8 next_prio=120
        |  my ==> app [0]       7 [000]     1.000007000: sched:sched_stat_runtime: comm=my ==> app [0] pid=7 runtime=5000 [ns]
        |  my ==> app [0]       7 [000]     1.000008000:       sched:sched_switch: prev_comm=my ==> app [0] prev_pid=7 prev_prio=115 prev_state=R+ ==> next_comm=swapper/0 next_pid=0 next_prio=120
    "#]]
    .assert_eq(&margin(&perf_script(&events, &names)));
}

#[test]
fn ftrace_looks_like_ftrace() {
    let (events, names) = small_schedule();
    expect![[r#"
        |# tracer: nop
        |#
        |#                                      _-----=> irqs-off/BH-disabled
        |#                                     / _----=> need-resched
        |#                                    | / _---=> hardirq/softirq
        |#                                    || / _--=> preempt-depth
        |#                                    ||| / _-=> migrate-disable
        |#                                    |||| /     delay
        |#           TASK-PID       TGID    CPU#  |||||  TIMESTAMP  FUNCTION
        |#              | |           |         |   |||||     |         |
        |          <idle>-0       (-------) [000] .....     1.000000001: sched_wakeup: comm=my ==> app [0] pid=7 prio=115 target_cpu=000
        |          <idle>-0       (-------) [000] .....     1.000002002: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my ==> app [0] next_pid=7 next_prio=115
        |  my ==> app [0]-7       (      6) [000] .....     1.000004000: sched_process_fork: comm=my ==> app [0] pid=7 child_comm=a-name-that-is- child_pid=8
        |  my ==> app [0]-7       (      6) [000] .....     1.000005000: sched_wakeup_new: comm=a-name-that-is- pid=8 prio=120 target_cpu=001
        |          <idle>-0       (-------) [001] .....     1.000006000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a-name-that-is- next_pid=8 next_prio=120
        |  my ==> app [0]-7       (      6) [000] .....     1.000007000: sched_stat_runtime: comm=my ==> app [0] pid=7 runtime=5000 [ns]
        |  my ==> app [0]-7       (      6) [000] .....     1.000008000: sched_switch: prev_comm=my ==> app [0] prev_pid=7 prev_prio=115 prev_state=R+ ==> next_comm=swapper/0 next_pid=0 next_prio=120
    "#]]
    .assert_eq(&margin(&ftrace(&events, &names)));
}

#[test]
fn every_state_is_read_back() {
    use PrevState::{Dead, IdleSleep, Other, Preempted, Runnable, Sleeping, Stopped, Uninterruptible};
    let names = TaskTable::from_iter([(7, "a")]);
    let states = [Runnable, Preempted, Sleeping, Uninterruptible, IdleSleep, Stopped, Other, Dead];
    for state in states {
        let kind = Switch { prev: Some(TaskId(0)), prev_state: state, next: None };
        let events = [SchedEvent { time: Instant(5), cpu: CpuId(3), kind }];
        assert_eq!(read_back(&perf_script(&events, &names), &names), events);
        assert_eq!(read_back(&ftrace(&events, &names), &names), events);
        assert_eq!(read_back(&perfetto(&events, &names), &names), events);
    }
}

#[test]
fn a_recording_is_the_same_after_being_written_and_read() {
    let recording = &include_bytes!("../data/measured/schbench_beside_hogs.perf.txt.gz")[..];
    let mut trace = open(recording).unwrap();
    let (mut perf, mut ftrace, mut perfetto) = (Vec::new(), Vec::new(), Vec::new());
    let mut events = Vec::new();
    {
        let mut writers: [Box<dyn EventWriter>; 3] = [
            Box::new(PerfScript::new(&mut perf)),
            Box::new(Ftrace::new(&mut ftrace)),
            Box::new(Perfetto::new(&mut perfetto)),
        ];
        while let Some(event) = trace.next() {
            let event = event.unwrap();
            writers.iter_mut().for_each(|w| w.event(&event, trace.tasks()).unwrap());
            events.push(event);
        }
        writers.iter_mut().for_each(|w| w.finish().unwrap());
    }
    for text in [perf, ftrace, perfetto] {
        let mut again = open(&text[..]).unwrap();
        let read: Vec<SchedEvent> = again.by_ref().map(Result::unwrap).collect();
        assert!(read == events, "{} events instead of {}", read.len(), events.len());
        assert_eq!(again.loss().broken_chains, trace.loss().broken_chains);
        let names = |tasks: &TaskTable| -> Vec<(u32, String)> {
            tasks.iter().map(|(_, t)| (t.pid, t.comm.clone())).collect()
        };
        assert_eq!(names(again.tasks()), names(trace.tasks()));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_to_the_same_events(Schedule { events, tasks } in schedules(100)) {
        prop_assume!(!events.is_empty());
        prop_assert_eq!(&read_back(&perf_script(&events, &tasks), &tasks), &events);
        prop_assert_eq!(&read_back(&ftrace(&events, &tasks), &tasks), &events);
        prop_assert_eq!(&read_back(&perfetto(&events, &tasks), &tasks), &events);
    }

    #[test]
    fn damaged_perfetto_traces_never_panic(
        Schedule { events, tasks } in schedules(40),
        changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..10),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = perfetto(&events, &tasks);
        bytes.truncate(end.index(bytes.len() + 1));
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        if let Ok(mut trace) = open(&bytes[..]) {
            let given = trace.by_ref().filter(Result::is_ok).count() as u64;
            prop_assert_eq!(given, trace.loss().events);
        }
    }
}
