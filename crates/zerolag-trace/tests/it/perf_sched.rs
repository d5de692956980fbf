// SPDX-License-Identifier: GPL-2.0-only
//! The tables of `perf sched` are reproduced to the byte from the text of `perf script`.

use std::fmt::Write;
use std::io::Read;

use flate2::read::GzDecoder;
use zerolag_core::event::EventKind::{Migrate, Switch, Wakeup};
use zerolag_core::event::{PrevState, SchedEvent};
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::Instant;
use zerolag_trace::TaskTable;
use zerolag_trace::analyses::{Columns, Latency, Perf, Selection, Timehist};
use zerolag_trace::read::open;

const RECORDING: &[u8] = include_bytes!("../data/perf_sched/hogs_nice_0_and_5.perf.txt.gz");

fn latency(by_pid: bool) -> String {
    let mut trace = open(RECORDING).unwrap();
    let mut latency = Latency::new(Perf::V6_1, Selection::default());
    trace.by_ref().for_each(|event| latency.feed(&event.unwrap()));
    let mut table = String::new();
    latency.write(trace.tasks(), by_pid, &[], &mut table).unwrap();
    table
}

/// The history and its summary.
fn timehist() -> (String, String) {
    let mut trace = open(RECORDING).unwrap();
    let mut timehist = Timehist::new(Columns::default(), Selection::default());
    let (mut table, mut summary) = (String::new(), String::new());
    timehist.write_header(&mut table).unwrap();
    while let Some(event) = trace.next() {
        if let Some(row) = timehist.feed(&event.unwrap(), trace.tasks()) {
            timehist.write_row(&row, trace.tasks(), &mut table).unwrap();
        }
    }
    timehist.write_summary(trace.tasks(), &mut summary).unwrap();
    (table, summary)
}

#[track_caller]
fn check(got: &str, want: &str) {
    for (number, (got, want)) in (1..).zip(got.lines().zip(want.lines())) {
        assert_eq!(got, want, "line {number}");
    }
    assert_eq!(got.len(), want.len());
}

#[test]
fn latency_is_that_of_perf() {
    check(&latency(false), include_str!("../data/perf_sched/latency.txt"));
    check(&latency(true), include_str!("../data/perf_sched/latency-p.txt"));
}

#[test]
fn timehist_is_that_of_perf() {
    let (table, summary) = timehist();
    let mut want = String::new();
    GzDecoder::new(&include_bytes!("../data/perf_sched/timehist.txt.gz")[..])
        .read_to_string(&mut want)
        .unwrap();
    check(&table, &want);
    check(&summary, include_str!("../data/perf_sched/summary.txt"));
}

#[test]
fn a_task_preempted_inside_the_kernel_waits_except_for_perf_6_1() {
    let (cpu, hog, other) = (CpuId(0), TaskId(0), TaskId(1));
    let switch = |prev, prev_state, next| Switch { prev: Some(prev), prev_state, next: Some(next) };
    let count = |perf| {
        let mut latency = Latency::new(perf, Selection::default());
        for (time, kind) in [
            (10, Wakeup { task: other, target: cpu }),
            (20, switch(hog, PrevState::Preempted, other)),
            (30, switch(other, PrevState::Sleeping, hog)),
        ] {
            latency.feed(&SchedEvent { time: Instant(time), cpu, kind });
        }
        let mut table = String::new();
        latency.write(&TaskTable::from_iter([(7, "hog"), (8, "other")]), false, &[], &mut table).unwrap();
        table.lines().filter(|l| l.starts_with("  hog:7 ")).count()
    };
    assert_eq!((count(Perf::Latest), count(Perf::V6_1)), (1, 0));
}

#[test]
fn further_columns_and_rows() {
    let names = TaskTable::from_iter([(7, "hog"), (8, "b")]);
    let (hog, b) = (TaskId(0), TaskId(1));
    let events = [
        (10, 0, Wakeup { task: b, target: CpuId(0) }),
        (20, 0, Switch { prev: Some(hog), prev_state: PrevState::Preempted, next: Some(b) }),
        (25, 0, Migrate { task: hog, from: CpuId(0), to: CpuId(1) }),
        (30, 0, Switch { prev: Some(b), prev_state: PrevState::Sleeping, next: None }),
        (40, 0, Wakeup { task: b, target: CpuId(0) }),
    ];
    let columns = Columns { state: true, next: true, wakeups: true, migrations: true };
    let mut timehist = Timehist::new(columns, Selection::default());
    let mut table = String::new();
    timehist.write_header(&mut table).unwrap();
    for (us, cpu, kind) in events {
        let event = SchedEvent { time: Instant(us * 1000), cpu: CpuId(cpu), kind };
        let row = timehist.feed(&event, &names).expect("each of these has a row");
        timehist.write_row(&row, &names, &mut table).unwrap();
    }
    let mut shown = String::new();
    table.lines().for_each(|line| writeln!(shown, "{}", line.trim_end()).unwrap());
    expect_test::expect![[r#"
                   time    cpu  task name                       wait time  sch delay   run time  state
                                [tid/pid]                          (msec)     (msec)     (msec)
        --------------- ------  ------------------------------  ---------  ---------  ---------  -----
               0.000010 [0000]  ?                                                                awakened: b[8]
               0.000020 [0000]  hog[7]                              0.000      0.000      0.000      R  next: b[8]
               0.000025 [0000]  b[8]                                                             migrated: hog[7] cpu 0 => 1
               0.000030 [0000]  b[8]                                0.000      0.010      0.010      S  next: swapper/0[0]
               0.000040 [0000]  swapper                                                          awakened: b[8]
    "#]]
    .assert_eq(&shown);
}
