// SPDX-License-Identifier: GPL-2.0-only

use zerolag_core::kernel::Kernel;
use zerolag_core::nice::Policy;
use zerolag_core::units::Nanos;

use super::*;
use crate::program::{Attribute, Op, ProgramBuilder};
use crate::scenario::{Overrides, read};
use crate::script::{Build, Output, interpreter::Interpreter};
use crate::sim::{RecordedError, Setup, Sim};
use crate::swarm::{Space, draw};
use crate::workload::{Start, Template, Workload};

const KERNELS: [Kernel; 4] = [Kernel::V6_1, Kernel::V6_6, Kernel::V6_12, Kernel::V6_18];

/// What the script leads to.
fn carried_out(kernel: Kernel, text: &str) -> Interpreter {
    let mut interpreter = Interpreter::new(Build { kernel, bandwidth: true }, Output::Quiet);
    for line in text.lines() {
        if let Err(error) = interpreter.line(line, &mut std::io::sink()) {
            panic!("{}", error.at(0, line));
        }
    }
    interpreter
}

/// Whatever the machine, the workload and the costs: the script leads to the very same state.
#[test]
fn a_recorded_run_can_be_carried_out_again() {
    let (mut compared, mut events) = (0, 0);
    for seed in 0..160 {
        let case = draw(seed, &Space::everything(KERNELS.to_vec())).to_toml();
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let scenario = read("case", case.as_bytes(), &Overrides::default(), &none).unwrap();
        let kernel = scenario.setup.config.kernel;
        let Ok(mut sim) = scenario.simulate_recorded() else { continue };
        sim.run_until(Instant(30_000_000), &mut ());
        let Ok(text) = sim.take_script() else { continue };
        // A simulation sets a quota at once, a script by three writes, as the reference does.
        if text.contains("\nquota ") {
            continue;
        }
        let mut interpreter = carried_out(kernel, &text);
        let scheduler = interpreter.scheduler_at(sim.scheduler().now());
        assert!(scheduler == sim.scheduler(), "seed {seed}, Linux {kernel}\n{case}");
        compared += 1;
        events += text.lines().count();
    }
    assert!(compared > 10 && events > 10_000, "{compared} runs of {events} lines");
}

#[test]
fn a_task_that_runs_and_ends_is_few_lines() {
    let mut workload = Workload::new();
    let program = ProgramBuilder::new().op(Op::Run(Nanos::from_millis(6).into())).build().unwrap();
    let template = workload.template(Template::new("task", program));
    workload.start(Start::new(template));
    let topology = Topology::preset("1cpu").unwrap();
    let config = Kernel::V6_12.config(1).unwrap();
    let mut sim = Sim::recorded(Setup::new(topology, config), workload).unwrap();
    sim.run_until(Instant(20_000_000), &mut ());
    // By the scheduler's clock: the machine has been on for a while.
    let expected = "# --kernel 6.12\ncpus 1\ndomains 1\nraw 1\nclock 2048000000000\n\
                    task 0 group 0 nice 0 policy normal cpu 0 cpus 0\nfork 0\nresched\n\
                    clock 2048004000000\ntick\nclock 2048006000000\nexit\nnohz 2\n";
    assert_eq!(sim.take_script().unwrap(), expected);
}

/// However a task comes by it: scripts have no real-time policies, and another one must not stand in for it.
#[test]
fn a_policy_without_a_word_is_refused() {
    let said = |policy: Policy| {
        let mut program = ProgramBuilder::new();
        program.op(Op::Run(Nanos::from_millis(1).into())).op(Op::Set(Attribute::Policy(policy)));
        let mut workload = Workload::new();
        let template = workload.template(Template::new("task", program.build().unwrap()));
        workload.start(Start::new(template));
        let topology = Topology::preset("1cpu").unwrap();
        let config = Kernel::V6_12.config(1).unwrap();
        let mut sim = Sim::recorded(Setup::new(topology, config), workload).unwrap();
        sim.run_until(Instant(10_000_000), &mut ());
        sim.take_script().map_err(|error| error.to_string())
    };
    assert!(said(Policy::Batch).unwrap().contains("policy 0 batch"));
    assert!(said(Policy::Fifo(3)).unwrap_err().contains("real-time"));
}

#[test]
fn what_has_no_words_is_refused() {
    let topology = Topology::preset("2cpu").unwrap();
    let refusal = |change: &dyn Fn(&mut Config), kernel: Kernel| {
        let mut config = kernel.config(2).unwrap();
        change(&mut config);
        match Sim::recorded(Setup::new(topology.clone(), config), Workload::new()) {
            Err(RecordedError::Record(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        refusal(&|_| {}, Kernel::V4_11),
        "scripts of Linux 4.11 do not say when interrupts arrive; use 6.1 or later"
    );
    assert_eq!(
        refusal(&|c| c.hz = 1000, Kernel::V6_12),
        "event scripts can change features and tunables, but not how often ticks come"
    );
}
