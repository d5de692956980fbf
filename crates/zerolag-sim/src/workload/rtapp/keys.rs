// SPDX-License-Identifier: GPL-2.0-only
//! Which keys mean something where.

/// Keys of the root object.
pub(super) const ROOT: &[&str] = &["tasks", "global", "resources"];

/// Keys of `global`.
pub(super) const GLOBAL: &[&str] = &[
    "duration",
    "gnuplot",
    "default_policy",
    "calibration",
    "log_size",
    "logdir",
    "log_basename",
    "ftrace",
    "lock_pages",
    "pi_enabled",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// Keys of `global` that old versions had: still in rt-app's own examples, and without effect today.
pub(super) const GLOBAL_RETIRED: &[&str] = &["frag", "logstats"];

/// Keys that tasks and phases share.
pub(super) const PHASE: &[&str] = &[
    "loop",
    "cpus",
    "nodes_membind",
    "taskgroup",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
];

/// Keys that only tasks have. `runtime` is also an event.
pub(super) const TASK: &[&str] = &["instance", "delay", "phases", "runtime", "period", "deadline"];

/// The events in the order in which rt-app compares a key's beginning with them.
pub(super) const EVENTS: &[&str] = &[
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer", "suspend",
    "resume", "memrun", "mem", "iorun", "yield", "barrier", "fork", "sem_post", "sem_wait",
];

/// The event that a key stands for: the first whose name it begins with.
pub(super) fn event(key: &str) -> Option<&'static str> {
    EVENTS.iter().copied().find(|event| key.starts_with(event))
}

/// Where a key would mean something that does not where it was found.
pub(super) fn home(key: &str) -> Option<&'static str> {
    if GLOBAL.contains(&key) {
        Some("'global'")
    } else if TASK.contains(&key) {
        Some("the task")
    } else if PHASE.contains(&key) || event(key).is_some() {
        Some("a task or phase")
    } else {
        None
    }
}
