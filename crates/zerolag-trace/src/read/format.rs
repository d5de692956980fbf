// SPDX-License-Identifier: GPL-2.0-only
//! Binary records of tracepoints, decoded by the description that the recording carries.
//!
//! A kernel describes each tracepoint in `events/sched/*/format`, and recorders copy that text:
//!
//! ```text
//! name: sched_wakeup
//! ID: 317
//! format:
//!         field:unsigned short common_type;  offset:0;  size:2;  signed:0;
//!         …
//!         field:char comm[16];               offset:8;  size:16; signed:0;
//!         field:pid_t pid;                   offset:24; size:4;  signed:1;
//!         …
//! print fmt: "comm=%s pid=%d prio=%d target_cpu=%03d", …
//! ```
//!
//! Where a field lies differs between kernels, so nothing is assumed but the names.

use std::collections::BTreeMap;

use zerolag_core::units::Nanos;

use super::bytes::{Endian, until_zero};
use super::cursor::{Cursor, decimal, trim};
use super::header::cpu_id;
use super::naming::Thread;
use super::record::{Body, State, Wake};

/// Where a field lies in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
    text: TextKind,
}

/// How a text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    /// In the field itself.
    Inline,
    /// Elsewhere in the record: the field has the offset in its low and the length in its high half.
    Elsewhere,
    /// The same, with the offset counted from the end of the field.
    Behind,
}

/// The tracepoints of the scheduler that a recording describes.
#[derive(Debug)]
pub(crate) struct Formats {
    endian: Endian,
    by_id: BTreeMap<u16, Layout>,
}

/// The fields of one tracepoint that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Switch { prev: ThreadFields, prev_state: Field, next: ThreadFields },
    Wake { which: Which, task: ThreadFields, success: Option<Field>, target: Field },
    Migrate { task: ThreadFields, from: Field, to: Field },
    Runtime { task: ThreadFields, ran: Field },
    Fork { parent: ThreadFields, child: ThreadFields },
    Exit { task: ThreadFields },
    Exec { pid: Field, old_pid: Field },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Waking,
    Wakeup,
    WakeupNew,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadFields {
    comm: Field,
    pid: Field,
    prio: Option<Field>,
}

impl Formats {
    pub(crate) const fn new(endian: Endian) -> Self {
        Self { endian, by_id: BTreeMap::new() }
    }

    /// Learns a tracepoint from its description. Those of other subsystems are ignored.
    pub(crate) fn learn(&mut self, description: &[u8]) {
        let mut fields = BTreeMap::new();
        let (mut name, mut id) = (&b""[..], None);
        for line in description.split(|&b| b == b'\n').map(trim) {
            let mut c = Cursor::new(line);
            if c.tag(b"name:").is_some() {
                name = trim(c.rest);
            } else if c.tag(b"ID:").is_some() {
                id = decimal(trim(c.rest)).and_then(|id| u16::try_from(id).ok());
            } else if c.tag(b"field:").is_some()
                && let Some((key, field)) = field(c.rest)
            {
                fields.insert(key, field);
            }
        }
        if let (Some(id), Some(layout)) = (id, layout(name, &fields)) {
            self.by_id.insert(id, layout);
        }
    }

    /// True if a record of the tracepoint `id` is wanted.
    pub(crate) fn knows(&self, id: u16) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Decodes a record, which begins with the tracepoint's number; none if it is too short for its
    /// tracepoint or holds what cannot be.
    pub(crate) fn decode<'a>(&self, record: &'a [u8]) -> Option<Body<'a>> {
        let Some(layout) = self.by_id.get(&self.id(record)?) else { return Some(Body::Other) };
        let r = Raw { bytes: record, endian: self.endian };
        Some(match *layout {
            Layout::Switch { prev, prev_state, next } => Body::Switch {
                prev: r.thread(prev)?,
                prev_state: State::from_bits(r.unsigned(prev_state)?),
                next: r.thread(next)?,
            },
            Layout::Wake { which, task, success, target } => {
                if success.is_some_and(|field| r.unsigned(field) == Some(0)) {
                    return Some(Body::Other);
                }
                let wake = Wake { task: r.thread(task)?, target: cpu_id(r.unsigned(target)?)? };
                match which {
                    Which::Waking => Body::Waking(wake),
                    Which::Wakeup => Body::Wakeup(wake),
                    Which::WakeupNew => Body::WakeupNew(wake),
                }
            }
            Layout::Migrate { task, from, to } => Body::Migrate {
                task: r.thread(task)?,
                from: cpu_id(r.unsigned(from)?)?,
                to: cpu_id(r.unsigned(to)?)?,
            },
            Layout::Runtime { task, ran } => {
                Body::Runtime { task: r.thread(task)?, ran: Nanos(r.unsigned(ran)?) }
            }
            Layout::Fork { parent, child } => {
                Body::Fork { parent: r.thread(parent)?, child: r.thread(child)? }
            }
            Layout::Exit { task } => Body::Exit(r.thread(task)?),
            Layout::Exec { pid, old_pid } => Body::Exec { pid: r.pid(pid)?, old_pid: r.pid(old_pid)? },
        })
    }

    /// The number of a record's tracepoint: `common_type`, which comes first in every kernel.
    pub(crate) fn id(&self, record: &[u8]) -> Option<u16> {
        record.get(..2).map(|id| self.endian.number(id) as u16)
    }
}

