// SPDX-License-Identifier: GPL-2.0-only
//! Options, printed tables, and latencies that can be worked out by hand.

use expect_test::{Expect, expect};
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::Nanos;

use super::*;
use crate::benchmark::run;
use crate::costs::Costs;
use crate::sim::Setup;
use crate::workload::model::{Model, Outcome};

fn setup(machine: &str) -> Setup {
    let topology = Topology::preset(machine).unwrap();
    let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
    Setup::new(topology, config)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn classic(line: &str, machine: &str) -> Outcome {
    run(&Classic::parse(&words(line)).unwrap(), setup(machine)).unwrap()
}

fn current(line: &str, machine: &str) -> Outcome {
    run(&Current::parse(&words(line)).unwrap(), setup(machine)).unwrap()
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

#[test]
fn options_are_the_tools_own() {
    let options = Classic::parse(&words("-m 2 -t 10 -s 10000 -c 15000 -r 30")).unwrap();
    let expected = Classic {
        message_threads: 2,
        worker_threads: 10,
        sleep_us: 10_000,
        cpu_us: 15_000,
        ..Classic::default()
    };
    assert_eq!(options, expected);
    let options =
        Current::parse(&words("-L -m2 --threads 3 -n 10 -F 128 -s 0 -w 5 -r 90 -M 0-1 -W auto")).unwrap();
    assert!(!options.locking && options.pin_auto);
    assert_eq!((options.message_threads, options.worker_threads, options.warmup_s), (2, Some(3), 5));
    assert_eq!(Current::parse(&words("-w 5 -r 10")).unwrap().warmup_s, 0);
    for (line, message) in [
        ("-m 0", "schbench: -m (--message-threads) is '0', accepted: a number from 1 to 1024"),
        ("-t 1 -R 5", "schbench: -t (--threads) is '1', accepted: 2 or more with -R"),
        ("5", "schbench: '5' belongs to no option"),
    ] {
        assert_eq!(Classic::parse(&words(line)).unwrap_err().to_string(), message);
    }
    let error = Current::parse(&words("-A 50")).unwrap_err().to_string();
    assert_eq!(
        error,
        "schbench: -A (--auto-rps) is not simulated: it would have to change the load while it runs; try values of -R"
    );
    let error = Current::parse(&words("-W 3-1")).unwrap_err().to_string();
    assert_eq!(error, "schbench: -W (--worker-cpus) is '3-1', accepted: a list such as 0-3,8, or 'auto'");
}

#[test]
fn work_is_the_published_time_of_matrix_products() {
    // 104 x 104, five times, at 3 ns.
    assert_eq!(Current::default().work(), Nanos(16_872_960));
    assert_eq!(Current { operations: 0, ..Current::default() }.work(), Nanos(0));
    // 30 % of the memory and one of the five products are each worker's own.
    let split = Current { split_percent: Some(30), ..Current::default() };
    assert_eq!(split.work(), Nanos((56u64.pow(3) + 4 * 87u64.pow(3)) * 3));
}

/// A worker alone on its CPU gets it in no time, so there is nothing to count.
#[test]
fn latencies_below_a_microsecond_are_not_counted() {
    let outcome = classic("-m 1 -t 1 -s 1000 -c 1000 -r 1", "4cpu");
    expect![[r#"
        Latency percentiles (usec)
        	50.0000th: 0
        	75.0000th: 0
        	90.0000th: 0
        	95.0000th: 0
        	*99.0000th: 0
        	99.5000th: 0
        	99.9000th: 0
        	min=0, max=0
    "#]]
    .assert_eq(&outcome.text);
}

/// One CPU, nothing costs anything but waking a task, 10 us each; one message thread, four workers that do
/// nothing but wait. All four are woken, which takes 40 us, before the first of them runs; it posts the message
/// thread, for another 10 us, and then the other three run.
#[test]
fn the_wakers_own_time_counts_as_latency_of_the_batch() {
    let costs = Costs { wakeup: Nanos(10_000), ..Costs::IDEAL };
    let model = Classic::parse(&words("-m 1 -t 4 -s 10000 -c 0 -r 1")).unwrap();
    let mut pinned = setup("1cpu");
    pinned.costs = costs;
    pinned.config.features.set(zerolag_core::features::Feature::WakeupPreemption, false);
    let outcome = run(&model, pinned).unwrap();
    assert_eq!((metric(&outcome, "latency p50"), metric(&outcome, "latency max")), (50.0, 50.0));
}

#[track_caller]
fn prints(outcome: &Outcome, expected: Expect) {
    expected.assert_eq(&outcome.text);
}

#[test]
fn the_classic_table_is_printed_as_in_2017() {
    prints(
        &classic("-m 2 -t 2 -s 10000 -c 1500 -r 2", "1cpu"),
        expect![[r#"
            Latency percentiles (usec)
            	50.0000th: 1502
            	75.0000th: 1502
            	90.0000th: 1502
            	95.0000th: 1502
            	*99.0000th: 4084
            	99.5000th: 4248
            	99.9000th: 4264
            	min=0, max=4257
        "#]],
    );
}

#[test]
fn requests_are_served_in_turn() {
    let outcome = classic("-m 1 -t 6 -c 500 -R 1000 -r 2", "1cpu");
    prints(
        &outcome,
        expect![[r#"
            Latency percentiles (usec)
            	50.0000th: 501
            	75.0000th: 1001
            	90.0000th: 1502
            	95.0000th: 1502
            	*99.0000th: 1502
            	99.5000th: 1502
            	99.9000th: 1502
            	min=0, max=1502
            rps: 986.00 p95 (usec) 1502 p99 (usec) 1502 p95/cputime 300.40% p99/cputime 300.40%
        "#]],
    );
}

#[test]
fn auto_mode_adds_threads_until_latencies_hurt() {
    let mut model: Box<dyn Model> =
        Box::new(Classic::parse(&words("-m 1 -t 1 -s 5000 -c 5000 -a -r 2")).unwrap());
    let mut text = String::new();
    loop {
        let outcome = run(model.as_ref(), setup("1cpu")).unwrap();
        text += &outcome.text;
        match model.again(&outcome) {
            Some(next) => model = next,
            None => break,
        }
    }
    expect![[r#"
        cputime 5000 threads 1 p99 0
        cputime 5000 threads 2 p99 2940
        Latency percentiles (usec)
        	50.0000th: 2388
        	75.0000th: 2692
        	90.0000th: 2852
        	95.0000th: 2908
        	*99.0000th: 2940
        	99.5000th: 2940
        	99.9000th: 2940
        	min=0, max=2941
    "#]]
    .assert_eq(&text);
}

#[test]
fn the_current_tables_are_printed_every_interval_and_at_the_end() {
    prints(
        &current("-m 1 -n 1 -t 3 -r 3 -i 2", "1cpu"),
        expect![[r#"
            Wakeup Latencies percentiles (usec) runtime 2 (s) (166 total samples)
            	  50.0th: 4776       (3 samples)
            	  90.0th: 6744       (78 samples)
            	* 99.0th: 7224       (2 samples)
            	  99.9th: 7368       (1 samples)
            	  min=776, max=7374
            Request Latencies percentiles (usec) runtime 2 (s) (329 total samples)
            	  50.0th: 17248      (159 samples)
            	  90.0th: 20640      (82 samples)
            	* 99.0th: 24032      (5 samples)
            	  99.9th: 31712      (2 samples)
            	  min=3524, max=31700
            RPS percentiles (requests) runtime 2 (s) (3 total samples)
            	  20.0th: 0          (1 samples)
            	* 50.0th: 163        (1 samples)
            	  90.0th: 166        (1 samples)
            	  min=163, max=166
            sched delay: message 20 (usec) worker 3627 (usec)
            current rps: 166.00
            Wakeup Latencies percentiles (usec) runtime 3 (s) (250 total samples)
            	  50.0th: 4776       (3 samples)
            	  90.0th: 6744       (120 samples)
            	* 99.0th: 7224       (2 samples)
            	  99.9th: 7368       (1 samples)
            	  min=776, max=7374
            Request Latencies percentiles (usec) runtime 3 (s) (495 total samples)
            	  50.0th: 17248      (242 samples)
            	  90.0th: 20640      (124 samples)
            	* 99.0th: 23840      (3 samples)
            	  99.9th: 31712      (4 samples)
            	  min=3524, max=31700
            RPS percentiles (requests) runtime 3 (s) (4 total samples)
            	  20.0th: 0          (1 samples)
            	* 50.0th: 163        (1 samples)
            	  90.0th: 166        (2 samples)
            	  min=163, max=166
            average rps: 165.00
            sched delay: message 13 (usec) worker 3639 (usec)
        "#]],
    );
}

#[test]
fn warming_up_forgets_the_beginning() {
    let outcome = current("-m 1 -t 2 -r 30 -w 10 -i 100 -n 1", "1cpu");
    prints(
        &outcome,
        expect![[r#"
            warmup done, zeroing stats
            Wakeup Latencies percentiles (usec) runtime 30 (s) (1250 total samples)
            	  50.0th: 3372       (0 samples)
            	  90.0th: 3372       (0 samples)
            	* 99.0th: 3372       (0 samples)
            	  99.9th: 3372       (0 samples)
            	  min=3375, max=3375
            Request Latencies percentiles (usec) runtime 30 (s) (3750 total samples)
            	  50.0th: 8464       (1250 samples)
            	  90.0th: 12624      (1250 samples)
            	* 99.0th: 12624      (0 samples)
            	  99.9th: 12624      (0 samples)
            	  min=7524, max=12625
            RPS percentiles (requests) runtime 30 (s) (20 total samples)
            	  20.0th: 187        (11 samples)
            	* 50.0th: 187        (0 samples)
            	  90.0th: 188        (9 samples)
            	  min=187, max=188
            average rps: 187.50
            sched delay: message 0 (usec) worker 1568 (usec)
        "#]],
    );
}

#[test]
fn requests_come_in_bursts_each_second() {
    let outcome = current("-m 1 -t 3 -R 10 -n 1 -s 0 -r 4 -i 100", "1cpu");
    prints(
        &outcome,
        expect![[r#"
            Wakeup Latencies percentiles (usec) runtime 4 (s) (8 total samples)
            	  50.0th: 4004       (1 samples)
            	  90.0th: 8008       (4 samples)
            	* 99.0th: 8008       (0 samples)
            	  99.9th: 8008       (0 samples)
            	  min=3950, max=8000
            Request Latencies percentiles (usec) runtime 4 (s) (40 total samples)
            	  50.0th: 7368       (4 samples)
            	  90.0th: 40896      (16 samples)
            	* 99.0th: 51008      (4 samples)
            	  99.9th: 51008      (0 samples)
            	  min=3374, max=51046
            RPS percentiles (requests) runtime 4 (s) (5 total samples)
            	  20.0th: 0          (1 samples)
            	* 50.0th: 10         (4 samples)
            	  90.0th: 10         (0 samples)
            	  min=10, max=10
            average rps: 10.00
            sched delay: message 0 (usec) worker 5559 (usec)
        "#]],
    );
    assert_eq!(metric(&outcome, "requests"), 10.0);
}

/// Without locks, as many requests are served as the CPU has time for: each takes its
/// work, and sleeps overlap the work of others except when all sleep at once.
#[test]
fn throughput_is_capacity_over_work() {
    let outcome = current("-L -m 1 -t 4 -n 1 -r 10 -i 100", "1cpu");
    let work_us = 3_374.592;
    let rate = metric(&outcome, "requests");
    let possible = 1e6 / work_us;
    assert!((0.98..=1.0).contains(&(rate / possible)), "{rate} of {possible}");
}

/// Two requests on one CPU at a time with the lock of that CPU: whoever is preempted inside makes the other
/// spin, and throughput suffers.
#[test]
fn locks_make_preemption_expensive() {
    let with = current("-m 1 -t 8 -n 5 -r 5 -i 100", "2cpu");
    let without = current("-m 1 -t 8 -n 5 -r 5 -i 100 -L", "2cpu");
    assert!(metric(&with, "requests") < metric(&without, "requests"));
}

#[test]
fn models_run_on_one_cpu_and_on_many() {
    for machine in ["1cpu", "384cpu"] {
        let c = classic("-m 1 -t 2 -s 1000 -c 1000 -r 1", machine);
        assert!(c.text.contains("99.9000th"));
        let c = current("-m 2 -n 1 -r 1", machine);
        assert!(metric(&c, "requests") > 0.0);
    }
}
