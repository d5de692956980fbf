// SPDX-License-Identifier: GPL-2.0-only
//! Binary recordings say the same as the texts that the tools make of them, and damage to them is survived.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use zerolag_core::event::SchedEvent;
use zerolag_trace::read::{ReadError, Trace, open, open_path};
use zerolag_trace::{LossReport, TaskTable};

const PERF_DATA: &[u8] = include_bytes!("../data/perf_sched/hogs_nice_0_and_5.perf.data.gz");
const PERF_TEXT: &[u8] = include_bytes!("../data/perf_sched/hogs_nice_0_and_5.perf.txt.gz");
const REPORT: &[u8] = include_bytes!("../data/hogs.report.txt");
const DAT_V6: &[u8] = include_bytes!("../data/hogs.v6.dat.gz");
const DAT_V7: &[u8] = include_bytes!("../data/hogs.v7.dat.gz");
const DAT_V7_ZSTD: &[u8] = include_bytes!("../data/hogs.v7-zstd.dat.gz");

type Content = (Vec<SchedEvent>, TaskTable, LossReport);

fn content(mut trace: Trace<'_>) -> Content {
    let events = trace.by_ref().map(|e| e.expect("a readable trace")).collect();
    let (tasks, loss) = trace.into_parts();
    (events, tasks, loss)
}

fn read(input: &[u8]) -> Content {
    content(open(input).expect("a known format"))
}

fn unpacked(gz: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    GzDecoder::new(gz).read_to_end(&mut all).unwrap();
    all
}

/// Names without the filler by which names were hidden in binary files, and without what workers work on.
fn names(tasks: &TaskTable) -> Vec<(u32, String, Option<i16>)> {
    let name = |comm: &str| match comm.split_once('-') {
        Some((worker, _work)) if worker.starts_with("kworker/") => worker.to_owned(),
        _ => comm.trim_end_matches('_').to_owned(),
    };
    tasks.iter().map(|(_, t)| (t.pid, name(&t.comm), t.prio)).collect()
}

#[test]
fn trace_dat_says_what_trace_cmd_reports_of_it() {
    let (want, tasks, _) = read(REPORT);
    for (version, recording) in [("6", DAT_V6), ("7", DAT_V7), ("7, zstd", DAT_V7_ZSTD)] {
        let (got, others, loss) = read(recording);
        assert_eq!(got, want, "version {version}");
        assert_eq!(names(&others), names(&tasks), "version {version}");
        assert!(loss.is_clean(), "version {version}: {loss}");
    }
}

#[test]
fn perf_data_says_what_perf_script_prints_of_it() {
    let (want, tasks, text_loss) = read(PERF_TEXT);
    let (got, others, loss) = read(PERF_DATA);
    assert!(got == want, "{} events instead of {}", got.len(), want.len());
    assert_eq!(names(&others), names(&tasks));
    let told = |tasks: &TaskTable| -> Vec<_> { tasks.iter().map(|(_, t)| (t.tgid, t.parent)).collect() };
    assert_eq!(told(&others), told(&tasks), "threads and processes");
    assert_eq!((loss.broken_chains, loss.not_understood), (text_loss.broken_chains, 0));
}

#[test]
fn perf_data_knows_parents_and_what_workers_work_on() {
    let (_, tasks, _) = read(PERF_DATA);
    let told = |pid| {
        let task = tasks.by_pid(pid).unwrap();
        (tasks.comm(task), tasks.ppid(task))
    };
    assert_eq!(told(23), ("kworker/1:0-eve", Some(2)), "of kthreadd's");
    assert_eq!(told(29543), ("hogA", Some(29542)), "of bash, before the recording");
    let (_, tasks, _) = read(PERF_TEXT);
    let worker = tasks.by_pid(23).unwrap();
    assert_eq!((tasks.comm(worker), tasks.ppid(worker)), ("kworker/1:0", None));
}

