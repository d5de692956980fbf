// SPDX-License-Identifier: GPL-2.0-only
//! What idle balancing costs on this computer, in the two schemes of the 2018 document: a flag that there may be
//! blocked load (4.17), and a mask of the CPUs that may have some (4.17stale).
//!
//! `cargo run --release -p zerolag-sim --example nohz`
//!
//! | row | what is timed |
//! |---|---|
//! | idle entry | the tick of a CPU stops, for the first time since it was busy, or again |
//! | kicked pass | the softirq of a CPU that was kicked to age blocked load |
//! | newly idle pass | going to sleep on a CPU that makes the pass, less the same where it is not due yet |
//!
//! Each on many copies of the same state, in one thread: what an atomic operation costs when several CPUs do it is
//! not in it.

use std::hint::black_box;
use std::time::Instant as HostInstant;

use zerolag_core::ids::CpuId;
use zerolag_core::scheduler::{Effect, Scheduler};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::scenario::{Overrides, read};
use zerolag_sim::sim::Sim;

/// States timed in one go, so that reading the clock does not count.
const COPIES: usize = 32;
/// So often.
const ROUNDS: usize = 1000;

/// The one that sleeps, and the one that is busy.
const SLEEPER: CpuId = CpuId(1);
const BUSY: CpuId = CpuId(2);

fn main() {
    println!("{:<44} {:>9} {:>9} {:>8}", "ns a call, median of batches", "flag", "mask", "change");
    for machine in ["juno-r2", "8cpu", "64cpu"] {
        for groups in [0, 4] {
            let place = format!("{machine}, {groups} groups");
            let rows: [(&str, Measure); 6] = [
                ("idle entry, first", |place| idle_entry(place, true)),
                ("idle entry, again", |place| idle_entry(place, false)),
                ("kicked pass, one stale", |place| kicked_pass(place, false)),
                ("kicked pass, all stale", |place| kicked_pass(place, true)),
                ("newly idle pass, one stale", |place| newly_idle_pass(place, false)),
                ("newly idle pass, all stale", |place| newly_idle_pass(place, true)),
            ];
            for (name, measure) in rows {
                let [flag, mask] =
                    ["4.17", "4.17stale"].map(|kernel| measure(&Place { machine, groups, kernel }));
                let change = 100.0 * (mask / flag - 1.0);
                println!("{:<44} {flag:>9.1} {mask:>9.1} {change:>+7.0}%", format!("{place}: {name}"));
            }
        }
    }
}

/// Nanoseconds a call takes.
type Measure = fn(&Place<'_>) -> f64;

struct Place<'a> {
    machine: &'a str,
    groups: u32,
    kernel: &'a str,
}

impl Place<'_> {
    /// The document's cases: on one CPU tasks run for a second and sleep; another is busy all along, or half of
    /// the time.
    fn sim(&self, busy: &str) -> Sim {
        let mut text =
            format!("machine = \"{}\"\nkernel = \"{}\"\nduration = \"3s\"\n", self.machine, self.kernel);
        let groups: Vec<String> = (0..self.groups).map(|n| format!("cgroup = \"/g{n}\"")).collect();
        for n in 0..self.groups {
            text += &format!("[cgroup.\"/g{n}\"]\n\"cpu.weight\" = 100\n");
        }
        text +=
            &format!("[[workload]]\nname = \"b\"\ncpus = \"{BUSY}\"\nprogram = \"forever {{ {busy} }}\"\n");
        for (n, group) in
            groups.iter().map(String::as_str).chain((self.groups == 0).then_some("")).enumerate()
        {
            text +=
                &format!("[[workload]]\nname = \"a{n}\"\ncpus = \"{SLEEPER}\"\nstart = \"100ms\"\n{group}\n");
            text += "program = \"run 100ms; sleep 10s\"\n";
        }
        let files = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let scenario = read("nohz", text.as_bytes(), &Overrides::default(), &files).expect("it makes sense");
        scenario.simulate().expect("it makes sense")
    }

    /// The tasks have slept for a while, so that of the idle CPUs only theirs has load left; or all may.
    fn asleep(&self, busy: &str, all_stale: bool) -> (Scheduler, Instant) {
        let mut sim = self.sim(busy);
        // Four tasks in groups share a CPU, and are done later.
        let slept = Nanos::from_millis(200 + 100 * u64::from(self.groups.max(1)) + 60);
        let mut now = Instant(slept.0);
        loop {
            sim.run_until(now, &mut ());
            let s = sim.scheduler();
            let jiffies = now.0 / s.config().tick().0;
            let left = s.nohz().next_blocked.0.saturating_sub(jiffies);
            if s.cpus()[BUSY].curr.is_some() && (2..5).contains(&left) && s.cpus()[SLEEPER].curr.is_none() {
                break;
            }
            now += Nanos::from_millis(1);
        }
        let mut s = sim.scheduler().clone();
        if all_stale {
            for cpu in s.nohz().idle_cpus.clone().iter() {
                s.stop_tick(now, cpu);
            }
        }
        (s, now)
    }
}

