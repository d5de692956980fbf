// SPDX-License-Identifier: GPL-2.0-only
//! The `global` and `resources` objects.

use zerolag_core::units::Nanos;

use super::error::Problem;
use super::fields::{Failure, Reader, Scope, bad_value, word};
use super::spec::{Calibration, Categories, Global, LogSize, Policy};
use super::{Mode, keys};
use crate::workload::json::{Data, Member, Position};

const MEM_BUFFER_BYTES: u32 = 4 << 20;

impl Global {
    /// What holds when the file has no `global` object. Logging is off then, though it is on by default
    /// where there is one.
    pub(super) fn absent() -> Self {
        Self {
            duration: None,
            calibration: Calibration::Cpu(0),
            calibration_at: Position::default(),
            default_policy: Policy::Other,
            log: LogSize::Disabled,
            logdir: "./".into(),
            log_basename: "rt-app".into(),
            ftrace: Categories::default(),
            lock_pages: true,
            pi_enabled: false,
            gnuplot: false,
            io_device: "/dev/null".into(),
            mem_buffer_bytes: MEM_BUFFER_BYTES,
            cumulative_slack: false,
        }
    }
}

/// Reads `global` (`parse_global()`).
pub(super) fn read(reader: &mut Reader, scope: Scope<'_>) -> Result<Global, Failure> {
    scope.check_keys(&[keys::GLOBAL, keys::GLOBAL_RETIRED], false)?;
    for member in keys::GLOBAL_RETIRED.iter().filter_map(|key| scope.get(key)) {
        reader.remark(member.key_at, format!("{}: a key of old versions, without effect", member.key));
    }
    let default = Global::absent();
    let seconds = scope.int("duration")?.and_then(|s| u64::try_from(s).ok()).filter(|&s| s > 0);
    let mem_buffer_bytes = scope.natural("mem_buffer_size")?.unwrap_or(MEM_BUFFER_BYTES);
    if let (0, Some(member)) = (mem_buffer_bytes, scope.get("mem_buffer_size")) {
        return Err(bad_value(member, "1 or more bytes"));
    }
    let text = |key| Ok(scope.text(key)?.map(String::from));
    let global = Global {
        duration: seconds.map(Nanos::from_secs),
        calibration: scope.get("calibration").map_or(Ok(Calibration::Cpu(0)), calibration)?,
        calibration_at: scope.get("calibration").map_or(scope.at, |member| member.value.at),
        default_policy: match scope.get("default_policy") {
            Some(member) => word(member, &Policy::NAMES)?,
            None => Policy::Other,
        },
        log: match scope.get("log_size") {
            Some(member) => log_size(reader, member)?,
            None => LogSize::File,
        },
        logdir: text("logdir")?.unwrap_or(default.logdir),
        log_basename: text("log_basename")?.unwrap_or(default.log_basename),
        ftrace: scope.get("ftrace").map_or(Ok(Categories::default()), ftrace)?,
        lock_pages: scope.bool("lock_pages")?.unwrap_or(true),
        pi_enabled: scope.bool("pi_enabled")?.unwrap_or(false),
        gnuplot: scope.bool("gnuplot")?.unwrap_or(false),
        io_device: text("io_device")?.unwrap_or(default.io_device),
        mem_buffer_bytes,
        cumulative_slack: scope.bool("cumulative_slack")?.unwrap_or(false),
    };
    if let (true, Some(member)) = (global.gnuplot, scope.get("gnuplot")) {
        reader.remark(member.key_at, "gnuplot: the logs are written, .plot files for them are not");
    }
    Ok(global)
}

/// `"CPU3"`, or nanoseconds per loop. A 0 there means the same as nothing: calibrate CPU 0.
fn calibration(member: &Member) -> Result<Calibration, Failure> {
    let accepted = "\"CPUn\", or nanoseconds per loop";
    match &member.value.data {
        Data::Int(0) => Ok(Calibration::Cpu(0)),
        Data::Int(ns) => i32::try_from(*ns)
            .ok()
            .and_then(|ns| u32::try_from(ns).ok())
            .map(Calibration::NanosPerLoop)
            .ok_or_else(|| bad_value(member, accepted)),
        Data::Text(text) => text
            .strip_prefix("CPU")
            .and_then(|number| number.parse().ok())
            .map(Calibration::Cpu)
            .ok_or_else(|| bad_value(member, accepted)),
        _ => Err(bad_value(member, accepted)),
    }
}

/// rt-app compares the words in lower case only, although its tutorial writes them "Disable" and "Auto"; any
/// other word leaves logging off.
fn log_size(reader: &mut Reader, member: &Member) -> Result<LogSize, Failure> {
    let accepted = "mebibytes up to 2047, \"file\", \"auto\", \"disable\"";
    match &member.value.data {
        Data::Int(0) => Ok(LogSize::Disabled),
        Data::Int(size @ 1..=2047) => Ok(LogSize::Ring { mebibytes: *size as u32 }),
        Data::Text(text) => match text.as_str() {
            "disable" | "Disable" => Ok(LogSize::Disabled),
            "file" | "auto" => Ok(LogSize::File),
            _ if reader.mode == Mode::Compatible => {
                reader.remark(member.value.at, "log_size: rt-app knows no such word and logs nothing");
                Ok(LogSize::Disabled)
            }
            _ => Err(bad_value(member, accepted)),
        },
        _ => Err(bad_value(member, accepted)),
    }
}

/// A list of names, or (old) true for all and false for none.
fn ftrace(member: &Member) -> Result<Categories, Failure> {
    let accepted = "a list of main, task, loop, event, stats, none, with commas and no blanks";
    let list = match &member.value.data {
        Data::Bool(on) => {
            let on = *on;
            return Ok(Categories { main: on, task: on, phase: on, event: on, stats: on, attrs: on });
        }
        Data::Text(list) => list,
        _ => return Err(bad_value(member, accepted)),
    };
    let mut on = Categories::default();
    for name in list.split(',').filter(|name| !name.is_empty()) {
        match name.to_ascii_lowercase().as_str() {
            "main" => on.main = true,
            "task" => on.task = true,
            "loop" => on.phase = true,
            "event" => on.event = true,
            "stats" => on.stats = true,
            "none" => on = Categories::default(),
            _ => return Err(bad_value(member, accepted)),
        }
    }
    Ok(on)
}

/// Checks `resources`, a list from the time when tasks could not name a resource without it. Nothing comes of
/// it: whatever an event names exists.
pub(super) fn check_resources(scope: Scope<'_>) -> Result<(), Failure> {
    const TYPES: &[(&str, ())] = &[
        ("mutex", ()),
        ("signal", ()),
        ("wait", ()),
        ("broadcast", ()),
        ("sync", ()),
        ("sleep", ()),
        ("run", ()),
        ("timer", ()),
    ];
    for member in scope.members {
        let name = format!("resource '{}'", member.key);
        let members = member.value.as_object().ok_or_else(|| bad_value(member, "an object with a 'type'"))?;
        let resource = Scope { members, at: member.value.at, name: &name, mode: scope.mode };
        resource.check_keys(&[&["type"]], false)?;
        let missing = || (member.key_at, Problem::Missing { key: "type", scope: name.clone() });
        word(resource.get("type").ok_or_else(missing)?, TYPES)?;
    }
    Ok(())
}
