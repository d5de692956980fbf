// SPDX-License-Identifier: GPL-2.0-only
//! Whole rt-app files, as people write them, run on a small machine.

use std::fmt::Write;
use std::path::Path;

use expect_test::{Expect, expect};
use zerolag_core::event::SchedEvent;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::note::Note;
use zerolag_sim::sim::{self, Setup, Sim, Stop};
use zerolag_sim::workload::Workload;
use zerolag_sim::workload::rtapp::{Mode, Observer, Options, SuspendName, add, read};

struct Listener<'a>(Observer<'a>);

impl sim::Observer for Listener<'_> {
    fn event(&mut self, _: &SchedEvent) {}
    fn note(&mut self, note: &Note) {
        self.0.note(note);
    }
}

/// Runs a file on four CPUs for its duration or a second. Each thread's line has the number of rows in its
/// log and the sum of the running time that they ask for.
#[track_caller]
fn check(name: &str, suspend: SuspendName, expected: Expect) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rtapp").join(name);
    let app = read(name, &std::fs::read(path).unwrap(), Mode::Strict, suspend).unwrap();
    let topology = Topology::preset("4cpu").unwrap();
    let mut workload = Workload::new();
    let options = Options { observe: true, ..Options::default() };
    let compiled = add(&app, &mut workload, &topology, &options).unwrap();
    let config = Kernel::V6_12.config(topology.cpu_count()).unwrap();
    let mut sim = Sim::new(Setup::new(topology, config), workload).unwrap();
    let mut listener = Listener(Observer::new(&app, &compiled));
    let end = Instant(app.global.duration.unwrap_or(Nanos::from_secs(1)).0);
    let stop = sim.run_until(end, &mut listener).cloned();

    let mut shown = String::new();
    for remark in app.remarks.iter().chain(&compiled.remarks) {
        writeln!(shown, "{} {}", remark.at, remark.text).unwrap();
    }
    let record = listener.0.finish(sim.now(), stop.is_none(), |task| sim.task_name(task));
    for log in &record.logs {
        let meant: u64 = log.rows().map(|row| row.c_duration_us).sum();
        writeln!(shown, "{:18} {:5} rows {meant:8} us", log.thread, log.rows().len()).unwrap();
    }
    writeln!(shown, "{} markers", record.markers.len()).unwrap();
    match stop {
        None => writeln!(shown, "cut at {}", sim.now()).unwrap(),
        Some(Stop::Finished) => writeln!(shown, "finished at {}", sim.now()).unwrap(),
        Some(other) => writeln!(shown, "{other:?}").unwrap(),
    }
    expected.assert_eq(&shown);
}

#[test]
fn one_periodic_task() {
    check(
        "periodic.json",
        SuspendName::Task,
        expect![[r#"
            blinker-0             19 rows   190000 us
            104 markers
            cut at 2.000000000
        "#]],
    );
}

#[test]
fn phases_of_different_weight() {
    check(
        "phases.json",
        SuspendName::Task,
        expect![[r#"
            steps-0               99 rows   339000 us
            steps-1               99 rows   339000 us
            0 markers
            cut at 1.000000000
        "#]],
    );
}

#[test]
fn threads_that_resume_each_other() {
    check(
        "audio.json",
        SuspendName::Task,
        expect![[r#"
            51:86 frag: a key of old versions, without effect
            beat-0               166 rows        0 us
            mixer-1               33 rows   165000 us
            track-2               34 rows    10200 us
            decoder-3             34 rows    39100 us
            codec-4               34 rows    10200 us
            0 markers
            cut at 1.000000000
        "#]],
    );
}

#[test]
fn channels_of_old_files() {
    check(
        "screen.json",
        SuspendName::Text,
        expect![[r#"
            compositor-0          59 rows    88500 us
            vsync-1               59 rows     6785 us
            events1-2             59 rows     5605 us
            events2-3              0 rows        0 us
            0 markers
            cut at 1.000000000
        "#]],
    );
}

#[test]
fn semaphores_forks_and_memory() {
    check(
        "pipeline.json",
        SuspendName::Task,
        expect![[r#"
            4:69 runtime: in a task it also sets the slice (as 'dl-runtime' does); in a phase it is only an event
            producer-0            50 rows    25000 us
            consumer-1            50 rows    15000 us
            consumer-2            50 rows    15000 us
            spawner-3              4 rows      600 us
            late-4                 1 rows      100 us
            burst-5-0000           4 rows        0 us
            burst-6-0001           4 rows        0 us
            burst-7-0002           4 rows        0 us
            167 markers
            finished at 0.062511253
        "#]],
    );
}

#[test]
fn a_group_has_its_shares_on_all_cpus_together() {
    check(
        "groups.json",
        SuspendName::Task,
        expect![[r#"
            left-0               368 rows   368000 us
            right-1              316 rows   316000 us
            right2-2             316 rows   316000 us
            wander-3            1000 rows  1000000 us
            0 markers
            cut at 1.000000000
        "#]],
    );
}

#[test]
fn policies_and_slices() {
    check(
        "slices.json",
        SuspendName::Task,
        expect![[r#"
            7:3 task 'clamped': util_min and util_max have no effect
            short-0              332 rows   332000 us
            long-1               332 rows   332000 us
            batch-2              332 rows   332000 us
            lowest-3               4 rows     4000 us
            clamped-4            487 rows   487000 us
            0 markers
            cut at 1.000000000
        "#]],
    );
}
