// SPDX-License-Identifier: GPL-2.0-only
//! Workload models: closed forms where there are any, on one CPU and on many, and what they print.

use expect_test::{Expect, expect};
use zerolag_core::features::Feature;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::Instant;
use zerolag_sim::benchmark::{Benchmark, Watching, run};
use zerolag_sim::costs::Costs;
use zerolag_sim::sim::Setup;
use zerolag_sim::workload::model::{Model, Outcome};
use zerolag_sim::workload::models;

fn setup(machine: &str) -> Setup {
    let topology = Topology::preset(machine).unwrap();
    let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
    Setup::new(topology, config)
}

#[track_caller]
fn model(line: &str) -> Box<dyn Model> {
    let mut words = line.split_whitespace();
    let kind = models::by_name(words.next().unwrap()).unwrap();
    kind.parse(&words.collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn on(setup: Setup, line: &str) -> Outcome {
    run(model(line).as_ref(), setup).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[track_caller]
fn metric(outcome: &Outcome, name: &str) -> f64 {
    let found = outcome.metrics.iter().find(|m| m.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", outcome.metrics)).value
}

#[track_caller]
fn near(found: f64, expected: f64, percent: f64) {
    assert!(
        (found - expected).abs() <= expected * percent / 100.0,
        "{found} is not {expected} ± {percent} %"
    );
}

#[track_caller]
fn prints(outcome: &Outcome, expected: &Expect) {
    expected.assert_eq(&outcome.text);
}

#[test]
fn two_hogs_have_half_a_cpu_each() {
    let outcome = on(setup("1cpu"), "hogs -n 2 -r 10");
    near(metric(&outcome, "share of all"), 100.0, 0.01);
    near(metric(&outcome, "least share"), 50.0, 0.1);
    let outcome = on(setup("2cpu"), "hogs -n 3 -r 10");
    near(metric(&outcome, "share of all"), 200.0, 0.01);
}

/// One CPU on which nobody is preempted by whom they wake: they go on to wait themselves, and have to be
/// woken. Ticks cost nothing.
fn patient(costs: &Costs) -> Setup {
    let mut setup = Setup { costs: Costs { tick: Costs::IDEAL.tick, ..costs.clone() }, ..setup("1cpu") };
    setup.config.features.set(Feature::WakeupPreemption, false);
    setup
}

/// On one CPU an operation is two writes and two reads of a pipe, two wake-ups and two switches.
#[test]
fn ping_pong_costs_what_its_parts_cost() {
    for costs in [Costs::IDEAL, Costs::X86_SERVER] {
        let time_of = |loops: u32| {
            let setup = patient(&costs);
            let outcome = on(setup, &format!("perf-bench-sched pipe -l {loops}"));
            metric(&outcome, "time per operation") * f64::from(loops) * 1e3
        };
        // Starting and ending cost the same at any length.
        let per_operation = (time_of(3000) - time_of(1000)) / 2000.0;
        let expected = 2 * (500 + 400 + costs.wakeup.0 + costs.context_switch.0);
        near(per_operation, expected as f64, 0.01);
    }
}

/// Fixed service, arrivals that know nothing of each other: the mean wait is ρ S / 2 (1 - ρ). Whoever finds
/// the CPU idle does not wait, and as nobody preempts, the others wait as in any queue that is served
/// one after the other.
#[test]
fn many_rare_sleepers_wait_as_in_an_m_d_1_queue() {
    // 200 sources of 0.5 ms, less than a slice, each 200 ms: ρ = 200 / 401.
    let line = "random -n 200 --run 500us --sleep exponential(200ms) --batch -r 100";
    let outcome = on(Setup { ..setup("1cpu") }, line);
    let rho: f64 = 200.0 / 401.0;
    near(metric(&outcome, "share of all"), 100.0 * rho, 3.0);
    near(metric(&outcome, "wait mean"), 500.0 * rho / (2.0 * (1.0 - rho)), 5.0);
}

/// Nothing else runs: a fair task is late by its timer's slack, a real-time task not at all.
#[test]
fn cyclictest_alone_measures_the_timers_slack() {
    let fair = on(setup("1cpu"), "cyclictest --policy other -D 2 -q");
    assert_eq!((metric(&fair, "latency p50"), metric(&fair, "latency max")), (50.0, 50.0));
    let real_time = on(setup("1cpu"), "cyclictest -p 80 -D 2 -q");
    assert_eq!(metric(&real_time, "latency max"), 0.0);
}

#[test]
fn cyclictest_prints_what_the_tool_prints() {
    prints(
        &on(setup("2cpu"), "cyclictest -S -i 1000 -l 100 -h 3 --policy other"),
        &expect![[r#"
        T: 0 (    2) P: 0 I:1000 C:    100 Min:     50 Act:   50 Avg:   50 Max:      50
        T: 1 (    3) P: 0 I:1500 C:     66 Min:     50 Act:   50 Avg:   50 Max:      50
        # Histogram
        000000 000000	000000
        000001 000000	000000
        000002 000000	000000
        # Total: 000000000 000000000
        # Min Latencies: 00050 00050
        # Avg Latencies: 00050 00050
        # Max Latencies: 00050 00050
        # Histogram Overflows: 00100 00066
        # Histogram Overflow at cycle number:
        # Thread 0:
        # Thread 1:
    "#]],
    );
    prints(
        &on(setup("1cpu"), "cyclictest -N -l 3 -v"),
        &expect![[r#"
               0:       0:   50000
               0:       1:   50000
               0:       2:   50000
        T: 0 (    2) P: 0 I:1000 C:      3 Min:  50000 Act:   50000 Avg:   50000 Max:   50000
    "#]],
    );
}

/// All run at once, so the work of all messages is done by both CPUs all the time.
#[test]
fn hackbench_takes_at_least_its_work() {
    let outcome = on(setup("2cpu"), "hackbench -g 2 -l 50");
    prints(
        &outcome,
        &expect![[r#"
        Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
        Each sender will pass 50 messages of 100 bytes
        Time: 0.043
    "#]],
    );
    // 100 bytes over a Unix socket: 1.2 µs there and 0.9 µs back, and 9 ns each for copying.
    let work = 2.0 * 20.0 * 20.0 * 50.0 * (2.1 + 0.018) / 1e6;
    assert!(metric(&outcome, "time") >= work / 2.0);
    near(metric(&outcome, "time"), work / 2.0, 10.0);
    prints(
        &on(setup("2cpu"), "perf-bench-sched messaging -t -p -g 1 -l 10"),
        &expect![[r#"
        # Running 'sched/messaging' benchmark:
        # 20 sender and receiver threads per group
        # 1 groups == 40 threads run

             Total time: 0.003 [sec]
    "#]],
    );
}

/// A packet through the pipe: one write and one read, and as the one CPU can do only one of them at a time, two
/// switches.
#[test]
fn stress_ng_switch_switches_twice_for_each_packet() {
    let outcome = on(patient(&Costs::X86_SERVER), "stress-ng --switch 1 -t 1");
    let packet = 500.0 + 400.0 + 2.0 * (1500.0 + 800.0);
    near(metric(&outcome, "switch operations"), 1e9 / packet, 2.0);
}

/// The parent has a CPU for itself and looks each 2 µs; the child is done with a wake-up before it looks again.
#[test]
fn stress_ng_futex_wakes_as_often_as_the_parent_looks() {
    let outcome = on(setup("2cpu"), "stress-ng --futex 1 -t 1");
    near(metric(&outcome, "futex operations"), 1e9 / 2_000.0, 1.0);
}

/// Nobody shares a CPU: a sleep takes what was drawn, half of 2^0 to 2^18 ns and 7.5 ns more on average, the slack
/// of its timer, and the work around it.
#[test]
fn stress_ng_nanosleep_takes_its_sleeps_and_their_slack() {
    let outcome = on(setup("8cpu"), "stress-ng --nanosleep 1 -t 1");
    let drawn = f64::from((1 << 19) - 1) / 19.0 / 2.0 + 7.5;
    near(metric(&outcome, "nanosleep operations"), 8e9 / (drawn + 50_000.0 + 500.0), 2.0);
}

#[test]
fn stress_ng_prints_what_the_tool_prints() {
    prints(
        &on(setup("2cpu"), "stress-ng --switch 0 --fork 1 --futex 1 --nanosleep 1 -t 1"),
        &expect![[r#"
            stress-ng: info:  [1] setting to a 1 second run per stressor
            stress-ng: info:  [1] dispatching hogs: 2 switch, 1 fork, 1 futex, 1 nanosleep
            stress-ng: metrc: [1] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
            stress-ng: metrc: [1]                            (secs)    (secs)    (secs)  (real time) (usr+sys time)
            stress-ng: metrc: [1] switch          1076497      1.00      0.00      0.54   1076497.00     2000000.00
            stress-ng: metrc: [1] fork               5471      1.00      0.00      0.33      5471.00       16666.67
            stress-ng: metrc: [1] futex            184744      1.00      0.00      0.06    184744.00     3333351.38
            stress-ng: metrc: [1] nanosleep        130216      1.00      0.00      0.07    130216.00     2000015.36
            stress-ng: info:  [1] successful run completed in 1.00s
        "#]],
    );
}

#[test]
fn unixbench_prints_what_the_tool_prints() {
    // 60 µs to fork, 30 µs to end.
    let spawn = on(setup("1cpu"), "unixbench spawn --time 2");
    near(metric(&spawn, "loops"), 1e6 / 90.0, 0.1);
    prints(
        &spawn,
        &expect![[r#"
        Process Creation                              11111.0 lps   (2.0 s, 1 samples)
    "#]],
    );
    let context = on(setup("1cpu"), "unixbench context1 --time 1");
    near(metric(&context, "loops"), 1e9 / (2.0 * 900.0), 0.1);
    // It schedules nothing, and so does not depend on the CPUs there are.
    let pipe = |machine| metric(&on(setup(machine), "unixbench pipe --time 1"), "loops");
    assert_eq!(pipe("1cpu"), pipe("2cpu"));
}

#[test]
fn netperf_prints_what_the_tool_prints() {
    let outcome = on(setup("1cpu"), "netperf -t TCP_RR -l 1 -- -r 1,1");
    near(metric(&outcome, "transactions"), 1e9 / 11_000.0, 0.1);
    prints(
        &outcome,
        &expect![[r#"
        MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to localhost () port 0 AF_INET
        Local /Remote
        Socket Size   Request  Resp.   Elapsed  Trans.
        Send   Recv   Size     Size    Time     Rate         
        bytes  Bytes  bytes    bytes   secs.    per sec   

        16384  131072 1        1       1.00     90909.00   
        16384  131072
    "#]],
    );
    let udp = on(setup("2cpu"), "netperf -t udp_rr -l 1 --instances 2");
    assert!(metric(&udp, "transactions") > 2.0 * 1e9 / 7_400.0 * 0.9);
}

/// One file at a time: no CPU but one is ever busy.
#[test]
fn a_build_takes_its_work_or_less_by_the_cpus_there_are() {
    let one = on(setup("4cpu"), "make -j1 --files 40 --modules 10 --compile 20");
    assert!(metric(&one, "CPUs busy with it") < 1.0);
    let four = on(setup("4cpu"), "make -j4 --files 40 --modules 10 --compile 20");
    near(metric(&four, "cpu"), metric(&one, "cpu"), 15.0);
    assert!(metric(&four, "time") < metric(&one, "time"));
    // Nobody is faster than the wire: 20 files, 50 calls each, of 4 ms.
    let nfs = on(setup("4cpu"), "make -j8 --nfs --files 20 --modules 10");
    assert!(metric(&nfs, "time") > 4.0 * 0.9, "{}", metric(&nfs, "time"));
    assert!(nfs.text.starts_with("real\t0m"));
}

/// One client and one server on one CPU, where a switch costs nothing: everything they do, one after the other.
#[test]
fn a_client_is_answered_in_the_time_of_both_sides_work() {
    let copy = |bytes: f64| bytes * 100.0 / 1024.0 / 1000.0;
    // TCP: 4 µs to send and 1.5 µs to receive, each way; client 10 µs, server 20 µs.
    let exchange = 2.0 * (4.0 + 1.5) + 2.0 * (copy(4096.0) + copy(200.0)) + 10.0 + 20.0;
    let tbench = on(setup("1cpu"), "tbench -t 1 1");
    near(metric(&tbench, "throughput"), (4096.0 + 200.0) / exchange, 1.0);
    // Service of median 0.5 ms, 20 µs under the lock, 50 µs of the client; of eight one waits 125 µs for the log.
    let transaction = 500.0 * (0.6_f64 * 0.6 / 2.0).exp() + 20.0 + 50.0 + 125.0 / 8.0 + 2.0 * (1.2 + 0.9);
    let oltp = on(setup("1cpu"), "oltp --threads 1 --time 10");
    near(metric(&oltp, "transactions"), 1e6 / transaction, 2.0);
}

#[test]
fn clients_and_servers_print_what_the_tools_print() {
    prints(
        &on(setup("2cpu"), "oltp --threads 4 --time 2"),
        &expect![[r#"
            SQL statistics:
                transactions:                        5952   (2976.00 per sec.)

            Latency (ms):
                     min:                                     0.11
                     avg:                                     1.29
                     max:                                    10.86
                     95th percentile:                         2.97
        "#]],
    );
    prints(
        &on(setup("2cpu"), "tbench -t 1 2"),
        &expect![[r#"
        Throughput 205.357 MB/sec  2 clients  2 procs  max_latency=0.032 ms
    "#]],
    );
}

#[test]
fn a_reader_alone_is_answered_at_once_and_one_beside_hogs_is_not() {
    let alone = on(setup("1cpu"), "interactive --hogs 0 -r 5");
    let beside = on(setup("1cpu"), "interactive --hogs 4 -r 5");
    assert!(metric(&alone, "burst max") <= 7_000.0);
    assert!(metric(&beside, "burst p50") > metric(&alone, "burst p50"));
}

/// Each model, short, as it runs on the smallest machine and on a big one.
const EACH: [&str; 19] = [
    "schbench -m 2 -t 4 -r 1",
    "schbench --classic -m 2 -t 4 -r 1",
    "hackbench -g 2 -l 5",
    "hackbench -p -T -g 2 -l 5 -F",
    "cyclictest --policy other -t -D 1 -q",
    "perf-bench-sched pipe -l 500",
    "perf-bench-sched messaging -g 1 -l 5",
    "stress-ng --switch 2 --fork 2 --futex 2 --nanosleep 1 -t 1",
    "unixbench spawn -c 2 --time 1",
    "unixbench context1 -c 2 --time 1",
    "netperf -t TCP_RR -l 1 --instances 2",
    "make -j4 --files 20 --modules 5 --compile 20",
    "make -j4 --files 8 --modules 2 --nfs",
    "oltp --threads 4 --time 1",
    "tbench -t 1 4",
    "volano --rooms 1 --users 5 -r 1",
    "interactive -r 1",
    "hogs -n 3 -r 1",
    "random -n 5 -r 1",
];

/// A tenth of a second of it, or all if it ends by itself.
fn begun_on(machine: &str, line: &str) -> Outcome {
    begun(setup(machine), line)
}

fn begun(setup: Setup, line: &str) -> Outcome {
    let mut benchmark = Benchmark::new(model(line).as_ref(), setup).unwrap();
    let end = if benchmark.end == Instant::MAX { Instant::MAX } else { Instant(100_000_000) };
    benchmark.sim.run_until(end, &mut Watching(benchmark.watch.as_mut()));
    benchmark.outcome().unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[track_caller]
fn every_model_runs_on(machine: &str) {
    for line in EACH {
        let outcome = begun_on(machine, line);
        assert!(!outcome.text.is_empty() && !outcome.metrics.is_empty(), "{machine}: {line}");
        for metric in &outcome.metrics {
            assert!(metric.value.is_finite() && metric.value >= 0.0, "{machine}: {line}: {metric:?}");
        }
        assert_eq!(begun_on(machine, line), outcome, "{machine}: {line}: not the same twice");
    }
}

#[test]
fn every_model_runs_on_one_cpu() {
    every_model_runs_on("1cpu");
}

#[test]
fn every_model_runs_on_384_cpus() {
    every_model_runs_on("server-384");
}

#[test]
fn every_model_runs_under_every_kernel() {
    for kernel in Kernel::implemented() {
        for line in EACH {
            let topology = Topology::preset("2cpu").unwrap();
            let config = kernel.config(topology.cpu_count()).unwrap();
            let setup = Setup { costs: Costs::X86_SERVER, ..Setup::new(topology, config) };
            let outcome = begun(setup, line);
            assert!(!outcome.metrics.is_empty(), "{kernel}: {line}");
        }
    }
}

/// A room goes in rounds: each user sends one message, and each message is sent to all of them.
#[test]
fn a_chat_costs_what_its_messages_cost() {
    let outcome = on(setup("1cpu"), "volano --rooms 1 --users 5 -r 1");
    // For each of the five: said (10 + 4 µs), heard by the server (1.5 + 20), told five times (4 + 1.5 each),
    // and 9 ns for each copy.
    let round = 5.0 * (10.0 + 4.0 + 1.5 + 20.0 + 5.0 * 5.5 + 12.0 * 0.009);
    near(metric(&outcome, "messages"), 25.0 * 1e6 / round, 1.0);
    prints(
        &outcome,
        &expect![[r#"
        Average throughput = 79219 messages per second
    "#]],
    );
}
