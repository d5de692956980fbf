// SPDX-License-Identifier: GPL-2.0-only
//! The first generation: options, and the programs of its threads.

use zerolag_core::units::Nanos;

use super::classic_watch::{ClassicWatch, Marks};
use crate::length::{Distribution, Length};
use crate::program::{Op, Program, ProgramBuilder, Times};
use crate::resource::{Named, Ref, RosterId, SemaphoreId, SemaphoreSpec};
use crate::workload::model::{Model, Outcome, Place, Watch};
use crate::workload::options::{OptionError, OptionSpec, parse};
use crate::workload::{Attributes, Start, Template, Workload};

/// The name in messages and of the threads.
const TOOL: &str = "schbench";

/// The options of the first generation.
pub const CLASSIC_OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_value('m', "message-threads", "N", "message threads (def: 2)"),
    OptionSpec::with_value('t', "threads", "N", "workers per message thread (def: 16)"),
    OptionSpec::with_value('r', "runtime", "SECONDS", "how long to run (def: 30)"),
    OptionSpec::with_value('s', "sleeptime", "USEC", "how long message threads sleep (def: 30000)"),
    OptionSpec::with_value('c', "cputime", "USEC", "how long workers spin (def: 30000)"),
    OptionSpec::flag('a', "auto", "more and more threads, or requests with -R, until latencies hurt"),
    OptionSpec::with_value('p', "pipe", "BYTES", "transfer so much with each message (not simulated)"),
    OptionSpec::with_value('R', "rps", "COUNT", "so many requests per second instead of messages"),
];

/// The first generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classic {
    /// Message threads; at least 1.
    pub message_threads: u32,
    /// Workers per message thread; at least 1.
    pub worker_threads: u32,
    /// How long it runs, in seconds.
    pub runtime_s: u32,
    /// How long a message thread sleeps before it answers, in microseconds. Up to a quarter more is drawn.
    pub sleep_us: u32,
    /// How long a worker spins, in microseconds.
    pub cpu_us: u32,
    /// Whether this is one of a series of runs with ever more load.
    pub auto: bool,
    /// Requests per second of all message threads together; 0 for messages instead.
    pub rps: u32,
}

impl Default for Classic {
    fn default() -> Self {
        Self {
            message_threads: 2,
            worker_threads: 16,
            runtime_s: 30,
            sleep_us: 30_000,
            cpu_us: 30_000,
            auto: false,
            rps: 0,
        }
    }
}

