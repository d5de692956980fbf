// SPDX-License-Identifier: GPL-2.0-only
//! Scenario files: what is understood, and what is refused with which words.

use std::io;

use proptest::prelude::*;
use zerolag_core::features::Feature;
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};

use super::*;
use crate::costs::Costs;
use crate::program::Op;
use crate::sim::TaskChange;
use crate::workload::Limit;

fn no_files(_: &str) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    read("s.toml", text.as_bytes(), &Overrides::default(), &no_files)
}

const HEAD: &str = "machine = \"2cpu\"\nduration = \"1s\"\n";

#[test]
fn the_example_of_the_documentation_runs() {
    let docs = include_str!("mod.rs");
    let example: Vec<&str> = docs
        .lines()
        .skip_while(|l| *l != "//! ```toml")
        .skip(1)
        .take_while(|l| *l != "//! ```")
        .map(|l| l.trim_start_matches("//!").trim_start())
        .collect();
    let scenario = parse(&example.join("\n")).unwrap();
    assert_eq!(scenario.duration, Nanos::from_secs(10));
    assert_eq!(scenario.setup.costs, Costs::X86_SERVER);
    assert_eq!(scenario.setup.speeds_permille, [1000, 500]);
    assert!(!scenario.setup.config.features.has(Feature::RunToParity));
    assert_eq!(scenario.setup.config.tunables.base_slice, Nanos::from_millis(3));
    assert_eq!(scenario.workload.groups[zerolag_core::ids::GroupId(1)].shares.get(), 2048);
    let hog = &scenario.workload.templates[crate::workload::TemplateId(0)].attributes;
    assert_eq!((hog.nice, hog.policy), (Nice::new(5), Some(Policy::Batch)));
    let mut sim = scenario.simulate().unwrap();
    assert_eq!(sim.run_until(Instant(scenario.duration.0), &mut ()), None);
    let names: Vec<String> = (0..sim.task_count())
        .map(|n| sim.task_name(<zerolag_core::ids::TaskId as zerolag_core::ids::Id>::from_index(n)))
        .collect();
    for name in ["hog-0", "hog-1", "server", "client", "schbench"] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
}

#[test]
fn every_operation_of_the_language_is_understood() {
    let text = r#"
machine = "4cpu"
duration = "1s"
barrier.b.parties = 1
semaphore.s = { initial = 1, max = 1 }
channel.c = { capacity = 100, overhead = 10, refill_below = 50 }
spinlock.l.per_cpu = true
device.d.lanes = 2
cgroup."/g" = {}

[[workload]]
name = "other"
count = 0
program = ""

[[workload]]
name = "all"
program = """
run 1us; run-for 1us; run-for 1ms every 32us  # comments end lines
sleep uniform(1us, 2us); delay 1ms
timer 1ms; timer 1ms shared t keep-beat; timer 1ms skip-beats
io steps(1ms, 2ms, 250us); io exponential(1us) d
lock m; unlock m; spin-lock l; spin-unlock l
signal x; broadcast x
barrier b
acquire s; post s; drain s
enlist r s; release r
write c 10 sync; write c 5; read c 15
yield; fork other; mark 3
set nice -5; set policy batch; set slice 3ms; set slice default
set cpus 0-1,3; set cgroup /g; set timer-slack 1us
repeat 2 { run normal(1us, 0us); run lognormal(1us, 0.5); run pareto(1us, 1.5) }
repeat 0 {
}
exit
wait x m; sync x
"""
"#;
    let scenario = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let program = &scenario.workload.templates[crate::workload::TemplateId(1)].program;
    assert_eq!(program.ops().len(), 45);
    assert!(matches!(program.ops()[2], Op::RunFor { grain: Nanos(32_000), .. }));
    let mut sim = scenario.simulate().unwrap();
    assert_eq!(sim.run_until(Instant::MAX, &mut ()), Some(&crate::sim::Stop::Finished));
}

