// SPDX-License-Identifier: GPL-2.0-only
//! A simulation followed event by event, by somebody who asks it about each of them.

use zerolag_core::event::SchedEvent;
use zerolag_core::units::Instant;
use zerolag_sim::note::Note;
use zerolag_sim::scenario::Watches;
use zerolag_sim::sim::{Observer, Sim};

/// Somebody who is told what happens, and can ask the simulation about it. The simulation may be a little
/// ahead: at the time of the event, it has done everything that takes no time.
///
/// Whoever returns an error ends the run.
pub trait Listener<E> {
    /// A scheduling event.
    ///
    /// # Errors
    /// If the run is not to go on.
    fn event(&mut self, event: &SchedEvent, sim: &Sim) -> Result<(), E>;

    /// A program reports something.
    fn note(&mut self, _note: &Note) {}

    /// One more step has been taken, whether or not there was anything to tell.
    ///
    /// # Errors
    /// If the run is not to go on.
    fn stepped(&mut self, _sim: &mut Sim) -> Result<(), E> {
        Ok(())
    }
}

#[derive(Debug)]
enum Heard {
    Event(SchedEvent),
    Note(Note),
}

/// What was heard waits here until the simulation can be asked.
#[derive(Debug)]
struct Ear {
    heard: Vec<Heard>,
    watches: Watches,
}

impl Observer for Ear {
    fn event(&mut self, event: &SchedEvent) {
        self.watches.event(event);
        self.heard.push(Heard::Event(*event));
    }

    fn note(&mut self, note: &Note) {
        self.watches.note(note);
        self.heard.push(Heard::Note(*note));
    }

    fn wants_more(&self) -> bool {
        self.watches.wants_more()
    }
}

/// Follows a simulation.
#[derive(Debug)]
pub struct Follower(Ear);

impl Follower {
    /// Before anything has happened. Whoever watches the models is told as well.
    pub const fn new(watches: Watches) -> Self {
        Self(Ear { heard: Vec::new(), watches })
    }

    /// Goes on until `until`, until models that the run is for are over, or until the simulation ends by
    /// itself. Returns whether there is a point in going on after that.
    ///
    /// # Errors
    /// Those of the listener.
    pub fn run_until<E>(
        &mut self,
        sim: &mut Sim,
        until: Instant,
        listener: &mut dyn Listener<E>,
    ) -> Result<bool, E> {
        let Self(ear) = self;
        while sim.step(until, ear) {
            for heard in ear.heard.drain(..) {
                match heard {
                    Heard::Event(event) => listener.event(&event, sim)?,
                    Heard::Note(note) => listener.note(&note),
                }
            }
            listener.stepped(sim)?;
            if !ear.wants_more() {
                return Ok(false);
            }
        }
        // Time passes although nothing happens.
        Ok(sim.run_until(until, ear).is_none())
    }

    /// Those who watched the models.
    pub fn into_watches(self) -> Watches {
        self.0.watches
    }
}
