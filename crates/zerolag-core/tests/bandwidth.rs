// SPDX-License-Identifier: GPL-2.0-only
//! Quotas on a small machine: two CPUs whose ticks come each millisecond, a limited group and one below it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use zerolag_core::cpu_set::CpuSet;
use zerolag_core::event::EventKind;
use zerolag_core::fair::audit::audit;
use zerolag_core::fair::bandwidth::{Bandwidth, BandwidthError, BandwidthTimer};
use zerolag_core::ids::{CpuId, GroupId, TaskId};
use zerolag_core::kernel::Kernel;
use zerolag_core::latency::LatencyNice;
use zerolag_core::nice::{Nice, Policy};
use zerolag_core::scheduler::{Effect, Scheduler};
use zerolag_core::task::{TaskSpec, TaskState};
use zerolag_core::topology::TopologyBuilder;
use zerolag_core::units::{Instant, Nanos};

const MS: u64 = 1_000_000;
const CPUS: u32 = 2;

/// The machine, and what it has been asked for.
struct Machine {
    s: Scheduler,
    now: Instant,
    timers: BTreeMap<(Instant, u64), (CpuId, GroupId, BandwidthTimer)>,
    set_so_far: u64,
    next_tick: Instant,
    /// All switches: who went, who came.
    switches: Vec<(Instant, CpuId, Option<TaskId>, Option<TaskId>)>,
    outer: GroupId,
    inner: GroupId,
    tasks: Vec<TaskId>,
}

impl Machine {
    /// Six tasks that run: on each CPU one at the top, one in a group, one in a group in that.
    fn new(kernel: Kernel) -> Self {
        let mut words = TopologyBuilder::new();
        words.word(&["cpus", "2"]).unwrap();
        let config = kernel.config(2).unwrap();
        let mut s = Scheduler::without_domains(config, words.build().unwrap());
        s.set_tracing(true);
        let now = Instant(MS);
        let outer = s.add_group(now, GroupId::ROOT);
        let inner = s.add_group(now, outer);
        let mut machine = Self {
            s,
            now,
            timers: BTreeMap::new(),
            set_so_far: 0,
            next_tick: Instant(2 * MS),
            switches: Vec::new(),
            outer,
            inner,
            tasks: Vec::new(),
        };
        for cpu in (0..CPUS).map(CpuId) {
            for group in [GroupId::ROOT, outer, inner] {
                let (nice, policy, affinity) = (Nice::ZERO, Policy::Normal, CpuSet::single(cpu));
                let task = machine.s.fork(
                    now,
                    None,
                    TaskSpec {
                        cpu,
                        group,
                        nice,
                        policy,
                        latency_nice: LatencyNice::ZERO,
                        slice: None,
                        affinity,
                    },
                );
                machine.s.wake_new(now, cpu, task);
                machine.settle(cpu);
                machine.tasks.push(task);
            }
        }
        machine
    }

    fn limit(&mut self, group: GroupId, quota: Nanos, period: Nanos, burst: Nanos) {
        self.s.set_bandwidth(self.now, group, Some(quota), period, burst).unwrap();
        self.settle(CpuId(0));
    }

    /// Acts on everything the scheduler wants, which runs on `cpu`; CPUs reschedule at once.
    fn settle(&mut self, cpu: CpuId) {
        while let Some(effect) = self.s.poll() {
            match effect {
                Effect::BandwidthTimer { group, timer, at } => {
                    self.timers.insert((at, self.set_so_far), (cpu, group, timer));
                    self.set_so_far += 1;
                }
                Effect::UnthrottleIpi { cpu } => self.s.finish_unthrottling(self.now, cpu),
                Effect::WakeIpi { cpu } => self.s.finish_wakeups(self.now, cpu),
                Effect::ThrottleWork { cpu } => {
                    self.s.return_to_user(self.now, cpu);
                }
                Effect::Resched { cpu } => {
                    self.s.schedule(self.now, cpu);
                }
                Effect::Trace(event) => {
                    if let EventKind::Switch { prev, next, .. } = event.kind {
                        self.switches.push((event.time, event.cpu, prev, next));
                    }
                }
                _ => {}
            }
        }
    }

    /// Lets time pass, with ticks and timers on the way; calls `seen` after each.
    fn pass(&mut self, span: Nanos, mut seen: impl FnMut(&Self, bool)) {
        let end = self.now + span;
        loop {
            let next_timer = self.timers.first_key_value().map_or(Instant::MAX, |(&(at, _), _)| at);
            self.now = self.next_tick.min(next_timer).min(end);
            let paid = next_timer == self.now;
            if paid {
                let (_, (cpu, group, timer)) = self.timers.pop_first().unwrap();
                self.s.bandwidth_timer(self.now, cpu, group, timer);
                self.settle(cpu);
            } else if self.next_tick == self.now {
                self.next_tick += ms(1);
                for cpu in (0..CPUS).map(CpuId) {
                    self.s.tick(self.now, cpu);
                    self.settle(cpu);
                }
            } else {
                return;
            }
            seen(self, paid);
        }
    }

