// SPDX-License-Identifier: GPL-2.0-only
//! Files run: what the logs and markers say.

use expect_test::{Expect, expect};
use zerolag_core::event::SchedEvent;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};

use super::*;
use crate::note::Note;
use crate::sim::{self, Setup, Sim};
use crate::workload::Workload;

struct Listener<'a>(Observer<'a>);

impl sim::Observer for Listener<'_> {
    fn event(&mut self, _: &SchedEvent) {}
    fn note(&mut self, note: &Note) {
        self.0.note(note);
    }
}

/// Runs a file on as many CPUs for at most so long.
fn run(text: &str, machine: &str, most: Nanos) -> Record {
    let app = read("f.json", text.as_bytes(), Mode::Strict, SuspendName::Task).unwrap();
    let topology = Topology::preset(machine).unwrap();
    let mut workload = Workload::new();
    let options = Options { observe: true, ..Options::default() };
    let compiled = add(&app, &mut workload, &topology, &options).unwrap();
    let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
    let mut sim = Sim::new(Setup::new(topology, config), workload).unwrap();
    let mut listener = Listener(Observer::new(&app, &compiled));
    let end = Instant(app.global.duration.unwrap_or(most).0);
    let cut = sim.run_until(end, &mut listener).is_none();
    listener.0.finish(sim.now(), cut, |task| sim.task_name(task))
}

#[track_caller]
fn logs(text: &str, machine: &str, expected: Expect) {
    let record = run(text, machine, Nanos::from_millis(200));
    let shown: Vec<_> = record.logs.iter().map(|log| format!("{}\n{log}", log.file_name("rt-app"))).collect();
    expected.assert_eq(&shown.concat());
}

/// The markers of a run, each with its time in microseconds and who wrote it.
#[track_caller]
fn markers(text: &str, machine: &str, expected: Expect) {
    let record = run(text, machine, Nanos::from_millis(200));
    let line = |marker: &Marker| {
        let by = marker.by.map_or("main".into(), |(task, _)| format!("task {}", task.0));
        format!("{} {by}: {}\n", marker.time.0 / 1000, marker.text)
    };
    expected.assert_eq(&record.markers.iter().map(line).collect::<String>());
}

/// Three runs of 10, one of 30, two of 10 with a period of 20 ms, as the tutorial draws them. The policy is
/// FIFO, as fair tasks' timers may be late.
fn miss(mode: &str) -> String {
    let timer = format!(r#""timer":{{"ref":"unique","period":20000,"mode":"{mode}"}}"#);
    format!(
        r#"{{"global":{{"default_policy":"SCHED_FIFO"}},"tasks":{{"a":{{"loop":1,"phases":{{
            "p":{{"loop":2,"run":10000,{timer}}},"q":{{"run":30000,{timer}}},"r":{{"loop":3,"run":10000,{timer}}}}}}}}}}}"#
    )
}

