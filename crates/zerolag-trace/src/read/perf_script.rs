// SPDX-License-Identifier: GPL-2.0-only
//! What `perf script` writes around the tracepoints' texts.
//!
//! ```text
//!             perf  1234 [001] 12345.678901: sched:sched_switch: prev_comm=…        since 3.x
//!             perf  1234/1236    [001] 12345.678901234: sched:sched_switch: …       -F …,pid,tid --ns
//! ```
//!
//! With `-g`, lines of stack frames follow each event, then an empty line. With `--show-lost-events`,
//! lines as `… PERF_RECORD_LOST lost 17` stand between the events.
//!
//! The name in front of the ids is perf's own idea of the task; the names inside the events are the
//! kernel's, and only those are used.

use super::cursor::{decimal, trim};
use super::text::{Dialect, Remark};

pub(crate) struct PerfScript;

impl Dialect for PerfScript {
    fn remark(&self, line: &[u8]) -> Remark {
        if line.starts_with(b"\t") || line.starts_with(b"#") || trim(line).is_empty() || is_frame(line) {
            return Remark::Nothing;
        }
        let mut words = line.split(|&b| b == b' ').filter(|w| !w.is_empty());
        if words.any(|w| w == b"PERF_RECORD_LOST" || w == b"PERF_RECORD_LOST_SAMPLES") {
            return Remark::Lost(words.find_map(decimal));
        }
        // Other records that options like --show-task-events print.
        if line.windows(12).any(|w| w == b"PERF_RECORD_") {
            return Remark::Nothing;
        }
        Remark::Unknown
    }

    fn process(&self, prefix: &[u8]) -> Option<(u32, u32)> {
        let ids = trim(prefix).rsplit(|&b| b == b' ').next()?;
        let slash = ids.iter().position(|&b| b == b'/')?;
        let id = |digits| decimal(digits).and_then(|n| u32::try_from(n).ok());
        Some((id(&ids[slash + 1..])?, id(&ids[..slash])?))
    }
}

/// `    ffffffff8104f45a __schedule+0x3a ([kernel.kallsyms])`
fn is_frame(line: &[u8]) -> bool {
    let word = trim(line).split(|&b| b == b' ').next().unwrap_or_default();
    line.starts_with(b" ") && word.len() >= 4 && word.iter().all(u8::is_ascii_hexdigit)
}
