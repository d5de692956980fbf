// SPDX-License-Identifier: GPL-2.0-only
//! What is chosen, as the commands that set it on a Linux machine.
//!
//! | choice | where Linux has it | since |
//! |---|---|---|
//! | `set:FEATURE` | `/sys/kernel/debug/sched/features`; `sched_features` beside it before | 5.13 |
//! | `set:TUNABLE` | `/sys/kernel/debug/sched/NAME_ns`; `/proc/sys/kernel/sched_NAME_ns` before | 5.13 |
//! | `set:cfs_bandwidth_slice`, `set:child_runs_first` | `/proc/sys/kernel/sched_…` in all versions | |
//! | `cgroup:PATH:cpu.…` | the file of that name in `/sys/fs/cgroup/PATH`; `cpu.shares` in version 1 | 4.15 |
//! | `workload:NAME:nice`, `policy`, `cpus` | `renice`, `chrt`, `taskset` for its threads | |
//! | `workload:NAME:slice` | `sched_setattr(2)`, `sched_runtime` of a task that is not a deadline one | 6.12 |
//! | `workload:NAME:timer_slack` | `/proc/TID/timerslack_ns` | 4.6 |
//! | `workload:NAME:cgroup` | `cgroup.procs` of the group | |
//! | `kernel`, `set:hz` | not while it runs: a comment says so | |
//! | anything else of a workload | not Linux's to set: a comment says so | |
//!
//! The script is for `sh`, needs util-linux, procps and, for slices, Python, and stops at the first command that
//! fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use zerolag_core::kernel::Kernel;
use zerolag_sim::costs::Costs;
use zerolag_sim::duration;
use zerolag_sim::sim::Setup;
use zerolag_sim::tunable::{Tunable, Unit};

use crate::choice::Key;

/// The first kernels here with the scheduler's files in debugfs (5.13), version 2 of the cpu controller (4.15),
/// slices of single tasks (6.12).
const DEBUGFS: Kernel = Kernel::V6_1;
const CPU_V2: Kernel = Kernel::V4_16;
const SLICES: Kernel = Kernel::V6_12;

