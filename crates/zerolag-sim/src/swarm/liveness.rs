// SPDX-License-Identifier: GPL-2.0-only
//! Once nothing changes any more: does everybody who waits get a turn in time?
//!
//! In a queue with weights `w` whose sum is `W` each entity is owed `w / W` of the time, and is served late or
//! early by about one request (TR-95-22, theorem 2; CFS promises a `sched_period` instead). A group's queue is
//! itself served at the rate of the group's entity, so that a task that waits is owed
//!
//! ```text
//!   (w1 / W1) (w2 / W2) ... dt              from its own queue up to that of the CPU
//! ```
//!
//! of each moment. Rivals come, go and sleep meanwhile, weights of groups follow averages, and the task may be
//! moved: so what it is owed is added up from event to event, by the weights there are. A wait is too long when
//! that is more than
//!
//! ```text
//!   SLACK (q + tick) + lead                 q: the longest request anybody makes
//! ```
//!
//! `lead` is service that it, or a group of its, has had in advance and that is held against it: what its vruntime
//! is ahead of its queue's, at its weight. Kernels that do not rescale it when weights change (CFS) let it be paid
//! back at the new weight, so where an entity grows while it waits, the rest of its lead grows with it.
//!
//! Tasks below a quota, and tasks of machines with real-time tasks, may wait for other reasons and are not
//! judged. A wait is not judged either if the time there was is too short for anybody to be owed so much.

use zerolag_core::config::FairPolicy;
use zerolag_core::ids::{GroupId, Id, QueueId, TaskId};
use zerolag_core::task::TaskState;
use zerolag_core::units::{Instant, Nanos};

use crate::sim::Sim;

/// By how much what is owed may exceed what theory says, in requests.
const SLACK: f64 = 4.0;

/// A task that waited too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Overdue {
    /// The task.
    pub task: TaskId,
    /// How long it waited.
    pub waited: Nanos,
    /// How much CPU time it was owed by then.
    pub owed: Nanos,
    /// How much it might have been.
    pub bound: Nanos,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Who waited too long; the worst first.
    pub overdue: Vec<Overdue>,
    /// How many tasks waited that could have been owed too much.
    pub judged: usize,
    /// How many waited and could not.
    pub not_judged: usize,
}

/// Follows the waits of all tasks.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    tasks: Vec<Waits>,
    /// When it looked last.
    at: Instant,
    /// The most tasks that any CPU has had at a time.
    crowd: u32,
}

/// What a task has been through.
#[derive(Clone, Debug, Default)]
struct Waits {
    since: Option<Instant>,
    /// Where it waits.
    queue: Option<QueueId>,
    /// The greatest weight of each of its entities while it waited there, from its own up, in table units.
    weights: Vec<f64>,
    /// What it is owed of each moment.
    rate: f64,
    /// What it has been owed since it began to wait.
    owed: f64,
    /// What was held against it.
    lead: f64,
    /// Of its waits, the one in which it was owed most beyond its lead.
    worst: Option<(f64, Nanos, f64)>,
    /// The most that it was owed of any moment.
    fastest: f64,
}

impl Liveness {
    /// Calm begins: what was before does not count.
    pub fn begin(sim: &Sim) -> Self {
        let mut liveness = Self { at: sim.now(), ..Self::default() };
        liveness.look(sim);
        liveness
    }

    /// Takes in what an event has led to. To be called after each.
    pub fn look(&mut self, sim: &Sim) {
        let s = sim.scheduler();
        let now = sim.now();
        let passed = now.saturating_since(self.at).0 as f64;
        self.at = now;
        let crowd = s.cpus().iter().map(|(_, rq)| s.queues()[rq.root].h_nr_queued).max();
        self.crowd = self.crowd.max(crowd.unwrap_or(0));
        self.tasks.resize_with(sim.task_count(), Waits::default);
        for (index, waits) in self.tasks.iter_mut().enumerate() {
            let id = TaskId::from_index(index);
            let task = &s.tasks()[id];
            waits.owed += waits.rate * passed;
            if task.state != TaskState::Runnable || s.cpus()[task.cpu].curr == Some(id) {
                waits.end(now);
            } else {
                waits.go_on(sim, id);
            }
        }
    }

