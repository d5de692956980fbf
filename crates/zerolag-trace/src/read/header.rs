// SPDX-License-Identifier: GPL-2.0-only
//! The part of a text line that tells when, where and what, common to `perf script`, the `trace` file of
//! tracefs and `trace-cmd report`:
//!
//! ```text
//!            hog 123/124  [001] ..... 12345.678901: 1 sched:sched_waking: comm=a pid=5 prio=120 target_cpu=001
//! \___ prefix ________/   cpu   |     time          |       event         \___ body ______________________/
//!                               |                   perf's period
//!                               ftrace's flags, perf's misc and time-of-day columns
//! ```
//!
//! A task's name in the prefix can hold anything, but with at most 15 bytes it cannot hold a whole
//! ` [cpu] time: event: `; so the first place that reads as all of that is the one.

use zerolag_core::ids::CpuId;
use zerolag_core::units::{Instant, NSEC_PER_SEC};

use super::cursor::Cursor;

/// CPUs are numbered below this: the kernel's largest `CONFIG_NR_CPUS`. A larger number is a misread line.
pub(crate) const CPUS_MAX: u64 = 8192;

/// A line taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    /// The current task's name and ids, as the tool prints them.
    pub(crate) prefix: &'a [u8],
    pub(crate) cpu: CpuId,
    pub(crate) time: Instant,
    /// Name of the tracepoint without its group.
    pub(crate) event: &'a [u8],
    /// The tracepoint's own text.
    pub(crate) body: &'a [u8],
}

/// Columns between the CPU and the time that are skipped: flags, misc, date and time of day.
const COLUMNS_MAX: usize = 3;

/// Takes a line apart; none if it is not an event's line.
pub(crate) fn header(line: &[u8]) -> Option<Header<'_>> {
    bracketed(line).or_else(|| latency_format(line))
}

/// ` [001] `
pub(crate) fn bracketed_cpu(cursor: &mut Cursor<'_>) -> Option<CpuId> {
    cursor.tag(b"[")?;
    let cpu = cursor.unsigned().and_then(cpu_id)?;
    cursor.tag(b"] ")?;
    Some(cpu)
}

fn bracketed(line: &[u8]) -> Option<Header<'_>> {
    let mut cursor = Cursor::new(line);
    let (prefix, (cpu, (time, (event, body)))) = cursor.until(b'[', |c| {
        let cpu = bracketed_cpu(c)?;
        for _ in 0..=COLUMNS_MAX {
            c.skip_spaces();
            let here = *c;
            if let Some(time) = time(c) {
                return Some((cpu, (time, event_and_body(c)?)));
            }
            *c = here;
            if c.word().starts_with(b"[") {
                // The CPU comes only now; what was taken for it is part of a name.
                return None;
            }
        }
        None
    })?;
    Some(Header { prefix, cpu, time, event, body })
}

/// `trace-cmd report -l` and tracefs' latency format: the CPU stands without brackets before the flags.
fn latency_format(line: &[u8]) -> Option<Header<'_>> {
    let mut cursor = Cursor::new(line);
    let (prefix, (cpu, (time, (event, body)))) = cursor.until(b' ', |c| {
        c.skip_spaces();
        let cpu = c.unsigned().and_then(cpu_id)?;
        let flags = c.word();
        if !flags.iter().all(|&b| b == b'.' || b.is_ascii_alphanumeric() || b == b'#') {
            return None;
        }
        c.skip_spaces();
        Some((cpu, (time(c)?, event_and_body(c)?)))
    })?;
    Some(Header { prefix, cpu, time, event, body })
}

/// `12345.678901: ` (one to nine decimals of a second), or `12345678901: ` (nanoseconds).
fn time(cursor: &mut Cursor<'_>) -> Option<Instant> {
    let whole = cursor.unsigned()?;
    if cursor.tag(b": ").is_some() {
        return Some(Instant(whole));
    }
    cursor.tag(b".")?;
    let before = cursor.rest.len();
    let fraction = cursor.unsigned()?;
    let digits = before - cursor.rest.len();
    cursor.tag(b": ")?;
    let scale = 10u64.pow(9u32.checked_sub(u32::try_from(digits).ok()?)?);
    whole.checked_mul(NSEC_PER_SEC)?.checked_add(fraction * scale).map(Instant)
}

