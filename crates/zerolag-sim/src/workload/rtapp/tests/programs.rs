// SPDX-License-Identifier: GPL-2.0-only
//! Which programs files become.

use expect_test::{Expect, expect};
use zerolag_core::topology::{Topology, TopologyBuilder};
use zerolag_core::units::Instant;

use super::*;
use crate::program::{Attribute, Op, Program};
use crate::resource::{Ref, TimerRef};
use crate::workload::Workload;

/// Four CPUs, of which the last has half the capacity.
fn machine() -> Topology {
    let mut builder = TopologyBuilder::new();
    for words in [["cpus", "4"].as_slice(), &["capacity", "3", "512"]] {
        assert!(builder.word(words).unwrap());
    }
    builder.build().unwrap()
}

fn compile(text: &str, options: &Options) -> Result<(Workload, Compiled), String> {
    let app = read("f.json", text.as_bytes(), Mode::Strict, SuspendName::Task).unwrap();
    let mut workload = Workload::new();
    let compiled = add(&app, &mut workload, &machine(), options).map_err(|e| e.to_string())?;
    workload.check(&machine().cpus().collect()).unwrap();
    Ok((workload, compiled))
}

#[track_caller]
fn becomes(text: &str, expected: Expect) {
    let shown = match compile(text, &Options::default()) {
        Ok((workload, compiled)) => draw_workload(&workload, &compiled),
        Err(error) => format!("! {error}\n"),
    };
    expected.assert_eq(&shown);
}

fn draw_workload(workload: &Workload, compiled: &Compiled) -> String {
    let mut out = String::new();
    for (id, template) in workload.templates.iter() {
        let a = &template.attributes;
        let (policy, nice) = (a.policy.unwrap(), a.nice.unwrap());
        write!(out, "{} {policy:?} {nice}", template.name).unwrap();
        if let Some(slice) = a.slice {
            write!(out, " slice {}", slice.0).unwrap();
        }
        if let Some(cpus) = &a.affinity {
            write!(out, " on {cpus}").unwrap();
        }
        write!(out, " in {}", workload.groups[a.group.unwrap()].path).unwrap();
        let starts = workload.starts.iter().filter(|start| start.template == id);
        let names: Vec<_> = starts.map(|start| start.name.clone().unwrap()).collect();
        writeln!(out, " as {names:?}").unwrap();
        out += &draw_program(workload, &template.program);
    }
    for remark in &compiled.remarks {
        writeln!(out, "{} {}", remark.at, remark.text).unwrap();
    }
    out
}

fn draw_program(workload: &Workload, program: &Program) -> String {
    let mut out = String::new();
    let mut depth = 1;
    for op in program.ops() {
        if let Op::Again { .. } = op {
            depth -= 1;
            continue;
        }
        let line = draw_op(workload, program, *op);
        writeln!(out, "{}{line}", "  ".repeat(depth)).unwrap();
        if let Op::Repeat { .. } = op {
            depth += 1;
        }
    }
    out
}

