// SPDX-License-Identifier: GPL-2.0-only
//! One schedule, recorded and printed by several tools, is one stream of events.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use zerolag_core::event::SchedEvent;
use zerolag_trace::read::{ReadError, open};
use zerolag_trace::{LossReport, TaskTable};

const PERF: &str = include_str!("../data/hogs.perf.txt");
const FTRACE: &str = include_str!("../data/hogs.ftrace.txt");

fn read(input: &[u8]) -> (Vec<SchedEvent>, TaskTable, LossReport) {
    let mut trace = open(input).expect("a known format");
    let events = trace.by_ref().map(|e| e.expect("a readable trace")).collect();
    let (tasks, loss) = trace.into_parts();
    (events, tasks, loss)
}

/// Two microseconds lie between what perf and ftrace note for one event; ftrace prints whole ones.
const SAME_NS: u64 = 10_000;

#[test]
fn every_tool_tells_of_the_same_schedule() {
    let (want, tasks, loss) = read(PERF.as_bytes());
    assert_eq!(want.len(), 50, "53 lines, 3 of them are execs");
    assert!(loss.is_clean(), "{loss}");
    let names: Vec<_> = tasks.iter().map(|(_, t)| (t.pid, t.comm.as_str(), t.tgid)).collect();
    assert_eq!(
        names,
        [
            (29309, "hogA", Some(29309)),
            (18, "migration/0", Some(18)),
            (28288, "other", Some(28288)),
            (3339, "other", Some(3339)),
            (29308, "bash", Some(29308)),
            (29310, "taskset", Some(29310)),
            (15, "rcu_preempt", Some(15)),
        ]
    );
    for (name, text) in [
        ("ftrace", FTRACE),
        ("report", include_str!("../data/hogs.report.txt")),
        ("report -R", include_str!("../data/hogs.report-R.txt")),
        ("report -l", include_str!("../data/hogs.report-l.txt")),
    ] {
        let (got, others, loss) = read(text.as_bytes());
        assert!(loss.is_clean(), "{name}: {loss}");
        assert_eq!(got.len(), want.len(), "{name}");
        for (g, w) in got.iter().zip(&want) {
            assert_eq!((g.cpu, g.kind), (w.cpu, w.kind), "{name} at {}", w.time);
            assert!(g.time.0.abs_diff(w.time.0) < SAME_NS, "{name}: {} and {}", g.time, w.time);
        }
        for ((_, a), (_, b)) in tasks.iter().zip(others.iter()) {
            assert_eq!((a.pid, &a.comm, a.prio, a.parent), (b.pid, &b.comm, b.prio, b.parent), "{name}");
        }
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compression_is_seen_by_content() {
    let (want, _, _) = read(PERF.as_bytes());
    let middle = PERF.len() / 2;
    let (first, second) = PERF.split_at(middle);
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'x', b'y', b'z'];
    for packed in [
        gzip(PERF),
        [gzip(first), gzip(second)].concat(),
        zstd(PERF),
        [zstd(first), skipped.to_vec(), zstd(second)].concat(),
    ] {
        let (got, _, loss) = read(&packed);
        assert_eq!(got, want);
        assert_eq!(loss.cut_short, None);
    }
}

#[test]
fn of_a_truncated_archive_the_first_part_is_read() {
    let text = PERF.repeat(40);
    for packed in [gzip(&text), zstd(&text)] {
        let (whole, _, _) = read(&packed);
        let (part, _, loss) = read(&packed[..packed.len() - 10]);
        assert!(loss.cut_short.is_some());
        assert!(loss.to_string().starts_with("the recording ends in the middle: "), "{loss}");
        assert!(
            part.len() < whole.len() && part.len() > whole.len() / 4,
            "{} of {}",
            part.len(),
            whole.len()
        );
    }
}

#[test]
fn what_is_no_trace_is_named() {
    let error = open(&b"\x7fELF\x02\x01\x01\0\0\0"[..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a trace of a known format; it begins with \"\\u{7f}ELF\\u{2}\\u{1}\\u{1}\\0\\0\\0\""
    );
    let error = open(&b""[..]).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error, ReadError::NoEvents { records: 0, .. }));
    // A bomb of many layers is not unpacked to its core.
    let mut layers = PERF.as_bytes().to_vec();
    for _ in 0..4 {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&layers).unwrap();
        layers = encoder.finish().unwrap();
    }
    assert!(matches!(open(&layers[..]), Err(ReadError::Io(_))));
}