#[test]
fn a_relative_timer_starts_anew_after_a_miss() {
    logs(
        &miss("relative"),
        "1cpu",
        expect![[r#"
        rt-app-a-0.log
        #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
           0      100    10000    20000               0           20000               0      10000      10000      20000          0
           0      100    10000    20000           20000           40000           20000      10000      10000      20000          0
           0      300    30000    30000           40000           70000           40000     -10000      30000      20000          0
           0      100    10000    20000           70000           90000           70000      10000      10000      20000          0
           0      100    10000    20000           90000          110000           90000      10000      10000      20000          0
           0      100    10000    20000          110000          130000          110000      10000      10000      20000          0
    "#]],
    );
}

#[test]
fn an_absolute_timer_catches_up_after_a_miss() {
    logs(
        &miss("absolute"),
        "1cpu",
        expect![[r#"
        rt-app-a-0.log
        #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
           0      100    10000    20000               0           20000               0      10000      10000      20000          0
           0      100    10000    20000           20000           40000           20000      10000      10000      20000          0
           0      300    30000    30000           40000           70000           40000     -10000      30000      20000          0
           0      100    10000    10000           70000           80000           70000          0      10000      20000          0
           0      100    10000    20000           80000          100000           80000      10000      10000      20000          0
           0      100    10000    20000          100000          120000          100000      10000      10000      20000          0
    "#]],
    );
}

#[test]
fn slack_is_the_last_timers_or_the_sum_and_lateness_is_summed() {
    let text = |cumulative: bool| {
        format!(
            r#"{{"global":{{"cumulative_slack":{cumulative}}},"tasks":{{"a":{{"loop":2,"run":1000,
               "timer":{{"ref":"unique","period":3000}},"run":500,"sleep":200,"timer":{{"ref":"unique","period":3000}}}}}}}}"#
        )
    };
    logs(
        &text(false),
        "1cpu",
        expect![[r#"
        rt-app-a-0.log
        #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
           0       15     1500     6050               0            6050               0       2200       1500       6000        100
           0       15     1500     6000            6050           12050            6050       2200       1500       6000        100
    "#]],
    );
    logs(
        &text(true),
        "1cpu",
        expect![[r#"
        rt-app-a-0.log
        #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
           0       15     1500     6050               0            6050               0       4200       1500       6000        100
           0       15     1500     6000            6050           12050            6050       4150       1500       6000        100
    "#]],
    );
}

#[test]
fn runtime_ends_by_the_clock_and_run_when_the_work_is_done() {
    logs(
        r#"{"global":{},"tasks":{"a":{"loop":2,"runtime":9000},"b":{"loop":2,"run":9000}}}"#,
        "1cpu",
        expect![[r#"
            rt-app-a-0.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               0        0    16000    16000            4000           20000            4000          0       9000          0          0
               0        0     9024     9024           20000           29024           20000          0       9000          0          0
            rt-app-b-1.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               1       90    17000    17000               0           17000               0          0       9000          0          0
               1       90    18024    18024           17000           35024           17000          0       9000          0          0
        "#]],
    );
}

#[test]
fn phases_repeat_inside_tasks_that_repeat() {
    markers(
        r#"{"global":{"ftrace":"loop"},"tasks":{"a":{"loop":2,"phases":{"p":{"loop":3,"run":1},"q":{"run":2}}}}}"#,
        "1cpu",
        expect![[r#"
            0 task 0: rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=0
            1 task 0: rtapp_loop: event=end thread_loop=0 phase=0 phase_loop=0
            1 task 0: rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=1
            2 task 0: rtapp_loop: event=end thread_loop=0 phase=0 phase_loop=1
            2 task 0: rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=2
            3 task 0: rtapp_loop: event=end thread_loop=0 phase=0 phase_loop=2
            3 task 0: rtapp_loop: event=start thread_loop=0 phase=1 phase_loop=0
            5 task 0: rtapp_loop: event=end thread_loop=0 phase=1 phase_loop=0
            5 task 0: rtapp_loop: event=start thread_loop=1 phase=0 phase_loop=0
            6 task 0: rtapp_loop: event=end thread_loop=1 phase=0 phase_loop=0
            6 task 0: rtapp_loop: event=start thread_loop=1 phase=0 phase_loop=1
            7 task 0: rtapp_loop: event=end thread_loop=1 phase=0 phase_loop=1
            7 task 0: rtapp_loop: event=start thread_loop=1 phase=0 phase_loop=2
            8 task 0: rtapp_loop: event=end thread_loop=1 phase=0 phase_loop=2
            8 task 0: rtapp_loop: event=start thread_loop=1 phase=1 phase_loop=0
            10 task 0: rtapp_loop: event=end thread_loop=1 phase=1 phase_loop=0
        "#]],
    );
}

#[test]
fn markers_name_events_as_rt_app_does() {
    markers(
        r#"{"global":{"ftrace":true},"tasks":{
            "a":{"loop":1,"priority":-3,"lock":"m","unlock":"m","run":10,"run":20,"suspend":"","timer":{"ref":"unique","period":5},
                 "timer":{"ref":"tick","period":5},"mem":10},
            "b":{"loop":1,"policy":"SCHED_FIFO","sleep":100,"resume":"a","yield":""}}}"#,
        "2cpu",
        expect![[r#"
            0 main: rtapp_main: event=start
            0 task 1: rtapp_task: event=start
            0 task 1: rtapp_attrs: event=policy policy=SCHED_FIFO prio=10
            0 task 1: rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=0
            0 task 1: rtapp_event: id=0 type=5 desc=sleep
            0 task 0: rtapp_main: event=clock_ref data=0
            0 task 0: rtapp_task: event=start
            0 task 0: rtapp_attrs: event=policy policy=SCHED_OTHER nice=-3 runtime=0
            0 task 0: rtapp_attrs: event=policy policy=SCHED_OTHER prio=-3
            0 task 0: rtapp_loop: event=start thread_loop=0 phase=0 phase_loop=0
            0 task 0: rtapp_event: id=0 type=8 desc=lock:m
            0 task 0: rtapp_event: id=1 type=9 desc=unlock:m
            0 task 0: rtapp_event: id=2 type=6 desc=run
            10 task 0: rtapp_event: id=3 type=6 desc=run1
            30 task 0: rtapp_event: id=4 type=12 desc=suspend:a:a
            100 task 1: rtapp_event: id=1 type=13 desc=resume:a:a
            100 task 1: rtapp_event: id=2 type=20 desc=yield
            100 task 1: rtapp_loop: event=end thread_loop=0 phase=0 phase_loop=0
            100 task 1: rtapp_stats: period=100 run=0 wu_lat=0 slack=0 c_period=0 c_run=0
            100 task 1: rtapp_task: event=end
            100 task 0: rtapp_event: id=5 type=11 desc=timer:unique0
            100 task 0: rtapp_event: id=6 type=10 desc=timer1:tick
            100 task 0: rtapp_event: id=7 type=14 desc=mem0
            100 task 0: rtapp_loop: event=end thread_loop=0 phase=0 phase_loop=0
            100 task 0: rtapp_stats: period=100 run=30 wu_lat=0 slack=-95 c_period=10 c_run=30
            100 task 0: rtapp_task: event=end
            100 main: rtapp_main: event=end
        "#]],
    );
}

#[test]
fn one_resume_wakes_all_instances() {
    logs(
        r#"{"global":{},"tasks":{"a":{"instance":3,"loop":1,"suspend":"","run":1000},
                                 "b":{"loop":1,"sleep":5000,"resume":"a"}}}"#,
        "4cpu",
        expect![[r#"
            rt-app-a-0.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               0       10     1000     6050               0            6050               0          0       1000          0          0
            rt-app-a-1.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               1       10     1000     6050               0            6050               0          0       1000          0          0
            rt-app-a-2.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               2       10     1000     6050               0            6050               0          0       1000          0          0
            rt-app-b-3.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               3        0        0     5050               0            5050               0          0          0          0          0
        "#]],
    );
}

#[test]
fn a_barrier_waits_for_all_instances() {
    logs(
        r#"{"global":{},"tasks":{"x":{"instance":2,"loop":1,"barrier":"b"},
                                 "y":{"loop":1,"run":1000,"barrier":"b","run":500}}}"#,
        "4cpu",
        expect![[r#"
            rt-app-x-0.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               0        0        0     1000               0            1000               0          0          0          0          0
            rt-app-x-1.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               1        0        0     1000               0            1000               0          0          0          0          0
            rt-app-y-2.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               2       15     1500     1500               0            1500               0          0       1500          0          0
        "#]],
    );
}

/// Four arrivals are expected, but the second of `y` can only come after its first is through. rt-app hangs.
#[test]
fn a_barrier_mentioned_twice_by_one_thread_never_opens() {
    logs(
        r#"{"global":{},"tasks":{"x":{"instance":2,"loop":1,"barrier":"b"},
                                 "y":{"loop":1,"run":1000,"barrier":"b","barrier":"b"}}}"#,
        "4cpu",
        expect![[r#"
            rt-app-x-0.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
            rt-app-x-1.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
            rt-app-y-2.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
        "#]],
    );
}

#[test]
fn forked_threads_are_numbered_and_count_from_the_common_start() {
    logs(
        r#"{"global":{},"tasks":{"child":{"instance":0,"loop":1,"delay":1000,"run":10,"timer":{"ref":"unique","period":4000}},
                                 "main":{"loop":2,"run":2000,"fork":"child"}}}"#,
        "2cpu",
        expect![[r#"
            rt-app-main-0.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               0       20     2000     2000               0            2000               0          0       2000          0          0
               0       20     2000     2000            2000            4000            2000          0       2000          0          0
            rt-app-child-1-0000.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               1        0       10     3050            2000            5050            2000       2990         10       4000         50
            rt-app-child-2-0001.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               2        0       10     1050            4000            5050            4000        990         10       4000         50
        "#]],
    );
}

#[test]
fn semaphores_remember() {
    logs(
        r#"{"global":{},"tasks":{"post":{"loop":3,"sem_post":"s"},"wait":{"loop":3,"run":100,"sem_wait":"s"}}}"#,
        "1cpu",
        expect![[r#"
            rt-app-post-0.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               0        0        0        0               0               0               0          0          0          0          0
               0        0        0        0               0               0               0          0          0          0          0
               0        0        0        0               0               0               0          0          0          0          0
            rt-app-wait-1.log
            #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
               1        1      100      100               0             100               0          0        100          0          0
               1        1      100      100             100             200             100          0        100          0          0
               1        1      100      100             200             300             200          0        100          0          0
        "#]],
    );
}

#[test]
fn the_duration_cuts_a_run_short() {
    let record =
        run(r#"{"global":{"duration":1,"ftrace":"main"},"tasks":{"a":{"run":10000}}}"#, "1cpu", Nanos::ZERO);
    assert_eq!(record.logs[0].rows().len(), 100);
    let texts: Vec<_> = record.markers.iter().map(|m| m.text.as_str()).collect();
    assert_eq!(texts, ["rtapp_main: event=start", "rtapp_main: event=shutdown", "rtapp_main: event=end"]);
    assert_eq!(record.markers[2].time, Instant(1_000_000_000));
}
