// SPDX-License-Identifier: GPL-2.0-only
//! A report as tables.

use std::io::{self, Write};

use zerolag_core::balance::counts::NohzCounts;
use zerolag_core::fair::bandwidth::BandwidthStat;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::conservation::Cause;
use zerolag_sim::sim::Clock;

use zerolag_study::report::Report;
use zerolag_study::report::rows::Row;

use super::figures::{self, COLUMNS};
use crate::table;

/// Prints a report. Shares are of one CPU's time; latencies are from wake-up to running.
pub(crate) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{}: Linux {} on {}{} CPU{}, {} ms, seed {}",
        report.input,
        report.kernel,
        report.machine.as_ref().map_or(String::new(), |name| format!("{name}, ")),
        report.cpus,
        if report.cpus == 1 { "" } else { "s" },
        ms(report.duration),
        report.seed
    )?;
    writeln!(out)?;
    let tasks = report.task_rows();
    if tasks.len() == report.tasks.len() {
        let columns = [&["TASK", "GROUP"][..], &COLUMNS].concat();
        let rows = tasks.iter().map(|row| cells(report, [row.name.clone(), row.group.clone()], row));
        table::write(out, &columns, rows)?;
    } else {
        let columns = [&["TASKS OF", "GROUP", ">N"][..], &COLUMNS].concat();
        let named = |row: &Row| [row.name.clone(), row.group.clone(), row.tasks.to_string()];
        table::write(out, &columns, tasks.iter().map(|row| cells(report, named(row), row)))?;
    }
    let groups = report.group_rows();
    if groups.len() > 1 {
        let columns = [&["GROUP", ">TASKS"][..], &COLUMNS].concat();
        writeln!(out)?;
        let rows = groups.iter().map(|row| cells(report, [row.group.clone(), row.tasks.to_string()], row));
        table::write(out, &columns, rows)?;
    }
    if !report.limited.is_empty() {
        let columns = ["LIMITED GROUP", ">PERIODS", ">THROTTLED", ">THROTTLED_MS", ">BURSTS", ">BURST_MS"];
        let row = |(group, stat): &(String, BandwidthStat)| {
            let [periods, throttled, bursts] =
                [stat.nr_periods, stat.nr_throttled, stat.nr_bursts].map(|n| n.to_string());
            vec![group.clone(), periods, throttled, ms(stat.throttled_time), bursts, ms(stat.burst_time)]
        };
        writeln!(out)?;
        table::write(out, &columns, report.limited.iter().map(row))?;
    }
    let lost = report.conservation.stealable();
    if lost > Nanos::ZERO {
        let causes = Cause::ALL.iter().filter(|&&c| c != Cause::Pinned);
        let parts = causes.map(|&c| (c, report.conservation.time(c))).filter(|&(_, t)| t > Nanos::ZERO);
        let parts: Vec<_> = parts.map(|(c, t)| format!("{} {}", c.name(), ms(t))).collect();
        writeln!(
            out,
            "\nA CPU idled while a task waited that it might have run: {} ms ({}).",
            ms(lost),
            parts.join(", ")
        )?;
    }
    let (short, pinned) = (report.conservation.short_of_ideal(), report.conservation.time(Cause::Pinned));
    if short > Nanos::ZERO {
        let pinned = match pinned {
            Nanos::ZERO => String::new(),
            time => format!("; for {} ms nobody who waited might run on a CPU that idled", ms(time)),
        };
        writeln!(out, "\nShort of an ideal assignment by {} ms of CPU time{pinned}.", ms(short))?;
    }
    if !report.clocks.is_empty() {
        let end = Instant(report.duration.0);
        let row = |c: &Clock| {
            let domain = &c.domain;
            let mean = format!("{:.0}", c.mean_mhz(end));
            vec![
                domain.cpus.to_string(),
                domain.governor.name().into(),
                mean,
                c.mhz().to_string(),
                c.changes.to_string(),
            ]
        };
        writeln!(out)?;
        let columns = ["CLOCK OF CPUS", "GOVERNOR", ">MEAN_MHZ", ">LAST_MHZ", ">CHANGES"];
        table::write(out, &columns, report.clocks.iter().map(row))?;
    }
    if let Some(sentence) = nohz(&report.nohz) {
        writeln!(out, "\n{sentence}")?;
    }
    for (part, outcome) in &report.models {
        let command: Vec<_> =
            [part.model].into_iter().chain(part.options.iter().map(String::as_str)).collect();
        writeln!(out, "\n{}: {}", part.name, command.join(" "))?;
        out.write_all(outcome.text.as_bytes())?;
    }
    Ok(())
}

fn cells<const N: usize>(report: &Report, names: [String; N], row: &Row) -> Vec<String> {
    names.into_iter().chain(figures::cells(&row.figures, report.share(&row.figures))).collect()
}

/// What balancing for idle CPUs did, if it did anything.
pub(crate) fn nohz(n: &NohzCounts) -> Option<String> {
    (n.kicks_stats + n.kicks_balance + n.passes() > 0).then(|| {
        format!(
            "For idle CPUs (NOHZ): {} idle entries; {} kicks to balance, {} to age load; {} passes ({} by CPUs \
             going idle, {} aborted, {} useless) visited {} CPUs, left out {}, updated {}.",
            n.enter,
            n.kicks_balance,
            n.kicks_stats,
            n.passes(),
            n.passes_newly_idle,
            n.abort,
            n.passes_useless,
            n.visit,
            n.skip,
            n.updates
        )
    })
}

/// Milliseconds with three decimals, cut.
pub(crate) fn ms(t: Nanos) -> String {
    format!("{}.{:03}", t.0 / 1_000_000, t.0 / 1_000 % 1_000)
}

/// Microseconds with one decimal, cut.
pub(crate) fn us(t: Nanos) -> String {
    format!("{}.{}", t.0 / 1_000, t.0 / 100 % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_not_rounded() {
        assert_eq!(ms(Nanos(1_999_999)), "1.999");
        assert_eq!(ms(Nanos(2_000_000_000)), "2000.000");
        assert_eq!(us(Nanos(99)), "0.0");
        assert_eq!(us(Nanos(1_050_199)), "1050.1");
    }
}