/// Each wrong text, and what is said about it.
#[test]
fn mistakes_are_named_with_their_place() {
    let with = |rest: &str| format!("{HEAD}{rest}");
    let task = |rest: &str| with(&format!("[[workload]]\nname = \"a\"\n{rest}"));
    let program = |rest: &str| task(&format!("program = \"{rest}\""));
    let cases = [
        ("x = ".into(), "s.toml:1:5: not TOML: "),
        (String::new(), "s.toml:1:1: the scenario has no 'machine'"),
        ("machine = \"2cpu\"".into(), "the scenario has no 'duration'"),
        (with("sede = 1"), "s.toml:3:1: unknown key 'sede' in the scenario (did you mean 'seed'?)"),
        (with("kernel = \"6.13\""), "s.toml:3:10: 'kernel' is '6.13' (did you mean '6.1"),
        (with("hz = 200"), "'hz' is 200; accepted: 100, 250, 300 or 1000"),
        (with("costs = \"x86\""), "'costs' is 'x86' (did you mean 'x86-server'?)"),
        (with("costs = { tick = 5 }"), "s.toml:3:18: 'tick' is 5; accepted: a duration with its unit"),
        ("machine = \"2cpus\"\nduration = \"1s\"".into(), "s.toml:1:11: 'machine' is '2cpus'"),
        (
            "machine = \"2cpu\"\nduration = \"0s\"".into(),
            "'duration' is '0s'; accepted: a duration that is not 0",
        ),
        ("machine = \"2cpu\"\nduration = 10".into(), "a mere number does not say what it counts"),
        ("machine = \"2cpu\"\nduration = \"10\"".into(), "the unit is missing"),
        (
            with("[features]\nRUN_TO_PARTY = true"),
            "unknown key 'RUN_TO_PARTY' in features of 6.12 (did you mean 'RUN_TO_PARITY'?)",
        ),
        (with("[features]\nSTART_DEBIT = true"), "Linux 6.12 has no START_DEBIT; these have: 2.6.29, "),
        (with("[features]\nRUN_TO_PARITY = 1"), "'RUN_TO_PARITY' is 1; accepted: true or false"),
        (with("[tunables]\nbase_slize = \"1ms\""), "did you mean 'base_slice'?"),
        (with("[tunables]\nlatency = \"1ms\""), "Linux 6.12 has no tunable latency; these have: 2.6.29, "),
        (
            with("[cgroup.\"/a\"]\n\"cpu.weight\" = 0"),
            "'cpu.weight' is 0; accepted: an integer from 1 to 10000",
        ),
        (
            with("[cgroup.\"/a\"]\n\"cpu.shares\" = 1"),
            "'cpu.shares' is 1; accepted: an integer from 2 to 262144",
        ),
        (
            with("[cgroup.\"/a\"]\n\"cpu.shares\" = 2\n\"cpu.weight\" = 2"),
            "both 'cpu.weight' and 'cpu.shares'",
        ),
        (
            with("[cgroup.\"/a\"]\n\"cpu.max\" = \"500 2000\""),
            "'cpu.max' is '500 2000'; accepted: \"QUOTA PERIOD\"",
        ),
        (with("[cgroup.\"a\"]"), "'cgroup' is 'a'; accepted: paths from the root group"),
        (with("[cgroup.\"/a/../b\"]"), "'cgroup' is '/a/../b'"),
        (with("[cgroup.\"/\"]\n\"cpu.weight\" = 1"), "the root group has none"),
        (task("kind = \"hgo\""), "'kind' is 'hgo' (did you mean 'hog'?)"),
        (task(""), "workload 1 has no 'program'"),
        (with("[[workload]]\nkind = \"hog\""), "workload 1 has no 'name'"),
        (task("kind = \"hog\"\nnice = 99"), "s.toml:6:8: 'nice' is 99; accepted: an integer from -20 to 19"),
        (task("kind = \"hog\"\ncpus = \"2\""), "'cpus' is '2'; accepted: CPUs of this machine, 0 to 1"),
        (task("kind = \"hog\"\ncpus = \"\""), "'cpus' is ''"),
        (task("kind = \"hog\"\npolicy = \"fifo:0\""), "'policy' is 'fifo:0'"),
        (
            task("kind = \"hog\"\ncgroup = \"/a\""),
            "'cgroup' is '/a' (did you mean '/'?); accepted: a group declared by",
        ),
        (task("kind = \"hog\"\nwork = \"0s\""), "'work' is '0s'"),
        (
            task("kind = \"hog\"\n[[workload]]\nname = \"a\""),
            "s.toml:7:8: 'name' is 'a'; accepted: a name that no other workload has",
        ),
        (task("kind = \"periodic\"\nrun = \"1ms\""), "has no 'period'"),
        (
            task("kind = \"periodic\"\nrun = \"1ms\"\nperiod = \"1ms\"\nsleep = \"1ms\""),
            "both 'sleep' and 'period'",
        ),
        (program("rnu 1ms"), "s.toml:5:12: in the program: found 'rnu' (did you mean 'run'?)"),
        (program("run 1ms; sleep"), "found the end of the line; accepted: a duration"),
        (program("run 1ms 2ms"), "s.toml:5:20: in the program: found '2ms'; accepted: the end of the line"),
        (program("run 5000"), "the unit is missing"),
        (program("forever { run 1ms"), "a block that begins here; accepted: '}'"),
        (program("run 1ms }"), "found '}'"),
        (program("forever { }"), "this endless loop takes no time"),
        (program("forever { run 0ms; yield }"), "this endless loop takes no time"),
        (program("barrier b"), "found 'b'; accepted: a barrier declared by [barrier.NAME] (there is none)"),
        (program("fork b"), "found 'b'; accepted: the name of a workload: a"),
        (program("set nice 20"), "found '20'; accepted: a nice level"),
        (program("set cpus 0,7"), "found '0,7'; accepted: CPUs of this machine, 0 to 1"),
        (program("run uniform(2ms, 1ms)"), "a range that runs backwards"),
        (program("run steps(2ms, 1ms, 1us)"), "a range that runs backwards, or no step"),
        (program("run steps(1ms, 2ms, 0us)"), "steps(MIN, MAX, STEP)"),
        (program("run unifrom(1ms, 2ms)"), "did you mean 'uniform'?"),
        (program("run 1ms\\nrnu 1ms"), "s.toml:5:11: in the program: found 'rnu'"),
        (task("program = '''\nrun 1ms\nrnu 1ms\n'''"), "s.toml:7:1: in the program: found 'rnu'"),
        (with("[[workload]]\nkind = \"rt-app\"\nfile = \"x\""), "cannot read 'x'"),
        (with("barrier.b = {}"), "barrier b has no 'parties'"),
        (with("semaphore.s = { initial = 2, max = 1 }"), "'initial' is 2; accepted: an integer from 0 to 1"),
        (with("[[at]]\ntime = \"1s\""), "at 1 has no 'task'"),
        (with("[[at]]\ntime = \"1s\"\ntask = [{ match = \"b*\", nice = 1 }]"), "'match' is 'b*'"),
        (
            with("[[at]]\ntime = \"1s\"\ncgroup.\"/a\" = { \"cpu.weight\" = 1 }"),
            "unknown key '/a' in declared groups",
        ),
    ];
    for (text, said) in cases {
        match parse(&text) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(e) => assert!(e.to_string().contains(said), "said: {e}\nnot: {said}\nof:\n{text}"),
        }
    }
}

