// SPDX-License-Identifier: GPL-2.0-only
//! What the terminal shows of a moment.
//!
//! ```text
//! ┌ time, state ─────────────────────────────┐
//! ├ CPUs ───────────────┬ queue of one ──────┤
//! │                     ├ longest waits ─────┤
//! ├ latest events ──────┴────────────────────┤
//! └ keys ────────────────────────────────────┘
//! ```

use std::cmp::Reverse;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Gauge, Paragraph, Row, Table, TableState};
use zerolag_core::config::FairPolicy;
use zerolag_core::event::{EventKind, SchedEvent};
use zerolag_core::ids::{CpuId, GroupId, Id, TaskId};
use zerolag_core::units::Instant;
use zerolag_sim::sim::{Sim, Stop};

use super::screen::Screen;

const KEYS: &str =
    "q quit  space play  + - speed  n next event  ← → 1 ms  PgUp PgDn 5 %  Home End  g time  ↑ ↓ CPU";
/// Rows of the latest events, with their frame.
const EVENTS_HEIGHT: u16 = 6;

/// Draws the moment.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let [head, body, events, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(EVENTS_HEIGHT),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(body);
    let [queue_area, waits_area] =
        Layout::vertical([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(right);
    progress(frame, head, screen);
    cpus(frame, left, screen);
    queue(frame, queue_area, screen);
    waits(frame, waits_area, screen);
    latest(frame, events, screen);
    let below = match (&screen.typed, &screen.complaint) {
        (Some(typed), _) => format!("go to (seconds, or with a unit): {typed}_"),
        (None, Some(complaint)) => complaint.clone(),
        (None, None) => KEYS.to_owned(),
    };
    frame.render_widget(Paragraph::new(below), foot);
}

fn progress(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let (now, end) = (screen.player.time(), screen.player.end);
    let state = match (screen.player.now.sim.stop(), screen.plays) {
        (Some(Stop::Finished), _) => "all tasks have ended".to_owned(),
        (Some(_), _) => "nothing will ever happen again".to_owned(),
        (None, true) => format!("{} ms a second", ms(screen.speed.0)),
        (None, false) => "paused".to_owned(),
    };
    let done = now.0 as f64 / end.0.max(1) as f64;
    let gauge = Gauge::default()
        .ratio(done.clamp(0.0, 1.0))
        .label(format!("{now} s of {end} s, {state}"))
        .gauge_style(Style::new().fg(Color::Blue));
    frame.render_widget(gauge, area);
}

fn framed(title: String) -> Block<'static> {
    Block::bordered().title(title)
}

