// SPDX-License-Identifier: GPL-2.0-only
//! From a line of text to a [`Command`].
//!
//! Words are separated by blanks, `#` starts a comment, numbers are decimal or `0x` hexadecimal.

use zerolag_core::cpu_set::{CPUS_MAX, CpuSet};
use zerolag_core::fair::bandwidth::BandwidthTimer;
use zerolag_core::ids::CpuId;
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};

use super::Output;
use super::command::{Command, Event, Ipi, NewTask, Place, Query, Setting};
use super::error::ScriptFault;

/// Every word a line can start with, machine words apart.
const WORDS: &[&str] = &[
    "mode",
    "every",
    "anchor",
    "auto",
    "raw",
    "stats",
    "feature",
    "sysctl",
    "fair_server",
    "intr",
    "tick_ns",
    "clock",
    "adv",
    "cpu",
    "show",
    "debug",
    "glance",
    "dump",
    "group",
    "shares",
    "gidle",
    "quota",
    "task",
    "fork",
    "wake",
    "sleep",
    "exit",
    "exec",
    "tick",
    "tickall",
    "warm",
    "nohz",
    "ipi",
    "softirq",
    "stopper",
    "timer",
    "offline",
    "online",
    "resched",
    "yield",
    "nice",
    "slice",
    "latnice",
    "glatnice",
    "policy",
    "move",
    "affine",
    "setgroup",
];

/// The words of a line, without comment.
pub(super) fn words(line: &str) -> Vec<&str> {
    line.split('#').next().unwrap_or_default().split_ascii_whitespace().collect()
}

/// The words of one line that are still to be read.
struct Words<'a> {
    rest: std::slice::Iter<'a, &'a str>,
}

impl<'a> Words<'a> {
    fn word(&mut self, expected: &'static str) -> Result<&'a str, ScriptFault> {
        self.rest.next().copied().ok_or(ScriptFault::Missing { expected })
    }

    fn optional(&mut self) -> Option<&'a str> {
        self.rest.next().copied()
    }

    fn number(&mut self, expected: &'static str) -> Result<u64, ScriptFault> {
        number(self.word(expected)?, expected)
    }

    /// A number, or a default at the end of the line.
    fn number_or(&mut self, default: u64, expected: &'static str) -> Result<u64, ScriptFault> {
        self.optional().map_or(Ok(default), |word| number(word, expected))
    }

    fn signed(&mut self, expected: &'static str) -> Result<i64, ScriptFault> {
        let word = self.word(expected)?;
        word.parse().map_err(|_| bad(word, expected))
    }

    fn flag(&mut self, expected: &'static str) -> Result<bool, ScriptFault> {
        Ok(self.number(expected)? != 0)
    }

    fn cpu(&mut self) -> Result<u32, ScriptFault> {
        let word = self.word("a CPU number")?;
        let cpu = number(word, "a CPU number")?;
        u32::try_from(cpu).ok().filter(|&c| (c as usize) < CPUS_MAX).ok_or_else(|| bad(word, "a CPU number"))
    }

    fn end(mut self) -> Result<(), ScriptFault> {
        match self.rest.next() {
            None => Ok(()),
            Some(found) => Err(ScriptFault::TooMany { found: (*found).to_owned() }),
        }
    }
}

fn bad(found: &str, expected: &'static str) -> ScriptFault {
    ScriptFault::Bad { found: found.to_owned(), expected }
}

pub(super) fn number(word: &str, expected: &'static str) -> Result<u64, ScriptFault> {
    let parsed = match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| bad(word, expected))
}

fn policy(word: &str) -> Result<Policy, ScriptFault> {
    match word {
        "normal" => Ok(Policy::Normal),
        "batch" => Ok(Policy::Batch),
        "idle" => Ok(Policy::Idle),
        _ => Err(bad(word, "a policy (normal, batch, idle)")),
    }
}

fn list(word: &str) -> Result<CpuSet, ScriptFault> {
    word.parse().map_err(|_| bad(word, "a list of CPUs, as in 0-3,8"))
}

/// A mask: a number, or `0x` and any number of hexadecimal digits.
fn mask(word: &str) -> Result<CpuSet, ScriptFault> {
    const EXPECTED: &str = "a CPU mask";
    let mut set = CpuSet::new();
    if let Some(hex) = word.strip_prefix("0x") {
        if hex.is_empty() || hex.len() > CPUS_MAX / 4 {
            return Err(bad(word, EXPECTED));
        }
        for (position, digit) in hex.chars().rev().enumerate() {
            let digit = digit.to_digit(16).ok_or_else(|| bad(word, EXPECTED))?;
            for bit in (0..4).filter(|bit| digit >> bit & 1 == 1) {
                set.insert(CpuId((position * 4) as u32 + bit));
            }
        }
    } else {
        let bits = number(word, EXPECTED)?;
        (0..64).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| set.insert(CpuId(bit)));
    }
    Ok(set)
}