#[test]
fn text_must_be_utf8() {
    let error = read("s.toml", b"a = 1\nb = \"\xff\"", &Overrides::default(), &no_files).unwrap_err();
    assert_eq!(error.to_string(), "s.toml:2:6: not UTF-8");
}

#[test]
fn what_was_said_before_takes_precedence() {
    let overrides = Overrides {
        machine: Some(Topology::preset("4cpu").unwrap()),
        duration: Some(Nanos::from_secs(3)),
        seed: Some(9),
        ..Overrides::default()
    };
    let scenario = read("s.toml", HEAD.as_bytes(), &overrides, &no_files).unwrap();
    assert_eq!(scenario.setup.topology.cpu_count(), 4);
    assert_eq!((scenario.duration, scenario.setup.seed), (Nanos::from_secs(3), 9));
}

#[test]
fn a_machine_can_come_from_a_file() {
    let text = "machine = \"box.toml\"\nduration = \"1s\"";
    let files = |name: &str| match name {
        "box.toml" => Ok(b"cpus = 3".to_vec()),
        _ => no_files(name),
    };
    let scenario = read("s.toml", text.as_bytes(), &Overrides::default(), &files).unwrap();
    assert_eq!(scenario.setup.topology.cpu_count(), 3);
    let broken = |_: &str| Ok(b"cpus = 0".to_vec());
    let error = read("s.toml", text.as_bytes(), &Overrides::default(), &broken).unwrap_err();
    assert!(error.to_string().starts_with("s.toml:1:11: the machine: box.toml"), "{error}");
}