/// The parts of a `perf.data` file of a little-endian machine.
struct Parts<'a> {
    before_data: &'a [u8],
    data: &'a [u8],
    after_data: &'a [u8],
    attrs: &'a [u8],
    attr_size: usize,
    tracing_data: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(file: &'a [u8]) -> Self {
        let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        let section = |at| &file[number(at)..number(at) + number(at + 8)];
        let (start, end) = (number(40), number(40) + number(48));
        Self {
            before_data: &file[..start],
            data: section(40),
            after_data: &file[end..],
            attrs: section(24),
            attr_size: number(16),
            tracing_data: section(end),
        }
    }

    /// What `perf record -o -` would have written.
    fn as_pipe(&self, file: &[u8]) -> Vec<u8> {
        let mut pipe = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
        for entry in self.attrs.chunks(self.attr_size) {
            let (attr, ids) = entry.split_at(self.attr_size - 16);
            let number = |at: usize| u64::from_le_bytes(ids[at..at + 8].try_into().unwrap()) as usize;
            let ids = &file[number(0)..number(0) + number(8)];
            record(&mut pipe, 64, &[attr, ids].concat());
        }
        let mut tracing_data = self.tracing_data.to_vec();
        tracing_data.resize(tracing_data.len().next_multiple_of(8), 0);
        record(&mut pipe, 66, &(tracing_data.len() as u32).to_le_bytes());
        pipe.extend_from_slice(&tracing_data);
        pipe.extend_from_slice(self.data);
        pipe
    }

    /// What `perf record -z` would have written: the same data, compressed piece by piece.
    fn as_compressed(&self) -> Vec<u8> {
        let packed =
            ruzstd::encoding::compress_to_vec(self.data, ruzstd::encoding::CompressionLevel::Fastest);
        let mut data = Vec::new();
        packed.chunks(60_000).for_each(|piece| record(&mut data, 81, piece));
        let mut file = self.before_data.to_vec();
        file[48..56].copy_from_slice(&(data.len() as u64).to_le_bytes());
        file.extend_from_slice(&data);
        // The features move with the end of the data.
        let mut features = self.after_data.to_vec();
        let moved = (data.len() as u64).wrapping_sub(self.data.len() as u64);
        let place = u64::from_le_bytes(features[..8].try_into().unwrap()).wrapping_add(moved);
        features[..8].copy_from_slice(&place.to_le_bytes());
        file.extend_from_slice(&features);
        file
    }
}

fn record(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    out.extend(kind.to_le_bytes());
    out.extend(0u16.to_le_bytes());
    out.extend((8 + body.len() as u16).to_le_bytes());
    out.extend_from_slice(body);
}

#[test]
fn perf_data_from_a_pipe_or_compressed_is_the_same() {
    let file = unpacked(PERF_DATA);
    let (want, tasks, _) = read(&file);
    let parts = Parts::of(&file);
    for (kind, variant) in [("pipe", parts.as_pipe(&file)), ("compressed", parts.as_compressed())] {
        let (got, others, loss) = read(&variant);
        assert!(got == want, "{kind}: {} events instead of {}", got.len(), want.len());
        assert_eq!(others, tasks, "{kind}");
        assert_eq!(loss.cut_short, None, "{kind}");
    }
}

/// The same recording with an option of so many bytes among its tables, which are so much longer then.
fn with_long_tables(v6: &[u8], len: usize) -> Vec<u8> {
    const CPUS: usize = 2;
    let find = |tag: &[u8]| v6.windows(tag.len()).position(|w| w == tag).unwrap() + tag.len();
    let (options, places) = (find(b"options  \0"), find(b"flyrecord\0"));
    let mut option = vec![99, 0];
    option.extend((len as u32).to_le_bytes());
    option.resize(option.len() + len, b'x');
    // Pages stay where pages may be.
    let pages = places + 16 * CPUS;
    let first = usize::try_from(u64::from_le_bytes(v6[places..places + 8].try_into().unwrap())).unwrap();
    let shift = option.len().next_multiple_of(4096);
    let mut long = [&v6[..options], &option, &v6[options..pages]].concat();
    for cpu in 0..CPUS {
        let at = places + option.len() + 16 * cpu;
        let place = u64::from_le_bytes(long[at..at + 8].try_into().unwrap()) + shift as u64;
        long[at..at + 8].copy_from_slice(&place.to_le_bytes());
    }
    long.resize(first + shift, 0);
    long.extend_from_slice(&v6[first..]);
    long
}