    fn wake_or_block(&mut self, whom: usize) {
        let task = self.tasks[whom % self.tasks.len()];
        let cpu = self.s.tasks()[task].cpu;
        if self.s.tasks()[task].state == TaskState::Sleeping {
            self.s.wake(self.now, cpu, task, false);
        } else if self.s.cpus()[cpu].curr == Some(task) {
            self.s.block(self.now, cpu, false);
        }
        self.settle(cpu);
    }

    fn bandwidth(&self) -> &Bandwidth {
        &self.s.groups()[self.outer].bandwidth
    }

    /// CPU time the limited group has been charged.
    fn used(&self) -> u64 {
        let on_cpu = |cpu| {
            let task = self.tasks[cpu as usize * 3 + 1];
            let inner = self.s.group_on(self.inner, CpuId(cpu)).entity.unwrap();
            let of = |e| self.s.entities()[e].sum_exec.0;
            of(self.s.entity_of(task)) + of(inner)
        };
        (0..CPUS).map(on_cpu).sum()
    }

    /// What its pool and its queues have left, less their debts.
    fn left(&self) -> i64 {
        let queues = (0..CPUS).map(|cpu| self.s.group_on(self.outer, CpuId(cpu)).queue);
        let in_queues: i64 = queues.map(|q| self.s.queues()[q].throttle.runtime_remaining).sum();
        self.bandwidth().runtime.0 as i64 + in_queues
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass { us: u64 },
    WakeOrBlock { whom: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1_u64..30_000).prop_map(|us| Step::Pass { us }),
        (0_usize..6).prop_map(|whom| Step::WakeOrBlock { whom }),
    ];
    prop::collection::vec(step, 1..80)
}

/// A kernel with bandwidth.
fn kernel() -> impl Strategy<Value = Kernel> {
    prop::sample::select(vec![Kernel::V6_1, Kernel::V6_12, Kernel::V6_18])
}

/// Quota, period and burst in ms.
fn limits() -> impl Strategy<Value = (u64, u64, u64)> {
    (1_u64..60, 5_u64..100, 0_u64..20).prop_map(|(quota, period, burst)| (quota, period, burst.min(quota)))
}

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

proptest! {
    #[test]
    fn no_group_uses_more_than_its_quotas((quota, period, burst) in limits(), steps in steps(), kernel in kernel()) {
        let mut m = Machine::new(kernel);
        m.limit(m.outer, ms(quota), ms(period), ms(burst));
        let (start, used) = (m.now, m.used());
        for step in steps {
            match step {
                Step::Pass { us } => m.pass(Nanos::from_micros(us), |_, _| {}),
                Step::WakeOrBlock { whom } => m.wake_or_block(whom),
            }
            // The first period has begun, and may be short.
            let periods = 2 + (m.now - start).0 / ms(period).0;
            // Each CPU may have used what it was given in an earlier period, and notices at a tick.
            let bound = periods * quota + burst + u64::from(CPUS) * (5 + 1);
            prop_assert!(m.used() - used <= bound * MS, "{} ns in {periods} periods", m.used() - used);
        }
    }

    #[test]
    fn runtime_is_neither_made_nor_lost((quota, period, burst) in limits(), steps in steps(), kernel in kernel()) {
        let mut m = Machine::new(kernel);
        m.limit(m.outer, ms(quota), ms(period), ms(burst));
        for step in steps {
            let mut sum = m.left() + m.used() as i64;
            let mut check = |m: &Machine, paid| {
                let now = m.left() + m.used() as i64;
                // Only the end of a period makes any.
                assert!(now == sum || paid && now - sum <= ms(quota).0 as i64, "{sum} became {now}");
                sum = now;
            };
            match step {
                Step::Pass { us } => m.pass(Nanos::from_micros(us), &mut check),
                Step::WakeOrBlock { whom } => {
                    m.wake_or_block(whom);
                    check(&m, false);
                }
            }
        }
    }

    #[test]
    fn a_hierarchy_is_throttled_as_often_as_it_has_throttled_ancestors(
        outer in limits(),
        inner in limits(),
        steps in steps(),
        kernel in kernel(),
    ) {
        let mut m = Machine::new(kernel);
        m.limit(m.outer, ms(outer.0), ms(outer.1), ms(outer.2));
        m.limit(m.inner, ms(inner.0), ms(inner.1), ms(inner.2));
        for step in steps {
            match step {
                Step::Pass { us } => m.pass(Nanos::from_micros(us), |_, _| {}),
                Step::WakeOrBlock { whom } => m.wake_or_block(whom),
            }
            audit(&m.s).unwrap();
            for (_, queue) in m.s.queues().iter() {
                let above = core::iter::successors(Some(queue), |q| q.parent.map(|p| &m.s.queues()[p]));
                let ancestors = above.filter(|q| q.throttle.throttled).count();
                prop_assert_eq!(queue.throttle.throttle_count as usize, ancestors);
                prop_assert!(!queue.throttle.pelt_frozen || ancestors != 0 && !queue.on_list());
            }
        }
    }

    #[test]
    fn an_ample_quota_changes_nothing(steps in steps(), kernel in kernel()) {
        let (mut plain, mut limited) = (Machine::new(kernel), Machine::new(kernel));
        limited.limit(limited.outer, ms(1_000), ms(10), Nanos::ZERO);
        for step in steps {
            for m in [&mut plain, &mut limited] {
                match step {
                    Step::Pass { us } => m.pass(Nanos::from_micros(us), |_, _| {}),
                    Step::WakeOrBlock { whom } => m.wake_or_block(whom),
                }
            }
        }
        prop_assert_eq!(plain.switches, limited.switches);
    }
}

