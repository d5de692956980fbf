// SPDX-License-Identifier: GPL-2.0-only
//! `make`: a kernel is built with `-jN`.
//!
//! ```text
//! make     ── N at a time: works 1 to 5 ms for each file ── starts a shell, waits for it
//! shell    ── 1 to 2 ms ── starts the compiler's driver, waits ── checks what came out, 5 to 30 ms
//! driver   ── 2 to 5 ms ── starts the compiler, waits ── starts the assembler, waits
//! compiler ── log-normal: median 0.45 s, σ 0.75 (mean 0.6 s)        assembler ── some 5 % of that
//! after every 40 files of one make: a partial link of 10 to 100 ms; after all files: 3 to 6 s of one task
//! alone (modpost, link), then the modules are linked, N at a time, 5 to 20 ms each
//! ```
//!
//! Every `──starts──` is a fork, after which the child replaces its program and so may be moved to an idle CPU;
//! every `waits` ends when the child has ended. With `-j` one more file is begun whenever one is done, in no
//! certain order: dependencies are only those of the phases above.
//!
//! Files are read from a warm page cache: each compilation waits six times for 0.1 to 2 ms, for 1 % of its time.
//! With `--nfs` they come from a server: a compilation is 50 pieces of 2 to 20 ms, and after each of them a
//! remote call. For that there are two kernel threads on each CPU, bound to it:
//!
//! ```text
//! task    ── wakes the sender of its CPU ── waits for an answer
//! sender  ── 10 to 30 µs ── puts the call on the wire, which serves all calls one after the other
//! reply   ── an interrupt on the sender's CPU wakes the receiver there
//! receiver── 10 to 30 µs ── wakes the task that has waited longest
//! ```
//!
//! All calls together need the wire for files × 50 × `--wire`, and no build is faster.
//!
//! Lengths: what is known of such builds in general, assumed; the wire: 4 ms makes the 4 minutes that a message of
//! 2009 gives as the floor of its build of 1200 files.

use std::fmt::Write;

use zerolag_core::event::SchedEvent;
use zerolag_core::ids::CpuId;
use zerolag_core::units::{Instant, Nanos};

use super::cast::{Cast, built};
use super::family::Family;
use super::medium::FORK;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::{TemplateId, Workload};
use crate::length::{Distribution, Length};
use crate::note::{Note, NoteKind};
use crate::program::{Op, ProgramBuilder, Times};
use crate::resource::{DeviceSpec, Ref, SemaphoreId, SemaphoreSpec};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_value('j', "jobs", "N", "so many files at a time (def: 1)"),
    OptionSpec::long_only("files", "N", "files to compile (def: 1200)"),
    OptionSpec::long_only("modules", "N", "modules to link in the end (def: 200)"),
    OptionSpec::long_only("compile", "MSEC", "median time of a compilation (def: 450)"),
    OptionSpec::long_flag("nfs", "files come from an NFS server"),
    OptionSpec::long_only("wire", "USEC", "with --nfs: mean time of a call on the wire (def: 4000)"),
];

const TARGETS: [&str; 4] = ["all", "bzImage", "modules", "vmlinux"];

/// Files between two partial links of one make.
const FILES_A_LINK: u32 = 40;
const READS: u32 = 6;
const CALLS: u32 = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Make {
    jobs: u32,
    files: u32,
    modules: u32,
    compile: Nanos,
    /// Time of a call on the wire, if files come over one.
    wire: Option<Nanos>,
}

pub(super) fn make(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("make", OPTIONS, arguments)?;
    if let Some(found) = given.rest().iter().find(|target| !TARGETS.contains(&target.as_str())) {
        let accepted = "targets all, bzImage, modules, vmlinux (all the same here)";
        return Err(OptionError::Mode { tool: "make", found: Some(found.clone()), accepted });
    }
    let wire = given.number("wire", 1, 10_000_000)?;
    if wire.is_some() && !given.flag("nfs") {
        return Err(given.bad_value("wire", "nothing without --nfs"));
    }
    Ok(Box::new(Make {
        jobs: given.number("jobs", 1, 65_536)?.unwrap_or(1),
        files: given.number("files", 1, 10_000_000)?.unwrap_or(1200),
        modules: given.number("modules", 0, 10_000_000)?.unwrap_or(200),
        compile: Nanos::from_millis(given.number("compile", 1, 1_000_000)?.unwrap_or(450)),
        wire: given.flag("nfs").then(|| Nanos::from_micros(wire.unwrap_or(4000))),
    }))
}

/// Arguments of everybody who works for one of the N: whom a shell, a driver, a compiler or assembler tell that
/// they have ended.
const SHELL_ENDED: Ref<SemaphoreId> = Ref::Argument(0);
const DRIVER_ENDED: Ref<SemaphoreId> = Ref::Argument(1);
const COMPILER_ENDED: Ref<SemaphoreId> = Ref::Argument(2);

fn uniform(program: &mut ProgramBuilder, min_us: u64, max_us: u64) -> Length {
    let (min, max) = (Nanos::from_micros(min_us), Nanos::from_micros(max_us));
    Length::Drawn(program.distribution(Distribution::Uniform { min, max }))
}