fn draw_op(w: &Workload, program: &Program, op: Op) -> String {
    fn id<I>(r: Ref<I>) -> I {
        match r {
            Ref::Fixed(id) => id,
            Ref::Argument(_) => unreachable!("rt-app's programs have no arguments"),
        }
    }
    let condition =
        |c, m: Option<_>| format!("{} with {}", w.conditions[id(c)].name, w.mutexes[id(m.unwrap())].name);
    match op {
        Op::Repeat { times, .. } => format!("{times:?}:"),
        Op::Run(length) => format!("run {length:?}").replace("Exactly(Nanos(", "").replace("))", ""),
        Op::Timer { timer: TimerRef::Shared(t), period, late } => {
            format!("timer {} {} {late:?}", w.timers[t].name, period.0)
        }
        Op::Lock(m) => format!("lock {}", w.mutexes[id(m)].name),
        Op::Unlock(m) => format!("unlock {}", w.mutexes[id(m)].name),
        Op::Wait { condition: c, mutex } => format!("wait {}", condition(c, mutex)),
        Op::Sync { condition: c, mutex } => format!("sync {}", condition(c, mutex)),
        Op::Signal(c) => format!("signal {}", w.conditions[id(c)].name),
        Op::Broadcast(c) => format!("broadcast {}", w.conditions[id(c)].name),
        Op::Barrier(b) => format!("barrier {} of {}", w.barriers[id(b)].name, w.barriers[id(b)].parties),
        Op::Post(s) => format!("post {}", w.semaphores[id(s)].name),
        Op::Acquire(s) => format!("acquire {}", w.semaphores[id(s)].name),
        Op::Fork(t) => format!("fork {}", w.templates[t].name),
        Op::Set(Attribute::Affinity(a)) => format!("set cpus {}", program.affinity(a)),
        Op::Set(Attribute::Group(g)) => format!("set group {}", w.groups[g].path),
        other => format!("{other:?}"),
    }
}