const THREADS: &str = r#"
# Threads by their name as `ps -L` shows it, NAME or NAME-0, NAME-1, ...: put what you run in its place.
threads() {
	found=$(ps -eLo lwp=,comm= | awk -v n="$1" '
		substr($2, 1, length(n)) == n && substr($2, length(n) + 1) ~ /^(-[0-9]+)?$/ { print $1 }')
	[ -n "$found" ] || echo "no thread is called $1" >&2
	echo $found
}
"#;

/// Numbers of the calls: of x86-64, and of all architectures that came after 2012.
const SLICE: &str = r#"
# slice NANOSECONDS THREAD...: asks for requests of this length, and changes nothing else of the thread.
slice() {
	python3 - "$@" <<-'END'
		import ctypes, os, platform, struct, sys
		libc = ctypes.CDLL(None, use_errno=True)
		put, get = (314, 315) if platform.machine() == "x86_64" else (274, 275)
		for thread in map(int, sys.argv[2:]):
		    attributes = ctypes.create_string_buffer(48)
		    if libc.syscall(get, thread, attributes, 48, 0) == 0:
		        struct.pack_into("=Q", attributes, 24, int(sys.argv[1]))
		        if libc.syscall(put, thread, attributes, 0) == 0:
		            continue
		    sys.exit(f"thread {thread}: {os.strerror(ctypes.get_errno())}")
	END
}
"#;

/// A shell script that sets on a Linux machine what is chosen. `kernel` is the one it was chosen for.
pub fn script(kernel: Kernel, choices: &BTreeMap<Key, String>) -> String {
    let mut body = Body { kernel, text: String::new(), threads: false, slice: false, enabled: Vec::new() };
    for (key, value) in choices {
        _ = writeln!(body.text, "\n# {key} = {value}");
        body.set(key, value);
    }
    let mut text = format!("#!/bin/sh\n# For Linux {kernel}, as root.\nset -eu\n");
    for (used, function) in [(body.threads, THREADS), (body.slice, SLICE)] {
        if used {
            text.push_str(function);
        }
    }
    text + &body.text
}

struct Body {
    kernel: Kernel,
    text: String,
    threads: bool,
    slice: bool,
    /// Groups whose children have been given the cpu controller.
    enabled: Vec<String>,
}

impl Body {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    fn put(&mut self, value: &str, file: &str) {
        self.line(format!("echo {} > {}", quoted(value), quoted(file)));
    }

    fn set(&mut self, key: &Key, value: &str) {
        match key {
            Key::Kernel => self.line(format!("# boot Linux {value}")),
            Key::Machine | Key::Duration => self.line("# of the simulation only"),
            Key::Set(name) => self.setting(name, value),
            Key::Cgroup { path, key } => self.group(path, key, value),
            Key::Workload { name, key } => self.workload(name, key, value),
        }
    }

    fn setting(&mut self, name: &str, value: &str) {
        let debugfs = self.kernel >= DEBUGFS;
        let Some(tunable) = Tunable::by_name(name) else {
            return match name {
                "hz" => self.line(format!("# CONFIG_HZ={value} when the kernel is built")),
                _ if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') => {
                    let on = matches!(value, "1" | "on" | "true");
                    let file = if debugfs { "sched/features" } else { "sched_features" };
                    self.put(
                        &format!("{}{name}", if on { "" } else { "NO_" }),
                        &format!("/sys/kernel/debug/{file}"),
                    );
                }
                _ => self.line("# of the simulation only"),
            };
        };
        let ns = duration::parse(value).ok().map(|time| time.0);
        let number = ns.map_or_else(|| value.to_owned(), |ns| ns.to_string());
        match tunable {
            Tunable::BandwidthSlice => {
                let us = ns.map_or_else(|| value.to_owned(), |ns| (ns / 1000).to_string());
                self.put(&us, "/proc/sys/kernel/sched_cfs_bandwidth_slice_us");
            }
            Tunable::ChildRunsFirst => self.put(&number, "/proc/sys/kernel/sched_child_runs_first"),
            _ => {
                let unit = if tunable.unit() == Unit::Time { "_ns" } else { "" };
                let place = if debugfs { "/sys/kernel/debug/sched/" } else { "/proc/sys/kernel/sched_" };
                self.put(&number, &format!("{place}{name}{unit}"));
            }
        }
    }

    fn group(&mut self, path: &str, key: &str, value: &str) {
        if key == "cpu.shares" || self.kernel < CPU_V2 {
            let shares = match (key, value.parse::<u64>()) {
                ("cpu.weight", Ok(weight)) => Some((weight * 1024).div_ceil(100).to_string()),
                ("cpu.shares", _) => Some(value.to_owned()),
                _ => None,
            };
            return match shares {
                Some(shares) => self.put(&shares, &format!("/sys/fs/cgroup/cpu{path}/cpu.shares")),
                None => self.line(format!("# Linux {} has no {key}", self.kernel)),
            };
        }
        let mut above = String::from("/sys/fs/cgroup");
        for part in path.split('/').skip(1) {
            if !self.enabled.contains(&above) {
                self.put("+cpu", &format!("{above}/cgroup.subtree_control"));
                self.enabled.push(above.clone());
            }
            above = format!("{above}/{part}");
        }
        self.put(value, &format!("{above}/{key}"));
    }

    fn workload(&mut self, name: &str, key: &str, value: &str) {
        let threads = format!("$(threads {})", quoted(name));
        let each = format!("for thread in {threads}; do ");
        let line = match key {
            "nice" => format!("renice -n {value} -p {threads}"),
            "policy" => match policy(value) {
                Some((option, priority)) => format!("{each}chrt {option} --pid {priority} \"$thread\"; done"),
                None => format!("# no policy of Linux: {value}"),
            },
            "cpus" => format!("{each}taskset --cpu-list --pid {} \"$thread\"; done", quoted(value)),
            "slice" if self.kernel < SLICES => {
                format!("# Linux {} has no slices of single tasks; 6.12 is the first", self.kernel)
            }
            "slice" => match duration::parse(value) {
                Ok(time) => format!("slice {} {threads}", time.0),
                Err(_) => format!("# no time: {value}"),
            },
            "timer_slack" => match duration::parse(value) {
                Ok(time) => format!("{each}echo {} > \"/proc/$thread/timerslack_ns\"; done", time.0),
                Err(_) => format!("# no time: {value}"),
            },
            "cgroup" => {
                let file = format!("/sys/fs/cgroup{}/cgroup.procs", value.trim_end_matches('/'));
                format!("{each}echo \"$thread\" > {}; done", quoted(&file))
            }
            _ => "# of the workload itself: nothing that Linux sets".to_owned(),
        };
        self.threads |= line.contains("$(threads ");
        self.slice |= line.starts_with("slice ");
        self.line(line);
    }
}

/// What of a real machine a simulation on this one does not have, in words.
pub fn not_modelled(setup: &Setup) -> Vec<String> {
    let mut said = vec![
        "caches, memory bandwidth, changing frequencies, energy: work takes as long beside whatever else runs".into(),
        "locks and interrupts of the kernel, and other work of the machine that is not in the scenario".into(),
        "deadline tasks, real-time throttling, uclamp, NUMA balancing, core scheduling, sched_ext (DIFFERENCES.md)".into(),
        "the workload is what the scenario says it is: what tasks do does not change with how they are scheduled".into(),
    ];
    if setup.costs == Costs::IDEAL {
        said.push("what the kernel itself costs: switches, wake-ups and ticks take no time here (costs = \"ideal\")".into());
    }
    if !CHECKED.contains(&setup.config.kernel) {
        let name = setup.config.kernel.name();
        said.push(format!(
            "Linux {name} exactly: only 6.1 and 6.12 are checked against the kernel's code event by event"
        ));
    }
    said
}

