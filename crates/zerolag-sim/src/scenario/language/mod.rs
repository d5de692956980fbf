// SPDX-License-Identifier: GPL-2.0-only
//! The small language of programs in scenario files.
//!
//! One operation a line (or between semicolons), blocks in braces, comments from `#` to the end of the line:
//!
//! ```text
//! run 2ms
//! forever {
//!     timer 10ms; run exponential(1ms)
//!     repeat 3 { lock m; run 100us; unlock m }
//! }
//! ```
//!
//! | operation | see |
//! |---|---|
//! | `run LENGTH`, `run-for LENGTH [every TIME]` | [`Op::Run`], [`Op::RunFor`] |
//! | `sleep LENGTH`, `delay TIME` | [`Op::Sleep`], [`Op::Delay`] |
//! | `timer TIME [shared NAME] [restart / keep-beat / skip-beats]` | [`Op::Timer`] |
//! | `io LENGTH [DEVICE]` | [`Op::Io`] |
//! | `lock M`, `unlock M`, `spin-lock S`, `spin-unlock S` | [`Op::Lock`] … |
//! | `wait C [M]`, `signal C`, `broadcast C`, `sync C [M]` | [`Op::Wait`] … |
//! | `barrier B` | [`Op::Barrier`] |
//! | `post S`, `acquire S`, `drain S` | [`Op::Post`] … |
//! | `enlist R S`, `release R` | [`Op::Enlist`], [`Op::Release`] |
//! | `read CH BYTES`, `write CH BYTES [sync]` | [`Op::Read`], [`Op::Write`] |
//! | `yield`, `exit`, `fork NAME`, `exec`, `mark NUMBER` | [`Op::Yield`] … |
//! | `set nice N`, `set policy P`, `set slice TIME / default`, `set cpus LIST`, `set cgroup PATH`, `set timer-slack TIME` | [`Attribute`] |
//! | `repeat N { … }`, `forever { … }` | [`ProgramBuilder::begin`] |
//!
//! A length is a time, or drawn anew each time from `uniform(MIN, MAX)`, `steps(MIN, MAX, STEP)` (`MIN`,
//! `MIN + STEP`, … up to `MAX`), `exponential(MEAN)`, `normal(MEAN, DEVIATION)`, `lognormal(MEDIAN, SIGMA)` or
//! `pareto(MIN, ALPHA)`; sigma and alpha are numbers like 0.5.

mod words;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::units::Nanos;

use self::words::{Kind, Token};
use super::error::{Fault, nearest};
use super::names::Names;
use crate::duration;
use crate::length::{Distribution, Length};
use crate::program::{Attribute, Late, Op, Program, ProgramBuilder, Times};
use crate::resource::TimerRef;
use crate::workload::Workload;

/// What is wrong, and where in the text.
pub(crate) type Mistake = (usize, Fault);

const OPERATIONS: [&str; 30] = [
    "run",
    "run-for",
    "sleep",
    "delay",
    "timer",
    "io",
    "lock",
    "unlock",
    "spin-lock",
    "spin-unlock",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "barrier",
    "post",
    "acquire",
    "drain",
    "enlist",
    "release",
    "read",
    "write",
    "yield",
    "exit",
    "fork",
    "exec",
    "mark",
    "set",
    "repeat",
    "forever",
];
const DISTRIBUTIONS: [&str; 6] = ["uniform", "steps", "exponential", "normal", "lognormal", "pareto"];
const ATTRIBUTES: [&str; 6] = ["nice", "policy", "slice", "cpus", "cgroup", "timer-slack"];

/// Reads a program for a machine with so many CPUs. Names are found or made in `names` and `workload`.
///
/// # Errors
/// The first mistake.
pub(crate) fn read(
    text: &str,
    cpus: usize,
    names: &mut Names,
    workload: &mut Workload,
) -> Result<Program, Mistake> {
    let tokens = words::split(text);
    let mut reader = Reader { tokens: &tokens, at: 0, cpus, names, workload, builder: ProgramBuilder::new() };
    let mut open = Vec::new();
    loop {
        let token = reader.next();
        match token.kind {
            Kind::End if reader.at == tokens.len() => break,
            Kind::End => {}
            Kind::Sign('}') if open.pop().is_some() => _ = reader.builder.end(),
            Kind::Word("repeat" | "forever") => {
                open.push(token.at);
                reader.begin(token)?;
            }
            Kind::Word(word) => {
                let op = reader.operation(token, word)?;
                reader.builder.op(op);
                reader.end()?;
            }
            Kind::Sign(_) => return Err(unexpected(token, &OPERATIONS.join(", "), &OPERATIONS)),
        }
    }
    if let Some(at) = open.pop() {
        let found = "the end of the text in a block that begins here".into();
        return Err((at, Fault::Program { found, accepted: "'}'".into(), nearest: None }));
    }
    reader.builder.build().map_err(|e| (0, Fault::Senseless(e)))
}

