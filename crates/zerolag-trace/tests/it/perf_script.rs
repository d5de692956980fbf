// SPDX-License-Identifier: GPL-2.0-only
//! `perf script` text in all its layouts, whole and broken.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use zerolag_core::event::SchedEvent;
use zerolag_trace::read::{ReadError, Trace};
use zerolag_trace::{LossReport, TaskTable};

/// Two tasks and a timer on two CPUs; each line is (comm, tid, cpu, microseconds, event, text).
const EVENTS: [(&str, u32, u32, u64, &str, &str); 9] = [
    ("swapper", 0, 0, 10, "sched_waking", "comm=my ==> app [0] pid=7 prio=120 target_cpu=000"),
    ("swapper", 0, 0, 11, "sched_wakeup", "comm=my ==> app [0] pid=7 prio=120 target_cpu=000"),
    (
        "swapper",
        0,
        0,
        12,
        "sched_switch",
        "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my ==> app [0] next_pid=7 next_prio=120",
    ),
    (
        "my ==> app [0]",
        7,
        0,
        20,
        "sched_process_fork",
        "comm=my ==> app [0] pid=7 child_comm=my ==> app [0] child_pid=8",
    ),
    (
        "my ==> app [0]",
        7,
        0,
        21,
        "sched_migrate_task",
        "comm=my ==> app [0] pid=8 prio=120 orig_cpu=0 dest_cpu=1",
    ),
    ("my ==> app [0]", 7, 0, 22, "sched_wakeup_new", "comm=my ==> app [0] pid=8 prio=120 target_cpu=001"),
    (
        "swapper",
        0,
        1,
        23,
        "sched_switch",
        "prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a=b next_pid=8 next_prio=120",
    ),
    (
        "my ==> app [0]",
        7,
        0,
        30,
        "sched_stat_runtime",
        "comm=my ==> app [0] pid=7 runtime=18000 [ns] vruntime=5 [ns]",
    ),
    (
        "my ==> app [0]",
        7,
        0,
        31,
        "sched_switch",
        "prev_comm=my ==> app [0] prev_pid=7 prev_prio=120 prev_state=D|K ==> next_comm=swapper/0 next_pid=0 next_prio=120",
    ),
];

fn read(text: &[u8]) -> (Vec<SchedEvent>, TaskTable, LossReport) {
    let mut trace = Trace::text(text);
    let events = trace.by_ref().map(|e| e.expect("a readable trace")).collect();
    let (tasks, loss) = trace.into_parts();
    (events, tasks, loss)
}

fn show(events: &[SchedEvent]) -> String {
    events.iter().map(|e| format!("{} {:?} {:?}\n", e.time, e.cpu, e.kind)).collect()
}

fn layout(line: impl Fn(&str, u32, u32, u64, &str, &str) -> String) -> String {
    EVENTS.iter().map(|&(comm, tid, cpu, us, event, text)| line(comm, tid, cpu, us, event, text)).collect()
}

fn plain() -> String {
    layout(|comm, tid, cpu, us, event, text| {
        format!("{comm:>16} {tid:7} [{cpu:03}] 5.{us:06}: {:>24} {text}\n", format!("sched:{event}:"))
    })
}

