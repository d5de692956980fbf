// SPDX-License-Identifier: GPL-2.0-only
//! One function by which drawings of schedules are checked.

use expect_test::Expect;
use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::scenario::{Overrides, read};
use zerolag_trace::TaskTable;
use zerolag_trace::timeline::{draw, draw_tasks};

/// Runs the scenario (on one CPU unless it says otherwise) and compares the drawing of it, a column for each
/// `bucket_us` microseconds, with what is expected: who runs on each CPU, then what each task does.
pub(crate) fn check(scenario: &str, bucket_us: u64, expected: &Expect) {
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = read("test.toml", scenario.as_bytes(), &Overrides::default(), &files);
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    let mut sim = scenario.simulate().unwrap_or_else(|e| panic!("{e}"));
    let end = Instant(scenario.duration.0);
    let mut events = Vec::new();
    sim.run_until(end, &mut |e: &SchedEvent| events.push(*e));

    let mut names = TaskTable::new();
    for task in 0..sim.task_count() as u32 {
        names.add(task + 1, &sim.task_name(zerolag_core::ids::TaskId(task)));
    }
    let bucket = Nanos::from_micros(bucket_us);
    let cpus = draw(&events, &names, Instant::ZERO, end, bucket);
    let tasks = draw_tasks(&events, &names, Instant::ZERO, end, bucket);
    expected.assert_eq(&format!("{cpus}\n{tasks}"));
}