/// `char comm[16];\toffset:8;\tsize:16;\tsigned:0;`
fn field(line: &[u8]) -> Option<(&[u8], Field)> {
    let mut parts = line.split(|&b| b == b';').map(trim);
    let declaration = parts.next()?;
    let number = |part: Option<&[u8]>, key: &[u8]| {
        decimal(part?.strip_prefix(key)?).and_then(|n| usize::try_from(n).ok())
    };
    let offset = number(parts.next(), b"offset:")?;
    let size = number(parts.next(), b"size:")?;
    let name = declaration.rsplit(|&b| b == b' ').next()?;
    let name = name.split(|&b| b == b'[').next()?;
    let text = if declaration.starts_with(b"__data_loc") {
        TextKind::Elsewhere
    } else if declaration.starts_with(b"__rel_loc") {
        TextKind::Behind
    } else {
        TextKind::Inline
    };
    Some((name, Field { offset, size, text }))
}

fn layout(name: &[u8], fields: &BTreeMap<&[u8], Field>) -> Option<Layout> {
    let get = |key: &[u8]| fields.get(key).copied();
    let thread = |comm: &[u8], pid: &[u8], prio: &[u8]| {
        Some(ThreadFields { comm: get(comm)?, pid: get(pid)?, prio: get(prio) })
    };
    let task = || thread(b"comm", b"pid", b"prio");
    let wake = |which| {
        Some(Layout::Wake { which, task: task()?, success: get(b"success"), target: get(b"target_cpu")? })
    };
    match name {
        b"sched_switch" => Some(Layout::Switch {
            prev: thread(b"prev_comm", b"prev_pid", b"prev_prio")?,
            prev_state: get(b"prev_state")?,
            next: thread(b"next_comm", b"next_pid", b"next_prio")?,
        }),
        b"sched_waking" => wake(Which::Waking),
        b"sched_wakeup" => wake(Which::Wakeup),
        b"sched_wakeup_new" => wake(Which::WakeupNew),
        b"sched_migrate_task" => {
            Some(Layout::Migrate { task: task()?, from: get(b"orig_cpu")?, to: get(b"dest_cpu")? })
        }
        b"sched_stat_runtime" => Some(Layout::Runtime { task: task()?, ran: get(b"runtime")? }),
        b"sched_process_fork" => Some(Layout::Fork {
            parent: thread(b"parent_comm", b"parent_pid", b"")?,
            child: thread(b"child_comm", b"child_pid", b"")?,
        }),
        b"sched_process_exit" => Some(Layout::Exit { task: task()? }),
        b"sched_process_exec" => Some(Layout::Exec { pid: get(b"pid")?, old_pid: get(b"old_pid")? }),
        _ => None,
    }
}

