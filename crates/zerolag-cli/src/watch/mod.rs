// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag run --watch`: a simulation in a terminal, played, stepped, and wound back.

mod player;
mod screen;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use zerolag_core::units::Instant;
use zerolag_sim::sim::Sim;

use crate::failure::Failure;
use player::Player;
use screen::{PICTURES_A_SECOND, Screen};

/// Shows the simulation until the user has seen enough.
pub(crate) fn watch(sim: Sim, end: Instant) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::Input("--watch needs a terminal to show the simulation in".into()));
    }
    let mut terminal = ratatui::try_init()?;
    let outcome = show(&mut terminal, Screen::new(Player::new(sim, end)));
    ratatui::try_restore()?;
    Ok(outcome?)
}

fn show(terminal: &mut DefaultTerminal, mut screen: Screen) -> io::Result<()> {
    while !screen.is_over {
        terminal.draw(|frame| view::draw(frame, &screen))?;
        let patience = Duration::from_millis(1000 / PICTURES_A_SECOND);
        if screen.plays && !event::poll(patience)? {
            screen.go_on();
            continue;
        }
        if let Event::Key(key) = event::read()? {
            screen.key(key);
        }
    }
    Ok(())
}
