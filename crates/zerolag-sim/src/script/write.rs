// SPDX-License-Identifier: GPL-2.0-only
//! From a [`Command`] to the line of text that [`super::parse`] reads as it.

use std::fmt::{self, Display, Formatter};

use zerolag_core::fair::bandwidth::BandwidthTimer;
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};

use super::Output;
use super::command::{Command, Event, Ipi, NewTask, Place, Query, Setting};

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(setting) => setting.fmt(f),
            Self::Place(place) => place.fmt(f),
            Self::Query(query) => query.fmt(f),
            Self::Event(event) => event.fmt(f),
        }
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (word, on) = match *self {
            Self::Mode(Output::Full | Output::Fullest) => return write!(f, "mode full"),
            Self::Mode(Output::Hash) => return write!(f, "mode hash"),
            Self::Mode(Output::Quiet) => return write!(f, "mode quiet"),
            Self::Mode(Output::Nohz) => return write!(f, "mode nohz"),
            Self::Every(n) => return write!(f, "every {n}"),
            Self::Feature { ref name, on } => return write!(f, "feature {name} {}", u8::from(on)),
            Self::Tunable { ref name, value } => return write!(f, "sysctl {name} {value}"),
            Self::Ignored => return write!(f, "tick_ns 0"),
            Self::Anchor(on) => ("anchor", on),
            Self::Auto(on) => ("auto", on),
            Self::Raw(on) => ("raw", on),
            Self::Stats(on) => ("stats", on),
            Self::FairServer(on) => ("fair_server", on),
            Self::Interrupt(on) => ("intr", on),
        };
        write!(f, "{word} {}", u8::from(on))
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { ns } => write!(f, "clock {ns}"),
            Self::Advance { ns } => write!(f, "adv {ns}"),
            Self::Cpu(cpu) => write!(f, "cpu {cpu}"),
        }
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Show(None) => write!(f, "show"),
            Self::Show(Some(cpu)) => write!(f, "show {cpu}"),
            Self::Debug(None) => write!(f, "debug"),
            Self::Debug(Some(task)) => write!(f, "debug {task}"),
            Self::Stats => write!(f, "stats"),
            Self::Glance => write!(f, "glance"),
        }
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (verb, id) = self.label();
        write!(f, "{verb}")?;
        if let Some(id) = id {
            write!(f, " {id}")?;
        }
        match *self {
            Self::Dump
            | Self::Fork { .. }
            | Self::Exit
            | Self::Exec
            | Self::Tick
            | Self::TickAll
            | Self::Warm
            | Self::Softirq
            | Self::Stopper
            | Self::Offline { .. }
            | Self::Online { .. }
            | Self::Yield
            | Self::Wake { sync: false, .. }
            | Self::Sleep { io: false }
            | Self::Resched { force: false } => Ok(()),
            Self::Group { parent, shares, latency_nice, .. } => {
                write!(f, " parent {parent}")?;
                shares.map_or(Ok(()), |shares| write!(f, " shares {shares}"))?;
                latency_nice.map_or(Ok(()), |level| write!(f, " latnice {level}"))
            }
            Self::Shares { shares, .. } => write!(f, " {shares}"),
            Self::GroupIdle { idle, .. } => write!(f, " {}", u8::from(idle)),
            Self::Quota { quota_us, period_us, burst_us, .. } => match quota_us {
                Some(quota) => write!(f, " {quota} {period_us} {burst_us}"),
                None => write!(f, " -1 {period_us} {burst_us}"),
            },
            Self::Task { ref spec, .. } => spec.fmt(f),
            Self::Wake { .. } => write!(f, " sync"),
            Self::Sleep { .. } => write!(f, " io"),
            Self::Nohz { what } => write!(f, " {what}"),
            Self::Ipi(Ipi::Wake) => write!(f, " wake"),
            Self::Ipi(Ipi::Kick) => write!(f, " kick"),
            Self::Ipi(Ipi::Unthrottle) => write!(f, " unthrottle"),
            Self::Timer { timer: BandwidthTimer::Period, .. } => write!(f, " period"),
            Self::Timer { timer: BandwidthTimer::Slack, .. } => write!(f, " slack"),
            Self::Resched { .. } => write!(f, " force"),
            // A level that there is not is as good as any other of those.
            Self::Nice { nice, .. } => write!(f, " {}", nice.map_or(99, Nice::get)),
            Self::Slice { ns, .. } => write!(f, " {ns}"),
            Self::LatencyNice { level, .. } | Self::GroupLatencyNice { level, .. } => write!(f, " {level}"),
            Self::Policy { policy, .. } => write!(f, " {}", policy_word(policy)),
            Self::Move { cpu, .. } => write!(f, " cpu {cpu}"),
            Self::Affine { ref cpus, .. } => write!(f, " cpus {cpus}"),
            Self::SetGroup { group, .. } => write!(f, " {group}"),
        }
    }
}

impl Display for NewTask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { group, nice, policy, slice_ns, latency_nice, cpu, pin, ref cpus } = *self;
        write!(f, " group {group} nice {nice} policy {}", policy_word(policy))?;
        cpu.map_or(Ok(()), |cpu| write!(f, " cpu {cpu}"))?;
        if slice_ns != 0 {
            write!(f, " slice {slice_ns}")?;
        }
        if latency_nice != LatencyNice::ZERO {
            write!(f, " latnice {}", latency_nice.get())?;
        }
        if pin {
            write!(f, " pin")?;
        }
        cpus.as_ref().map_or(Ok(()), |cpus| write!(f, " cpus {cpus}"))
    }
}

fn policy_word(policy: Policy) -> &'static str {
    match policy {
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        // The language has no others.
        _ => "normal",
    }
}

#[cfg(test)]
mod tests {
    use crate::script::parse;

    /// The golden scripts have every word of the language.
    #[test]
    fn what_is_written_is_read_as_the_same() {
        let mut lines = 0;
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/golden");
        let more = "raw 1\nsleep io\nipi wake\nipi kick\nipi unthrottle\nsoftirq\nstopper\ntimer 3 period\n\
                    timer 3 slack\nexec\ndebug 3\nshow\nglance\nstats 1\nstats\nmode nohz\nresched force\n\
                    quota 1 -1 100000 0\nintr 1\nfair_server 1\nonline 3\n"
            .to_owned();
        let mut texts = vec![more];
        for kernel in std::fs::read_dir(golden).unwrap() {
            let Ok(scripts) = std::fs::read_dir(kernel.unwrap().path()) else { continue };
            for script in scripts.map(|s| s.unwrap().path()) {
                if script.extension().is_some_and(|e| e == "script") {
                    texts.push(std::fs::read_to_string(script).unwrap());
                }
            }
        }
        for line in texts.iter().flat_map(|t| t.lines()) {
            let words = parse::words(line);
            if words.is_empty() {
                continue;
            }
            let Ok(command) = parse::command(&words) else { continue };
            let written = command.to_string();
            let read = parse::command(&parse::words(&written));
            assert_eq!(read, Ok(command), "{line} was written as {written}");
            lines += 1;
        }
        assert!(lines > 10_000, "{lines} lines");
    }
}
