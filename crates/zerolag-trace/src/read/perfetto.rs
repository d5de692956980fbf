// SPDX-License-Identifier: GPL-2.0-only
//! Perfetto's protobuf with ftrace events of the scheduler.
//!
//! A trace is a sequence of packets. A packet of ftrace events holds those of one CPU over a while, as
//! messages or (*compact*) as columns: times, states, next tasks. In columns the task before is not written,
//! it is the next of the switch before on that CPU. Packets of several CPUs overlap in time, so their
//! events are ordered in batches.

use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use zerolag_core::ids::CpuId;
use zerolag_core::units::{Instant, Nanos};

use super::batch::Batch;
use super::header::cpu_id;
use super::intake::Intake;
use super::naming::Thread;
use super::record::{Body, Record, State, Wake};
use crate::perfetto_schema::{TRACE_PACKET, bundle, compact, event, generic, packet, tree};
use crate::protobuf::{Fields, Message, Value, packed, varint};

/// Largest packet that is read; recorders keep them below a megabyte.
const PACKET_LEN_MAX: usize = 64 << 20;

/// A recording that is being read.
pub(crate) struct Perfetto<R> {
    input: R,
    offset: u64,
    packet: Vec<u8>,
    batch: Batch,
    /// The task that each CPU last switched to.
    last_next: Vec<Option<Next>>,
    ended: bool,
}

/// A task that was switched to in columns.
#[derive(Clone, Debug, Default)]
struct Next {
    pid: u64,
    prio: u64,
    comm: Vec<u8>,
}

/// True if this is the beginning of a trace: bytes that are no text and the beginning of a packet.
pub(crate) fn is_perfetto(head: &[u8]) -> bool {
    let is_text = head.iter().all(|&b| b >= b' ' || b.is_ascii_whitespace());
    let Some(rest) = head.strip_prefix(&[(TRACE_PACKET << 3 | 2) as u8]) else { return false };
    let Some((len, rest)) = varint(rest) else { return false };
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let mut fields = Fields::new(&rest[..len.min(rest.len())]);
    let known = fields.by_ref().take_while(|(field, _)| *field < 1000).count();
    let whole = len <= rest.len();
    !is_text && len > 0 && len <= PACKET_LEN_MAX && (!whole || (known > 0 && fields.is_exhausted()))
}