/// Kernels that `oracle/diff` compares with.
const CHECKED: [Kernel; 2] = [Kernel::V6_1, Kernel::V6_12];

/// The option and the priority for `chrt`.
fn policy(text: &str) -> Option<(&'static str, &str)> {
    match text.split_once(':') {
        None => match text {
            "normal" | "other" => Some(("--other", "0")),
            "batch" => Some(("--batch", "0")),
            "idle" => Some(("--idle", "0")),
            _ => None,
        },
        Some(("fifo", priority)) => Some(("--fifo", priority)),
        Some(("rr", priority)) => Some(("--rr", priority)),
        Some(_) => None,
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(kernel: Kernel, choices: &[(&str, &str)]) -> Vec<String> {
        let choices = choices.iter().map(|(k, v)| (k.parse().unwrap(), (*v).to_owned())).collect();
        let text = script(kernel, &choices);
        let body = text.rsplit_once("}\n").map_or(text.as_str(), |(_, body)| body);
        body.lines().skip_while(|l| !l.starts_with("# ") || !l.contains(" = ")).map(str::to_owned).collect()
    }

    #[test]
    fn files_are_where_the_kernel_has_them() {
        for (kernel, key, value, line) in [
            (
                Kernel::V6_12,
                "set:base_slice",
                "2500us",
                "echo 2500000 > /sys/kernel/debug/sched/base_slice_ns",
            ),
            (Kernel::V6_1, "set:latency", "6ms", "echo 6000000 > /sys/kernel/debug/sched/latency_ns"),
            (Kernel::V4_17, "set:latency", "6ms", "echo 6000000 > /proc/sys/kernel/sched_latency_ns"),
            (Kernel::V6_12, "set:nr_migrate", "8", "echo 8 > /sys/kernel/debug/sched/nr_migrate"),
            (
                Kernel::V6_12,
                "set:RUN_TO_PARITY",
                "off",
                "echo NO_RUN_TO_PARITY > /sys/kernel/debug/sched/features",
            ),
            (
                Kernel::V4_17,
                "set:WAKEUP_PREEMPTION",
                "on",
                "echo WAKEUP_PREEMPTION > /sys/kernel/debug/sched_features",
            ),
            (
                Kernel::V6_12,
                "set:cfs_bandwidth_slice",
                "5ms",
                "echo 5000 > /proc/sys/kernel/sched_cfs_bandwidth_slice_us",
            ),
            (Kernel::V4_6, "cgroup:/a:cpu.weight", "300", "echo 3072 > /sys/fs/cgroup/cpu/a/cpu.shares"),
            (Kernel::V6_12, "set:hz", "1000", "# CONFIG_HZ=1000 when the kernel is built"),
            (
                Kernel::V6_1,
                "workload:x:slice",
                "3ms",
                "# Linux 6.1 has no slices of single tasks; 6.12 is the first",
            ),
            (Kernel::V6_12, "workload:x:count", "3", "# of the workload itself: nothing that Linux sets"),
        ] {
            assert_eq!(lines(kernel, &[(key, value)])[1..], [line], "{key}");
        }
    }

    #[test]
    fn a_group_gets_the_controller_from_those_above_it_once() {
        let choices = [("cgroup:/a/b c:cpu.weight", "10"), ("cgroup:/a:cpu.max", "50000 100000")];
        let lines = lines(Kernel::V6_12, &choices);
        assert_eq!(
            lines.iter().filter(|l| l.starts_with("echo")).map(String::as_str).collect::<Vec<_>>(),
            [
                "echo +cpu > /sys/fs/cgroup/cgroup.subtree_control",
                "echo '50000 100000' > /sys/fs/cgroup/a/cpu.max",
                "echo +cpu > /sys/fs/cgroup/a/cgroup.subtree_control",
                "echo 10 > '/sys/fs/cgroup/a/b c/cpu.weight'",
            ]
        );
    }

    #[test]
    fn threads_are_found_by_name_and_policy_comes_before_slice() {
        let choices =
            [("workload:job:slice", "3ms"), ("workload:job:policy", "batch"), ("workload:job:nice", "5")];
        let lines = lines(Kernel::V6_12, &choices);
        assert_eq!(
            lines
                .iter()
                .filter(|l| !l.is_empty() && !l.starts_with('#'))
                .map(String::as_str)
                .collect::<Vec<_>>(),
            [
                "renice -n 5 -p $(threads job)",
                "for thread in $(threads job); do chrt --batch --pid 0 \"$thread\"; done",
                "slice 3000000 $(threads job)",
            ]
        );
    }
}