#[test]
fn run_is_whole_loops_of_the_calibrated_cpu() {
    becomes(
        r#"{"tasks":{"a":{"run":1000,"sleep":500}}}"#,
        expect![[r#"
            a Normal 0 in / as ["a-0"]
              Forever:
                run 1000000
                Sleep(Exactly(Nanos(500000)))
        "#]],
    );
    // 1000 us of loops of 128 ns are 7812 loops.
    becomes(
        r#"{"global":{"calibration":128},"tasks":{"a":{"run":1000,"run":1500000,"runtime":100}}}"#,
        expect![[r#"
            a Normal 0 slice 100000 in / as ["a-0"]
              Forever:
                run 999936
                run 1500000000
                RunFor { wall: Exactly(Nanos(100000)), grain: Nanos(32000) }
        "#]],
    );
    // A CPU of half the capacity does half the work in the same time.
    becomes(
        r#"{"global":{"calibration":"CPU3"},"tasks":{"a":{"run":1000,"runtime":0}}}"#,
        expect![[r#"
            a Normal 0 in / as ["a-0"]
              Forever:
                run 500000
                run 16000
        "#]],
    );
    becomes(
        r#"{"global":{"calibration":"CPU4"},"tasks":{"a":{"run":1000}}}"#,
        expect![[r#"
            ! f.json:1:26: 'calibration' is CPU 4, accepted: 0 to 3 on this machine
        "#]],
    );
}

#[test]
fn loops_phases_and_attributes() {
    becomes(
        r#"{"tasks":{"a":{"instance":2,"delay":7,"loop":2,"priority":-5,"cpus":[1,2],"taskgroup":"/g","phases":{
              "p":{"loop":3,"cpus":[0],"run":1},
              "q":{"priority":3,"run":1},
              "r":{"policy":"SCHED_IDLE","taskgroup":"","run":1},
              "s":{"loop":-1,"policy":"SCHED_BATCH","dl-runtime":2000,"taskgroup":"/g/h","run":1}}},
             "b":{"dl-runtime":3000,"phases":{"p":{"loop":4,"policy":"SCHED_RR","run":1},"q":{"policy":"SCHED_OTHER","run":1}}}}}"#,
        expect![[r#"
            a Normal -5 on 1-2 in /g as ["a-0", "a-1"]
              Delay(Nanos(7000))
              Exactly(2):
                set cpus 0
                Exactly(3):
                  run 1000
                set cpus 1-2
                Set(Policy(Normal))
                Set(Nice(nice 3))
                run 1000
                set cpus 1-2
                Set(Policy(Idle))
                Set(Nice(nice 0))
                run 1000
                set cpus 1-2
                Set(Scheduling { policy: Batch, nice: nice 0, slice: Some(Nanos(2000000)) })
                set group /g/h
                Forever:
                  run 1000
            b Normal 0 slice 3000000 in / as ["b-2"]
              Forever:
                Set(Policy(RoundRobin(10)))
                Set(Nice(nice 0))
                Exactly(4):
                  run 1000
                Set(Policy(Normal))
                Set(Nice(nice 0))
                run 1000
        "#]],
    );
}

#[test]
fn waiting_and_waking() {
    becomes(
        r#"{"tasks":{"a":{"instance":3,"lock":"m","wait":{"ref":"c","mutex":"m"},"sync":{"ref":"c","mutex":"m"},
              "unlock":"m","signal":"c","broad":"c","suspend":"","resume":"b","barrier":"x","sem_post":"s",
              "sem_wait":"s","yield":"","timer":{"ref":"tick","period":9},
              "timer":{"ref":"unique","period":8,"mode":"absolute"}},
             "b":{"suspend":"","barrier":"x","barrier":"x","fork":"c","timer":{"ref":"tick","period":1,"mode":"absolute"}},
             "c":{"instance":0,"loop":1,"mem":10000,"iorun":10,"memrun":{"type":"read","size":64,"count":3000}}}}"#,
        expect![[r#"
            a Normal 0 in / as ["a-0", "a-1", "a-2"]
              Forever:
                lock m
                wait c with m
                sync c with m
                unlock m
                signal c
                broadcast c
                lock a
                wait a with a
                unlock a
                lock b
                broadcast b
                unlock b
                barrier x of 5
                post s
                acquire s
                Yield
                timer tick 9000 KeepBeat
                Timer { timer: Own(0), period: Nanos(8000), late: KeepBeat }
            b Normal 0 in / as ["b-3"]
              Forever:
                lock b
                wait b with b
                unlock b
                barrier x of 5
                barrier x of 5
                fork c
                timer tick 1000 KeepBeat
            c Normal 0 in / as []
              Epoch(Instant(0))
              run 1000
              run 200
              run 999
        "#]],
    );
}

#[test]
fn what_the_scheduler_lacks_is_remarked_on() {
    becomes(
        r#"{"tasks":{"a":{"policy":"SCHED_DEADLINE","dl-runtime":10,"util_min":5,"run":1}}}"#,
        expect![[r#"
            a Fifo(99) 0 in / as ["a-0"]
              Forever:
                run 1000
            1:11 task 'a': SCHED_DEADLINE runs as SCHED_FIFO 99, without a budget
            1:11 task 'a': util_min and util_max have no effect
        "#]],
    );
}

#[test]
fn files_that_do_not_fit_are_refused() {
    becomes(
        "{\"tasks\":{\n\"a\":{\"cpus\":[1,4],\"run\":1}}}",
        expect![[r#"
        ! f.json:2:1: 'cpus' is CPU 4, accepted: 0 to 3 on this machine
    "#]],
    );
    becomes(
        "{\"tasks\":{\"b\":{\"run\":1},\n  \"a\":{\"run\":0,\"yield\":\"\"}}}",
        expect![[r#"
        ! f.json:2:3: task 'a' goes round without end and never takes time; it must run, sleep or wait somewhere
    "#]],
    );
}

#[test]
fn a_workload_can_be_put_below_a_group_and_started_later() {
    let mut workload = Workload::new();
    let group = workload.group("/test");
    let app = read(
        "f",
        br#"{"tasks":{"a":{"taskgroup":"/g","run":1},"b":{"run":1}}}"#,
        Mode::Strict,
        SuspendName::Task,
    );
    let options = Options { start: Instant(5), group, observe: true, ..Options::default() };
    let compiled = add(&app.unwrap(), &mut workload, &machine(), &options).unwrap();
    let groups: Vec<_> = workload
        .templates
        .iter()
        .map(|(_, t)| workload.groups[t.attributes.group.unwrap()].path.clone())
        .collect();
    assert_eq!(groups, ["/test/g", "/test"]);
    assert!(workload.starts.iter().all(|start| start.at == Instant(5)));
    assert_eq!(workload.marks as usize, compiled.meanings.len());
}
