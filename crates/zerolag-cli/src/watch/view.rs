// SPDX-License-Identifier: GPL-2.0-only
//! What the terminal shows of a moment: lines of text, as many and as wide as fit.

use std::cmp::Reverse;
use std::fmt::Write;

use zerolag_core::event::EventKind;
use zerolag_core::ids::{CpuId, TaskId};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::{Sim, Stop};

use super::player::Player;

const HELP: &str = "q quit  space play  n next event  ← → 1 ms  PgUp PgDn 5 %  Home End  + - speed";

/// The lines, none wider than `width`, at most `height`.
pub(crate) fn lines(player: &Player, playing: Option<Nanos>, width: usize, height: usize) -> Vec<String> {
    let sim = &player.now.sim;
    let mut all = vec![title(player, playing), progress(player, width), String::new()];
    all.push(format!(
        "{:>4}  {:<16} {:>7} {:>5} {:>5}  waiting (lag in ms)",
        "CPU", "runs", "tasks", "util", "load"
    ));
    let waiting = waiting(player);
    let room = height.saturating_sub(all.len() + 3);
    let cpus: Vec<CpuId> = sim.scheduler().topology().cpus().collect();
    // CPUs have two thirds, those that wait the rest.
    let shown = cpus.len().min((room * 2 / 3).max(1));
    for &cpu in &cpus[..shown] {
        all.push(row(sim, cpu, &waiting));
    }
    if shown < cpus.len() {
        all.push(format!("      and {} more CPUs", cpus.len() - shown));
    }
    all.push(String::new());
    all.push(format!("Longest waits: {} tasks wait", waiting.len()));
    for &(task, cpu, since) in &waiting {
        let waited = player.time().saturating_since(since);
        all.push(format!(
            "  {:<16} {:>10} ms on cpu{cpu}{}",
            sim.task_name(task),
            ms(waited.0),
            lag(sim, task)
        ));
    }
    all.truncate(height.saturating_sub(1 + player.now.events.len().min(4)));
    for event in player.now.events.iter().rev().take(4).rev() {
        let what = match event.kind {
            EventKind::Switch { prev, next, .. } => {
                let name = |task: Option<TaskId>| task.map_or("idle".to_owned(), |task| sim.task_name(task));
                format!("{} -> {}", name(prev), name(next))
            }
            EventKind::Wakeup { task, target } => format!("{} wakes up on cpu{target}", sim.task_name(task)),
            EventKind::WakeupNew { task, target } => format!("{} is new on cpu{target}", sim.task_name(task)),
            EventKind::Migrate { task, from, to } => {
                format!("{} moves from cpu{from} to cpu{to}", sim.task_name(task))
            }
            EventKind::Balance { target, moved, .. } => format!("balanced for cpu{target}: {moved} moved"),
            EventKind::Tick => "tick".to_owned(),
            EventKind::Waking { task, .. } => format!("{} is being woken", sim.task_name(task)),
            EventKind::Runtime { task, ran } => {
                format!("{} is charged {} ms", sim.task_name(task), ms(ran.0))
            }
            other => format!("{other:?}"),
        };
        all.push(format!("{} cpu{}: {what}", event.time, event.cpu));
    }
    all.push(HELP.to_owned());
    all.into_iter().map(|line| line.chars().take(width).collect()).collect()
}

fn title(player: &Player, playing: Option<Nanos>) -> String {
    let state = match (player.now.sim.stop(), playing) {
        (Some(Stop::Finished), _) => "all tasks have ended".to_owned(),
        (Some(_), _) => "nothing will ever happen again".to_owned(),
        (None, Some(speed)) => format!("{} ms a second", ms(speed.0)),
        (None, None) => "paused".to_owned(),
    };
    format!("{} s of {} s, {state}", player.time(), player.end)
}

fn progress(player: &Player, width: usize) -> String {
    let width = width.clamp(12, 100) - 2;
    let done = (u128::from(player.time().0) * width as u128 / u128::from(player.end.0.max(1))) as usize;
    format!("[{}{}]", "=".repeat(done.min(width)), " ".repeat(width - done.min(width)))
}

/// Who waits, where, since when; the longest first.
fn waiting(player: &Player) -> Vec<(TaskId, CpuId, Instant)> {
    let scheduler = player.now.sim.scheduler();
    let mut waiting: Vec<_> = player
        .now
        .waits
        .waiting()
        .map(|wait| (wait.task, scheduler.tasks()[wait.task].cpu, wait.from))
        .collect();
    waiting.sort_by_key(|&(task, _, since)| (Reverse(player.time().saturating_since(since)), task));
    waiting
}

fn row(sim: &Sim, cpu: CpuId, waiting: &[(TaskId, CpuId, Instant)]) -> String {
    let rq = &sim.scheduler().cpus()[cpu];
    let avg = &sim.scheduler().queues()[rq.root].avg;
    let runs = rq.curr.map_or("-".to_owned(), |task| sim.task_name(task));
    let mut line =
        format!("{:>4}  {runs:<16} {:>7} {:>5} {:>5} ", cpu.0, rq.nr_running, avg.util_avg, avg.load_avg);
    for &(task, _, _) in waiting.iter().filter(|&&(_, on, _)| on == cpu) {
        _ = write!(line, " {}{}", sim.task_name(task), lag(sim, task));
    }
    line
}

/// What a waiting task is owed in its queue.
fn lag(sim: &Sim, task: TaskId) -> String {
    let scheduler = sim.scheduler();
    let entity = &scheduler.entities()[scheduler.tasks()[task].entity];
    if !entity.on_rq {
        return String::new();
    }
    let lag = scheduler.virtual_time(entity.queue).since(entity.vruntime).0;
    format!(" ({}{})", if lag < 0 { "-" } else { "+" }, ms(lag.unsigned_abs()))
}

fn ms(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::player::tests::player;

    #[test]
    fn a_moment_shows_cpus_queues_and_waits() {
        let mut player = player();
        player.seek(Instant(10_000_000));
        let lines = lines(&player, None, 100, 24);
        assert!(lines.len() <= 24 && lines.iter().all(|line| line.chars().count() <= 100));
        let text = lines.join("\n");
        assert!(text.starts_with("0.010000000 s of 0.060000000 s, paused"), "{text}");
        assert!(text.contains("1 tasks wait") && text.contains("   0  hog"), "{text}");
    }

    #[test]
    fn small_terminals_show_what_fits() {
        let mut player = player();
        player.seek(Instant(10_000_000));
        for (width, height) in [(1, 1), (20, 5), (300, 100)] {
            let lines = lines(&player, Some(Nanos(1_000_000)), width, height);
            assert!(lines.len() <= height.max(5) && lines.iter().all(|line| line.chars().count() <= width));
        }
    }
}
