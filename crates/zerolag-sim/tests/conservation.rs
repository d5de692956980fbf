// SPDX-License-Identifier: GPL-2.0-only
//! Whether work is conserved, and if not, why.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::conservation::{Cause, Conservation};
use zerolag_sim::scenario::{Overrides, read};
use zerolag_sim::sim::Observer;

#[derive(Default)]
struct Heard(Vec<SchedEvent>);

impl Observer for Heard {
    fn event(&mut self, event: &SchedEvent) {
        self.0.push(*event);
    }
}

fn conservation(text: &str) -> Conservation {
    let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = read("test.toml", text.as_bytes(), &Overrides::default(), &files);
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    let end = Instant(scenario.duration.0);
    let mut sim = scenario.simulate().unwrap_or_else(|e| panic!("{e}"));
    let mut found = Conservation::new(sim.scheduler());
    let mut heard = Heard::default();
    while sim.step(end, &mut heard) {
        heard.0.drain(..).for_each(|event| found.event(&event, sim.scheduler()));
    }
    found.advance(end);
    found
}

const PINNED: &str = r#"
machine = "2cpu"
duration = "100ms"
[[workload]]
kind = "hog"
name = "h"
count = 2
cpus = "0"
"#;

#[test]
fn tasks_that_are_pinned_have_an_excuse_but_fall_short_of_the_ideal() {
    let found = conservation(PINNED);
    assert_eq!(found.stealable(), Nanos::ZERO);
    assert_eq!(found.time(Cause::Pinned), Nanos::from_millis(100));
    assert_eq!(found.short_of_ideal(), Nanos::from_millis(100), "one CPU of two idles all the time");
}

#[test]
fn once_they_are_let_go_they_are_moved_within_a_few_ticks() {
    let text = format!("{PINNED}\n[[at]]\ntime = \"50ms\"\ntask = [{{ match = \"h*\", cpus = \"0-1\" }}]\n");
    let found = conservation(&text);
    let (pinned, stealable) = (found.time(Cause::Pinned), found.stealable());
    assert!(pinned >= Nanos::from_millis(50) && pinned < Nanos::from_millis(55), "{pinned:?}");
    assert!(stealable < Nanos::from_millis(45), "{stealable:?}");
    assert!(found.short_of_ideal() < Nanos::from_millis(100), "they share the machine at last");
}

#[test]
fn as_many_hogs_as_cpus_keep_all_busy() {
    let found = conservation(
        "machine = \"4cpu\"\nduration = \"200ms\"\n[[workload]]\nkind = \"hog\"\nname = \"h\"\ncount = 4\n",
    );
    assert_eq!(found.time(Cause::Pinned), Nanos::ZERO);
    assert!(found.short_of_ideal() < Nanos::from_millis(4), "{:?} of 800 ms", found.short_of_ideal());
}

#[test]
fn one_task_is_never_short_of_anything() {
    let found = conservation(
        "machine = \"4cpu\"\nduration = \"100ms\"\n[[workload]]\nkind = \"hog\"\nname = \"h\"\n",
    );
    assert_eq!((found.stealable(), found.short_of_ideal()), (Nanos::ZERO, Nanos::ZERO));
}