fn work(program: &mut ProgramBuilder, min_us: u64, max_us: u64) {
    let length = uniform(program, min_us, max_us);
    program.op(Op::Run(length));
}

/// Starts a process and waits until it has ended.
fn start_and_wait(program: &mut ProgramBuilder, part: TemplateId, ended: Ref<SemaphoreId>) {
    program.op(Op::Run(FORK.into())).op(Op::Fork(part)).op(Op::Acquire(ended));
}

/// Puts those together who work for one of the N.
struct Slot<'c, 'w, 'm> {
    cast: &'c mut Cast<'w, 'm>,
    flags: Vec<u32>,
}

impl Slot<'_, '_, '_> {
    fn part(&mut self, name: &str, program: &ProgramBuilder) -> TemplateId {
        self.cast.part(name, built(program), self.flags.clone())
    }

    /// Works for so long and tells its parent.
    fn worker(&mut self, name: &str, min_us: u64, max_us: u64) -> TemplateId {
        let mut program = ProgramBuilder::new();
        program.op(Op::Exec);
        work(&mut program, min_us, max_us);
        program.op(Op::Post(SHELL_ENDED));
        self.part(name, &program)
    }

    /// The shell; what it starts comes with it.
    fn shell(&mut self, make: &Make, rpc: Option<Rpc>) -> TemplateId {
        let mut compiler = ProgramBuilder::new();
        compiler.op(Op::Exec);
        make.compile(rpc, &mut compiler);
        compiler.op(Op::Post(COMPILER_ENDED));
        let compiler = self.part("cc1", &compiler);

        let mut assembler = ProgramBuilder::new();
        let short = Nanos(make.compile.0 * 11 / 200);
        let length = assembler.distribution(Distribution::LogNormal { median: short, sigma_milli: 750 });
        assembler.op(Op::Exec).op(Op::Run(Length::Drawn(length))).op(Op::Post(COMPILER_ENDED));
        let assembler = self.part("as", &assembler);

        let mut driver = ProgramBuilder::new();
        driver.op(Op::Exec);
        work(&mut driver, 2_000, 5_000);
        start_and_wait(&mut driver, compiler, COMPILER_ENDED);
        start_and_wait(&mut driver, assembler, COMPILER_ENDED);
        driver.op(Op::Post(DRIVER_ENDED));
        let driver = self.part("gcc", &driver);

        let mut shell = ProgramBuilder::new();
        shell.op(Op::Exec);
        work(&mut shell, 1_000, 2_000);
        start_and_wait(&mut shell, driver, DRIVER_ENDED);
        work(&mut shell, 5_000, 30_000);
        shell.op(Op::Post(SHELL_ENDED));
        self.part("sh", &shell)
    }
}

impl Make {
    fn compile(&self, rpc: Option<Rpc>, program: &mut ProgramBuilder) {
        if let Some(rpc) = rpc {
            program.begin(Times::Exactly(CALLS));
            work(program, 2_000, 20_000);
            program.op(Op::PostHere(rpc.calls)).op(Op::Acquire(rpc.answers.into())).end();
            return;
        }
        let service = uniform(program, 100, 2_000);
        program.begin(Times::Exactly(READS)).op(Op::Io { device: None, service }).end();
        let length = Distribution::LogNormal { median: self.compile, sigma_milli: 750 };
        let length = program.distribution(length);
        program.op(Op::Run(Length::Drawn(length)));
    }

    /// What compiles, one file after the other.
    fn compiling(
        files: SemaphoreId,
        done: SemaphoreId,
        shell: TemplateId,
        link: TemplateId,
    ) -> ProgramBuilder {
        let mut make = ProgramBuilder::new();
        make.begin(Times::Forever).begin(Times::Exactly(FILES_A_LINK)).op(Op::Acquire(files.into()));
        work(&mut make, 1_000, 5_000);
        start_and_wait(&mut make, shell, SHELL_ENDED);
        make.op(Op::Post(done.into())).end();
        start_and_wait(&mut make, link, SHELL_ENDED);
        make.end();
        make
    }

    /// What links modules.
    fn linking(modules: SemaphoreId, done: SemaphoreId, link: TemplateId) -> ProgramBuilder {
        let mut make = ProgramBuilder::new();
        make.begin(Times::Forever).op(Op::Acquire(modules.into()));
        work(&mut make, 200, 1_000);
        start_and_wait(&mut make, link, SHELL_ENDED);
        make.op(Op::Post(done.into())).end();
        make
    }