/// Nanoseconds of an operation on copies of a state.
fn time(state: &Scheduler, mut operation: impl FnMut(&mut Scheduler)) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let mut copies = vec![state.clone(); COPIES];
            let began = HostInstant::now();
            copies.iter_mut().for_each(&mut operation);
            let ns = began.elapsed().as_nanos() as f64 / COPIES as f64;
            black_box(copies);
            ns
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn idle_entry(place: &Place<'_>, first: bool) -> f64 {
    let mut sim = place.sim("run 1s");
    let mut now = Instant(Nanos::from_millis(150).0);
    sim.run_until(now, &mut ());
    let mut s = sim.scheduler().clone();
    while s.cpus()[SLEEPER].curr.is_some() {
        now += Nanos(1_000);
        s.block(now, SLEEPER, false);
    }
    while s.poll().is_some() {}
    let cpu = if first { SLEEPER } else { CpuId(3) };
    assert_eq!(s.cpus()[cpu].balance.is_tick_stopped(), !first);
    time(&s, |s| _ = black_box(s.stop_tick(now, cpu)))
}

fn kicked_pass(place: &Place<'_>, all_stale: bool) -> f64 {
    let (mut s, mut now) = place.asleep("run 1s", all_stale);
    let tick = s.config().tick();
    let kicked = loop {
        now = Instant((now.0 / tick.0 + 1) * tick.0);
        s.tick(now, BUSY);
        let kick = std::iter::from_fn(|| s.poll()).find_map(|effect| match effect {
            Effect::NohzKick { cpu } => Some(cpu),
            _ => None,
        });
        if let Some(cpu) = kick {
            break cpu;
        }
    };
    s.nohz_kick(now, kicked);
    while s.poll().is_some() {}
    let passes = s.nohz().counts.passes_stats;
    let mut made = s.clone();
    made.softirq(now, kicked);
    assert_eq!(made.nohz().counts.passes_stats, passes + 1, "the softirq makes a pass to age load");
    time(&s, |s| s.softirq(now, kicked))
}

fn newly_idle_pass(place: &Place<'_>, all_stale: bool) -> f64 {
    let (s, _) = place.asleep("run 20ms; sleep 20ms", all_stale);
    let due = s.nohz().next_blocked.0 * s.config().tick().0;
    let passes = |now| {
        let mut made = s.clone();
        made.block(now, BUSY, false);
        made.nohz().counts.passes_newly_idle - s.nohz().counts.passes_newly_idle
    };
    let (before, after) = (Instant(due - 1_000), Instant(due + 1_000));
    assert_eq!((passes(before), passes(after)), (0, 1), "the pass is made when it is due, and not before");
    let asleep = |now| time(&s, |s| _ = black_box(s.block(now, BUSY, false)));
    asleep(after) - asleep(before)
}
