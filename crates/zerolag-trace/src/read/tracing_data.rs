// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's descriptions of its tracepoints, as trace-cmd and perf copy them into a recording.
//!
//! The beginning of a `trace.dat` of version 6, and the whole of perf's `TRACING_DATA`:
//!
//! ```text
//! 17 08 44 "tracing" version\0 endian long_size page_size(u32)
//! "header_page\0" size(u64) text  "header_event\0" size(u64) text
//! count(u32) { size(u64) text }                        ftrace's own events
//! count(u32) { system\0 count(u32) { size(u64) text } } tracepoints
//! size(u32) kallsyms  size(u32) printk formats  [size(u64) saved names]
//! ```

use super::bytes::{Bytes, Endian};
use super::format::Formats;

pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// The fixed beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble<'a> {
    pub(crate) version: &'a [u8],
    pub(crate) endian: Endian,
    /// Bytes of a C `long` on the recording machine.
    pub(crate) long_size: u8,
    pub(crate) page_size: u32,
}

/// Reads the fixed beginning; none if it is not one.
pub(crate) fn preamble<'a>(bytes: &mut Bytes<'a>) -> Option<Preamble<'a>> {
    bytes.tag(MAGIC)?;
    let version = bytes.text()?;
    bytes.endian = match bytes.u8()? {
        0 => Endian::Little,
        1 => Endian::Big,
        _ => return None,
    };
    let long_size = bytes.u8()?;
    let page_size = bytes.u32()?;
    Some(Preamble { version, endian: bytes.endian, long_size, page_size })
}

/// Reads the headers of pages and events, of which nothing is needed that does not hold for every kernel.
pub(crate) fn headers(bytes: &mut Bytes<'_>) -> Option<()> {
    for tag in [&b"header_page\0"[..], b"header_event\0"] {
        bytes.tag(tag)?;
        let len = bytes.u64()?;
        bytes.take_long(len)?;
    }
    Some(())
}

/// Reads descriptions of ftrace's own events, which are skipped.
pub(crate) fn ftrace_events(bytes: &mut Bytes<'_>) -> Option<()> {
    for _ in 0..bytes.u32()? {
        let len = bytes.u64()?;
        bytes.take_long(len)?;
    }
    Some(())
}

/// Reads the descriptions of tracepoints.
pub(crate) fn event_formats(bytes: &mut Bytes<'_>, formats: &mut Formats) -> Option<()> {
    for _ in 0..bytes.u32()? {
        let system = bytes.text()?;
        for _ in 0..bytes.u32()? {
            let len = bytes.u64()?;
            let description = bytes.take_long(len)?;
            if system == b"sched" {
                formats.learn(description);
            }
        }
    }
    Some(())
}

/// Reads symbols and printk formats, which are skipped.
pub(crate) fn symbols(bytes: &mut Bytes<'_>) -> Option<()> {
    for _ in 0..2 {
        let len = bytes.u32()?;
        bytes.take_long(len.into())?;
    }
    Some(())
}