/// One length, and a program that has the distribution from which it is drawn; nothing if the text is none.
pub(crate) fn read_length(text: &str) -> Option<(Length, Program)> {
    let program = read(&format!("run {text}"), 1, &mut Names::default(), &mut Workload::new()).ok()?;
    match *program.ops() {
        [Op::Run(length)] => Some((length, program)),
        _ => None,
    }
}

fn unexpected(token: Token<'_>, accepted: &str, names: &[&str]) -> Mistake {
    let (found, near) = match token.kind {
        Kind::Word(word) => (format!("'{}'", word.escape_debug()), nearest(word, names.iter().copied())),
        Kind::Sign(sign) => (format!("'{sign}'"), None),
        Kind::End => ("the end of the line".into(), None),
    };
    (token.at, Fault::Program { found, accepted: accepted.into(), nearest: near })
}

struct Reader<'r, 't> {
    tokens: &'r [Token<'t>],
    at: usize,
    cpus: usize,
    names: &'r mut Names,
    workload: &'r mut Workload,
    builder: ProgramBuilder,
}

impl<'t> Reader<'_, 't> {
    fn peek(&self) -> Token<'t> {
        // The last token is an end, and nobody goes beyond it.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn word(&mut self, accepted: &str) -> Result<(Token<'t>, &'t str), Mistake> {
        let token = self.next();
        match token.kind {
            Kind::Word(word) => Ok((token, word)),
            _ => Err(unexpected(token, accepted, &[])),
        }
    }

    /// The next word, if there is one before the operation ends.
    fn optional_word(&mut self) -> Option<(Token<'t>, &'t str)> {
        match self.peek().kind {
            Kind::Word(word) => Some((self.next(), word)),
            _ => None,
        }
    }

    fn sign(&mut self, sign: char) -> Result<(), Mistake> {
        let token = self.next();
        if token.kind == Kind::Sign(sign) {
            return Ok(());
        }
        Err(unexpected(token, &format!("'{sign}'"), &[]))
    }

    /// The operation ends here; the end of a block may follow at once.
    fn end(&mut self) -> Result<(), Mistake> {
        match self.peek().kind {
            Kind::End | Kind::Sign('}') => Ok(()),
            _ => Err(unexpected(self.peek(), "the end of the line, or ';'", &[])),
        }
    }

    fn begin(&mut self, token: Token<'t>) -> Result<(), Mistake> {
        let times = match token.kind {
            Kind::Word("forever") => Times::Forever,
            _ => Times::Exactly(self.number("how often, from 0")?),
        };
        self.sign('{')?;
        self.builder.begin(times);
        Ok(())
    }

    fn operation(&mut self, token: Token<'t>, word: &'t str) -> Result<Op, Mistake> {
        Ok(match word {
            "run" => Op::Run(self.length()?),
            "run-for" => Op::RunFor { wall: self.length()?, grain: self.grain()? },
            "sleep" => Op::Sleep(self.length()?),
            "delay" => Op::Delay(self.time()?),
            "timer" => self.timer()?,
            "io" => Op::Io { service: self.length()?, device: self.device() },
            "lock" => Op::Lock(self.mutex()?),
            "unlock" => Op::Unlock(self.mutex()?),
            "spin-lock" => Op::SpinLock(self.spin_lock()?),
            "spin-unlock" => Op::SpinUnlock(self.spin_lock()?),
            "wait" => Op::Wait { condition: self.condition()?, mutex: self.optional_mutex() },
            "sync" => Op::Sync { condition: self.condition()?, mutex: self.optional_mutex() },
            "signal" => Op::Signal(self.condition()?),
            "broadcast" => Op::Broadcast(self.condition()?),
            "barrier" => {
                let (token, name) = self.word("the name of a barrier")?;
                Op::Barrier(self.names.barrier(name).map_err(|fault| (token.at, fault))?.into())
            }
            "post" => Op::Post(self.semaphore()?),
            "acquire" => Op::Acquire(self.semaphore()?),
            "drain" => Op::Drain(self.semaphore()?),
            "enlist" => Op::Enlist { roster: self.roster()?, semaphore: self.semaphore()? },
            "release" => Op::Release(self.roster()?),
            "read" => Op::Read { channel: self.channel()?, bytes: self.number("a number of bytes")? },
            "write" => Op::Write {
                channel: self.channel()?,
                bytes: self.number("a number of bytes")?,
                sync: self.flag("sync")?,
            },
            "yield" => Op::Yield,
            "exit" => Op::Exit,
            "exec" => Op::Exec,
            "fork" => {
                let (token, name) = self.word("the name of a workload")?;
                Op::Fork(self.names.template(name).map_err(|fault| (token.at, fault))?)
            }
            "mark" => Op::Mark(self.number("a number")?),
            "set" => Op::Set(self.attribute()?),
            _ => return Err(unexpected(token, &OPERATIONS.join(", "), &OPERATIONS)),
        })
    }

    fn number(&mut self, accepted: &str) -> Result<u32, Mistake> {
        let (token, word) = self.word(accepted)?;
        word.parse().map_err(|_| unexpected(token, accepted, &[]))
    }

    fn time(&mut self) -> Result<Nanos, Mistake> {
        let (token, word) = self.word(duration::ACCEPTED)?;
        time_in(token, word)
    }

    fn length(&mut self) -> Result<Length, Mistake> {
        let accepted = format!("{}, or one drawn from {}", duration::ACCEPTED, DISTRIBUTIONS.join(", "));
        let (token, word) = self.word(&accepted)?;
        if self.peek().kind != Kind::Sign('(') {
            return time_in(token, word).map(Length::Exactly);
        }
        self.sign('(')?;
        let distribution = match word {
            "uniform" => {
                let (min, max) = (self.time()?, self.second(Self::time)?);
                if max < min {
                    let found = "a range that runs backwards".into();
                    let accepted = "uniform(MIN, MAX)".into();
                    return Err((token.at, Fault::Program { found, accepted, nearest: None }));
                }
                Distribution::Uniform { min, max }
            }
            "steps" => {
                let (min, max) = (self.time()?, self.second(Self::time)?);
                let step = self.second(Self::time)?;
                if max < min || step == Nanos::ZERO {
                    let found = "a range that runs backwards, or no step".into();
                    let accepted = "steps(MIN, MAX, STEP)".into();
                    return Err((token.at, Fault::Program { found, accepted, nearest: None }));
                }
                Distribution::Steps { min, max, step }
            }
            "exponential" => Distribution::Exponential { mean: self.time()? },
            "normal" => Distribution::Normal { mean: self.time()?, deviation: self.second(Self::time)? },
            "lognormal" => {
                Distribution::LogNormal { median: self.time()?, sigma_milli: self.second(Self::thousandths)? }
            }
            "pareto" => Distribution::Pareto {
                min: self.time()?,
                alpha_milli: self.second(Self::thousandths)?.max(1),
            },
            _ => return Err(unexpected(token, &DISTRIBUTIONS.join(", "), &DISTRIBUTIONS)),
        };
        self.sign(')')?;
        Ok(Length::Drawn(self.builder.distribution(distribution)))
    }

    fn second<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Mistake>) -> Result<T, Mistake> {
        self.sign(',')?;
        read(self)
    }

    /// A number with up to three decimals, in thousandths.
    fn thousandths(&mut self) -> Result<u32, Mistake> {
        let accepted = "a number from 0 to 1000 with up to three decimals, as 0.5";
        let (token, word) = self.word(accepted)?;
        // A microsecond has a thousand nanoseconds: so the number reads like a duration of microseconds.
        match duration::parse(&format!("{word}us")) {
            Ok(Nanos(n)) if n <= 1_000_000 => Ok(n as u32),
            _ => Err(unexpected(token, accepted, &[])),
        }
    }

    fn grain(&mut self) -> Result<Nanos, Mistake> {
        if !self.flag("every")? {
            return Ok(Nanos::ZERO);
        }
        self.time()
    }

    /// Whether this word comes next; another one is refused.
    fn flag(&mut self, flag: &str) -> Result<bool, Mistake> {
        match self.optional_word() {
            None => Ok(false),
            Some((_, word)) if word == flag => Ok(true),
            Some((token, _)) => Err(unexpected(token, &format!("'{flag}' or the end of the line"), &[flag])),
        }
    }

    fn timer(&mut self) -> Result<Op, Mistake> {
        const ACCEPTED: &str = "shared NAME, restart, keep-beat, skip-beats, or the end of the line";
        let period = self.time()?;
        let (mut timer, mut late) = (TimerRef::Own(0), Late::Restart);
        while let Some((token, word)) = self.optional_word() {
            match word {
                "shared" => {
                    let (_, name) = self.word("the name of a timer")?;
                    timer = TimerRef::Shared(self.names.timer(name, self.workload));
                }
                "restart" => late = Late::Restart,
                "keep-beat" => late = Late::KeepBeat,
                "skip-beats" => late = Late::SkipBeats,
                _ => {
                    return Err(unexpected(
                        token,
                        ACCEPTED,
                        &["shared", "restart", "keep-beat", "skip-beats"],
                    ));
                }
            }
        }
        Ok(Op::Timer { timer, period, late })
    }

    fn attribute(&mut self) -> Result<Attribute, Mistake> {
        let (token, word) = self.word(&ATTRIBUTES.join(", "))?;
        match word {
            "nice" => {
                let accepted = "a nice level from -20 to 19";
                let (token, level) = self.word(accepted)?;
                let level = level.parse().ok().and_then(Nice::new);
                level.map(Attribute::Nice).ok_or_else(|| unexpected(token, accepted, &[]))
            }
            "policy" => {
                let accepted = "normal, batch or idle";
                let (token, policy) = self.word(accepted)?;
                Ok(Attribute::Policy(match policy {
                    "normal" => Policy::Normal,
                    "batch" => Policy::Batch,
                    "idle" => Policy::Idle,
                    _ => return Err(unexpected(token, accepted, &["normal", "batch", "idle"])),
                }))
            }
            "slice" => {
                let (token, word) = self.word("default, or a duration")?;
                let slice = if word == "default" { None } else { Some(time_in(token, word)?) };
                Ok(Attribute::Slice(slice))
            }
            "cpus" => self.cpus(),
            "cgroup" => {
                let (token, path) = self.word("the path of a group")?;
                let group = self.workload.group_by_path(path).ok_or_else(|| {
                    let paths: Vec<&str> =
                        self.workload.groups.iter().map(|(_, g)| g.path.as_str()).collect();
                    unexpected(token, &paths.join(", "), &paths)
                })?;
                Ok(Attribute::Group(group))
            }
            "timer-slack" => Ok(Attribute::TimerSlack(self.time()?)),
            _ => Err(unexpected(token, &ATTRIBUTES.join(", "), &ATTRIBUTES)),
        }
    }

    fn cpus(&mut self) -> Result<Attribute, Mistake> {
        let first = self.peek();
        let mut list = String::new();
        loop {
            match self.peek().kind {
                Kind::Word(word) => list.push_str(word),
                Kind::Sign(',') => list.push(','),
                _ => break,
            }
            self.at += 1;
        }
        let set: Option<CpuSet> = list.parse().ok();
        let all = CpuSet::first_n(self.cpus);
        match set.filter(|set| !set.is_empty() && set.is_subset(&all)) {
            Some(set) => Ok(Attribute::Affinity(self.builder.affinity(set))),
            None => {
                let accepted = format!("CPUs of this machine, 0 to {}, as in 0-1,3", self.cpus - 1);
                let found = format!("'{list}'");
                Err((first.at, Fault::Program { found, accepted, nearest: None }))
            }
        }
    }
}