#[test]
fn every_layout_gives_the_same_events() {
    let (events, tasks, loss) = read(plain().as_bytes());
    expect![[r#"
        5.000010000 cpu0 Waking { task: T0, target: cpu0 }
        5.000011000 cpu0 Wakeup { task: T0, target: cpu0 }
        5.000012000 cpu0 Switch { prev: None, prev_state: Runnable, next: Some(T0) }
        5.000020000 cpu0 Fork { parent: Some(T0), child: T1 }
        5.000021000 cpu0 Migrate { task: T1, from: cpu0, to: cpu1 }
        5.000022000 cpu0 WakeupNew { task: T1, target: cpu1 }
        5.000023000 cpu1 Switch { prev: None, prev_state: Runnable, next: Some(T1) }
        5.000030000 cpu0 Runtime { task: T0, ran: Nanos(18000) }
        5.000031000 cpu0 Switch { prev: Some(T0), prev_state: Uninterruptible, next: None }
    "#]]
    .assert_eq(&show(&events));
    assert_eq!(
        (tasks.comm(tasks.by_pid(7).unwrap()), tasks.comm(tasks.by_pid(8).unwrap())),
        ("my ==> app [0]", "a=b")
    );
    assert!(loss.is_clean(), "{loss}");

    let layouts = [
        // Older perf: a narrow thread id. With nanoseconds.
        layout(|c, t, cpu, us, e, x| {
            format!("{c:>16} {t:5} [{cpu:03}] {:5}.{:09}: sched:{e}: {x}\n", 5, us * 1000)
        }),
        // -F comm,pid,tid,… and the misc column.
        layout(|c, t, cpu, us, e, x| {
            format!("{c:>16} {t:7}/{t:<7} [{cpu:03}] K      5.{us:06}: sched:{e}: {x}\n")
        }),
        // A guest, with time of day, period and an event name with modifiers.
        layout(|c, t, cpu, us, e, x| {
            format!(
                "{c:>16} {t:7} VM:    1 VCPU:000 [{cpu:03}] 2024-01-02 03:04:05.678901 5.{us:06}: {:>10} sched:{e}:u: {x}\n",
                1
            )
        }),
        // Without names and ids.
        layout(|_, _, cpu, us, e, x| format!("[{cpu:03}] 5.{us:06}: {e}: {x}\n")),
        // Callchains, and DOS line ends.
        layout(|c, t, cpu, us, e, x| {
            format!(
                "{c} {t} [{cpu:03}] 5.{us:06}: sched:{e}: {x}\n\tffffffff8104f45a __schedule+0x1 ([kernel.kallsyms])\n\n"
            )
        }),
        plain().replace('\n', "\r\n"),
    ];
    for text in layouts {
        let (again, _, loss) = read(text.as_bytes());
        assert_eq!(show(&again), show(&events), "{text}");
        assert!(loss.is_clean(), "{loss}");
    }
}

fn check_loss(text: &str, want: Expect) {
    let (_, _, loss) = read(text.as_bytes());
    want.assert_eq(&loss.to_string());
}

#[test]
fn losses_are_counted() {
    let lost = "     perf   9 [000] 5.000013: PERF_RECORD_LOST lost 17\n";
    check_loss(
        &format!("{}{lost}", plain()),
        expect![[r#"
        17 events lost by the recorder
    "#]],
    );
    check_loss(
        &format!("{}this is not a line of perf\n", plain()),
        expect![[r#"
        1 pieces not understood
          at 10: this is not a line of perf
    "#]],
    );
    // A name with a newline breaks its line in two, and neither half is taken for something else.
    check_loss(
        &plain().replacen("comm=my ==> app [0] pid=7", "comm=my\napp pid=7", 1),
        expect![[r#"
        2 pieces not understood
          at 1:          swapper       0 [000] 5.000010:      sched:sched_waking: comm=my
          at 2: app pid=7 prio=120 target_cpu=000
    "#]],
    );
    let text = plain();
    let again = text.replace(" 5.0000", " 5.0001");
    check_loss(
        &format!("{text}{again}"),
        expect![[r#"
        1 switches from a task that was not known to run there
        1 pids used again by another task
    "#]],
    );
    // A clock that went back by a second.
    let many: String = (0..5000)
        .map(|i| format!("a 1 [000] 6.{i:06}: sched:sched_stat_runtime: comm=a pid=1 runtime=1 [ns]\n"))
        .collect();
    check_loss(
        &format!("{many}{text}"),
        expect![[r#"
        1 places where time steps back
    "#]],
    );
    // One that was set to a later time, and one that was not.
    let later = many.replace("[000] 6.", "[000] 4006.");
    check_loss(
        &format!("{many}{later}"),
        expect![[r#"
        1 gaps of more than a minute without an event (the longest: 3999 s)
    "#]],
    );
    check_loss(&format!("{many}{}", many.replace("[000] 6.", "[000] 65.")), expect![""]);
}

#[test]
fn what_is_no_trace_is_an_error_that_says_what_was_found() {
    for (text, want) in [
        (&b""[..], expect!["no scheduler events in 0 lines or records"]),
        (
            b"hello\n\xff\xfe world",
            expect![
                "no scheduler events in 2 lines or records; the first that was not understood is at 1: \"hello\""
            ],
        ),
    ] {
        let error = Trace::text(text).next().unwrap().unwrap_err();
        assert!(matches!(error, ReadError::NoEvents { .. }));
        want.assert_eq(&error.to_string());
    }
}

#[test]
fn an_input_that_fails_gives_what_was_read_and_then_the_error() {
    struct Fails;
    impl std::io::Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    let text = plain();
    let input = std::io::Read::chain(text.as_bytes(), Fails);
    let got: Vec<_> = Trace::text(input).collect();
    assert_eq!(got.iter().filter(|e| e.is_ok()).count(), EVENTS.len());
    assert_eq!(got.iter().filter(|e| matches!(e, Err(ReadError::Io(_)))).count(), 1);
}

/// Every record is an event, another event, an odd piece or a remark: nothing vanishes and nothing panics.
fn check_accounts(text: &[u8]) {
    let mut trace = Trace::text(text);
    let given = trace.by_ref().filter(Result::is_ok).count() as u64;
    let loss = trace.loss();
    assert_eq!(given, loss.events);
    assert!(loss.events + loss.other_events + loss.not_understood <= loss.records);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        check_accounts(&bytes);
    }

    #[test]
    fn damaged_text_never_panics(
        at in 0usize..1200,
        len in 0usize..40,
        with in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut text = plain().into_bytes();
        let at = at.min(text.len());
        let end = (at + len).min(text.len());
        text.splice(at..end, with);
        check_accounts(&text);
    }
}
