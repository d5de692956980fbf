// SPDX-License-Identifier: GPL-2.0-only
//! Where a figure can be computed with pencil and paper, the simulation must come to the same.

use std::collections::VecDeque;

use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::TaskId;
use zerolag_core::units::Instant;
use zerolag_sim::note::{Note, NoteKind};
use zerolag_sim::scenario::{Overrides, read};
use zerolag_sim::sim::{Observer, Sim};

/// CPU time by task, and what programs noted.
#[derive(Default)]
struct Record {
    ran: Vec<u64>,
    marks: Vec<(TaskId, u32, Instant)>,
}

impl Observer for Record {
    fn event(&mut self, event: &SchedEvent) {
        if let EventKind::Runtime { task, ran } = event.kind {
            self.ran.resize(self.ran.len().max(task.0 as usize + 1), 0);
            self.ran[task.0 as usize] += ran.0;
        }
    }

    fn note(&mut self, note: &Note) {
        if let NoteKind::Mark(number) = note.kind {
            self.marks.push((note.task, number, note.time));
        }
    }
}

fn run(text: &str) -> (Record, Sim) {
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = read("test.toml", text.as_bytes(), &Overrides::default(), &files);
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    let mut sim = scenario.simulate().unwrap_or_else(|e| panic!("{e}"));
    let mut record = Record::default();
    sim.run_until(Instant(scenario.duration.0), &mut record);
    (record, sim)
}

fn shares(text: &str) -> Vec<f64> {
    let (record, sim) = run(text);
    record.ran.iter().map(|&ran| ran as f64 / sim.now().0 as f64).collect()
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    let near = |(f, e): (&f64, &f64)| (f - e).abs() <= tolerance;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?} {expected:?}");
}

#[test]
fn nice_levels_share_by_weight() {
    let found = shares(
        r#"
machine = "1cpu"
duration = "30s"
[[workload]]
kind = "hog"
name = "a"
[[workload]]
kind = "hog"
name = "b"
nice = 5
"#,
    );
    assert_near(&found, &[1024.0 / 1359.0, 335.0 / 1359.0], 0.001);
}

/// The number of tasks within a group does not count outside.
#[test]
fn groups_share_by_weight_and_tasks_within_them() {
    let found = shares(
        r#"
machine = "1cpu"
duration = "30s"
cgroup."/a" = { "cpu.weight" = 100 }
cgroup."/b" = { "cpu.weight" = 200 }
[[workload]]
kind = "hog"
name = "a"
cgroup = "/a"
[[workload]]
kind = "hog"
name = "b"
count = 4
cgroup = "/b"
"#,
    );
    let b = 2.0 / 3.0 / 4.0;
    assert_near(&found, &[1.0 / 3.0, b, b, b, b], 0.002);
}

/// Of two groups with the same weight one may use a quarter of the CPU.
#[test]
fn a_limited_group_gets_its_limit() {
    let found = shares(
        r#"
machine = "1cpu"
duration = "30s"
cgroup."/a" = { "cpu.max" = "25000 100000" }
cgroup."/b" = {}
[[workload]]
kind = "hog"
name = "a"
cgroup = "/a"
[[workload]]
kind = "hog"
name = "b"
cgroup = "/b"
"#,
    );
    // The kernel looks at the limit when it charges, so what was used is over by up to a tick each period.
    assert_near(&found, &[0.25, 0.75], 0.02);
}

/// A sleeper that needs less than its share gets what it needs, and the hog the rest.
#[test]
fn a_sleeper_gets_what_it_needs() {
    let found = shares(
        r#"
machine = "1cpu"
duration = "30s"
[[workload]]
kind = "hog"
name = "hog"
[[workload]]
name = "sleeper"
timer_slack = "0us"
program = "forever { timer 10ms keep-beat; run 1ms }"
"#,
    );
    assert_near(&found, &[0.9, 0.1], 0.001);
}