    /// The kernel threads that send calls and receive replies, if there are any.
    fn rpc(&self, cast: &mut Cast<'_, '_>) -> Option<Rpc> {
        let mean = self.wire?;
        let wire = cast.workload.devices.push(DeviceSpec { name: "wire".into(), lanes: 1 });
        let answers = cast.counter("answer");
        let cpus: Vec<CpuId> = cast.place.machine.cpus().collect();
        // One after the other, so that a CPU's number leads to its own.
        let count = cpus.last().map_or(1, |last| last.0 + 1);
        let calls: Vec<_> = (0..count).map(|cpu| cast.counter(format!("calls on CPU {cpu}"))).collect();
        for cpu in cpus {
            let replies = cast.counter(format!("replies on CPU {}", cpu.0));
            let mut sender = ProgramBuilder::new();
            let service = Length::Drawn(sender.distribution(Distribution::Exponential { mean }));
            sender.begin(Times::Forever).op(Op::Acquire(calls[cpu.0 as usize].into()));
            work(&mut sender, 10, 30);
            sender.op(Op::Submit { device: wire.into(), service, done: replies.into() }).end();
            let mut receiver = ProgramBuilder::new();
            receiver.begin(Times::Forever).op(Op::Acquire(replies.into()));
            work(&mut receiver, 10, 30);
            receiver.op(Op::Post(answers.into())).end();
            for (name, program) in [("rpc-sender", sender), ("rpc-receiver", receiver)] {
                cast.kernel_thread(name, built(&program), cpu);
            }
        }
        Some(Rpc { calls: calls[0], answers })
    }
}

/// Where tasks put calls, and where they wait for answers.
#[derive(Clone, Copy, Debug)]
struct Rpc {
    /// The first CPU's.
    calls: SemaphoreId,
    answers: SemaphoreId,
}

impl Model for Make {
    fn run_time(&self) -> Option<Nanos> {
        None
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let begin = cast.marks(2);
        let to_do = |cast: &mut Cast<'_, '_>, name: &str, count| {
            let name = name.into();
            cast.workload.semaphores.push(SemaphoreSpec { name, initial: count, max: u32::MAX })
        };
        let (files, modules) =
            (to_do(&mut cast, "files", self.files), to_do(&mut cast, "modules", self.modules));
        let done = cast.counter("done");
        let rpc = self.rpc(&mut cast);

        let mut top = ProgramBuilder::new();
        top.op(Op::Mark(begin));
        let mut linkers = Vec::new();
        for _ in 0..self.jobs {
            let flags = ["shell", "driver", "compiler"].map(|name| cast.counter(name).0);
            let mut slot = Slot { cast: &mut cast, flags: flags.to_vec() };
            let (shell, link) = (slot.shell(self, rpc), slot.worker("ld", 10_000, 100_000));
            let part = slot.part("make", &Self::compiling(files, done, shell, link));
            // The last partial links may still be under way when modules are linked.
            let ended = slot.cast.counter("link");
            slot.flags = vec![ended.0];
            let link = slot.worker("ld.ko", 5_000, 20_000);
            linkers.push(slot.part("make", &Self::linking(modules, done, link)));
            top.op(Op::Run(FORK.into())).op(Op::Fork(part));
        }
        top.begin(Times::Exactly(self.files)).op(Op::Acquire(done.into())).end();
        work(&mut top, 3_000_000, 6_000_000);
        for part in linkers {
            top.op(Op::Run(FORK.into())).op(Op::Fork(part));
        }
        top.begin(Times::Exactly(self.modules)).op(Op::Acquire(done.into())).end();
        top.op(Op::Mark(begin + 1));
        // Nobody else has anything left to do; something will happen again if a scenario goes on.
        top.begin(Times::Forever).op(Op::Sleep(Nanos::from_secs(3600).into())).end();
        let top = cast.part("make", built(&top), Vec::new());
        cast.start(top);
        Box::new(MakeWatch { begin, began: place.start, ended: None, family: Family::default() })
    }
}

#[derive(Clone, Debug)]
struct MakeWatch {
    begin: u32,
    began: Instant,
    ended: Option<Instant>,
    family: Family,
}

impl Watch for MakeWatch {
    fn note(&mut self, note: &Note) {
        match note.kind {
            NoteKind::Mark(mark) if mark == self.begin => {
                self.began = note.time;
                self.family.add(note.task);
            }
            NoteKind::Mark(mark) if mark == self.begin + 1 => self.ended = Some(note.time),
            _ => {}
        }
    }

    fn event(&mut self, event: &SchedEvent) {
        if self.ended.is_none() {
            self.family.event(event);
        }
    }

    fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    /// As the shell's `time` prints it; all CPU time is counted as the user's.
    fn finish(&mut self, end: Instant) -> Outcome {
        let elapsed = self.ended.unwrap_or(end).saturating_since(self.began);
        let cpu = self.family.total_cpu();
        let mut text = String::new();
        if self.ended.is_none() {
            text.push_str("make: not done yet\n");
        }
        for (name, time) in [("real", elapsed), ("user", cpu), ("sys", Nanos::ZERO)] {
            let ms = time.0 / 1_000_000;
            let _ = writeln!(text, "{name}\t{}m{}.{:03}s", ms / 60_000, ms / 1_000 % 60, ms % 1_000);
        }
        let seconds = |time: Nanos| time.0 as f64 / 1e9;
        let mut metrics =
            vec![Metric::time("time", "s", seconds(elapsed)), Metric::time("cpu", "s", seconds(cpu))];
        if elapsed > Nanos::ZERO {
            metrics.push(Metric::rate("CPUs busy with it", "1", seconds(cpu) / seconds(elapsed)));
        }
        Outcome { text, metrics }
    }
}