fn heading<const N: usize>(cells: [&'static str; N]) -> Row<'static> {
    Row::new(cells).style(Style::new().add_modifier(Modifier::BOLD))
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

fn cpus(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let sim = &screen.player.now.sim;
    let row = |cpu: CpuId| {
        let rq = &sim.scheduler().cpus()[cpu];
        let avg = &sim.scheduler().queues()[rq.root].avg;
        let runs = rq.curr.map_or_else(|| "-".to_owned(), |task| sim.task_name(task));
        let counts = [u64::from(rq.nr_running), avg.util_avg, avg.load_avg].map(|n| right(n.to_string()));
        let style = if rq.curr.is_some() { Style::new() } else { Style::new().add_modifier(Modifier::DIM) };
        Row::new([right(cpu.0.to_string()), Cell::from(runs)].into_iter().chain(counts)).style(style)
    };
    let all = sim.scheduler().topology().cpus();
    let count = sim.scheduler().topology().cpu_count();
    let widths = [
        Constraint::Length(4),
        Constraint::Fill(1),
        Constraint::Length(5),
        Constraint::Length(5),
        Constraint::Length(7),
    ];
    let table = Table::new(all.map(row), widths)
        .header(heading([" CPU", "runs", "tasks", " util", "   load"]))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(framed(format!(" {count} CPU{} ", if count == 1 { "" } else { "s" })));
    let mut state = TableState::new().with_selected(Some(screen.cpu.index()));
    frame.render_stateful_widget(table, area, &mut state);
}

/// Who runs and waits on the chosen CPU: the fair tasks in its queues, of all groups.
fn queue(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let sim = &screen.player.now.sim;
    let scheduler = sim.scheduler();
    let current = scheduler.cpus()[screen.cpu].curr;
    let eevdf = matches!(scheduler.config().policy, FairPolicy::Eevdf | FairPolicy::Eevdf2023);
    let mut there: Vec<(TaskId, i64, Option<i64>)> = Vec::new();
    for (id, task) in scheduler.tasks().iter() {
        let entity = &scheduler.entities()[task.entity];
        if task.cpu == screen.cpu && entity.on_rq && task.policy.is_fair() {
            let now = scheduler.virtual_time(entity.queue);
            let deadline = eevdf.then(|| entity.deadline.since(now).0);
            there.push((id, now.since(entity.vruntime).0, deadline));
        }
    }
    there.sort_by_key(|&(id, lag, _)| (Some(id) != current, Reverse(lag), id));
    let group = |group: GroupId| sim.workload().groups[group].path.clone();
    let row = |&(id, lag, deadline): &(TaskId, i64, Option<i64>)| {
        let task = &scheduler.tasks()[id];
        let mark = if Some(id) == current { "▶" } else { " " };
        Row::new([
            Cell::from(format!("{mark}{}", sim.task_name(id))),
            Cell::from(group(task.group)),
            right(scheduler.entities()[task.entity].weight.down().to_string()),
            right(signed_ms(lag)),
            right(deadline.map_or_else(|| "-".to_owned(), signed_ms)),
        ])
    };
    let widths = [
        Constraint::Fill(2),
        Constraint::Fill(1),
        Constraint::Length(6),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    let table = Table::new(there.iter().map(row), widths)
        .header(heading(["task", "group", "weight", "   lag ms", " deadline"]))
        .block(framed(format!(" Queue of cpu{}: {} tasks ", screen.cpu, there.len())));
    frame.render_widget(table, area);
}

fn waits(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let sim = &screen.player.now.sim;
    let waiting = waiting(screen);
    let row = |&(task, cpu, since): &(TaskId, CpuId, Instant)| {
        let waited = screen.player.time().saturating_since(since);
        Row::new([Cell::from(sim.task_name(task)), right(cpu.0.to_string()), right(ms(waited.0))])
    };
    let widths = [Constraint::Fill(1), Constraint::Length(4), Constraint::Length(11)];
    let table = Table::new(waiting.iter().map(row), widths)
        .header(heading(["task", " CPU", "  waited ms"]))
        .block(framed(format!(" Longest of {} waits ", waiting.len())));
    frame.render_widget(table, area);
}

/// Who waits, where, since when; the longest first.
fn waiting(screen: &Screen) -> Vec<(TaskId, CpuId, Instant)> {
    let scheduler = screen.player.now.sim.scheduler();
    let waits = screen.player.now.waits.waiting();
    let mut waiting: Vec<_> =
        waits.map(|wait| (wait.task, scheduler.tasks()[wait.task].cpu, wait.from)).collect();
    waiting.sort_by_key(|&(task, _, since)| (since, task));
    waiting
}

fn latest(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let sim = &screen.player.now.sim;
    let room = usize::from(area.height.saturating_sub(2));
    let events = &screen.player.now.events;
    let lines =
        events.iter().skip(events.len().saturating_sub(room)).map(|event| Line::from(said(event, sim)));
    frame.render_widget(
        Paragraph::new(lines.collect::<Vec<_>>()).block(framed(" Latest events ".to_owned())),
        area,
    );
}

fn said(event: &SchedEvent, sim: &Sim) -> String {
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
        EventKind::Runtime { task, ran } => format!("{} is charged {} ms", sim.task_name(task), ms(ran.0)),
        other => format!("{other:?}"),
    };
    format!("{} cpu{}: {what}", event.time, event.cpu)
}

fn ms(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000)
}

fn signed_ms(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "+" }, ms(ns.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::screen::tests::screen;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use zerolag_core::units::Nanos;

    fn shown(screen: &Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, screen)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content().chunks(usize::from(width));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
    }

    #[test]
    fn a_moment_shows_cpus_queues_and_waits() {
        let mut screen = screen();
        screen.player.seek(Instant(10_000_000));
        let text = shown(&screen, 120, 30);
        assert!(text.contains("0.010000000 s of 0.060000000 s, paused"), "{text}");
        assert!(text.contains(" 2 CPUs ") && text.contains("Longest of 1 waits"), "{text}");
        // One CPU has two of the three tasks, of which one runs.
        let queues: Vec<String> = (0..2)
            .map(|cpu| {
                screen.cpu = CpuId(cpu);
                shown(&screen, 120, 30)
            })
            .collect();
        let with = |n: u32| queues.iter().filter(|q| q.contains(&format!(": {n} tasks "))).count();
        assert_eq!((with(1), with(2)), (1, 1), "{}", queues[0]);
        assert!(queues.iter().all(|q| q.matches('▶').count() == 1));
    }

    #[test]
    fn what_is_typed_and_what_is_wrong_stands_below() {
        let mut screen = screen();
        screen.typed = Some("12m".to_owned());
        assert!(shown(&screen, 100, 24).lines().last().unwrap().contains("12m_"));
        (screen.typed, screen.complaint) = (None, Some("no such time".to_owned()));
        assert!(shown(&screen, 100, 24).lines().last().unwrap().contains("no such time"));
    }

    #[test]
    fn terminals_of_any_size_show_what_fits() {
        let mut screen = screen();
        screen.player.seek(Instant(10_000_000));
        (screen.plays, screen.speed) = (true, Nanos(1_000_000));
        for (width, height) in [(1, 1), (20, 5), (300, 100)] {
            shown(&screen, width, height);
        }
    }
}