#[test]
fn rt_app_files_are_part_of_a_scenario() {
    let text = format!(
        "{HEAD}cgroup.\"/g\" = {{}}\n[[workload]]\nkind = \"rt-app\"\nfile = \"a.json\"\ncgroup = \"/g\"\n"
    );
    let with = |json: &'static str| {
        let files = move |_: &str| Ok(json.as_bytes().to_vec());
        read("s.toml", text.as_bytes(), &Overrides::default(), &files)
    };
    let scenario = with(r#"{ "tasks": { "a": { "loop": 2, "run": 1000, "sleep": 1000 } } }"#).unwrap();
    let template = &scenario.workload.templates[crate::workload::TemplateId(0)];
    assert_eq!(template.attributes.group, scenario.workload.group_by_path("/g"));
    let mut sim = scenario.simulate().unwrap();
    assert_eq!(sim.run_until(Instant::MAX, &mut ()), Some(&crate::sim::Stop::Finished));
    let error = with(r#"{ "tasks": { "a": { "rnu": 1000 } } }"#).unwrap_err();
    assert!(error.to_string().starts_with("s.toml:6:8: a.json:1:21: unknown key 'rnu'"), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        _ = read("s.toml", &bytes, &Overrides::default(), &no_files);
    }

    #[test]
    fn no_program_panics(words in prop::collection::vec(
        prop::sample::select(vec!["run", "1ms", "{", "}", "(", ")", ",", "\n", ";", "forever", "repeat", "3",
            "uniform", "sleep", "set", "nice", "cpus", "0-1", "lock", "m", "timer", "shared", "#", "é", "read"]), 0..30)) {
        let text = format!("{HEAD}[[workload]]\nname = \"a\"\nprogram = '''\n{}\n'''", words.join(" "));
        _ = parse(&text);
    }
}

#[test]
fn latency_nice_is_for_kernels_that_have_it() {
    let text = |kernel: &str, level: i32| {
        format!(
            "kernel = \"{kernel}\"\nmachine = \"1cpu\"\nduration = \"1s\"\n[cgroup.\"/g\"]\n\"cpu.latency.nice\" = 5\n\
             [[workload]]\nkind = \"hog\"\nname = \"a\"\nlatency_nice = {level}\n\
             [[at]]\ntime = \"1ms\"\ntask = [{{ match = \"a\", latency_nice = 19 }}]\ncgroup.\"/g\" = {{ \"cpu.latency.nice\" = -20 }}\n"
        )
    };
    let read = |text: &str| super::read("s.toml", text.as_bytes(), &Overrides::default(), &no_files);
    let level = |n| LatencyNice::new(n).unwrap();
    let scenario = read(&text("eevdf-rfc", -19)).unwrap();
    let group = scenario.workload.group_by_path("/g").unwrap();
    assert_eq!(scenario.workload.groups[group].latency_nice, level(5));
    assert_eq!(
        scenario.workload.templates.iter().next().unwrap().1.attributes.latency_nice,
        Some(level(-19))
    );
    let changes: Vec<_> = scenario.changes.iter().map(|(_, change)| change).collect();
    assert_eq!(changes[0], &Change::LatencyNice { group, level: level(-20) });
    assert!(
        matches!(changes[1], Change::Tasks { change: TaskChange::LatencyNice(l), .. } if *l == level(19))
    );
    for (kernel, level, said) in [
        ("6.12", 0, "s.toml:5:22: 'cpu.latency.nice': Linux 6.12 has no latency nice; eevdf-rfc has"),
        ("eevdf-rfc", 20, "s.toml:9:16: 'latency_nice' is 20; accepted: an integer from -20 to 19"),
    ] {
        assert_eq!(read(&text(kernel, level)).unwrap_err().to_string(), said);
    }
    let plain = |level| text("6.12", level).replace("\"cpu.latency.nice\" = 5\n", "").replace("= 19", "= 0");
    let plain = |level| plain(level).replace("= -20", "= 0");
    assert!(read(&plain(0)).is_ok(), "what every kernel does can be said");
    let error = read(&plain(-19)).unwrap_err().to_string();
    assert!(error.ends_with("'latency_nice': Linux 6.12 has no latency nice; eevdf-rfc has"), "{error}");
}

/// Levels take effect: a group's on its entity, a task's on its request, at the start and at a given time.
#[test]
fn latency_nice_is_set_and_changed() {
    let text = "kernel = \"eevdf-rfc\"\nmachine = \"1cpu\"\nduration = \"1s\"\n[cgroup.\"/g\"]\n\"cpu.latency.nice\" = 5\n\
        [[workload]]\nkind = \"hog\"\nname = \"a\"\ncgroup = \"/g\"\nlatency_nice = -5\n\
        [[at]]\ntime = \"100ms\"\ntask = [{ match = \"a\", latency_nice = 19 }]\ncgroup.\"/g\" = { \"cpu.latency.nice\" = -20 }\n";
    let scenario = super::read("s.toml", text.as_bytes(), &Overrides::default(), &no_files).unwrap();
    let group = scenario.workload.group_by_path("/g").unwrap();
    let mut sim = scenario.simulate().unwrap();
    let mut slices = |until| {
        sim.run_until(until, &mut ());
        let s = sim.scheduler();
        let of_group = s.group_on(group, CpuId(0)).entity.unwrap();
        [of_group, s.entity_of(TaskId(0))].map(|se| s.entities()[se].slice.0)
    };
    // 0.75 ms * 1024 / weight of the level.
    assert_eq!(slices(Instant(50_000_000)), [750_000 * 1024 / 335, 750_000 * 1024 / 3121]);
    assert_eq!(slices(Instant(150_000_000)), [750_000 * 1024 / 88_761, 750_000 * 1024 / 15]);
}

#[test]
fn a_limit_keeps_what_a_change_does_not_say() {
    let text = "machine = \"1cpu\"\nduration = \"1s\"\n[cgroup.\"/g\"]\n\"cpu.max\" = \"5000 20000\"\n\
        [[workload]]\nkind = \"hog\"\nname = \"a\"\n\
        [[at]]\ntime = \"1ms\"\ncgroup.\"/g\" = { \"cpu.max.burst\" = 3000 }\n\
        [[at]]\ntime = \"2ms\"\ncgroup.\"/g\" = { \"cpu.max\" = \"10000\" }\n";
    let read = |text: &str| super::read("s.toml", text.as_bytes(), &Overrides::default(), &no_files);
    let scenario = read(text).unwrap();
    let micros = |us| Nanos::from_micros(us);
    let limit =
        |quota, burst| Limit { quota: Some(micros(quota)), period: micros(20_000), burst: micros(burst) };
    let group = scenario.workload.group_by_path("/g").unwrap();
    let expected = [limit(5_000, 3_000), limit(10_000, 3_000)];
    let changes = expected.map(|limit| Change::Bandwidth { group, limit });
    assert_eq!(scenario.changes.iter().map(|(_, c)| c.clone()).collect::<Vec<_>>(), changes);
    for (from, to, said) in [
        ("\"5000 20000\"", "\"max\"\n\"cpu.idle\" = 2", "'cpu.idle' is 2"),
        (
            "\"cpu.max\" = \"5000 20000\"",
            "\"cpu.max.burst\" = 5",
            "s.toml:4:19: 'cpu.max.burst' without 'cpu.max'",
        ),
        (
            "machine",
            "kernel = \"4.6\"\nmachine",
            "'cpu.max': here Linux 4.6 has no CFS bandwidth; these have: 6.1, eevdf-rfc,",
        ),
    ] {
        let error = read(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn ties_may_follow_the_seed() {
    let ties = |text: &str| parse(&format!("{HEAD}{text}")).map(|s| s.setup.ties).map_err(|e| e.to_string());
    assert_eq!(ties(""), Ok(None));
    assert_eq!(ties("ties = 7\nseed = 3\n"), Ok(Some(7)));
    assert_eq!(ties("ties = \"seed\"\nseed = 3\n"), Ok(Some(3)));
    assert!(ties("ties = \"any\"\n").unwrap_err().contains("a number, or \"seed\""));
}

#[test]
fn clocks_partitions_and_cpus_that_come_and_go_make_sense_or_are_refused() {
    let clock = "[[frequency]]\ncpus = \"0\"\nlevels = [500, 1000]\n";
    let hog = "[[workload]]\nkind = \"hog\"\nname = \"h\"\ncpus = \"1\"\nstart = \"2s\"\n";
    for (text, said) in [
        (format!("{clock}{clock}"), "cpu 0 is in two frequency domains"),
        (format!("{clock}level = 700\n"), "one of the levels of CPUs 0: 500, 1000 MHz"),
        (format!("{clock}governor = \"ondemand\"\n"), "accepted: fixed, schedutil"),
        ("[[frequency]]\ncpus = \"0\"\nlevels = [5, 5]\n".into(), "ascending, from 1 to 100000 MHz"),
        ("[[frequency]]\ncpus = \"0\"\nlevels = []\n".into(), "at least one, ascending"),
        ("[[frequency]]\ncpus = \"7\"\nlevels = [5]\n".into(), "CPUs of this machine, 0 to 1"),
        (
            format!(
                "{clock}governor = \"schedutil\"\n[[at]]\ntime = \"1s\"\nfrequency = [{{ cpus = \"0\", level = 500 }}]\n"
            ),
            "governed by schedutil",
        ),
        (
            format!("{clock}[[at]]\ntime = \"1s\"\nfrequency = [{{ cpus = \"1\", level = 500 }}]\n"),
            "the CPUs of a clock that the file declares: \"0\"",
        ),
        ("partitions = [\"0\", \"0-1\"]\n".into(), "cpu 0 is in two partitions, 0 and 0-1"),
        ("partitions = [\"0\"]\nisolated = \"0\"\n".into(), "cpu 0 is in two partitions"),
        ("partitions = [\"2\"]\n".into(), "CPUs of this machine, 0 to 1"),
        ("[[at]]\ntime = \"1s\"\nonline = \"1\"\n".into(), "cpu 1 is online already"),
        ("[[at]]\ntime = \"1s\"\noffline = \"0-1\"\n".into(), "the last CPU cannot go offline"),
        (
            "[[at]]\ntime = \"1s\"\noffline = \"1\"\n[[at]]\ntime = \"0s\"\nonline = \"1\"\n".into(),
            "CPUs come and go in the order of the file",
        ),
        (
            format!("{hog}[[at]]\ntime = \"1s\"\noffline = \"1\"\n"),
            "task h may only run on CPUs {1}, none of which is online when it starts, at 2.000000",
        ),
        ("[rules]\nprop_type = \"average\"\n".into(), "Linux 6.12 has no such rule"),
        ("kernel = \"4.11\"\n[rules]\nprop_type = \"mean\"\n".into(), "accepted: average, runnable, weight"),
        ("[rules]\nprop_typ = \"average\"\n".into(), "did you mean 'prop_type'?"),
    ] {
        let error = parse(&format!("{HEAD}{text}")).unwrap_err().to_string();
        assert!(error.contains(said) && error.starts_with("s.toml:"), "{text}\n{error}");
    }
    parse(&format!(
        "{HEAD}{hog}[[at]]\ntime = \"1s\"\noffline = \"1\"\n[[at]]\ntime = \"1500ms\"\nonline = \"1\"\n"
    ))
    .unwrap();
}
