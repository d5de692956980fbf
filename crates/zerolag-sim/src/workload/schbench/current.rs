// SPDX-License-Identifier: GPL-2.0-only
//! The second generation: options, and the programs of its threads.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::CpuId;
use zerolag_core::topology::Topology;
use zerolag_core::units::Nanos;

use super::classic::{built, futex};
use super::current_watch::{CurrentWatch, Marks};
use crate::program::{Late, Op, Program, ProgramBuilder, Times};
use crate::resource::{Named, Ref, SemaphoreId, SemaphoreSpec, SpinLockId, SpinLockSpec, TimerRef};
use crate::workload::model::{Model, Place, Watch};
use crate::workload::options::{OptionError, OptionSpec, parse};
use crate::workload::{Attributes, Start, Template, Workload};

/// The name in messages and of the main thread.
const TOOL: &str = "schbench";

/// Time of one multiplication and addition of the matrix product, in picoseconds. Published: the README's
/// calibration run has 16.86 ms for five products of 104 by 104, that is 5 624 320 of them.
pub(super) const MULTIPLY_PS: u64 = 3_000;

/// Requests that may wait for a worker before no more are made for it.
pub(super) const PENDING_MAX: u32 = 129;

/// The options of the second generation.
pub const CURRENT_OPTIONS: &[OptionSpec] = &[
    OptionSpec::flag('C', "calibrate", "no locks, and request latencies without the sleep"),
    OptionSpec::flag('L', "no-locking", "no per-CPU lock during the work"),
    OptionSpec::with_value('m', "message-threads", "N", "message threads (def: 1)"),
    OptionSpec::with_value(
        'M',
        "message-cpus",
        "LIST",
        "each message thread on one of these in turn, or 'auto'",
    ),
    OptionSpec::with_value('W', "worker-cpus", "LIST", "workers on these CPUs, or 'auto'"),
    OptionSpec::with_value('t', "threads", "N", "workers per message thread (def: CPUs / message threads)"),
    OptionSpec::with_value('r', "runtime", "SECONDS", "how long to run (def: 30)"),
    OptionSpec::with_value('F', "cache_footprint", "KB", "size of a worker's matrices (def: 256)"),
    OptionSpec::with_value('n', "operations", "N", "matrix products per request (def: 5)"),
    OptionSpec::with_value('s', "sleep_usec", "USEC", "sleep at the start of each request (def: 100)"),
    OptionSpec::with_value('A', "auto-rps", "PERCENT", "as many requests as make this load (not simulated)"),
    OptionSpec::with_value('p', "pipe", "BYTES", "transfer so much with each message (not simulated)"),
    OptionSpec::with_value('R', "rps", "COUNT", "so many requests per second (def: 0, as many as possible)"),
    OptionSpec::with_value('w', "warmuptime", "SECONDS", "forget what was measured up to then (def: 0)"),
    OptionSpec::with_value('i', "intervaltime", "SECONDS", "print the figures this often (def: 10)"),
    OptionSpec::with_value('z', "zerotime", "SECONDS", "forget what was measured this often (def: never)"),
    OptionSpec::long_only("split", "PERCENT", "share of the matrices that each worker has for itself"),
];

/// The second generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// Message threads; at least 1.
    pub message_threads: u32,
    /// Workers per message thread; nothing for as many as make one per CPU.
    pub worker_threads: Option<u32>,
    /// How long it runs, in seconds.
    pub runtime_s: u32,
    /// What was measured up to then is forgotten; 0 for nothing.
    pub warmup_s: u32,
    /// How often figures are printed, in seconds; at least 1.
    pub interval_s: u32,
    /// How often what was measured is forgotten; 0 for never.
    pub zero_s: u32,
    /// Size of a worker's matrices.
    pub cache_kb: u32,
    /// Matrix products per request.
    pub operations: u32,
    /// Percentage of the matrices that each worker has for itself, if they are split.
    pub split_percent: Option<u32>,
    /// Sleep at the start of each request, in microseconds.
    pub sleep_us: u32,
    /// Requests per second of all message threads together; 0 for as many as possible.
    pub rps: u32,
    /// The sleep is not part of a request, and there are no locks.
    pub calibrate: bool,
    /// Whether work is done under a per-CPU lock.
    pub locking: bool,
    /// Where message threads run, each on one of these.
    pub message_cpus: Option<CpuSet>,
    /// Where workers run.
    pub worker_cpus: Option<CpuSet>,
    /// Message threads on the first CPUs, one each.
    pub pin_auto: bool,
}

