// SPDX-License-Identifier: GPL-2.0-only
//! What the user has set, and what keys change of it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use zerolag_core::ids::{CpuId, Id};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::duration;

use super::player::Player;

/// How often the picture changes while it plays.
pub(super) const PICTURES_A_SECOND: u64 = 20;
/// Simulated time in a second, at first, and within which bounds.
const SPEED: Nanos = Nanos::from_millis(20);
const SPEED_MIN: Nanos = Nanos(1_000);
const SPEED_MAX: Nanos = Nanos::from_secs(10);

/// The simulation and how it is looked at.
pub(crate) struct Screen {
    pub(super) player: Player,
    /// Simulated time in a second, while it plays.
    pub(super) speed: Nanos,
    pub(super) plays: bool,
    /// Whose queue is shown.
    pub(super) cpu: CpuId,
    /// A time that is being typed.
    pub(super) typed: Option<String>,
    /// What was wrong with the last one.
    pub(super) complaint: Option<String>,
    /// The user has seen enough.
    pub(super) is_over: bool,
}

impl Screen {
    pub(super) const fn new(player: Player) -> Self {
        Self {
            player,
            speed: SPEED,
            plays: false,
            cpu: CpuId(0),
            typed: None,
            complaint: None,
            is_over: false,
        }
    }

    /// Time for the next picture.
    pub(super) fn go_on(&mut self) {
        self.player.seek(self.player.time() + Nanos(self.speed.0 / PICTURES_A_SECOND));
        self.stop_at_end();
    }

    fn stop_at_end(&mut self) {
        self.plays &= self.player.time() < self.player.end && self.player.now.sim.stop().is_none();
    }

    /// Does what the key says.
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.complaint = None;
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.is_over = true;
        } else if self.typed.is_some() {
            self.type_time(key.code);
        } else {
            self.command(key.code);
            self.stop_at_end();
        }
    }

    fn command(&mut self, key: KeyCode) {
        let last = self.player.now.sim.scheduler().topology().cpu_count() - 1;
        match key {
            KeyCode::Char('q') | KeyCode::Esc => self.is_over = true,
            KeyCode::Char(' ') => self.plays = !self.plays,
            KeyCode::Char('n') | KeyCode::Enter => self.player.step(),
            KeyCode::Char('g') => (self.typed, self.plays) = (Some(String::new()), false),
            KeyCode::Char('+' | '=') => self.speed = Nanos(self.speed.0 * 2).min(SPEED_MAX),
            KeyCode::Char('-') => self.speed = Nanos(self.speed.0 / 2).max(SPEED_MIN),
            KeyCode::Down | KeyCode::Char('j') => {
                self.cpu = CpuId::from_index((self.cpu.index() + 1).min(last))
            }
            KeyCode::Up | KeyCode::Char('k') => self.cpu = CpuId(self.cpu.0.saturating_sub(1)),
            _ => {
                if let Some(to) = goal(key, self.player.time(), self.player.end) {
                    self.player.seek(to);
                }
            }
        }
    }

    /// A time is typed: seconds, or with a unit.
    fn type_time(&mut self, key: KeyCode) {
        let Some(mut typed) = self.typed.take() else { return };
        match key {
            KeyCode::Esc => return,
            KeyCode::Enter => {
                let bare = typed.ends_with(|c: char| c.is_ascii_digit());
                match duration::parse(&if bare { format!("{typed}s") } else { typed.clone() }) {
                    Ok(Nanos(ns)) => self.player.seek(Instant(ns)),
                    Err(error) => {
                        self.complaint = Some(format!("'{typed}': {error}; accepted: 1.25 or 1250ms"))
                    }
                }
                return;
            }
            KeyCode::Backspace => _ = typed.pop(),
            KeyCode::Char(c) => typed.push(c),
            _ => {}
        }
        self.typed = Some(typed);
    }
}

/// Where a key leads.
fn goal(key: KeyCode, now: Instant, end: Instant) -> Option<Instant> {
    let back = |span: Nanos| Instant(now.0.saturating_sub(span.0));
    let (ms, part) = (Nanos::from_millis(1), Nanos(end.0 / 20));
    Some(match key {
        KeyCode::Right | KeyCode::Char('l') => now + ms,
        KeyCode::Left | KeyCode::Char('h') => back(ms),
        KeyCode::PageDown => now + part,
        KeyCode::PageUp => back(part),
        KeyCode::Home => Instant::ZERO,
        KeyCode::End => end,
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::watch::player::tests::player;

    pub(crate) fn screen() -> Screen {
        Screen::new(player())
    }

    fn press(screen: &mut Screen, keys: impl IntoIterator<Item = KeyCode>) {
        keys.into_iter().for_each(|key| screen.key(KeyEvent::from(key)));
    }

    #[test]
    fn keys_step_seek_and_play() {
        let mut screen = screen();
        press(&mut screen, [KeyCode::Right, KeyCode::Right, KeyCode::Left]);
        assert_eq!(screen.player.time(), Instant(1_000_000));
        press(&mut screen, [KeyCode::PageDown]);
        assert_eq!(screen.player.time(), Instant(4_000_000));
        let before = screen.player.time();
        press(&mut screen, [KeyCode::Char('n')]);
        assert!(screen.player.time() > before || !screen.player.now.events.is_empty());
        press(&mut screen, [KeyCode::Home, KeyCode::Char(' ')]);
        screen.go_on();
        assert_eq!((screen.player.time(), screen.plays), (Instant(1_000_000), true));
        press(&mut screen, [KeyCode::End]);
        assert!(!screen.plays, "nothing is left to play");
        press(&mut screen, [KeyCode::Char('q')]);
        assert!(screen.is_over);
    }

    #[test]
    fn a_time_can_be_typed() {
        let mut screen = screen();
        let typed = |text: &str| {
            let keys = text.chars().map(KeyCode::Char);
            [KeyCode::Char('g')].into_iter().chain(keys).chain([KeyCode::Enter]).collect::<Vec<_>>()
        };
        press(&mut screen, typed("25ms"));
        assert_eq!(screen.player.time(), Instant(25_000_000));
        press(&mut screen, typed("0.01"));
        assert_eq!(screen.player.time(), Instant(10_000_000));
        press(&mut screen, typed("soon"));
        assert!(screen.complaint.as_deref().unwrap().contains("soon") && !screen.is_over);
        assert_eq!(screen.player.time(), Instant(10_000_000));
    }

    #[test]
    fn the_choice_of_a_cpu_stays_on_the_machine() {
        let mut screen = screen();
        press(&mut screen, [KeyCode::Down; 5]);
        assert_eq!(screen.cpu, CpuId(1));
        press(&mut screen, [KeyCode::Up; 5]);
        assert_eq!(screen.cpu, CpuId(0));
    }
}
