// SPDX-License-Identifier: GPL-2.0-only
//! What perf, tracefs and trace-cmd write around the tracepoints' texts.
//!
//! ```text
//!             perf  1234 [001] 12345.678901: sched:sched_switch: prev_comm=…       perf script
//!             perf  1234/1236    [001] 12345.678901234: sched:sched_switch: …      perf script -F +pid --ns
//!             perf-1236    (   1234) [001] d..2. 12345.678901: sched_switch: …     tracefs, with record-tgid
//!             perf-1236  [001] 12345.678901: sched_switch:         perf:1236 [120] R ==> …    trace-cmd report
//! ```
//!
//! The name in front of the ids is the tool's own idea of the task, for tracefs and trace-cmd even a later
//! name; the names inside the events are the kernel's, and only those are used.

use super::cursor::{Cursor, decimal, trim};

/// A line that is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// A comment, a stack frame, an empty line.
    Nothing,
    /// So many events are missing here, if the tool says how many.
    Lost(Option<u64>),
    /// Not something that these tools write.
    Unknown,
}

/// What a line says that is no event.
pub(crate) fn remark(line: &[u8]) -> Remark {
    let trimmed = trim(line);
    if trimmed.is_empty() || line.starts_with(b"#") || is_frame(line, trimmed) {
        return Remark::Nothing;
    }
    lost_by_ftrace(trimmed)
        .or_else(|| perf_record(trimmed))
        .or_else(|| trace_cmd(trimmed))
        .unwrap_or(Remark::Unknown)
}

/// `CPU:3 [LOST 17 EVENTS]` (tracefs) or `CPU:3 [17 EVENTS DROPPED]` (trace-cmd), either without the number.
fn lost_by_ftrace(line: &[u8]) -> Option<Remark> {
    let mut c = Cursor::new(line);
    c.tag(b"CPU:")?;
    c.unsigned()?;
    c.tag(b" [")?;
    let inside = c.rest.strip_suffix(b"]")?;
    let words = || inside.split(|&b| b == b' ');
    let lost = words().any(|w| w == b"LOST" || w == b"DROPPED");
    lost.then(|| Remark::Lost(words().find_map(decimal)))
}

/// Records that `perf script --show-lost-events` and its like print between the events:
/// `… PERF_RECORD_LOST lost 17`.
fn perf_record(line: &[u8]) -> Option<Remark> {
    let mut words =
        line.split(|&b| b == b' ').filter(|w| w.starts_with(b"PERF_RECORD_") || decimal(w).is_some());
    let record = words.find(|w| w.starts_with(b"PERF_RECORD_"))?;
    Some(match record {
        b"PERF_RECORD_LOST" | b"PERF_RECORD_LOST_SAMPLES" => Remark::Lost(words.find_map(decimal)),
        _ => Remark::Nothing,
    })
}

/// `cpus=2`, `version = 7`, `CPU 1 is empty`
fn trace_cmd(line: &[u8]) -> Option<Remark> {
    let known = line.starts_with(b"cpus=")
        || line.starts_with(b"version = ")
        || (line.starts_with(b"CPU ") && line.ends_with(b" is empty"));
    known.then_some(Remark::Nothing)
}

/// A line of a stack trace: `\tffffffff8104f45a __schedule+0x3a ([kernel.kallsyms])` by perf,
/// ` => __schedule` by ftrace.
fn is_frame(line: &[u8], trimmed: &[u8]) -> bool {
    let word = trimmed.split(|&b| b == b' ').next().unwrap_or_default();
    let address = word.len() >= 4 && word.iter().all(u8::is_ascii_hexdigit);
    line.starts_with(b"\t") || (line.starts_with(b" ") && address) || trimmed.starts_with(b"=> ")
}

/// Thread and process id in the part of a line before the CPU, if both stand there.
pub(crate) fn process(prefix: &[u8]) -> Option<(u32, u32)> {
    let id = |digits| decimal(trim(digits)).and_then(|n| u32::try_from(n).ok());
    let prefix = trim(prefix);
    if let Some(inside) = prefix.strip_suffix(b")") {
        let open = inside.iter().rposition(|&b| b == b'(')?;
        let thread = trim(&inside[..open]).rsplit(|&b| b == b'-').next()?;
        return Some((id(thread)?, id(&inside[open + 1..])?));
    }
    let ids = prefix.rsplit(|&b| b == b' ').next()?;
    let slash = ids.iter().position(|&b| b == b'/')?;
    Some((id(&ids[slash + 1..])?, id(&ids[..slash])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_events() {
        for (line, want) in [
            ("", Remark::Nothing),
            ("   ", Remark::Nothing),
            ("# tracer: nop", Remark::Nothing),
            ("##### CPU 1 buffer started ####", Remark::Nothing),
            ("cpus=2", Remark::Nothing),
            ("CPU 1 is empty", Remark::Nothing),
            (" => try_to_wake_up", Remark::Nothing),
            ("\tffffffff8104f45a __schedule+0x3a ([kernel.kallsyms])", Remark::Nothing),
            ("          55d0 [unknown] (/bin/x)", Remark::Nothing),
            ("CPU:1 [LOST 17 EVENTS]", Remark::Lost(Some(17))),
            ("CPU:1 [LOST EVENTS]", Remark::Lost(None)),
            ("CPU:1 [17 EVENTS DROPPED]", Remark::Lost(Some(17))),
            ("CPU:1 [EVENTS DROPPED]", Remark::Lost(None)),
            ("perf  9 [000] 5.1: PERF_RECORD_LOST lost 17", Remark::Lost(Some(17))),
            ("perf  9 [000] 5.1: PERF_RECORD_COMM: x:9/9", Remark::Nothing),
            ("CPU:1 [HELLO]", Remark::Unknown),
            ("hello", Remark::Unknown),
        ] {
            assert_eq!(remark(line.as_bytes()), want, "{line}");
        }
    }

    #[test]
    fn processes_are_read_where_they_stand() {
        for (prefix, want) in [
            ("  a 1234/1236   ", Some((1236, 1234))),
            ("  a/b 1236 ", None),
            ("  kworker/0:1-1236 ", None),
            ("  a-b-1236  (   1234) ", Some((1236, 1234))),
            ("  a-1236  (-------) ", None),
            ("  a)-1236 ", None),
            (")", None),
            ("", None),
        ] {
            assert_eq!(process(prefix.as_bytes()), want, "{prefix}");
        }
    }
}