impl Default for Current {
    fn default() -> Self {
        Self {
            message_threads: 1,
            worker_threads: None,
            runtime_s: 30,
            warmup_s: 0,
            interval_s: 10,
            zero_s: 0,
            cache_kb: 256,
            operations: 5,
            split_percent: None,
            sleep_us: 100,
            rps: 0,
            calibrate: false,
            locking: true,
            message_cpus: None,
            worker_cpus: None,
            pin_auto: false,
        }
    }
}

impl Current {
    /// From a command line without the tool's name.
    ///
    /// # Errors
    /// [`OptionError`] for what the tool does not have or the model does not do.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Self, OptionError> {
        let given = parse(TOOL, CURRENT_OPTIONS, arguments)?;
        given.no_rest()?;
        given.refuse("pipe", "the time of copying would be all that counts; see perf-bench-sched pipe")?;
        given.refuse("auto-rps", "it would have to change the load while it runs; try values of -R")?;
        let d = Self::default();
        let mut pin_auto = false;
        let mut cpus = |long| match given.text(long) {
            None => Ok(None),
            Some("auto") => {
                pin_auto = true;
                Ok(None)
            }
            Some(list) => {
                list.parse().map(Some).map_err(|_| given.bad_value(long, "a list such as 0-3,8, or 'auto'"))
            }
        };
        let (message_cpus, worker_cpus) = (cpus("message-cpus")?, cpus("worker-cpus")?);
        let runtime_s = given.number("runtime", 1, 86_400)?.unwrap_or(d.runtime_s);
        let warmup_s = given.number("warmuptime", 0, 86_400)?.unwrap_or(d.warmup_s);
        let calibrate = given.flag("calibrate");
        Ok(Self {
            message_threads: given.number("message-threads", 1, 1024)?.unwrap_or(d.message_threads),
            worker_threads: given.number("threads", 0, 8192)?.filter(|&threads| threads > 0),
            runtime_s,
            // A short run has no warm-up.
            warmup_s: if runtime_s < 30 { 0 } else { warmup_s },
            interval_s: given.number("intervaltime", 1, 86_400)?.unwrap_or(d.interval_s),
            zero_s: given.number("zerotime", 0, 86_400)?.unwrap_or(d.zero_s),
            cache_kb: given.number("cache_footprint", 0, 1 << 20)?.unwrap_or(d.cache_kb),
            operations: given.number("operations", 0, 1_000_000)?.unwrap_or(d.operations),
            split_percent: given.number("split", 0, 100)?,
            sleep_us: given.number("sleep_usec", 0, 1_000_000_000)?.unwrap_or(d.sleep_us),
            rps: given.number("rps", 0, 10_000_000)?.unwrap_or(d.rps),
            calibrate,
            locking: !calibrate && !given.flag("no-locking"),
            message_cpus,
            worker_cpus,
            pin_auto,
        })
    }

    /// Workers per message thread on this machine.
    pub(super) fn workers_on(&self, machine: &Topology) -> u32 {
        let cpus = machine.cpus().len() as u32;
        self.worker_threads.unwrap_or(cpus.div_ceil(self.message_threads))
    }

    /// Work of one request.
    pub(super) fn work(&self) -> Nanos {
        let products = |kb: u64, operations: u64| operations * matrix_size(kb).pow(3);
        let (kb, operations) = (u64::from(self.cache_kb), u64::from(self.operations));
        let multiplications = match self.split_percent.map(u64::from) {
            None => products(kb, operations),
            Some(percent) => {
                let own = operations * percent / 100;
                products(kb * percent / 100, own) + products(kb * (100 - percent) / 100, operations - own)
            }
        };
        Nanos(multiplications.saturating_mul(MULTIPLY_PS) / 1000)
    }

    /// Wait, sleep, work. Arguments: own flag or requests; roster, the message thread's flag.
    fn worker(&self, marks: Marks, worker: u32, lock: SpinLockId) -> Program {
        let (own, roster, message) = (Ref::Argument(0), Ref::Argument(1), Ref::Argument(2));
        let mut program = ProgramBuilder::new();
        program.op(Op::Mark(marks.hello(worker))).begin(Times::Forever);
        if self.rps > 0 {
            program.op(Op::Mark(marks.blocks())).op(Op::Acquire(own));
        } else {
            program.op(Op::Drain(own)).op(Op::Mark(marks.blocks()));
            program.op(Op::Enlist { roster, semaphore: own }).op(Op::Post(message)).op(Op::Acquire(own));
        }
        program.op(Op::Mark(marks.runs()));
        if self.sleep_us > 0 {
            program.op(Op::Sleep(Nanos::from_micros(self.sleep_us.into()).into()));
        }
        if self.calibrate {
            program.op(Op::Mark(marks.works()));
        }
        if self.locking {
            program.op(Op::SpinLock(lock.into()));
        }
        program.op(Op::Run(self.work().into()));
        if self.locking {
            program.op(Op::SpinUnlock(lock.into()));
        }
        built(program.op(Op::Mark(marks.done())).end())
    }

    /// Wake all, wait. Arguments: own flag, roster.
    fn message_thread(marks: Marks) -> Program {
        let (own, roster) = (Ref::Argument(0), Ref::Argument(1));
        built(
            ProgramBuilder::new()
                .op(Op::Mark(marks.message()))
                .begin(Times::Forever)
                .op(Op::Drain(own))
                .op(Op::Release(roster))
                .op(Op::Acquire(own))
                .end(),
        )
    }

    /// Each second, give the workers in turn so many requests at once. `first` is the number of the first
    /// worker, `requests` counts its requests.
    fn request_thread(&self, marks: Marks, workers: u32, first: u32, requests: SemaphoreId) -> Program {
        let rps = self.rps / self.message_threads;
        let mut program = ProgramBuilder::new();
        let post = |program: &mut ProgramBuilder, workers: std::ops::Range<u32>| {
            for worker in workers {
                program.op(Op::Mark(marks.request(first + worker)));
                program.op(Op::Post(SemaphoreId(requests.0 + worker).into()));
            }
        };
        program.op(Op::Mark(marks.message())).begin(Times::Forever);
        // The turn goes on from one second to the next; after at most as many seconds as there are workers it
        // is the same again.
        let mut next = 0;
        loop {
            let head = (workers - next).min(rps);
            post(&mut program, next..next + head);
            let (rounds, tail) = ((rps - head) / workers, (rps - head) % workers);
            program.begin(Times::Exactly(rounds));
            post(&mut program, 0..workers);
            program.end();
            post(&mut program, 0..tail);
            let period = Nanos::from_secs(1);
            program.op(Op::Timer { timer: TimerRef::Own(0), period, late: Late::Restart });
            next = (next + rps) % workers;
            if next == 0 {
                break;
            }
        }
        built(program.end())
    }

    /// Where the message threads run, each on one CPU, and the workers.
    fn pins(&self, machine: &Topology) -> (Option<Vec<CpuId>>, Option<CpuSet>) {
        if self.pin_auto {
            // The workers are meant to have the other CPUs; the tool gives them all.
            return (Some(machine.cpus().take(self.message_threads as usize).collect()), None);
        }
        (self.message_cpus.as_ref().map(|cpus| cpus.iter().collect()), self.worker_cpus.clone())
    }
}