/// Reads the words of a line, of which there is at least one.
pub(super) fn command(all: &[&str]) -> Result<Command, ScriptFault> {
    let (&first, rest) = all.split_first().expect("a line with words");
    let mut w = Words { rest: rest.iter() };
    let command = match first {
        "mode" => Command::Setting(Setting::Mode(match w.word("full, hash or quiet")? {
            "full" => Output::Full,
            "hash" => Output::Hash,
            "quiet" => Output::Quiet,
            "nohz" => Output::Nohz,
            other => return Err(bad(other, "full, hash or quiet")),
        })),
        "every" => {
            let n = w.number("a number of events")?;
            Command::Setting(Setting::Every(n.max(1)))
        }
        "anchor" => Command::Setting(Setting::Anchor(w.flag("0 or 1")?)),
        "auto" => Command::Setting(Setting::Auto(w.flag("0 or 1")?)),
        "raw" => Command::Setting(Setting::Raw(w.flag("0 or 1")?)),
        "stats" => match w.optional() {
            None => Command::Query(Query::Stats),
            Some(word) => Command::Setting(Setting::Stats(number(word, "0 or 1")? != 0)),
        },
        "feature" => Command::Setting(Setting::Feature {
            name: w.word("a feature")?.to_owned(),
            on: w.flag("0 or 1")?,
        }),
        "sysctl" => Command::Setting(Setting::Tunable {
            name: w.word("a tunable")?.to_owned(),
            value: w.number("a value")?,
        }),
        "fair_server" => Command::Setting(Setting::FairServer(w.flag("0 or 1")?)),
        "intr" => Command::Setting(Setting::Interrupt(w.flag("0 or 1")?)),
        "tick_ns" => {
            w.number("nanoseconds")?;
            Command::Setting(Setting::Ignored)
        }
        "clock" => Command::Place(Place::Clock { ns: w.number("nanoseconds")? }),
        "adv" => Command::Place(Place::Advance { ns: w.number("nanoseconds")? }),
        "cpu" => Command::Place(Place::Cpu(w.cpu()?)),
        "show" => Command::Query(Query::Show(match w.optional() {
            None => None,
            Some(word) => Some(Words { rest: [word].iter() }.cpu()?),
        })),
        "debug" => {
            let task = w.optional().map(|word| number(word, "a task's number")).transpose()?;
            Command::Query(Query::Debug(task))
        }
        "glance" => Command::Query(Query::Glance),
        _ => Command::Event(event(first, &mut w)?),
    };
    w.end()?;
    Ok(command)
}

fn event(verb: &str, w: &mut Words) -> Result<Event, ScriptFault> {
    const TASK: &str = "a task's number";
    const GROUP: &str = "a group's number";
    Ok(match verb {
        "dump" => Event::Dump,
        "group" => {
            let group = w.number(GROUP)?;
            let (mut parent, mut shares, mut latency_nice) = (0, None, None);
            while let Some(word) = w.optional() {
                match word {
                    "parent" => parent = w.number(GROUP)?,
                    "shares" => shares = Some(w.number("shares")?).filter(|&s| s != 0),
                    "latnice" => latency_nice = Some(w.signed(LATENCY_NICE)?),
                    other => return Err(bad(other, "parent, shares or latnice")),
                }
            }
            Event::Group { group, parent, shares, latency_nice }
        }
        "shares" => Event::Shares { group: w.number(GROUP)?, shares: w.number("shares")? },
        "gidle" => Event::GroupIdle { group: w.number(GROUP)?, idle: w.flag("0 or 1")? },
        "quota" => Event::Quota {
            group: w.number(GROUP)?,
            // Any negative number stands for no limit.
            quota_us: u64::try_from(w.signed("a quota in µs, or -1")?).ok(),
            period_us: w.number_or(100_000, "a period in µs")?,
            burst_us: w.number_or(0, "a burst in µs")?,
        },
        "task" => Event::Task { task: w.number(TASK)?, spec: new_task(w)? },
        "fork" => Event::Fork { task: w.number(TASK)? },
        "wake" => {
            let task = w.number(TASK)?;
            let sync = match w.optional() {
                None => false,
                Some("sync") => true,
                Some(other) => return Err(bad(other, "sync, or nothing")),
            };
            Event::Wake { task, sync }
        }
        "sleep" => Event::Sleep {
            io: match w.optional() {
                None => false,
                Some("io") => true,
                Some(other) => return Err(bad(other, "io, or nothing")),
            },
        },
        "exit" => Event::Exit,
        "exec" => Event::Exec,
        "tick" => Event::Tick,
        "tickall" => Event::TickAll,
        "warm" => Event::Warm,
        "nohz" => Event::Nohz { what: w.number("0, 1 or 2")? },
        "ipi" => {
            const KIND: &str = "wake, kick or unthrottle";
            Event::Ipi(match w.word(KIND)? {
                "wake" => Ipi::Wake,
                "kick" => Ipi::Kick,
                "unthrottle" => Ipi::Unthrottle,
                other => return Err(bad(other, KIND)),
            })
        }
        "softirq" => Event::Softirq,
        "stopper" => Event::Stopper,
        "timer" => {
            let group = w.number(GROUP)?;
            let timer = match w.word("period or slack")? {
                "period" => BandwidthTimer::Period,
                "slack" => BandwidthTimer::Slack,
                other => return Err(bad(other, "period or slack")),
            };
            Event::Timer { group, timer }
        }
        "offline" => Event::Offline { cpu: w.cpu()? },
        "online" => Event::Online { cpu: w.cpu()? },
        "resched" => {
            let force = match w.optional() {
                None => false,
                Some("force") => true,
                Some(other) => return Err(bad(other, "force, or nothing")),
            };
            Event::Resched { force }
        }
        "yield" => Event::Yield,
        "nice" => Event::Nice { task: w.number(TASK)?, nice: Nice::new(w.signed("a nice level")?) },
        "latnice" => Event::LatencyNice { task: w.number(TASK)?, level: w.signed(LATENCY_NICE)? },
        "glatnice" => Event::GroupLatencyNice { group: w.number(GROUP)?, level: w.signed(LATENCY_NICE)? },
        "slice" => Event::Slice { task: w.number(TASK)?, ns: w.number("nanoseconds")? },
        "policy" => Event::Policy { task: w.number(TASK)?, policy: policy(w.word("a policy")?)? },
        "move" => {
            let task = w.number(TASK)?;
            match w.word("cpu")? {
                "cpu" => Event::Move { task, cpu: w.cpu()? },
                other => return Err(bad(other, "cpu")),
            }
        }
        "affine" => {
            let task = w.number(TASK)?;
            let cpus = match w.word("a mask, or cpus and a list")? {
                "cpus" => list(w.word("a list of CPUs")?)?,
                word => mask(word)?,
            };
            Event::Affine { task, cpus }
        }
        "setgroup" => Event::SetGroup { task: w.number(TASK)?, group: w.number(GROUP)? },
        other => {
            let nearest = nearest(other);
            return Err(ScriptFault::UnknownWord { word: other.to_owned(), nearest });
        }
    })
}