/// Each turn costs a run, a wake-up and a switch. (Were a waker preempted before it waits, it need not be woken.)
#[test]
fn a_ping_pong_takes_the_sum_of_its_costs() {
    let (record, sim) = run(r#"
machine = "1cpu"
duration = "1s"
costs = { context_switch = "1500ns", wakeup = "800ns" }
features.WAKEUP_PREEMPTION = false
semaphore.ping = { initial = 1, max = 1 }
[[workload]]
name = "a"
program = "forever { acquire ping; run 5us; mark 1; post pong }"
[[workload]]
name = "b"
program = "forever { acquire pong; run 5us; mark 2; post ping }"
"#);
    let turn_ns = 5_000 + 800 + 1_500;
    let turns = record.marks.len() as u64;
    assert!(turns.abs_diff(sim.now().0 / turn_ns) <= 2, "{turns}");
}

/// M/D/1: requests come at random, service always takes the same time. The mean wait is
/// `S · ρ / (2 · (1 − ρ))`: with a utilisation of one half, half the time of service.
#[test]
fn a_queue_of_random_requests_has_the_wait_of_its_theory() {
    let (record, _) = run(r#"
machine = "2cpu"
duration = "200s"
[[workload]]
name = "client"
cpus = "0"
timer_slack = "0us"
program = "forever { sleep exponential(2ms); mark 1; post s }"
[[workload]]
name = "server"
cpus = "1"
program = "forever { acquire s; mark 2; run 1ms }"
"#);
    let mut waiting = VecDeque::new();
    let mut waits = Vec::new();
    for (_, mark, at) in record.marks {
        match mark {
            1 => waiting.push_back(at),
            _ => waits.push((at - waiting.pop_front().unwrap()).0 as f64),
        }
    }
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!(waits.len() > 90_000);
    assert!((mean - 500_000.0).abs() < 15_000.0, "{mean}");
}

/// Replacing one's program is a good time to go where there is room: without it, the two would share CPU 0 until
/// somebody balances.
#[test]
fn a_task_that_replaces_its_program_goes_to_an_idle_cpu() {
    let (record, _) = run(r#"
machine = "2cpu"
duration = "100ms"

[[workload]]
kind = "hog"
name = "hog"
cpus = "0"

[[workload]]
name = "task"
program = "set cpus 0; run 1ms; set cpus 0-1; exec; mark 1; run 10ms; mark 2"
"#);
    let [(_, 1, begin), (_, 2, end)] = record.marks[..] else { panic!("{:?}", record.marks) };
    assert_eq!((end - begin).0, 10_000_000);
}

const CLOCK: &str = "[[frequency]]\ncpus = \"0\"\nlevels = [500, 1000, 1500, 2000]\n";

/// Work takes as long as the clock is slower.
#[test]
fn a_job_takes_its_work_over_the_frequency() {
    for (mhz, takes_us) in [(2000, 6_000), (1500, 8_000), (1000, 12_000), (500, 24_000)] {
        let (record, _) = run(&format!(
            "machine = \"1cpu\"\nduration = \"100ms\"\n{CLOCK}level = {mhz}\n\
             [[workload]]\nname = \"job\"\nprogram = \"mark 1; run 6ms; mark 2\"\n"
        ));
        let [(_, 1, begin), (_, 2, end)] = record.marks[..] else { panic!("{:?}", record.marks) };
        assert_eq!((end - begin).0, takes_us * 1_000, "{mhz} MHz");
    }
}

/// A task that runs 2 ms of work each 16 ms takes 4 ms at half the frequency, and is used to the same extent: the
/// clock of its averages runs at half speed meanwhile, and catches up while the CPU is idle.
#[test]
fn utilisation_is_the_same_at_any_frequency() {
    let util = |mhz: u32| {
        let (_, sim) = run(&format!(
            "machine = \"1cpu\"\nduration = \"2001ms\"\n{CLOCK}level = {mhz}\n\
             [[workload]]\nname = \"t\"\ntimer_slack = \"0us\"\n\
             program = \"forever {{ timer 16ms keep-beat; run 2ms }}\"\n"
        ));
        let s = sim.scheduler();
        s.entities()[s.tasks()[TaskId(0)].entity].avg.util_avg
    };
    let nominal = util(2000);
    assert!(nominal.abs_diff(1024 / 8) < 40, "{nominal}");
    for mhz in [1500, 1000, 500] {
        assert!(util(mhz).abs_diff(nominal) <= 2, "{mhz} MHz: {} and {nominal}", util(mhz));
    }
}

/// Schedutil takes the lowest level with a quarter to spare: a load of 300 of 1024 needs 375, which 1000 of 2000
/// MHz are enough for and 500 are not; at first a new task counts for half of the CPU, which is forgotten within 0.3 s.
/// A hog has them all.
#[test]
fn schedutil_follows_utilisation() {
    let governed = |program: &str| {
        let (_, sim) = run(&format!(
            "machine = \"1cpu\"\nduration = \"5s\"\n{CLOCK}governor = \"schedutil\"\n\
             [[workload]]\nname = \"t\"\ntimer_slack = \"0us\"\nprogram = \"{program}\"\n"
        ));
        let clock = &sim.clocks()[0];
        (clock.mhz(), clock.mean_mhz(sim.now()))
    };
    let (mhz, mean) = governed("forever { timer 2ms keep-beat; run 586us }");
    assert_eq!(mhz, 1000);
    assert!((1000.0..1060.0).contains(&mean), "{mean}");
    let (mhz, mean) = governed("forever { run 1s }");
    assert_eq!(mhz, 2000);
    assert!(mean > 1950.0, "{mean}");
}

/// Two sets of CPUs that are balanced separately keep what they have; in one set four tasks spread over four CPUs.
#[test]
fn nobody_is_pulled_into_another_partition() {
    let hogs = |partitions: &str| {
        let text = format!(
            "machine = \"4cpu\"\nduration = \"4s\"\n{partitions}\n\
             [[workload]]\nname = \"h\"\ncount = 4\nprogram = \"set cpus 0-1; run 10ms; set cpus 0-3; run 100s\"\n"
        );
        let mut found = shares(&text);
        found.sort_by(f64::total_cmp);
        found
    };
    assert_near(&hogs(""), &[1.0; 4], 0.05);
    assert_near(&hogs("partitions = [\"0-1\", \"2-3\"]"), &[0.5; 4], 0.05);
}

/// Of two CPUs one is away for half of the time, so two hogs get one and a half.
#[test]
fn a_cpu_that_is_away_is_missed() {
    let found = shares(
        r#"
machine = "2cpu"
duration = "4s"
[[workload]]
kind = "hog"
name = "h"
count = 2
[[at]]
time = "1s"
offline = "1"
[[at]]
time = "3s"
online = "1"
"#,
    );
    assert_near(&found, &[0.75, 0.75], 0.02);
}