    /// Calm ends after `calm`: who waited too long?
    pub fn verdict(mut self, sim: &Sim, calm: Nanos) -> Verdict {
        self.look(sim);
        let mut verdict = Verdict::default();
        let tasks = sim.scheduler().tasks();
        if tasks.iter().any(|(_, t)| !t.policy.is_fair()) {
            return verdict;
        }
        let allowed = SLACK * self.request(sim);
        for (index, waits) in self.tasks.iter_mut().enumerate() {
            let task = TaskId::from_index(index);
            waits.end(sim.now());
            let Some((owed, waited, lead)) = waits.worst else { continue };
            if limited(sim, tasks[task].group) {
                continue;
            }
            if waits.fastest * calm.0 as f64 <= allowed {
                verdict.not_judged += 1;
                continue;
            }
            verdict.judged += 1;
            if owed - lead > allowed {
                let bound = Nanos((allowed + lead) as u64);
                verdict.overdue.push(Overdue { task, waited, owed: Nanos(owed as u64), bound });
            }
        }
        verdict.overdue.sort_by_key(|o| (core::cmp::Reverse(o.waited), o.task));
        verdict
    }

    /// The longest request, and the tick that may have to come until it is seen to be over.
    fn request(&self, sim: &Sim) -> f64 {
        let s = sim.scheduler();
        let (config, tunables) = (s.config(), &s.config().tunables);
        let request = match config.policy {
            FairPolicy::Cfs | FairPolicy::Cfs2009 => {
                let turn = tunables.min_granularity.0.max(tunables.idle_min_granularity.0);
                tunables.latency.0.max(turn * u64::from(self.crowd))
            }
            FairPolicy::Eevdf | FairPolicy::Eevdf2023 => {
                let asked = s.tasks().iter().map(|(_, t)| s.entities()[t.entity].slice.0).max().unwrap_or(0);
                asked.max(tunables.base_slice.0)
            }
        };
        (request + 1_000_000_000 / u64::from(config.hz)) as f64
    }
}

impl Waits {
    fn end(&mut self, now: Instant) {
        let Some(since) = self.since.take() else { return };
        if self.worst.is_none_or(|(owed, _, lead)| self.owed - self.lead > owed - lead) {
            self.worst = Some((self.owed, now.saturating_since(since), self.lead));
        }
        (self.queue, self.rate, self.owed, self.lead) = (None, 0.0, 0.0, 0.0);
    }

    fn go_on(&mut self, sim: &Sim, task: TaskId) {
        let s = sim.scheduler();
        self.since.get_or_insert(sim.now());
        let bottom = s.entities()[s.tasks()[task].entity].queue;
        if self.queue != Some(bottom) {
            self.queue = Some(bottom);
            self.weights.clear();
        }
        self.rate = 1.0;
        let mut level = 0;
        let mut at = Some(s.tasks()[task].entity);
        while let Some(id) = at {
            let entity = &s.entities()[id];
            at = entity.parent;
            let queue = &s.queues()[entity.queue];
            // Who is on the way to a queue is owed all of it.
            if !entity.on_rq {
                continue;
            }
            let weight = entity.weight.down() as f64;
            self.rate *= (weight / queue.load.down().max(1) as f64).min(1.0);
            if level == self.weights.len() {
                self.weights.push(0.0);
            }
            let grown = (weight - self.weights[level]).max(0.0);
            self.weights[level] += grown;
            let ahead = entity.vruntime.since(queue.anchor).0.max(0) as f64;
            self.lead += ahead * grown / 1024.0;
            level += 1;
        }
        self.fastest = self.fastest.max(self.rate);
    }
}