/// Rows and columns of three square matrices of 8-byte numbers in so much memory.
fn matrix_size(kb: u64) -> u64 {
    (kb * 1024 / 3 / 8).isqrt()
}

impl Model for Current {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.runtime_s.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let per_message = self.workers_on(place.machine);
        let marks = Marks::take(workload, self.message_threads * per_message);
        let lock = workload.spin_locks.push(SpinLockSpec { name: "per CPU".into(), per_cpu: true });
        let (message_pins, worker_cpus) = self.pins(place.machine);
        let attributes = Attributes { group: Some(place.group), ..Attributes::default() };
        let start = |workload: &mut Workload, name: &str, program, affinity, arguments: Vec<u32>| {
            let attributes = Attributes { affinity, ..attributes.clone() };
            let template = workload.template(Template { attributes, ..Template::new(name, program) });
            workload.start(Start { arguments: Some(arguments), at: place.start, ..Start::new(template) });
        };
        let main = built(
            ProgramBuilder::new().begin(Times::Forever).op(Op::Sleep(Nanos::from_secs(1).into())).end(),
        );
        start(workload, TOOL, main, None, Vec::new());
        for message in 0..self.message_threads {
            let first = message * per_message;
            let roster =
                workload.rosters.push(Named { name: format!("workers of message thread {message}") });
            let flag = futex(workload, format!("message thread {message}"));
            let mut requests = None;
            for worker in first..first + per_message {
                let own = if self.rps > 0 {
                    let name = format!("requests of worker {worker}");
                    workload.semaphores.push(SemaphoreSpec { name, initial: 0, max: PENDING_MAX })
                } else {
                    futex(workload, format!("worker {worker}"))
                };
                requests.get_or_insert(own);
                let program = self.worker(marks, worker, lock);
                let arguments = vec![own.0, roster.0, flag.0];
                start(workload, "schbench-worker", program, worker_cpus.clone(), arguments);
            }
            let program = match requests {
                Some(requests) if self.rps > 0 => self.request_thread(marks, per_message, first, requests),
                _ => Self::message_thread(marks),
            };
            let pin = message_pins.as_ref().map(|cpus| cpus[message as usize % cpus.len()]);
            let pin = pin.map(CpuSet::single);
            start(workload, "schbench-msg", program, pin, vec![flag.0, roster.0]);
        }
        Box::new(CurrentWatch::new(self.clone(), marks, per_message, place.start))
    }
}