/// A record whose fields are read.
#[derive(Clone, Copy)]
struct Raw<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl<'a> Raw<'a> {
    fn piece(self, offset: usize, size: usize) -> Option<&'a [u8]> {
        self.bytes.get(offset..offset.checked_add(size)?)
    }

    fn unsigned(self, field: Field) -> Option<u64> {
        if field.size > 8 {
            return None;
        }
        self.piece(field.offset, field.size).map(|bytes| self.endian.number(bytes))
    }

    /// A pid, which is signed in the kernel and never negative.
    fn pid(self, field: Field) -> Option<u32> {
        let pid = u32::try_from(self.unsigned(field)?).ok()?;
        (pid <= i32::MAX as u32).then_some(pid)
    }

    /// A priority: -1 for deadline tasks.
    fn prio(self, field: Field) -> Option<i16> {
        i16::try_from((self.unsigned(field)? as u32).cast_signed()).ok()
    }

    fn text(self, field: Field) -> Option<&'a [u8]> {
        if field.text == TextKind::Inline {
            return self.piece(field.offset, field.size).map(until_zero);
        }
        let place = self.unsigned(field)? as u32;
        let (low, len) = ((place & 0xffff) as usize, (place >> 16) as usize);
        let base = if field.text == TextKind::Behind { field.offset + field.size } else { 0 };
        self.piece(base + low, len).map(until_zero)
    }

    fn thread(self, fields: ThreadFields) -> Option<Thread<'a>> {
        Some(Thread {
            pid: self.pid(fields.pid)?,
            comm: self.text(fields.comm)?,
            prio: match fields.prio {
                Some(field) => Some(self.prio(field)?),
                None => None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zerolag_core::ids::CpuId;

    const WAKEUP: &[u8] = b"name: sched_wakeup\nID: 317\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n\
        print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm\n";

    const FORK: &[u8] = b"name: sched_process_fork\nID: 400\nformat:\n\
        \tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:pid_t parent_pid;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:__rel_loc char[] child_comm;\toffset:16;\tsize:4;\tsigned:0;\n\
        \tfield:pid_t child_pid;\toffset:20;\tsize:4;\tsigned:1;\n";

    fn formats(endian: Endian) -> Formats {
        let mut formats = Formats::new(endian);
        formats.learn(WAKEUP);
        formats.learn(FORK);
        formats.learn(b"name: irq_handler_entry\nID: 9\nformat:\n");
        formats
    }

    fn wakeup(order: fn(u32) -> [u8; 4], id: [u8; 2]) -> Vec<u8> {
        let mut record = id.to_vec();
        record.extend([0; 6]);
        record.extend(b"hog\0garbage\0\0\0\0\0");
        for number in [7, u32::MAX, 3] {
            record.extend(order(number));
        }
        record
    }

    #[test]
    fn a_record_of_either_byte_order() {
        let want =
            Body::Wakeup(Wake { task: Thread { pid: 7, comm: b"hog", prio: Some(-1) }, target: CpuId(3) });
        let little = wakeup(u32::to_le_bytes, 317u16.to_le_bytes());
        assert_eq!(formats(Endian::Little).decode(&little), Some(want));
        let big = wakeup(u32::to_be_bytes, 317u16.to_be_bytes());
        assert_eq!(formats(Endian::Big).decode(&big), Some(want));
    }

    #[test]
    fn texts_that_lie_elsewhere() {
        let mut record = 400u16.to_le_bytes().to_vec();
        record.extend([0; 6]);
        record.extend((24u32 | 5 << 16).to_le_bytes());
        record.extend(7u32.to_le_bytes());
        record.extend((9u32 | 4 << 16).to_le_bytes());
        record.extend(8u32.to_le_bytes());
        record.extend(b"bash\0hog\0");
        let formats = formats(Endian::Little);
        assert_eq!(
            formats.decode(&record),
            Some(Body::Fork {
                parent: Thread { pid: 7, comm: b"bash", prio: None },
                child: Thread { pid: 8, comm: b"hog", prio: None },
            })
        );
    }

    #[test]
    fn what_is_not_described_is_other_and_what_is_short_is_nothing() {
        let formats = formats(Endian::Little);
        assert!(formats.knows(317) && !formats.knows(9));
        assert_eq!(formats.decode(&[9, 0, 1, 2]), Some(Body::Other));
        let record = wakeup(u32::to_le_bytes, 317u16.to_le_bytes());
        for len in 0..record.len() {
            assert_eq!(formats.decode(&record[..len]), None, "{len}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_descriptions_and_records_never_panic(
            description in "(name: sched_switch\n)?(ID: [0-9]{1,3}\n)?(field:[a-z_ \\[\\]0-9]{0,20};\toffset:[0-9]{1,20};\tsize:[0-9]{1,20};\n){0,5}",
            record in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut formats = formats(Endian::Little);
            formats.learn(description.as_bytes());
            formats.decode(&record);
        }
    }
}