const LATENCY_NICE: &str = "a latency nice level, -20 to 19";

fn new_task(w: &mut Words) -> Result<NewTask, ScriptFault> {
    let mut spec = NewTask::default();
    while let Some(word) = w.optional() {
        match word {
            "pin" => spec.pin = true,
            "cpus" => spec.cpus = Some(list(w.word("a list of CPUs")?)?),
            "group" => spec.group = w.number("a group's number")?,
            "nice" => {
                let level = w.signed("a nice level")?;
                spec.nice =
                    Nice::new(level).ok_or_else(|| bad(&level.to_string(), "a nice level, -20 to 19"))?;
            }
            "latnice" => {
                let level = w.signed(LATENCY_NICE)?;
                let nice = LatencyNice::new(level);
                spec.latency_nice = nice.ok_or_else(|| bad(&level.to_string(), LATENCY_NICE))?;
            }
            "cpu" => spec.cpu = Some(w.cpu()?),
            "slice" => spec.slice_ns = w.number("nanoseconds")?,
            "policy" => spec.policy = policy(w.word("a policy")?)?,
            other => return Err(bad(other, "one of group, nice, latnice, cpu, policy, slice, pin, cpus")),
        }
    }
    Ok(spec)
}

fn nearest(word: &str) -> Option<&'static str> {
    let close = |known: &&&str| strsim::damerau_levenshtein(word, known) <= 2;
    WORDS.iter().filter(close).min_by_key(|known| strsim::damerau_levenshtein(word, known)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_are_dropped() {
        assert_eq!(words("  wake\t3 sync # now"), ["wake", "3", "sync"]);
        assert!(words("# nothing").is_empty());
    }

    #[test]
    fn a_wide_mask_is_read_from_the_right() {
        let set = mask("0x1000000000000000000000003").unwrap();
        assert_eq!(set.to_string(), "0-1,96");
    }

    #[test]
    fn faults_name_what_was_found() {
        let fault = |line: &str| command(&words(line)).unwrap_err().to_string();
        assert_eq!(fault("wkae 1"), "unknown word 'wkae' (did you mean 'wake'?)");
        assert_eq!(fault("wake x"), "'x' is not a task's number");
        assert_eq!(fault("wake"), "missing argument: a task's number");
        assert_eq!(fault("sleep 3"), "'3' is not io, or nothing");
        assert_eq!(fault("stopper 3"), "'3' is one word too many");
        assert_eq!(fault("ipi"), "missing argument: wake, kick or unthrottle");
        assert_eq!(fault("task 1 nice 99"), "'99' is not a nice level, -20 to 19");
        assert_eq!(fault("affine 1 cpus 3-1"), "'3-1' is not a list of CPUs, as in 0-3,8");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(line in "\\PC*") {
            let all = words(&line);
            if !all.is_empty() {
                let _ = command(&all);
            }
        }
    }
}
