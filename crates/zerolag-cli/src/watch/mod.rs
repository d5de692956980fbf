// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run --watch`: a simulation in a terminal, played, stepped, and wound back.

pub(crate) mod player;
mod view;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use console::{Key, Term};
use zerolag_core::units::{Instant, Nanos};
use zerolag_sim::sim::Sim;

use crate::failure::Failure;
use player::Player;

/// How often the picture changes while it plays.
const PICTURES_A_SECOND: u64 = 20;
/// Simulated time in a second, at first.
const SPEED: Nanos = Nanos::from_millis(20);

/// Shows the simulation until the user has seen enough.
pub(crate) fn watch(sim: Sim, end: Instant) -> Result<(), Failure> {
    let term = Term::stdout();
    if !term.is_term() {
        return Err(Failure::Input("--watch needs a terminal to show the simulation in".into()));
    }
    let keys = read_keys();
    let mut player = Player::new(sim, end);
    let (mut speed, mut plays) = (SPEED, false);
    term.hide_cursor()?;
    let outcome = (|| -> io::Result<()> {
        loop {
            let (height, width) = term.size();
            let lines = view::lines(&player, plays.then_some(speed), width.into(), height.into());
            term.move_cursor_to(0, 0)?;
            term.clear_to_end_of_screen()?;
            term.write_str(&lines.join("\r\n"))?;
            let Some(key) = next(&keys, plays) else { return Ok(()) };
            match key {
                None => player.seek(player.time() + Nanos(speed.0 / PICTURES_A_SECOND)),
                Some(Key::Char('q') | Key::Escape | Key::CtrlC) => return Ok(()),
                Some(Key::Char(' ')) => plays = !plays,
                Some(Key::Char('n')) => player.step(),
                Some(Key::Char('+' | '=')) => speed = Nanos((speed.0 * 2).min(10_000_000_000)),
                Some(Key::Char('-')) => speed = Nanos((speed.0 / 2).max(1_000)),
                Some(key) => {
                    if let Some(to) = goal(&key, player.time(), player.end) {
                        player.seek(to);
                    }
                }
            }
            plays &= player.time() < player.end && player.now.sim.stop().is_none();
        }
    })();
    term.show_cursor()?;
    term.write_line("")?;
    Ok(outcome?)
}

/// Where a key leads.
fn goal(key: &Key, now: Instant, end: Instant) -> Option<Instant> {
    let back = |span: Nanos| Instant(now.0.saturating_sub(span.0));
    let (ms, part) = (Nanos::from_millis(1), Nanos(end.0 / 20));
    Some(match key {
        Key::ArrowRight => now + ms,
        Key::ArrowLeft => back(ms),
        Key::PageDown => now + part,
        Key::PageUp => back(part),
        Key::Home => Instant::ZERO,
        Key::End => end,
        _ => return None,
    })
}

/// Keys as they come; reading them waits, so somebody else does.
fn read_keys() -> Receiver<Key> {
    let (send, keys) = channel();
    thread::spawn(move || {
        let term = Term::stdout();
        while let Ok(key) = term.read_key() {
            if send.send(key).is_err() {
                break;
            }
        }
    });
    keys
}

/// The next key; none if it is time for the next picture. Nothing if there are no more keys.
fn next(keys: &Receiver<Key>, plays: bool) -> Option<Option<Key>> {
    if !plays {
        return keys.recv().ok().map(Some);
    }
    match keys.recv_timeout(Duration::from_millis(1000 / PICTURES_A_SECOND)) {
        Ok(key) => Some(Some(key)),
        Err(RecvTimeoutError::Timeout) => Some(None),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}
