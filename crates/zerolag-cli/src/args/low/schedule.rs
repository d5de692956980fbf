// SPDX-License-Identifier: GPL-2.0-only
//! Where a schedule comes from, and which part of it is wanted.

use std::path::PathBuf;

use clap::Args;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::units::Nanos;
use zerolag_sim::duration;

use super::Workload;

/// A schedule, recorded or to be simulated.
#[derive(Clone, Debug, Args)]
pub(crate) struct Schedule {
    /// A recording (perf script, ftrace or trace-cmd text, perf.data, trace.dat, Perfetto; plain or
    /// compressed by gzip or zstd), or a workload (scenario or rt-app file), which is run; told apart by
    /// content. - is standard input.
    pub(crate) file: PathBuf,
    #[command(flatten, next_help_heading = "If FILE is a workload")]
    pub(crate) workload: Workload,
}

/// What is known of a recording beside it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Beside {
    /// What a recording cannot carry (TOML), as for `zerolag replay`: the groups with their weights, and each
    /// task's group, nice level and CPUs.
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
}

/// A part of a schedule.
#[derive(Clone, Debug, Args)]
pub(crate) struct Part {
    /// Only from one time to another; either may be left out. Seconds as perf writes them, or a time with a
    /// unit; with a + in front, from the first event on (for example +1s,+2s).
    #[arg(long, value_name = "FROM,TO", value_parser = times)]
    pub(crate) time: Option<(Option<Time>, Option<Time>)>,
    /// Only these CPUs, as in 0-3,8.
    #[arg(short = 'C', long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpu: Option<CpuSet>,
    /// Only tasks with these thread or process ids.
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pub(crate) pid: Vec<u32>,
    /// Only tasks with these names.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) comm: Vec<String>,
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// As in the schedule.
    Absolute(Nanos),
    /// After its first event.
    Relative(Nanos),
}

/// Reads a point in time.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    let (rest, make): (_, fn(Nanos) -> Time) = match text.trim().strip_prefix('+') {
        Some(rest) => (rest, Time::Relative),
        None => (text.trim(), Time::Absolute),
    };
    let bare = rest.ends_with(|c: char| c.is_ascii_digit());
    let with_unit = if bare { format!("{rest}s") } else { rest.to_owned() };
    let accepted = "accepted: seconds, as in 1267.25, or a time with its unit, as in 1500ms";
    duration::parse(&with_unit).map(make).map_err(|e| format!("'{text}': {e}; {accepted}"))
}

/// Reads a span of time.
pub(super) fn times(text: &str) -> Result<(Option<Time>, Option<Time>), String> {
    let (from, to) =
        text.split_once(',').ok_or("expected FROM,TO, either of which may be empty".to_owned())?;
    let end = |text: &str| if text.trim().is_empty() { Ok(None) } else { time(text).map(Some) };
    Ok((end(from)?, end(to)?))
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    text.parse().map_err(|e: zerolag_core::cpu_set::CpuListError| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_unless_they_have_a_unit() {
        assert_eq!(time("1.5"), Ok(Time::Absolute(Nanos(1_500_000_000))));
        assert_eq!(time("+3ms"), Ok(Time::Relative(Nanos(3_000_000))));
        assert_eq!(times(",2"), Ok((None, Some(Time::Absolute(Nanos(2_000_000_000))))));
        assert!(times("3").unwrap_err().contains("FROM,TO"));
        assert!(time("soon").unwrap_err().contains("accepted: seconds"));
    }
}