#[test]
fn tables_may_be_longer_than_what_is_read_of_them_at_first() {
    let v6 = unpacked(DAT_V6);
    let (want, ..) = read(&v6);
    for len in [10, 3 << 20, 9 << 20] {
        let (got, _, loss) = read(&with_long_tables(&v6, len));
        assert!(got == want && loss.is_clean(), "{len}: {loss}");
    }
}

#[test]
fn a_file_is_read_where_it_lies_as_if_it_were_in_memory() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording");
    for recording in [PERF_DATA, DAT_V6, DAT_V7_ZSTD] {
        std::fs::write(&path, unpacked(recording)).unwrap();
        assert_eq!(content(open_path(&path).unwrap()), read(recording));
    }
    std::fs::write(&path, REPORT).unwrap();
    assert_eq!(content(open_path(&path).unwrap()), read(REPORT));
}

#[test]
fn of_a_truncated_recording_the_first_part_is_read_or_the_reason_given() {
    let file = unpacked(DAT_V6);
    let (whole, _, _) = read(&file);
    let (part, _, loss) = read(&file[..file.len() - 5000]);
    assert!(part.len() < whole.len() && !part.is_empty());
    assert_eq!(loss.cut_short.as_deref(), Some("the data of cpu0 end in the middle"));

    // perf writes the descriptions of tracepoints last: without them nothing can be read.
    let file = unpacked(PERF_DATA);
    let error = open(&file[..file.len() / 2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the table of features of the perf.data file (it is truncated): damaged or not understood"
    );
    let pipe = Parts::of(&file).as_pipe(&file);
    let (part, _, loss) = read(&pipe[..pipe.len() / 2 + 3]);
    assert!(!part.is_empty() && loss.cut_short.is_some());
}

#[test]
fn what_is_not_read_is_named() {
    let mut file = unpacked(DAT_V6);
    file[10] = b'9';
    assert!(matches!(open(&file[..]), Err(ReadError::Unsupported(_))));
    file[10] = b'6';
    file[12] = 7;
    assert!(matches!(open(&file[..]), Err(ReadError::Malformed(_))), "an impossible byte order");
}

/// Reads what can be read; the point is that it ends, and without a panic.
fn survive(bytes: &[u8]) {
    if let Ok(mut trace) = open(bytes) {
        let given = trace.by_ref().filter(Result::is_ok).count() as u64;
        assert_eq!(given, trace.loss().events);
    }
}

fn damaged(file: &[u8], changes: &[(prop::sample::Index, u8)], end: prop::sample::Index) -> Vec<u8> {
    let mut bytes = file[..end.index(file.len())].to_vec();
    for (at, byte) in changes {
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_recordings_never_panic(
        which in 0usize..5,
        changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..20),
        head_changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 0..3),
        end in any::<prop::sample::Index>(),
    ) {
        let file = match which {
            0 => unpacked(PERF_DATA),
            1 => {
                let file = unpacked(PERF_DATA);
                Parts::of(&file).as_pipe(&file)
            }
            2 => unpacked(DAT_V6),
            3 => unpacked(DAT_V7),
            _ => unpacked(DAT_V7_ZSTD),
        };
        survive(&damaged(&file, &changes, end));
        let mut whole = file;
        for (at, byte) in head_changes {
            whole[16 + at.index(200)] = byte;
        }
        survive(&whole);
    }

    #[test]
    fn arbitrary_bytes_behind_any_magic_never_panic(
        magic in prop::sample::select(vec![
            &b"PERFILE2"[..], b"2ELIFREP", b"PERFILE2\x10\0\0\0\0\0\0\0", b"\x17\x08\x44tracing6\0", b"\x17\x08\x44tracing7\0\0\x08",
            b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x0a\x20", b"",
        ]),
        bytes in proptest::collection::vec(any::<u8>(), 0..500),
    ) {
        survive(&[magic, &bytes].concat());
    }
}
