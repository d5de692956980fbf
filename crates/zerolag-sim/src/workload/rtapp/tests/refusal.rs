// SPDX-License-Identifier: GPL-2.0-only
//! In which words files are refused.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

#[track_caller]
fn refused(text: &str, expected: Expect) {
    expected.assert_eq(&strict(text));
}

/// A file of one task with these members.
fn task(members: &str) -> String {
    format!(r#"{{"tasks":{{"a":{{{members}}}}}}}"#)
}

#[test]
fn what_is_no_json_is_placed() {
    refused(
        "{\n  \"tasks\": {,}\n}",
        expect![[r#"
        ! f.json:2:13: found ',', accepted: a key in quotes or '}'
    "#]],
    );
    refused(
        "[]",
        expect![[r#"
        ! f.json:1:1: 'the file' is an array of 0, accepted: an object
    "#]],
    );
    refused(
        "{}",
        expect![[r#"
        ! f.json:1:1: the file has no 'tasks'
    "#]],
    );
    refused(
        r#"{"tasks":{}}"#,
        expect![[r#"
        ! f.json:1:2: 'tasks' has none, so nothing would run; rt-app itself ends at once, as --rtapp-compat does
    "#]],
    );
    refused(
        r#"{"tasks":null}"#,
        expect![[r#"
        ! f.json:1:1: the file has no 'tasks'
    "#]],
    );
    refused(
        r#"{"tasks":[]}"#,
        expect![[r#"
        ! f.json:1:10: 'tasks' is an array of 0, accepted: an object
    "#]],
    );
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    refused(
        r#"{"task":{}}"#,
        expect![[r#"
        ! f.json:1:2: unknown key 'task' in the file (did you mean 'tasks'?); accepted: tasks, global, resources
    "#]],
    );
    refused(
        &task(r#""run":1,"priorty":3"#),
        expect![[r#"
        ! f.json:1:24: unknown key 'priorty' in task 'a' (did you mean 'priority'?); accepted: instance, delay, phases, runtime, period, deadline, loop, cpus, nodes_membind, taskgroup, policy, priority, dl-runtime, dl-period, dl-deadline, util_min, util_max; events: lock, unlock, wait, signal, broad, sync, sleep, runtime, run, timer, suspend, resume, memrun, mem, iorun, yield, barrier, fork, sem_post, sem_wait
    "#]],
    );
    refused(
        &task(r#""exec":5000"#),
        expect![[r#"
        ! f.json:1:16: unknown key 'exec' in task 'a'; accepted: instance, delay, phases, runtime, period, deadline, loop, cpus, nodes_membind, taskgroup, policy, priority, dl-runtime, dl-period, dl-deadline, util_min, util_max; events: lock, unlock, wait, signal, broad, sync, sleep, runtime, run, timer, suspend, resume, memrun, mem, iorun, yield, barrier, fork, sem_post, sem_wait
    "#]],
    );
    refused(
        r#"{"global":{"durations":1},"tasks":{}}"#,
        expect![[r#"
        ! f.json:1:12: unknown key 'durations' in 'global' (did you mean 'duration'?); accepted: duration, gnuplot, default_policy, calibration, log_size, logdir, log_basename, ftrace, lock_pages, pi_enabled, io_device, mem_buffer_size, cumulative_slack, frag, logstats
    "#]],
    );
    refused(
        &task(r#""timer":{"ref":"x","perid":1}"#),
        expect![[r#"
        ! f.json:1:35: unknown key 'perid' in timer (did you mean 'period'?); accepted: ref, period, mode
    "#]],
    );
}

#[test]
fn a_key_in_the_wrong_place_is_told_where_it_belongs() {
    refused(
        &task(r#""phases":{"p":{"delay":1,"run":1}}"#),
        expect![[r#"
        ! f.json:1:31: unknown key 'delay' in phase 'p' of task 'a' (it belongs to the task); accepted: loop, cpus, nodes_membind, taskgroup, policy, priority, dl-runtime, dl-period, dl-deadline, util_min, util_max; events: lock, unlock, wait, signal, broad, sync, sleep, runtime, run, timer, suspend, resume, memrun, mem, iorun, yield, barrier, fork, sem_post, sem_wait
    "#]],
    );
    refused(
        &task(r#""lock_pages":false,"run":1"#),
        expect![[r#"
        ! f.json:1:16: unknown key 'lock_pages' in task 'a' (it belongs to 'global'); accepted: instance, delay, phases, runtime, period, deadline, loop, cpus, nodes_membind, taskgroup, policy, priority, dl-runtime, dl-period, dl-deadline, util_min, util_max; events: lock, unlock, wait, signal, broad, sync, sleep, runtime, run, timer, suspend, resume, memrun, mem, iorun, yield, barrier, fork, sem_post, sem_wait
    "#]],
    );
    refused(
        r#"{"global":{"instance":1},"tasks":{}}"#,
        expect![[r#"
        ! f.json:1:12: unknown key 'instance' in 'global' (it belongs to the task); accepted: duration, gnuplot, default_policy, calibration, log_size, logdir, log_basename, ftrace, lock_pages, pi_enabled, io_device, mem_buffer_size, cumulative_slack, frag, logstats
    "#]],
    );
    refused(
        &task(r#""run":1,"phases":{"p":{"run":1}}"#),
        expect![[r#"
        ! f.json:1:16: event 'run' stands beside 'phases' in task 'a' and would never run; move it into a phase
    "#]],
    );
}

#[test]
fn values_of_the_wrong_kind_or_range_are_named_with_what_is_accepted() {
    for (members, message) in [
        (r#""run":"10""#, r#"1:22: 'run' is the string "10", accepted: an integer"#),
        (r#""run":1e3"#, "1:22: 'run' is the real number 1e3, accepted: an integer"),
        (r#""run":-1"#, "1:22: 'run' is -1, accepted: 0 or more"),
        (r#""run":3000000000"#, "1:22: 'run' is 3000000000, accepted: an integer up to 2147483647"),
        (r#""sleep":null"#, "1:24: 'sleep' is null, accepted: an integer"),
        (r#""lock":1"#, "1:23: 'lock' is 1, accepted: a string"),
        (r#""wait":"c""#, r#"1:23: 'wait' is the string "c", accepted: an object of ref, mutex"#),
        (r#""wait":{"ref":"c"}"#, "1:23: 'wait' has no 'mutex'"),
        (r#""timer":5"#, "1:24: 'timer' is 5, accepted: an object of ref, period, mode"),
        (r#""timer":{"mode":"abs"}"#, r#"1:32: 'mode' is the string "abs", accepted: relative, absolute"#),
        (r#""suspend":7"#, "1:26: 'suspend' is 7, accepted: a string, or nothing"),
        (r#""memrun":{"type":"walk"}"#, r#"1:33: 'type' is the string "walk", accepted: read, write, chase"#),
        (r#""memrun":{"type":"read","size":1}"#, "1:25: 'memrun' has no 'count'"),
        (r#""memrun":{"type":"read","size":0,"count":1}"#, "1:47: 'size' is 0, accepted: 1 or more bytes"),
        (r#""run":1,"instance":-1"#, "1:35: 'instance' is -1, accepted: 0 or more"),
        (r#""run":1,"loop":-2"#, "1:31: 'loop' is -2, accepted: a number of times, or -1 for without end"),
        (r#""run":1,"cpus":0"#, "1:31: 'cpus' is 0, accepted: an array of at least one number"),
        (r#""run":1,"cpus":[]"#, "1:31: 'cpus' is an array of 0, accepted: an array of at least one number"),
        (r#""run":1,"cpus":[1,-2]"#, "1:34: 'cpus' is -2, accepted: numbers from 0"),
        (
            r#""run":1,"policy":"FIFO""#,
            "1:33: 'policy' is the string \"FIFO\", accepted: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_RR, SCHED_FIFO, SCHED_DEADLINE",
        ),
        (
            r#""run":1,"priority":-25"#,
            "1:35: 'priority' is -25, accepted: nice -20 to 19 with policy SCHED_OTHER",
        ),
        (
            r#""run":1,"policy":"SCHED_RR","priority":0"#,
            "1:55: 'priority' is 0, accepted: 1 to 99 with policy SCHED_RR",
        ),
        (
            r#""run":1,"policy":"SCHED_DEADLINE""#,
            "1:11: 'dl-runtime' is 0 with dl-deadline 0 and dl-period 0, accepted: 0 < dl-runtime <= dl-deadline <= dl-period",
        ),
        (r#""run":1,"util_min":1025"#, "1:35: 'util_min' is 1025, accepted: 0 to 1024, or -1 for no change"),
        (
            r#""run":1,"taskgroup":"g""#,
            "1:36: 'taskgroup' is the string \"g\", accepted: a path beginning with '/', or \"\" for none",
        ),
        (
            r#""run":1,"taskgroup":"/g/../h""#,
            "1:36: 'taskgroup' is the string \"/g/../h\", accepted: a path without '.' and '..'",
        ),
        (r#""phases":[]"#, "1:25: 'phases' is an array of 0, accepted: an object of at least one phase"),
        (r#""phases":{}"#, "1:25: 'phases' is an object of 0, accepted: an object of at least one phase"),
        (r#""phases":{"p":1}"#, "1:30: 'p' is 1, accepted: an object"),
    ] {
        assert_eq!(strict(&task(members)), format!("! f.json:{message}\n"), "{members}");
    }
}

#[test]
fn global_values_are_checked() {
    for (members, message) in [
        (
            r#""calibration":"0""#,
            r#"1:26: 'calibration' is the string "0", accepted: "CPUn", or nanoseconds per loop"#,
        ),
        (r#""calibration":-5"#, r#"1:26: 'calibration' is -5, accepted: "CPUn", or nanoseconds per loop"#),
        (
            r#""ftrace":"run""#,
            "1:21: 'ftrace' is the string \"run\", accepted: a list of main, task, loop, event, stats, none, with commas and no blanks",
        ),
        (
            r#""log_size":2048"#,
            r#"1:23: 'log_size' is 2048, accepted: mebibytes up to 2047, "file", "auto", "disable""#,
        ),
        (r#""mem_buffer_size":0"#, "1:30: 'mem_buffer_size' is 0, accepted: 1 or more bytes"),
        (r#""pi_enabled":1"#, "1:25: 'pi_enabled' is 1, accepted: true, false"),
        (r#""logdir":1"#, "1:21: 'logdir' is 1, accepted: a string"),
    ] {
        let text = format!(r#"{{"global":{{{members}}},"tasks":{{}}}}"#);
        assert_eq!(strict(&text), format!("! f.json:{message}\n"), "{members}");
    }
}

#[test]
fn names_that_do_not_exist_or_exist_twice_are_refused() {
    refused(
        r#"{"tasks":{"main":{"fork":"chidl"},"child":{"instance":0,"run":1}}}"#,
        expect![[r#"
        ! f.json:1:19: 'fork' names task 'chidl', which does not exist (did you mean 'child'?)
    "#]],
    );
    refused(
        r#"{"tasks":{"a":{"run":1},"a":{"run":2}}}"#,
        expect![[r#"
        ! f.json:1:25: 'a' twice in 'tasks', first at 1:11
    "#]],
    );
    refused(
        &task(r#""run":1,"priority":1,"priority":2"#),
        expect![[r#"
        ! f.json:1:37: 'priority' twice in task 'a', first at 1:24
    "#]],
    );
    refused(
        r#"{"tasks":{"m":{"fork":"a"},"a":{"barrier":"b"}}}"#,
        expect![[r#"
        ! f.json:1:33: barrier 'b' in task 'a', which is forked: nobody can know how many threads it is to wait for
    "#]],
    );
    refused(
        &task(
            r#""memrun":{"type":"read","size":1,"count":1,"ref":"x"},"memrun":{"type":"read","size":2,"count":1,"ref":"x"}"#,
        ),
        expect![[r#"
        ! f.json:1:70: buffer 'x' is shared by memrun events that differ in size, stride or pattern
    "#]],
    );
    refused(
        r#"{"resources":{"m":{"type":"lock"}},"tasks":{}}"#,
        expect![[r#"
        ! f.json:1:27: 'type' is the string "lock", accepted: mutex, signal, wait, broadcast, sync, sleep, run, timer
    "#]],
    );
}

#[test]
fn a_task_must_have_something_to_do() {
    refused(
        &task(r#""loop":1"#),
        expect![[r#"
        ! f.json:1:11: task 'a' has no events, and would be useless; accepted: lock, unlock, wait, signal, broad, sync, sleep, runtime, run, timer, suspend, resume, memrun, mem, iorun, yield, barrier, fork, sem_post, sem_wait
    "#]],
    );
    refused(
        &task(r#""phases":{"p":{}}"#),
        expect![[r#"
        ! f.json:1:26: phase 'p' of task 'a' has no events, and would be useless; accepted: lock, unlock, wait, signal, broad, sync, sleep, runtime, run, timer, suspend, resume, memrun, mem, iorun, yield, barrier, fork, sem_post, sem_wait
    "#]],
    );
}

#[test]
fn groups_are_for_fair_tasks() {
    refused(
        &task(r#""taskgroup":"/g","policy":"SCHED_FIFO","run":1"#),
        expect![[r#"
        ! f.json:1:11: task 'a' is in task group '/g' with policy SCHED_FIFO; groups are for SCHED_OTHER, SCHED_BATCH and SCHED_IDLE
    "#]],
    );
    refused(
        &task(r#""taskgroup":"/g","phases":{"p":{"policy":"SCHED_RR","run":1}}"#),
        expect![[r#"
        ! f.json:1:43: phase 'p' of task 'a' is in task group '/g' with policy SCHED_RR; groups are for SCHED_OTHER, SCHED_BATCH and SCHED_IDLE
    "#]],
    );
}

#[test]
fn numbers_of_things_are_bounded() {
    refused(
        &task(r#""run":1,"instance":100001"#),
        expect![[r#"
        ! f.json:1:11: 100001 threads (accepted: up to 100000)
    "#]],
    );
    let groups: String = (0..33).map(|n| format!(r#""p{n}":{{"taskgroup":"/g{n}","run":1}},"#)).collect();
    refused(
        &task(&format!(r#""phases":{{{groups}}}"#)),
        expect![[r#"
            ! f.json:1:1126: 33 task groups (accepted: up to 32)
        "#]],
    );
    let timers: String = (0..257).map(|n| format!(r#""timer":{{"ref":"unique{n}"}},"#)).collect();
    assert!(strict(&task(&timers)).ends_with("257 unique timers in a task (accepted: up to 256)\n"));
}

/// Files that are nearly right.
fn nearly() -> impl Strategy<Value = String> {
    let keys = [
        "run", "sleep", "timer", "wait", "loop", "cpus", "policy", "phases", "memrun", "fork", "barrier", "x",
    ];
    let key = proptest::sample::select(keys.to_vec());
    let leaf = proptest::sample::select(vec![
        "1",
        "-1",
        "0",
        "99999999999",
        "1.5",
        "null",
        "true",
        "\"a\"",
        "\"SCHED_RR\"",
        "[1]",
        "[]",
        "{}",
        "{\"ref\":\"unique\",\"period\":1}",
        "{\"type\":\"chase\",\"size\":1,\"count\":1}",
    ]);
    let member = (key, leaf).prop_map(|(key, value)| format!("\"{key}\":{value}"));
    let members = proptest::collection::vec(member, 0..6).prop_map(|m| m.join(","));
    (members.clone(), members).prop_map(|(one, two)| {
        format!(
            r#"{{"tasks":{{"a":{{{one}}},"b":{{"phases":{{"p":{{{two}}}}}}}}},"global":{{"duration":1}}}}"#
        )
    })
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for mode in [Mode::Strict, Mode::Compatible] {
            let _ = read("f", &bytes, mode, SuspendName::Text);
        }
    }

    /// Whatever the strict reader accepts without duplicates, the compatible one reads alike.
    #[test]
    fn what_is_accepted_strictly_is_accepted_compatibly(text in nearly()) {
        let strict = read("f", text.as_bytes(), Mode::Strict, SuspendName::Task);
        let compatible = read("f", text.as_bytes(), Mode::Compatible, SuspendName::Task);
        if strict.is_ok() {
            prop_assert!(compatible.is_ok(), "{text}: {compatible:?}");
        }
    }
}