/// The event's name, after perf's optional period and trace-cmd's optional ` (+usec)`.
fn event_and_body<'a>(cursor: &mut Cursor<'a>) -> Option<(&'a [u8], &'a [u8])> {
    cursor.skip_spaces();
    let mut word = cursor.word();
    while word.first() == Some(&b'(') || (!word.is_empty() && word.iter().all(u8::is_ascii_digit)) {
        cursor.skip_spaces();
        word = cursor.word();
    }
    let name = word.strip_suffix(b":")?;
    // perf writes `group:name` and may append `:modifiers`.
    let mut parts = name.split(|&b| b == b':');
    let first = parts.next()?;
    let event = parts.next().unwrap_or(first);
    if event.is_empty() {
        return None;
    }
    cursor.skip_spaces();
    Some((event, cursor.rest))
}

/// A CPU number, if a machine can have it.
pub(crate) fn cpu_id(number: u64) -> Option<CpuId> {
    (number < CPUS_MAX).then_some(CpuId(number as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, prefix: &str, cpu: u32, time: u64, event: &str, body: &str) {
        let got = header(line.as_bytes()).unwrap_or_else(|| panic!("not understood: {line}"));
        let text = |b| std::str::from_utf8(b).unwrap();
        assert_eq!(
            (text(got.prefix), got.cpu.0, got.time.0, text(got.event), text(got.body)),
            (prefix, cpu, time, event, body)
        );
    }

    #[test]
    fn perf_script_layouts() {
        for (line, prefix) in [
            ("  hog   5 [001] 1.000002:  sched:sched_x: b", "  hog   5 "),
            ("  hog   4/5    [001] 1.000002000: sched:sched_x: b", "  hog   4/5    "),
            ("  hog   5 [001] K     1.000002: sched:sched_x: b", "  hog   5 "),
            ("  hog   5 [001] 2023-01-02 12:34:56.123456 1.000002: sched:sched_x: b", "  hog   5 "),
            ("  hog   5 VCPU:003 [001] 1.000002:   1 sched:sched_x:u: b", "  hog   5 VCPU:003 "),
            ("[001] 1.000002: sched_x: b", ""),
        ] {
            check(line, prefix, 1, 1_000_002_000, "sched_x", "b");
        }
    }

    #[test]
    fn ftrace_and_trace_cmd_layouts() {
        check("  a-5  [001] d..3.  1.000002: sched_x: b", "  a-5  ", 1, 1_000_002_000, "sched_x", "b");
        check("  a-5  (   4) [001] .... 1000002: x: ", "  a-5  (   4) ", 1, 1_000_002, "x", "");
        check("  a-5 [000] 7.5: (+12) sched_x:      b c", "  a-5 ", 0, 7_500_000_000, "sched_x", "b c");
        check("       a-5       3d..2. 7.5: sched_x: b", "       a-5", 3, 7_500_000_000, "sched_x", "b");
    }

    #[test]
    fn a_name_may_look_like_a_header() {
        check("  x [7] 1.5: y 5 [001] 1.000002: g:e: b", "  x [7] 1.5: y 5 ", 1, 1_000_002_000, "e", "b");
        check("  app [0]   5 [001] 1.000002: g:e: b", "  app [0]   5 ", 1, 1_000_002_000, "e", "b");
    }

    #[test]
    fn what_is_not_a_header() {
        for line in [
            "",
            "# tracer: nop",
            "cpus=2",
            "\t    ffffffff8104f45a __schedule+0x1 ([kernel.kallsyms])",
            "hog 5 [8192] 1.5: e: cpu out of range",
            "hog 5 [001] 99999999999999999999.5: e: time out of range",
            "hog 5 [001] 18446744073709551615.5: e: time out of range",
            "hog 5 [001] 1.0123456789: e: ten decimals",
            "hog 5 [001] 1.5:",
            "hog 5 [001] 1.5: : b",
        ] {
            assert_eq!(header(line.as_bytes()), None, "{line}");
        }
    }
}