/// Whether a quota can keep the group's tasks waiting.
fn limited(sim: &Sim, group: GroupId) -> bool {
    let s = sim.scheduler();
    let mut at = Some(group);
    while let Some(group) = at {
        if s.groups()[group].bandwidth.quota.is_some() {
            return true;
        }
        at = s.groups()[group].parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use zerolag_core::ids::CpuId;

    use super::*;
    use crate::scenario::{Overrides, read};

    /// Calm from `from_us` to `to_us` of a scenario.
    fn calm(text: &str, from_us: u64, to_us: u64) -> (Sim, Liveness) {
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let mut sim =
            read("calm", text.as_bytes(), &Overrides::default(), &none).unwrap().simulate().unwrap();
        sim.run_until(Instant(from_us * 1_000), &mut ());
        let mut liveness = Liveness::begin(&sim);
        while sim.step(Instant(to_us * 1_000), &mut ()) {
            liveness.look(&sim);
        }
        (sim, liveness)
    }

    const HOG_BESIDE_RIVAL: &str = r#"
        kernel = "6.12"
        machine = "1cpu"
        duration = "1s"
        [[workload]]
        kind = "hog"
        name = "hog"
        policy = "idle"
        [[workload]]
        name = "rival"
        timer_slack = "0ns"
        program = "forever { run 40ms; sleep 2ms }"
    "#;

    /// The rival runs 40 ms of each 42, and sleeps when the run is over: the hog has waited rightly.
    #[test]
    fn rivals_count_that_sleep_in_the_end() {
        let (sim, liveness) = calm(HOG_BESIDE_RIVAL, 84_000, 423_000);
        let hog = TaskId(0);
        assert_eq!(sim.scheduler().cpus()[CpuId(0)].curr, Some(hog));
        let (owed, waited, _) = liveness.tasks[0].worst.unwrap();
        assert!(waited > Nanos::from_millis(30), "the hog had to wait: {waited:?}");
        assert!(owed < 3.0 / 1024.0 * waited.0 as f64, "{owed}");
        assert_eq!(liveness.verdict(&sim, Nanos::from_millis(339)).overdue, []);
    }

    /// The rival leaves for another CPU in the end: the hog, alone now, has waited rightly.
    #[test]
    fn rivals_count_that_are_elsewhere_in_the_end() {
        let text = HOG_BESIDE_RIVAL
            .replace("1cpu", "2cpu")
            .replace("policy = \"idle\"", "policy = \"idle\"\ncpus = \"0\"");
        let text = text.replace("timer_slack = \"0ns\"", "cpus = \"0\"").replace("; sleep 2ms", "")
            + "[[at]]\ntime = \"184ms\"\ntask = [{ match = \"rival\", cpus = \"1\" }]\n";
        let (sim, liveness) = calm(&text, 84_000, 284_000);
        assert_eq!(sim.scheduler().cpus()[CpuId(0)].curr, Some(TaskId(0)));
        assert_eq!(sim.scheduler().cpus()[CpuId(1)].curr, Some(TaskId(1)));
        let (_, waited, _) = liveness.tasks[0].worst.unwrap();
        assert!(waited > Nanos::from_millis(30), "the hog had to wait: {waited:?}");
        assert_eq!(liveness.verdict(&sim, Nanos::from_millis(200)).overdue, []);
    }

    /// Two equal hogs, one of which does not get the CPU for 100 ms, were owed 50 ms of them.
    #[test]
    fn who_is_forgotten_is_found() {
        let text = HOG_BESIDE_RIVAL
            .replace("policy = \"idle\"", "")
            .replace("{ run 40ms; sleep 2ms }", "{ run 1ms }");
        let (sim, mut liveness) = calm(&text, 84_000, 100_000);
        let now = sim.now();
        let waiting = liveness.tasks.iter().position(|w| w.since.is_some()).unwrap();
        let later = liveness.clone();
        assert_eq!(later.verdict(&sim, Nanos::from_millis(100)).overdue, []);
        let forgotten = &mut liveness.tasks[waiting];
        assert!((forgotten.rate - 0.5).abs() < 1e-9, "{}", forgotten.rate);
        forgotten.since = Some(Instant(now.0 - 100_000_000));
        forgotten.owed += forgotten.rate * 1e8;
        let verdict = liveness.verdict(&sim, Nanos::from_millis(100));
        assert_eq!(verdict.overdue.len(), 1);
        let Overdue { task, waited, owed, bound } = verdict.overdue[0];
        assert_eq!((task.index(), waited), (waiting, Nanos::from_millis(100)));
        assert!(owed >= Nanos::from_millis(50) && bound < owed, "{owed:?} {bound:?}");
    }
}