impl Classic {
    /// From a command line without the tool's name.
    ///
    /// # Errors
    /// [`OptionError`] for what the tool does not have or the model does not do.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Self, OptionError> {
        let given = parse(TOOL, CLASSIC_OPTIONS, arguments)?;
        given.no_rest()?;
        given.refuse("pipe", "the time of copying would be all that counts; see perf-bench-sched pipe")?;
        let d = Self::default();
        let mut options = Self {
            message_threads: given.number("message-threads", 1, 1024)?.unwrap_or(d.message_threads),
            worker_threads: given.number("threads", 1, 8192)?.unwrap_or(d.worker_threads),
            runtime_s: given.number("runtime", 1, 86_400)?.unwrap_or(d.runtime_s),
            sleep_us: given.number("sleeptime", 0, 1_000_000_000)?.unwrap_or(d.sleep_us),
            cpu_us: given.number("cputime", 0, 1_000_000_000)?.unwrap_or(d.cpu_us),
            auto: given.flag("auto"),
            rps: given.number("rps", 0, 10_000_000)?.unwrap_or(d.rps),
        };
        if options.rps > 0 && options.batch() == 0 {
            return Err(given.bad_value("threads", "2 or more with -R"));
        }
        if options.auto && options.rps == 1 {
            // 75 % of what the workers could do if each request cost a quarter more than it spins.
            let each = 1_000_000 / (u64::from(options.cpu_us) * 5 / 4).max(1);
            let all = each * u64::from(options.worker_threads) * u64::from(options.message_threads);
            options.rps = u32::try_from(all * 75 / 100).unwrap_or(u32::MAX).max(1);
        }
        Ok(options)
    }

    /// How many workers a message thread wakes at a time, with requests.
    fn batch(&self) -> u32 {
        self.worker_threads * 2 / 3
    }

    /// How long a message thread sleeps before each batch of requests.
    fn batch_interval(&self) -> Nanos {
        let batches = (self.rps / self.message_threads).div_ceil(self.batch()).max(1);
        Nanos::from_micros(u64::from(1_000_000 / batches))
    }

    /// The clock is read in whole microseconds, and spinning ends when it shows more than was asked for: half
    /// a microsecond later than that on average.
    fn spin(&self) -> Op {
        let wall = if self.cpu_us == 0 { Nanos::ZERO } else { Nanos(u64::from(self.cpu_us) * 1000 + 500) };
        Op::RunFor { wall: wall.into(), grain: Nanos::ZERO }
    }

    /// Spin, enlist, post the message thread, wait. Arguments: roster, its message thread's flag, its own flag.
    fn worker(&self, marks: Marks) -> Program {
        let (roster, message, own) = (Ref::Argument(0), Ref::Argument(1), Ref::Argument(2));
        built(
            ProgramBuilder::new()
                .begin(Times::Forever)
                .op(self.spin())
                .op(Op::Drain(own))
                .op(Op::Mark(marks.blocks()))
                .op(Op::Enlist { roster, semaphore: own })
                .op(Op::Post(message))
                .op(Op::Acquire(own))
                .op(Op::Mark(marks.runs()))
                .end(),
        )
    }

    /// Wake all, wait, sleep. Arguments: roster, its own flag.
    fn message_thread(&self) -> Program {
        let (roster, own) = (Ref::Argument(0), Ref::Argument(1));
        let mut program = ProgramBuilder::new();
        program.begin(Times::Forever).op(Op::Drain(own)).op(Op::Release(roster)).op(Op::Acquire(own));
        if self.sleep_us > 0 {
            let min = Nanos::from_micros(self.sleep_us.into());
            let jitter = Nanos::from_micros((self.sleep_us / 4).saturating_sub(1).into());
            let sleep = program.distribution(Distribution::Uniform { min, max: min + jitter });
            program.op(Op::Sleep(Length::Drawn(sleep)));
        }
        built(program.end())
    }

    /// Wait for a request, spin. Argument: its requests.
    fn request_worker(&self, marks: Marks, worker: u32) -> Program {
        built(
            ProgramBuilder::new()
                .op(Op::Mark(marks.hello(worker)))
                .begin(Times::Forever)
                .op(Op::Acquire(Ref::Argument(0)))
                .op(self.spin())
                .op(Op::Mark(marks.done()))
                .end(),
        )
    }

    /// Sleep, give the next workers in turn a request each. `first` is the number of the first worker, whose
    /// requests are counted by `requests`.
    fn request_thread(&self, marks: Marks, first: u32, requests: SemaphoreId) -> Program {
        let mut program = ProgramBuilder::new();
        program.begin(Times::Forever);
        // After this many batches it is the first worker's turn again.
        let batches = self.worker_threads / greatest_common_divisor(self.worker_threads, self.batch());
        for turn in 0..batches * self.batch() {
            if turn % self.batch() == 0 {
                program.op(Op::Sleep(self.batch_interval().into()));
            }
            let worker = turn % self.worker_threads;
            program.op(Op::Mark(marks.request(first + worker)));
            program.op(Op::Post(SemaphoreId(requests.0 + worker).into()));
        }
        built(program.end())
    }
}