#[test]
fn two_hogs_share_a_quota() {
    let mut m = Machine::new(Kernel::V6_12);
    for at_the_top in [0, 3] {
        let task = m.tasks[at_the_top];
        while m.s.cpus()[m.s.tasks()[task].cpu].curr != Some(task) {
            m.pass(ms(1), |_, _| {});
        }
        m.wake_or_block(at_the_top);
    }
    m.limit(m.outer, ms(20), ms(100), Nanos::ZERO);
    m.pass(ms(200), |_, _| {});
    let (used, stat) = (m.used(), m.bandwidth().stat);
    m.pass(ms(1_000), |_, _| {});
    let (used, now) = (m.used() - used, m.bandwidth().stat);
    assert!((198 * MS..=202 * MS).contains(&used), "{used} ns of 2 s");
    assert_eq!((now.nr_periods - stat.nr_periods, now.nr_throttled - stat.nr_throttled), (10, 10));
    let throttled = (now.throttled_time - stat.throttled_time).0;
    assert!((1_798 * MS..=1_802 * MS).contains(&throttled), "{throttled} ns of 2 s");
}

#[test]
fn what_is_left_over_may_be_used_later() {
    let mut m = Machine::new(Kernel::V6_12);
    let limited = [1, 2, 4, 5];
    for whom in limited.into_iter().cycle().take(40) {
        if m.s.tasks()[m.tasks[whom]].state != TaskState::Sleeping {
            m.wake_or_block(whom);
        }
        m.pass(ms(5), |_, _| {});
    }
    assert!(limited.iter().all(|&t| m.s.tasks()[m.tasks[t]].state == TaskState::Sleeping));
    m.limit(m.outer, ms(10), ms(100), ms(10));
    m.pass(ms(250), |_, _| {});
    limited.into_iter().for_each(|whom| m.wake_or_block(whom));
    m.pass(ms(400), |_, _| {});
    let stat = m.bandwidth().stat;
    assert_eq!((stat.nr_bursts, stat.burst_time), (1, ms(10)));
}

#[test]
fn impossible_limits_are_refused() {
    let mut m = Machine::new(Kernel::V6_12);
    let mut set = |group, quota: Option<u64>, period, burst| {
        m.s.set_bandwidth(m.now, group, quota.map(Nanos::from_micros), Nanos::from_micros(period), ms(burst))
    };
    let longest = (1_u64 << 44) - 1;
    for (group, quota, period, burst, answer) in [
        (0, Some(1_000), 100_000, 0, Err(BandwidthError::IsRoot)),
        (1, Some(999), 100_000, 0, Err(BandwidthError::Quota)),
        (1, Some(longest + 1), 100_000, 0, Err(BandwidthError::Quota)),
        (1, Some(1_000), 999, 0, Err(BandwidthError::Period)),
        (1, None, 1_000_001, 0, Err(BandwidthError::Period)),
        (1, Some(1_000), 100_000, 2, Err(BandwidthError::Burst)),
        (1, Some(longest), 100_000, 1, Err(BandwidthError::Burst)),
        (1, Some(longest), 1_000_000, 0, Ok(())),
        (1, Some(1_000), 1_000, 1, Ok(())),
        (1, None, 100_000, 5, Ok(())),
    ] {
        assert_eq!(set(GroupId(group), quota, period, burst), answer, "{quota:?} {period} {burst}");
    }
}
