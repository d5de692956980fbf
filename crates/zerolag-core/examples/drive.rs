// SPDX-License-Identifier: GPL-2.0-only
//! How to drive the scheduler from a kernel, a hypervisor or an executor of your own: the caller owns time and
//! the tasks' work, the scheduler says who runs. One task always has work, one works for 1 ms and sleeps 3 ms.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::kernel::Kernel;
use zerolag_core::scheduler::{Effect, Scheduler};
use zerolag_core::task::TaskSpec;
use zerolag_core::topology::Topology;
use zerolag_core::units::{Instant, Nanos};

const CPU: CpuId = CpuId(0);

/// Does what the scheduler asks for: here, to switch whenever somebody else should run.
fn act(scheduler: &mut Scheduler, now: Instant) {
    while let Some(effect) = scheduler.poll() {
        if let Effect::Resched { cpu } = effect {
            scheduler.schedule(now, cpu);
        }
    }
}

fn spawn(scheduler: &mut Scheduler, now: Instant) -> TaskId {
    let task = scheduler.fork(now, None, TaskSpec::new(CPU, CpuSet::single(CPU)));
    scheduler.wake_new(now, CPU, task);
    task
}

fn main() {
    let topology = Topology::preset("1cpu").expect("a preset");
    let config = Kernel::V6_12.config(1).expect("an implemented kernel");
    let (tick, mut now) = (config.tick(), Instant::ZERO);
    let mut scheduler = Scheduler::new(config, topology);
    let hog = spawn(&mut scheduler, now);
    let sleeper = spawn(&mut scheduler, now);
    let (step, mut ran, mut wake_at) = (Nanos::from_micros(100), [Nanos::ZERO; 2], None);

    while now < Instant(Nanos::from_secs(1).0) {
        now += step;
        let current = scheduler.cpus()[CPU].curr;
        ran[usize::from(current == Some(sleeper))] += step;
        if current == Some(sleeper) && ran[1].0.is_multiple_of(1_000_000) {
            scheduler.block(now, CPU, false);
            wake_at = Some(now + Nanos::from_millis(3));
        } else if wake_at.is_some_and(|at| at <= now) {
            wake_at = None;
            scheduler.wake(now, CPU, sleeper, false);
        }
        if now.0.is_multiple_of(tick.0) {
            scheduler.tick(now, CPU);
        }
        act(&mut scheduler, now);
    }
    println!("{hog:?} ran {} us, {sleeper:?} ran {} us of 1 s", ran[0].0 / 1000, ran[1].0 / 1000);
}
