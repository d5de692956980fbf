// SPDX-License-Identifier: GPL-2.0-only
//! Field numbers of the messages of Perfetto that scheduling needs.
//!
//! From `protos/perfetto/trace/trace_packet.proto`, `…/ftrace/*.proto`, `…/ps/process_tree.proto` and
//! `…/track_event/*.proto` of Perfetto 52.

/// The only field of `Trace`.
pub(crate) const TRACE_PACKET: u32 = 1;

/// `TracePacket`
pub(crate) mod packet {
    pub(crate) const FTRACE_EVENTS: u32 = 1;
    pub(crate) const PROCESS_TREE: u32 = 2;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const SYSTEM_INFO: u32 = 45;
    pub(crate) const COMPRESSED_PACKETS: u32 = 50;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
}

/// `SystemInfo` and its `Utsname`
pub(crate) mod system_info {
    pub(crate) const UTSNAME: u32 = 1;
    pub(crate) const SYSNAME: u32 = 1;
    pub(crate) const RELEASE: u32 = 3;
}

/// `FtraceEventBundle`
pub(crate) mod bundle {
    pub(crate) const CPU: u32 = 1;
    pub(crate) const EVENT: u32 = 2;
    pub(crate) const LOST_EVENTS: u32 = 3;
    pub(crate) const COMPACT_SCHED: u32 = 4;
}

/// `FtraceEventBundle.CompactSched`: columns instead of messages.
pub(crate) mod compact {
    pub(crate) const SWITCH_TIMESTAMP: u32 = 1;
    pub(crate) const SWITCH_PREV_STATE: u32 = 2;
    pub(crate) const SWITCH_NEXT_PID: u32 = 3;
    pub(crate) const SWITCH_NEXT_PRIO: u32 = 4;
    pub(crate) const INTERN_TABLE: u32 = 5;
    pub(crate) const SWITCH_NEXT_COMM: u32 = 6;
    pub(crate) const WAKING_TIMESTAMP: u32 = 7;
    pub(crate) const WAKING_PID: u32 = 8;
    pub(crate) const WAKING_TARGET_CPU: u32 = 9;
    pub(crate) const WAKING_PRIO: u32 = 10;
    pub(crate) const WAKING_COMM: u32 = 11;
}

/// `FtraceEvent`
pub(crate) mod event {
    pub(crate) const TIMESTAMP: u32 = 1;
    pub(crate) const PID: u32 = 2;
    pub(crate) const SWITCH: u32 = 4;
    pub(crate) const WAKEUP: u32 = 17;
    pub(crate) const WAKING: u32 = 20;
    pub(crate) const WAKEUP_NEW: u32 = 114;
    pub(crate) const EXIT: u32 = 238;
    pub(crate) const FORK: u32 = 239;
    pub(crate) const EXEC: u32 = 237;
    pub(crate) const GENERIC: u32 = 327;
    pub(crate) const MIGRATE: u32 = 491;
}

/// `GenericFtraceEvent` and its `Field`
pub(crate) mod generic {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const FIELD: u32 = 2;
    pub(crate) const FIELD_NAME: u32 = 1;
    pub(crate) const FIELD_TEXT: u32 = 3;
    pub(crate) const FIELD_INT: u32 = 4;
    pub(crate) const FIELD_UINT: u32 = 5;
}

/// `ProcessTree` and its `Process` and `Thread`
pub(crate) mod tree {
    pub(crate) const PROCESS: u32 = 1;
    pub(crate) const THREAD: u32 = 2;
    pub(crate) const PROCESS_PID: u32 = 1;
    pub(crate) const PROCESS_PARENT: u32 = 2;
    pub(crate) const PROCESS_CMDLINE: u32 = 3;
    pub(crate) const THREAD_TID: u32 = 1;
    pub(crate) const THREAD_NAME: u32 = 2;
    pub(crate) const THREAD_TGID: u32 = 3;
}

/// `TrackDescriptor` and its `CounterDescriptor`
pub(crate) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const COUNTER: u32 = 8;
    pub(crate) const UNIT_NAME: u32 = 6;
}

/// `TrackEvent`
pub(crate) mod track_event {
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const TRACK_UUID: u32 = 11;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const TYPE_COUNTER: u64 = 4;
}