impl Model for Classic {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.runtime_s.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let workers = self.message_threads * self.worker_threads;
        let marks = Marks::take(workload, if self.rps > 0 { workers } else { 0 });
        let attributes = Attributes { group: Some(place.group), ..Attributes::default() };
        let template = |workload: &mut Workload, program| {
            workload.template(Template { attributes: attributes.clone(), ..Template::new(TOOL, program) })
        };
        let start = |workload: &mut Workload, template, arguments: Vec<u32>| {
            workload.start(Start { arguments: Some(arguments), at: place.start, ..Start::new(template) });
        };
        let main = built(
            ProgramBuilder::new().begin(Times::Forever).op(Op::Sleep(Nanos::from_secs(1).into())).end(),
        );
        let main = template(workload, main);
        start(workload, main, Vec::new());
        if self.rps > 0 {
            for message in 0..self.message_threads {
                let first = message * self.worker_threads;
                let mut requests = None;
                for worker in first..first + self.worker_threads {
                    let own = workload.semaphores.push(SemaphoreSpec {
                        name: format!("requests of worker {worker}"),
                        initial: 0,
                        max: u32::MAX,
                    });
                    requests.get_or_insert(own);
                    let program = template(workload, self.request_worker(marks, worker));
                    start(workload, program, vec![own.0]);
                }
                let Some(requests) = requests else { continue };
                let program = template(workload, self.request_thread(marks, first, requests));
                start(workload, program, Vec::new());
            }
        } else {
            let message_thread = template(workload, self.message_thread());
            let worker_thread = template(workload, self.worker(marks));
            for message in 0..self.message_threads {
                let roster =
                    workload.rosters.push(Named { name: format!("workers of message thread {message}") });
                let flag = futex(workload, format!("message thread {message}"));
                start(workload, message_thread, vec![roster.0, flag.0]);
                for worker in 0..self.worker_threads {
                    let own = futex(workload, format!("worker {worker} of message thread {message}"));
                    start(workload, worker_thread, vec![roster.0, flag.0, own.0]);
                }
            }
        }
        Box::new(ClassicWatch::new(self.clone(), marks, place.start))
    }

    /// With `-a` it runs again with a little more load until latencies hurt.
    fn again(&self, outcome: &Outcome) -> Option<Box<dyn Model>> {
        let p99 = outcome.metrics.iter().find(|metric| metric.name == "latency p99")?.value;
        self.with_more_load(p99 as u32).map(|next| Box::new(next) as Box<dyn Model>)
    }
}

impl Classic {
    /// What the tool runs next when it has measured this, if anything.
    pub(super) fn with_more_load(&self, p99_us: u32) -> Option<Self> {
        if !self.auto {
            return None;
        }
        if self.rps == 0 {
            let worker_threads = self.worker_threads + 1;
            return (p99_us < 2000).then_some(Self { worker_threads, ..self.clone() });
        }
        let ratio = f64::from(p99_us) / f64::from(self.cpu_us);
        if ratio >= 5.0 || ratio.is_nan() {
            return None;
        }
        // Whole requests per message thread, and steps of five.
        let rps = self.rps / self.message_threads * self.message_threads;
        let divisor = match ratio {
            r if r > 0.50 => 70,
            r if r > 0.45 => 60,
            r if r > 0.40 => 50,
            r if r > 0.30 => 40,
            _ => 30,
        };
        let step = (rps / divisor).div_ceil(5) * 5;
        // Where the step is nothing the tool would go on for ever.
        (step > 0).then_some(Self { rps: rps + step, ..self.clone() })
    }
}

/// A futex word: 0 blocked, 1 running.
pub(super) fn futex(workload: &mut Workload, name: String) -> SemaphoreId {
    workload.semaphores.push(SemaphoreSpec { name, initial: 0, max: 1 })
}

/// The program; those of this module have balanced loops in which something is waited for.
pub(super) fn built(program: &ProgramBuilder) -> Program {
    program.build().expect("loops are balanced and wait for something")
}

/// Refers to a roster by type, so that an argument cannot be taken for something else.
const _: fn(Ref<RosterId>) -> Op = Op::Release;

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