impl<R: Read> Perfetto<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            packet: Vec::new(),
            batch: Batch::default(),
            last_next: Vec::new(),
            ended: false,
        }
    }

    /// Reads a packet or gives events out; false at the end.
    pub(crate) fn read_on(&mut self, intake: &mut Intake) -> io::Result<bool> {
        if self.batch.drain(|held, message| {
            let record = Record { time: held.time, cpu: held.cpu, process: None, body: Body::Other };
            match ftrace_event(message) {
                Some(body) => intake.take(Record { body, ..record }),
                None => intake.loss.did_not_understand(held.time.0, message),
            }
        }) {
            return Ok(true);
        }
        if self.ended {
            return Ok(false);
        }
        if self.batch.is_full() {
            self.batch.release_half();
            return Ok(true);
        }
        let mut packet = std::mem::take(&mut self.packet);
        let found = self.next_packet(&mut packet);
        if let Ok(true) = found {
            intake.loss.records += 1;
            self.packet(&packet, intake, 0);
        } else {
            // Also after damage, what was read is given out.
            self.ended = true;
            self.batch.finish();
            if let Err(error) = found {
                if !super::is_damage(&error) {
                    return Err(error);
                }
                intake.loss.cut_short = Some(error.to_string());
            }
        }
        self.packet = packet;
        Ok(true)
    }

    /// Reads the next packet; false at the end.
    fn next_packet(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let Some(key) = self.number()? else { return Ok(false) };
            let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
            if key & 7 != 2 {
                return Err(wrong(format!("at {} is no packet of a Perfetto trace", self.offset)));
            }
            let len = self.number()?.ok_or(io::ErrorKind::UnexpectedEof)?;
            if len > PACKET_LEN_MAX as u64 {
                return Err(wrong(format!("a packet of {len} bytes at {}", self.offset)));
            }
            out.clear();
            let read = self.input.by_ref().take(len).read_to_end(out)? as u64;
            self.offset += read;
            if read < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if key >> 3 == TRACE_PACKET.into() {
                return Ok(true);
            }
        }
    }

    /// A number; none at the end of the input.
    fn number(&mut self) -> io::Result<Option<u64>> {
        let mut bytes = [0; 10];
        for len in 0..bytes.len() {
            let byte = &mut bytes[len..=len];
            if self.input.read(byte)? == 0 {
                return if len == 0 { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
            self.offset += 1;
            if byte[0] < 0x80 {
                return Ok(varint(&bytes[..=len]).map(|(number, _)| number));
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("at {} is no number", self.offset)))
    }

    fn packet(&mut self, bytes: &[u8], intake: &mut Intake, depth: u32) {
        for (field, value) in Fields::new(bytes) {
            let Value::Bytes(value) = value else { continue };
            match field {
                packet::FTRACE_EVENTS => self.bundle(value, intake),
                packet::PROCESS_TREE => process_tree(value, intake),
                // Packets are compressed once; a deeper nest is not a trace.
                packet::COMPRESSED_PACKETS if depth == 0 => {
                    let mut unpacked = Vec::new();
                    let limited = ZlibDecoder::new(value).take(PACKET_LEN_MAX as u64);
                    if { limited }.read_to_end(&mut unpacked).is_err() {
                        intake.loss.did_not_understand(self.offset, b"a compressed packet");
                    }
                    for (field, value) in Fields::new(&unpacked) {
                        if let (TRACE_PACKET, Value::Bytes(inner)) = (field, value) {
                            self.packet(inner, intake, depth + 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The events of one CPU.
    fn bundle(&mut self, bytes: &[u8], intake: &mut Intake) {
        let fields = || Fields::new(bytes);
        let cpu = fields().find(|(field, _)| *field == bundle::CPU).and_then(|(_, v)| v.number());
        let Some(cpu) = cpu_id(cpu.unwrap_or(0)) else {
            intake.loss.did_not_understand(self.offset, b"events of a CPU that cannot be");
            return;
        };
        for (field, value) in fields() {
            match (field, value) {
                (bundle::EVENT, Value::Bytes(message)) => {
                    let time = Fields::new(message).find(|(field, _)| *field == event::TIMESTAMP);
                    let time = Instant(time.and_then(|(_, v)| v.number()).unwrap_or(0));
                    self.batch.push(time, cpu, None, message);
                }
                (bundle::COMPACT_SCHED, Value::Bytes(columns)) => self.compact(cpu, columns),
                (bundle::LOST_EVENTS, Value::Number(1)) => intake.loss.lost_unknown += 1,
                _ => {}
            }
        }
    }

    /// Turns columns into the messages that they stand for.
    fn compact(&mut self, cpu: CpuId, bytes: &[u8]) {
        let column = |wanted: u32| {
            let parts = Fields::new(bytes).filter(move |(field, _)| *field == wanted);
            parts.filter_map(|(_, v)| v.bytes()).flat_map(packed)
        };
        let names: Vec<&[u8]> = Fields::new(bytes)
            .filter(|(field, _)| *field == compact::INTERN_TABLE)
            .filter_map(|(_, v)| v.bytes())
            .collect();
        let name =
            |index: u64| usize::try_from(index).ok().and_then(|i| names.get(i)).copied().unwrap_or_default();

        let mut time = 0u64;
        let rows = column(compact::SWITCH_TIMESTAMP)
            .zip(column(compact::SWITCH_PREV_STATE))
            .zip(column(compact::SWITCH_NEXT_PID))
            .zip(column(compact::SWITCH_NEXT_PRIO))
            .zip(column(compact::SWITCH_NEXT_COMM));
        for ((((step, state), pid), prio), comm) in rows {
            time = time.wrapping_add(step);
            let next = Next { pid, prio, comm: name(comm).to_vec() };
            let mut body = Message::default();
            body.unsigned(6, next.pid).unsigned(7, next.prio).unsigned(4, state);
            body.bytes(5, &next.comm);
            // The task before the first switch of a recording is not known.
            if let Some(prev) = crate::dense::at(&mut self.last_next, cpu).replace(next) {
                body.bytes(1, &prev.comm).unsigned(2, prev.pid).unsigned(3, prev.prio);
                self.push(time, cpu, event::SWITCH, &body);
            }
        }

        let mut time = 0u64;
        let rows = column(compact::WAKING_TIMESTAMP)
            .zip(column(compact::WAKING_PID))
            .zip(column(compact::WAKING_TARGET_CPU))
            .zip(column(compact::WAKING_PRIO))
            .zip(column(compact::WAKING_COMM));
        for ((((step, pid), target), prio), comm) in rows {
            time = time.wrapping_add(step);
            let mut body = Message::default();
            body.bytes(1, name(comm)).unsigned(2, pid).unsigned(3, prio).unsigned(5, target);
            self.push(time, cpu, event::WAKING, &body);
        }
    }

    fn push(&mut self, time: u64, cpu: CpuId, kind: u32, body: &Message) {
        let mut message = Message::default();
        message.message(kind, body);
        self.batch.push(Instant(time), cpu, None, message.as_bytes());
    }
}

/// Which process each thread belongs to.
fn process_tree(bytes: &[u8], intake: &mut Intake) {
    for (field, value) in Fields::new(bytes) {
        if let (tree::THREAD, Value::Bytes(thread)) = (field, value) {
            let number =
                |wanted| Fields::new(thread).find(|(f, _)| *f == wanted).and_then(|(_, v)| v.number());
            let id = |field| number(field).and_then(|n| u32::try_from(n).ok());
            if let (Some(tid), Some(tgid)) = (id(tree::THREAD_TID), id(tree::THREAD_TGID)) {
                intake.naming.announce_tgid(tid, tgid);
            }
        }
    }
}

/// Decodes an `FtraceEvent`; none if it holds what cannot be.
fn ftrace_event(message: &[u8]) -> Option<Body<'_>> {
    for (field, value) in Fields::new(message) {
        let Value::Bytes(body) = value else { continue };
        let e = Event::new(body);
        return Some(match field {
            event::SWITCH => Body::Switch {
                prev: e.thread(1, 2, Some(3))?,
                prev_state: State::from_bits(e.number(4)),
                next: e.thread(5, 6, Some(7))?,
            },
            event::WAKING => Body::Waking(e.wake()?),
            event::WAKEUP => Body::Wakeup(e.wake()?),
            event::WAKEUP_NEW => Body::WakeupNew(e.wake()?),
            event::MIGRATE => Body::Migrate {
                task: e.thread(1, 2, Some(3))?,
                from: cpu_id(e.number(4))?,
                to: cpu_id(e.number(5))?,
            },
            event::FORK => Body::Fork { parent: e.thread(1, 2, None)?, child: e.thread(3, 4, None)? },
            event::EXIT => Body::Exit(e.thread(1, 2, Some(4))?),
            event::EXEC => Body::Exec { pid: e.pid(2)?, old_pid: e.pid(3)? },
            event::GENERIC => generic_event(body)?,
            _ => Body::Other,
        });
    }
    Some(Body::Other)
}

/// An event that Perfetto has no message for; `sched_stat_runtime` is one.
fn generic_event(body: &[u8]) -> Option<Body<'_>> {
    let mut name = &b""[..];
    let (mut comm, mut pid, mut ran) = (&b""[..], None, None);
    for (field, value) in Fields::new(body) {
        match (field, value) {
            (generic::NAME, Value::Bytes(text)) => name = text,
            (generic::FIELD, Value::Bytes(inner)) => {
                let mut key = &b""[..];
                let mut content = None;
                for (field, value) in Fields::new(inner) {
                    match field {
                        generic::FIELD_NAME => key = value.bytes().unwrap_or_default(),
                        generic::FIELD_TEXT | generic::FIELD_INT | generic::FIELD_UINT => {
                            content = Some(value)
                        }
                        _ => {}
                    }
                }
                match (key, content) {
                    (b"comm", Some(Value::Bytes(text))) => comm = text,
                    (b"pid", Some(Value::Number(n))) => pid = u32::try_from(n).ok(),
                    (b"runtime", Some(Value::Number(n))) => ran = Some(Nanos(n)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    if name != b"sched_stat_runtime" {
        return Some(Body::Other);
    }
    Some(Body::Runtime { task: Thread { pid: pid?, comm, prio: None }, ran: ran? })
}

/// The fields 1 to 7 of an event's own message; what is not there is 0 or empty.
struct Event<'a> {
    fields: [Option<Value<'a>>; 8],
}

impl<'a> Event<'a> {
    fn new(body: &'a [u8]) -> Self {
        let mut fields = [None; 8];
        for (field, value) in Fields::new(body) {
            if let Some(slot) = fields.get_mut(field as usize) {
                *slot = Some(value);
            }
        }
        Self { fields }
    }

    fn number(&self, field: usize) -> u64 {
        self.fields[field].and_then(Value::number).unwrap_or(0)
    }

    fn pid(&self, field: usize) -> Option<u32> {
        u32::try_from(self.number(field)).ok().filter(|&pid| pid <= i32::MAX as u32)
    }

    fn thread(&self, comm: usize, pid: usize, prio: Option<usize>) -> Option<Thread<'a>> {
        let prio = match prio {
            Some(field) => Some(i16::try_from(self.number(field).cast_signed()).ok()?),
            None => None,
        };
        Some(Thread {
            pid: self.pid(pid)?,
            comm: self.fields[comm].and_then(Value::bytes).unwrap_or_default(),
            prio,
        })
    }

    fn wake(&self) -> Option<Wake<'a>> {
        Some(Wake { task: self.thread(1, 2, Some(3))?, target: cpu_id(self.number(5))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::open;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    /// A packet with two switches and a waking of one CPU in columns, as recorders write them.
    fn columns() -> Vec<u8> {
        let mut columns = Message::default();
        for name in ["swapper/2", "hog", "b"] {
            columns.text(compact::INTERN_TABLE, name);
        }
        let mut column = |field, values: &[u64]| {
            let packed: Vec<u8> = values.iter().flat_map(|&v| varint_bytes(v)).collect();
            columns.bytes(field, &packed);
        };
        column(compact::SWITCH_TIMESTAMP, &[1000, 500, 700]);
        column(compact::SWITCH_PREV_STATE, &[0, 1, 0x100]);
        column(compact::SWITCH_NEXT_PID, &[7, 0, 8]);
        column(compact::SWITCH_NEXT_PRIO, &[120, 120, 100]);
        column(compact::SWITCH_NEXT_COMM, &[1, 0, 2]);
        column(compact::WAKING_TIMESTAMP, &[900]);
        column(compact::WAKING_PID, &[7]);
        column(compact::WAKING_TARGET_CPU, &[2]);
        column(compact::WAKING_PRIO, &[120]);
        column(compact::WAKING_COMM, &[1]);
        let (mut bundle, mut packet, mut trace) =
            (Message::default(), Message::default(), Message::default());
        bundle.unsigned(bundle::CPU, 2).message(bundle::COMPACT_SCHED, &columns);
        packet.message(packet::FTRACE_EVENTS, &bundle);
        trace.message(TRACE_PACKET, &packet);
        trace.as_bytes().to_vec()
    }

    /// A number as in a packed field: without a key.
    fn varint_bytes(value: u64) -> Vec<u8> {
        let mut message = Message::default();
        message.unsigned(1, value);
        message.as_bytes()[1..].to_vec()
    }

    fn shown(trace: &[u8]) -> Vec<String> {
        let events = open(trace).unwrap();
        events.map(|e| e.map(|e| format!("{} {:?} {:?}", e.time.0, e.cpu, e.kind)).unwrap()).collect()
    }

    #[test]
    fn columns_stand_for_events() {
        let want = [
            "900 cpu2 Waking { task: T0, target: cpu2 }",
            "1500 cpu2 Switch { prev: Some(T0), prev_state: Sleeping, next: None }",
            "2200 cpu2 Switch { prev: None, prev_state: Runnable, next: Some(T1) }",
        ];
        assert_eq!(shown(&columns()), want, "the task before the first switch is not known");

        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&columns()).unwrap();
        let (mut packet, mut trace) = (Message::default(), Message::default());
        packet.bytes(packet::COMPRESSED_PACKETS, &encoder.finish().unwrap());
        trace.message(TRACE_PACKET, &packet);
        assert_eq!(shown(trace.as_bytes()), want, "compressed");
    }

    #[test]
    fn a_text_that_begins_with_a_newline_is_a_text() {
        assert!(is_perfetto(&columns()));
        assert!(!is_perfetto(b"\n  hog 5 [001] 1.5: sched:sched_switch: ..."));
        assert!(!is_perfetto(b""));
    }
}