/// Names of things that programs share.
macro_rules! named {
    ($($method:ident -> $id:ident, $what:literal;)*) => {
        impl Reader<'_, '_> {
            $(fn $method(&mut self) -> Result<crate::resource::Ref<crate::resource::$id>, Mistake> {
                let (_, name) = self.word($what)?;
                Ok(self.names.$method(name, self.workload).into())
            })*
        }
    };
}

named! {
    mutex -> MutexId, "the name of a mutex";
    condition -> ConditionId, "the name of a condition";
    semaphore -> SemaphoreId, "the name of a semaphore";
    channel -> ChannelId, "the name of a channel";
    spin_lock -> SpinLockId, "the name of a spin lock";
    roster -> RosterId, "the name of a roster";
}

impl Reader<'_, '_> {
    fn optional_mutex(&mut self) -> Option<crate::resource::Ref<crate::resource::MutexId>> {
        let (_, name) = self.optional_word()?;
        Some(self.names.mutex(name, self.workload).into())
    }

    fn device(&mut self) -> Option<crate::resource::Ref<crate::resource::DeviceId>> {
        let (_, name) = self.optional_word()?;
        Some(self.names.device(name, self.workload).into())
    }
}

fn time_in(token: Token<'_>, word: &str) -> Result<Nanos, Mistake> {
    duration::parse(word)
        .map_err(|e| unexpected(token, &format!("{}; {e}", duration::ACCEPTED), &DISTRIBUTIONS))
}
