// SPDX-License-Identifier: GPL-2.0-only
//! What `--dump` asks for: the scheduler's state at some moments, as a kernel's files show it.

use zerolag_core::debug::{ShowQueues, ShowTask};
use zerolag_core::ids::{Id, TaskId};
use zerolag_core::task::TaskState;
use zerolag_core::units::Instant;
use zerolag_sim::sim::Sim;
use zerolag_study::report::Dumped;

use crate::args::low::Dump;
use crate::failure::Failure;

/// What they show, in order of time; none of them may be after the end. A copy of the simulation is asked, so
/// that looking changes nothing.
pub(super) fn take(dumps: &[Dump], sim: &Sim, end: Instant) -> Result<Vec<Dumped>, Failure> {
    if let Some(late) = dumps.iter().find(|dump| dump.at.0 > end.0) {
        let late = Instant(late.at.0);
        return Err(Failure::input(format_args!(
            "--dump: the run ends at {end} s, before {late} s; accepted: up to its end"
        )));
    }
    let mut in_order: Vec<&Dump> = dumps.iter().collect();
    in_order.sort_by_key(|dump| dump.at);
    let mut copy = (!dumps.is_empty()).then(|| sim.clone());
    let mut taken = Vec::new();
    for dump in in_order {
        if let Some(sim) = &mut copy {
            sim.run_until(Instant(dump.at.0), &mut ());
            taken.extend(one(dump, sim)?);
        }
    }
    Ok(taken)
}

/// What this one shows now.
fn one(dump: &Dump, sim: &Sim) -> Result<Vec<Dumped>, Failure> {
    let scheduler = sim.scheduler();
    let time = Instant(dump.at.0);
    let Some(pattern) = &dump.tasks else {
        let text = ShowQueues { scheduler, names: sim }.to_string();
        return Ok(vec![Dumped { time, task: None, text }]);
    };
    let alive = |task: &TaskId| scheduler.tasks()[*task].state != TaskState::Dead;
    let all: Vec<TaskId> = (0..sim.task_count()).map(TaskId::from_index).filter(alive).collect();
    let matching = all.iter().filter(|task| pattern.matches(&sim.task_name(**task)));
    let shown: Vec<Dumped> = matching
        .map(|&task| {
            let text = ShowTask { scheduler, names: sim, task }.to_string();
            Dumped { time, task: Some(sim.task_name(task)), text }
        })
        .collect();
    if shown.is_empty() {
        let names: Vec<String> = all.iter().take(20).map(|task| sim.task_name(*task)).collect();
        return Err(Failure::input(format_args!(
            "--dump: no task is called '{pattern}' at {time}; there are: {}{}",
            names.join(", "),
            if all.len() > names.len() { ", ..." } else { "" },
        )));
    }
    Ok(shown)
}
