// SPDX-License-Identifier: GPL-2.0-only
//! Workload models as commands: `zerolag schbench` and the like.

use expect_test::expect;
use serde_json::Value;

use crate::support::{self, refusal, stdout};

/// What a model prints; how fast it went goes to standard error.
#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = support::run(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "zerolag {args:?}: {stderr}");
    assert!(stderr.starts_with("simulated "), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&[args, &["--json"]].concat())).unwrap()
}

#[test]
fn schbench_takes_and_prints_what_the_tool_does() {
    expect![[r#"
        Wakeup Latencies percentiles (usec) runtime 2 (s) (30 total samples)
        	  50.0th: 2556       (8 samples)
        	  90.0th: 5112       (13 samples)
        	* 99.0th: 5784       (2 samples)
        	  99.9th: 5784       (0 samples)
        	  min=1446, max=5784
        Request Latencies percentiles (usec) runtime 2 (s) (114 total samples)
        	  50.0th: 72064      (89 samples)
        	  90.0th: 72064      (0 samples)
        	* 99.0th: 72064      (0 samples)
        	  99.9th: 72576      (1 samples)
        	  min=17022, max=72620
        RPS percentiles (requests) runtime 2 (s) (3 total samples)
        	  20.0th: 0          (1 samples)
        	* 50.0th: 55         (1 samples)
        	  90.0th: 59         (1 samples)
        	  min=55, max=59
        average rps: 57.00
        sched delay: message 99 (usec) worker 2882 (usec)
    "#]]
    .assert_eq(&printed(&["schbench", "-m", "1", "-t", "4", "-r", "2", "--machine", "2cpu"]));
    let line = ["schbench", "--classic", "-m", "2", "-t", "4", "-s", "10000", "-c", "15000", "-r", "2"];
    expect![[r#"
        Latency percentiles (usec)
        	50.0000th: 5032
        	75.0000th: 8008
        	90.0000th: 12080
        	95.0000th: 14992
        	*99.0000th: 17184
        	99.5000th: 17248
        	99.9000th: 19936
        	min=0, max=19936
    "#]]
    .assert_eq(&printed(&line));
}

#[test]
fn options_of_ours_and_of_the_tools_may_be_mixed() {
    let expected =
        printed(&["schbench", "-m", "2", "-t2", "-r", "1", "--kernel", "6.1", "--machine", "4cpu"]);
    for line in [
        "schbench --kernel 6.1 --machine 4cpu -m 2 -t2 -r 1",
        "schbench -m 2 --kernel=6.1 -t 2 --machine 4cpu --runtime=1",
        "schbench --kernel 6.1 --machine 4cpu -- -m 2 -t2 -r 1",
    ] {
        assert_eq!(printed(&line.split(' ').collect::<Vec<_>>()), expected, "{line}");
    }
}

#[test]
fn json_names_what_ran_and_each_figure_with_its_direction() {
    let report =
        json(&["schbench", "-m", "1", "-t", "3", "-r", "1", "--seed", "7", "--set", "base_slice=1ms"]);
    assert_eq!(report["schema"], "zerolag.benchmark/1");
    assert_eq!((&report["model"], &report["kernel"]), (&"schbench".into(), &"6.12".into()));
    assert_eq!((&report["machine"], &report["cpu_count"]), (&"2cpu".into(), &2.into()));
    assert_eq!((&report["seed"], &report["runs"]), (&7.into(), &1.into()));
    assert_eq!(report["options"], serde_json::json!(["-m", "1", "-t", "3", "-r", "1"]));
    let metrics = report["metrics"].as_array().unwrap();
    let metric = |name: &str| metrics.iter().find(|m| m["name"] == name).unwrap();
    assert_eq!(metric("wakeup p99")["better"], "lower");
    assert_eq!(metric("wakeup p99")["unit"], "us");
    assert_eq!(metric("requests")["better"], "higher");
    assert!(metric("requests")["value"].as_f64().unwrap() > 50.0);
}

#[test]
fn help_shows_the_tools_options_and_examples() {
    let help = stdout(&["schbench", "--help"]);
    for part in ["-m, --message-threads N", "--classic", "--kernel <K>", "zerolag schbench -m 2 -t 4 -r 10"] {
        assert!(help.contains(part), "{part}: {help}");
    }
}

#[test]
fn bad_options_are_refused_with_what_is_accepted() {
    for (line, said) in [
        ("schbench -x", "schbench has no option -x; accepted: -C (--calibrate), "),
        ("schbench -m 0", "-m (--message-threads) is '0', accepted: a number from 1 to 1024"),
        ("schbench --classic -w 5", "schbench has no option -w"),
        ("schbench -r", "-r (--runtime) needs a value: SECONDS"),
        ("schbench -M 5 -r 1", "may only run on CPUs {5}, but the machine has 2"),
        ("schbench --machine 0cpu", "0cpu"),
        ("schbench --kernel 6.2", "'6.2'"),
        ("schbench --set base_slice=1", "the unit is missing"),
        ("shbench", "'schbench'"),
    ] {
        let complaint = refusal(&line.split(' ').collect::<Vec<_>>());
        assert!(complaint.contains(said), "{line}: {complaint}");
    }
}

#[test]
fn every_tool_refuses_what_it_cannot_do_and_says_what_it_can() {
    for (line, said) in [
        ("hackbench -g 0", "hackbench: -g (--groups) is '0', accepted: a number from 1 to 4096"),
        ("hackbench 10 process", "hackbench: '10' belongs to no option"),
        ("hackbench -f 300", "accepted: a number from 1 to 250"),
        ("cyclictest --policy fair", "accepted: other, normal, batch, idle, fifo, rr"),
        ("cyclictest --policy other -p 5", "accepted: 0 with a policy other than fifo and rr"),
        ("cyclictest -D 5y", "accepted: a number, alone or with s, m, h or d"),
        ("cyclictest -r", "-r (--relative) is not simulated"),
        ("cyclictest -a 7 -D 1", "may only run on CPUs {7}, but the machine has 2"),
        ("perf-bench-sched", "nothing to do, accepted: messaging, pipe"),
        ("perf-bench-sched epoll", "'epoll' is nothing it does, accepted: messaging, pipe"),
        ("perf-bench-sched pipe -f long", "accepted: default, simple"),
        ("stress-ng -t 5", "accepted: --switch N, --fork N, --futex N, --nanosleep N"),
        ("stress-ng --cpu 4", "stress-ng has no option --cpu; accepted: --switch"),
        ("unixbench dhry", "'dhry' is nothing it does, accepted: spawn, context1, pipe"),
        ("netperf -t TCP_STREAM", "accepted: TCP_RR, UDP_RR"),
        ("netperf -H example.org", "accepted: localhost"),
        ("netperf -- -r 0,1", "accepted: two numbers from 1 to 65536"),
        ("make love", "make: 'love' is nothing it does, accepted: targets all, bzImage"),
        ("make --wire 5", "accepted: nothing without --nfs"),
        ("oltp --threads many", "--threads is 'many', accepted: a number from 1 to 65536"),
        ("tbench none", "accepted: the number of clients"),
        ("interactive --hogs -1", "--hogs is '-1'"),
        ("hogs -n 0", "-n (--tasks) is '0'"),
        ("random --run sometimes", "accepted: a time such as 3ms, uniform(MIN,MAX)"),
    ] {
        let complaint = refusal(&line.split(' ').collect::<Vec<_>>());
        assert!(complaint.contains(said), "{line}: {complaint}");
    }
}

#[test]
fn a_tool_that_ends_by_itself_does() {
    let report = json(&["hackbench", "-g", "1", "-l", "10"]);
    assert_eq!(report["metrics"][0]["name"], "time");
    assert_eq!(report["metrics"][0]["unit"], "s");
    let (time_s, run_ms) = (&report["metrics"][0]["value"], &report["duration_ms"]);
    assert!(time_s.as_f64().unwrap() * 1e3 <= run_ms.as_f64().unwrap());
    // It is measured from when all workers are there; until then they are started.
    assert!(run_ms.as_f64().unwrap() > 40.0 * 0.06);
}
