// SPDX-License-Identifier: GPL-2.0-only
//! What accepted files mean.

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn both(text: &str, expected: Expect) {
    assert_eq!(strict(text), compatible(text));
    expected.assert_eq(&strict(text));
}

#[test]
fn duplicate_events_are_all_done_or_the_last_in_the_first_place() {
    let text = r#"{"tasks":{"a":{"run":1,"sleep":2,"run":3}}}"#;
    expect![[r#"
        a x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            run: run 1
            sleep: sleep 2
            run1: run 3
    "#]]
    .assert_eq(&strict(text));
    expect![[r#"
        a x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            run: run 3
            sleep: sleep 2
    "#]]
    .assert_eq(&compatible(text));
}

#[test]
fn the_loop_of_a_task_without_phases_counts_its_iterations() {
    both(
        r#"{"tasks":{"a":{"loop":3,"run":10}, "b":{"loop":-1,"run":10}, "c":{"run":10}}}"#,
        expect![[r#"
            a x1 loop 1 SCHED_OTHER prio 0
              '' loop 3
                run: run 10
            b x1 loop 1 SCHED_OTHER prio 0
              '' loop -1
                run: run 10
            c x1 loop -1 SCHED_OTHER prio 0
              '' loop 1
                run: run 10
        "#]],
    );
}

#[test]
fn phases_and_tasks_have_loops_of_their_own() {
    both(
        r#"{"tasks":{"a":{"loop":2,"phases":{"p":{"loop":3,"run":1},"q":{"run":2}}},
                     "b":{"loop":0,"phases":{"p":{"loop":0,"run":1}}}}}"#,
        expect![[r#"
            a x1 loop 2 SCHED_OTHER prio 0
              'p' loop 3
                run: run 1
              'q' loop 1
                run: run 2
            b x1 loop 0 SCHED_OTHER prio 0
              'p' loop -1
                run: run 1
            2:51 loop: 0 means without end here, as -1 does
        "#]],
    );
}

#[test]
fn runtime_in_a_task_is_an_event_and_a_slice() {
    both(
        r#"{"tasks":{"a":{"runtime":5000,"sleep":1000}, "b":{"phases":{"p":{"runtime":5000}}}}}"#,
        expect![[r#"
            a x1 loop -1 SCHED_OTHER prio 0 dl [5000, 5000, 5000]
              '' loop 1
                runtime: runtime 5000
                sleep: sleep 1000
            b x1 loop -1 SCHED_OTHER prio 0
              'p' loop 1
                runtime: runtime 5000
            1:16 runtime: in a task it also sets the slice (as 'dl-runtime' does); in a phase it is only an event
        "#]],
    );
}

#[test]
fn cpus_nodes_and_groups_are_read_for_tasks_and_phases() {
    both(
        r#"{"tasks":{"a":{"cpus":[2,3],"nodes_membind":[0],"taskgroup":"/g//h/","phases":{
             "p":{"cpus":[0],"run":1},"q":{"taskgroup":"/","run":1},"r":{"taskgroup":"","run":1}}}}}"#,
        expect![[r#"
            a x1 loop -1 SCHED_OTHER prio 0 cpus [2, 3] nodes [0] in /g/h
              'p' loop 1 cpus [0]
                run: run 1
              'q' loop 1 in /
                run: run 1
              'r' loop 1
                run: run 1
        "#]],
    );
}

#[test]
fn policies_have_priorities_and_a_phase_without_policy_keeps_the_one_in_force() {
    both(
        r#"{"global":{"default_policy":"SCHED_BATCH"},"tasks":{
             "a":{"phases":{"p":{"priority":5,"run":1},"q":{"policy":"SCHED_FIFO","run":1},
                            "r":{"util_min":100,"run":1},"s":{"policy":"SCHED_RR","priority":3,"run":1}}},
             "d":{"policy":"SCHED_DEADLINE","dl-runtime":10,"dl-period":30,"run":1},
             "e":{"policy":"SCHED_OTHER","priority":-19,"dl-runtime":100,"util_max":1024,"util_min":-1,"run":1},
             "i":{"policy":"SCHED_IDLE","run":1}}}"#,
        expect![[r#"
            a x1 loop -1 SCHED_BATCH prio 0
              'p' loop 1 SCHED_BATCH prio 5
                run: run 1
              'q' loop 1 SCHED_FIFO prio 10
                run: run 1
              'r' loop 1 SCHED_FIFO min 100
                run: run 1
              's' loop 1 SCHED_RR prio 3
                run: run 1
            d x1 loop -1 SCHED_DEADLINE prio 0 dl [10, 30, 30]
              '' loop 1
                run: run 1
            e x1 loop -1 SCHED_OTHER prio -19 dl [100, 100, 100] max 1024
              '' loop 1
                run: run 1
            i x1 loop -1 SCHED_IDLE prio 0
              '' loop 1
                run: run 1
        "#]],
    );
}

#[test]
fn a_slice_alone_in_a_phase_is_remarked_on() {
    both(
        r#"{"tasks":{"a":{"phases":{"p":{"dl-runtime":100,"run":1}}}}}"#,
        expect![[r#"
            a x1 loop -1 SCHED_OTHER prio 0
              'p' loop 1 SCHED_OTHER dl [100, 100, 100]
                run: run 1
            1:31 dl-runtime: in a phase without 'priority' or 'policy' rt-app does not set the slice
        "#]],
    );
}

#[test]
fn old_keys_set_a_reservation_where_the_new_ones_do_not() {
    both(
        r#"{"tasks":{"a":{"policy":"SCHED_DEADLINE","runtime":2,"deadline":3,"period":4,"phases":{"p":{"run":1}}},
                     "b":{"policy":"SCHED_DEADLINE","dl-runtime":5,"runtime":2,"period":6,"deadline":7,
                          "phases":{"p":{"run":1}}}}}"#,
        expect![[r#"
            a x1 loop -1 SCHED_DEADLINE prio 0 dl [2, 3, 4]
              'p' loop 1
                run: run 1
            b x1 loop -1 SCHED_DEADLINE prio 0 dl [5, 5, 5]
              'p' loop 1
                run: run 1
        "#]],
    );
}

#[test]
fn unique_timers_belong_to_a_thread_and_stay_absolute_once_they_are() {
    both(
        r#"{"tasks":{"a":{"timer":{"ref":"unique","period":100},
                          "timer_b":{"ref":"uniqueB","period":7,"mode":"absolute"},
                          "timer_c":{"ref":"uniqueB","period":8,"mode":"relative"},
                          "timer_d":{"ref":"tick","period":9},"timer_e":{}},
                     "b":{"timer":{"ref":"tick","period":1,"mode":"absolute"}}}}"#,
        expect![[r#"
            a x1 loop -1 SCHED_OTHER prio 0
              '' loop 1
                timer: timer unique (own 0) 100
                timer_b: timer uniqueB (own 1 absolute) 7
                timer_c: timer uniqueB (own 1 absolute) 8
                timer_d: timer tick 9
                timer_e: timer unknown 0
            b x1 loop -1 SCHED_OTHER prio 0
              '' loop 1
                timer: timer tick 1
            timer tick absolute
        "#]],
    );
}

#[test]
fn every_event_is_known_by_the_beginning_of_its_key() {
    both(
        r#"{"tasks":{"t":{"lock1":"m","unlock_m":"m","wait1":{"ref":"c","mutex":"m"},"signals":"c","broadcast":"c",
             "sync1":{"ref":"c","mutex":"m"},"sleepy":1,"runtime2":2,"running":3,"suspend":"t","resume_it":"t",
             "mem2":4,"iorun1":5,"yield":"","barrier0":"b","sem_post1":"s","sem_wait1":"s","timer":{},
             "memrun1":{"type":"chase","size":4096,"count":9},
             "memrun2":{"type":"chase","size":4096,"count":9,"stride":128,"pattern":"sequential","ref":"x"},
             "memrun3":{"type":"read","size":64,"count":1},"memrun4":{"type":"write","size":64,"count":1},
             "fork1":"f"},"f":{"instance":0,"run":1}}}"#,
        expect![[r#"
            t x1 loop -1 SCHED_OTHER prio 0
              '' loop 1
                lock1: Lock("m")
                unlock_m: Unlock("m")
                wait1: wait c with m
                signals: Signal("c")
                broadcast: Broadcast("c")
                sync1: sync c with m
                sleepy: sleep 1
                runtime2: runtime 2
                running: run 3
                suspend: Suspend("t")
                resume_it: Resume("t")
                mem2: mem 4
                iorun1: iorun 5
                yield: Yield
                barrier0: Barrier("b")
                sem_post1: SemPost("s")
                sem_wait1: SemWait("s")
                timer: timer unknown 0
                memrun1: MemRun(MemRun { access: Chase { stride_bytes: 64, random: true }, size_bytes: 4096, count: 9, shared: None })
                memrun2: MemRun(MemRun { access: Chase { stride_bytes: 128, random: false }, size_bytes: 4096, count: 9, shared: Some("x") })
                memrun3: MemRun(MemRun { access: Read, size_bytes: 64, count: 1, shared: None })
                memrun4: MemRun(MemRun { access: Write, size_bytes: 64, count: 1, shared: None })
                fork1: Fork("f")
            f x0 loop -1 SCHED_OTHER prio 0
              '' loop 1
                run: run 1
        "#]],
    );
}

#[test]
fn suspend_waits_under_the_tasks_name_or_the_string_as_asked() {
    let text = r#"{"tasks":{"a":{"suspend":"gate","run":1},"b":{"resume":"gate","suspend","run":1}}}"#;
    expect![[r#"
        a x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            suspend: Suspend("a")
            run: run 1
        b x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            resume: Resume("gate")
            suspend: Suspend("b")
            run: run 1
        1:16 suspend: 'a' waits under its own name; rt-app before June 2025 took 'gate'
        1:47 resume: nobody is ever suspended under 'gate'
    "#]]
    .assert_eq(&strict(text));
    expect![[r#"
        a x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            suspend: Suspend("gate")
            run: run 1
        b x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            resume: Resume("gate")
            suspend: Suspend("b")
            run: run 1
    "#]]
    .assert_eq(&show(text, Mode::Strict, SuspendName::Text));
}

#[test]
fn only_the_compatible_reader_overlooks_things() {
    let text = r#"{"tasks":{"a":{"run":1,"wait":7,"priorty":3},"b":{"sleep":1,"phases":{"p":{"delay":9,"run":99999999999}},
                   "loop":-7}},"note":1}"#;
    expect![[r#"
        a x1 loop -1 SCHED_OTHER prio 0
          '' loop 1
            run: run 1
            wait: wait unknown with unknown
        b x1 loop -1 SCHED_OTHER prio 0
          'p' loop 1
            run: run 2147483647
    "#]]
    .assert_eq(&compatible(text));
}

/// The global section as debug text.
fn global(text: &str, mode: Mode) -> String {
    let text = format!(r#"{{"tasks":{{"a":{{"run":1}}}},"global":{{{text}}}}}"#);
    match read("f.json", text.as_bytes(), mode, SuspendName::Task) {
        Ok(file) => format!("{:#?}\n", file.global),
        Err(error) => format!("! {error}\n"),
    }
}

#[test]
fn the_global_section_has_its_defaults() {
    expect![[r#"
        Global {
            duration: None,
            calibration: Cpu(
                0,
            ),
            calibration_at: Position {
                line: 1,
                column: 26,
            },
            default_policy: Other,
            log: File,
            logdir: "./",
            log_basename: "rt-app",
            ftrace: Categories {
                main: false,
                task: false,
                phase: false,
                event: false,
                stats: false,
                attrs: false,
            },
            lock_pages: true,
            pi_enabled: false,
            gnuplot: false,
            io_device: "/dev/null",
            mem_buffer_bytes: 4194304,
            cumulative_slack: false,
        }
    "#]]
    .assert_eq(&global("", Mode::Strict));
    let without = read("f.json", br#"{"tasks":{}}"#, Mode::Compatible, SuspendName::Task).unwrap();
    assert_eq!(without.global, Global::absent());
    assert_eq!(without.global.log, LogSize::Disabled);
}

#[test]
fn the_global_section_is_read() {
    let text = r#""duration":6,"calibration":128,"default_policy":"SCHED_FIFO","log_size":2,"logdir":"/d",
        "log_basename":"n","ftrace":"none,Main,loop","lock_pages":false,"pi_enabled":true,"gnuplot":false,
        "io_device":"/dev/sda","mem_buffer_size":100,"cumulative_slack":true"#;
    expect![[r#"
        Global {
            duration: Some(
                Nanos(
                    6000000000,
                ),
            ),
            calibration: NanosPerLoop(
                128,
            ),
            calibration_at: Position {
                line: 1,
                column: 63,
            },
            default_policy: Fifo,
            log: Ring {
                mebibytes: 2,
            },
            logdir: "/d",
            log_basename: "n",
            ftrace: Categories {
                main: true,
                task: false,
                phase: true,
                event: false,
                stats: false,
                attrs: false,
            },
            lock_pages: false,
            pi_enabled: true,
            gnuplot: false,
            io_device: "/dev/sda",
            mem_buffer_bytes: 100,
            cumulative_slack: true,
        }
    "#]]
    .assert_eq(&global(text, Mode::Strict));
}

#[test]
fn words_for_the_log_are_those_that_rt_app_compares_with() {
    let log = |word: &str, mode| {
        let text = format!(r#"{{"tasks":{{"a":{{"run":1}}}},"global":{{"log_size":{word}}}}}"#);
        read("f.json", text.as_bytes(), mode, SuspendName::Task).map(|file| file.global.log)
    };
    for mode in [Mode::Strict, Mode::Compatible] {
        assert_eq!(log("\"auto\"", mode), Ok(LogSize::File));
        assert_eq!(log("\"Disable\"", mode), Ok(LogSize::Disabled));
        assert_eq!(log("0", mode), Ok(LogSize::Disabled));
    }
    assert_eq!(log("\"Auto\"", Mode::Compatible), Ok(LogSize::Disabled));
    assert!(log("\"Auto\"", Mode::Strict).is_err());
}
