// SPDX-License-Identifier: GPL-2.0-only
//! `volano`: a chat server with a thread for each connection (VolanoMark, "vmark").
//!
//! ```text
//! user    ── works 10 µs ── sends a message ── reads as many messages as there are users in the room ── again
//! server  ── a thread for each user: reads its message ── works 20 µs ── sends it to everybody in the room
//! ```
//!
//! A user gets one message from each user of the room before it sends the next one, so a room goes in rounds.
//! Almost all that happens is threads waking each other; writing wakes the reader with the promise to sleep
//! soon. Structure as described for VolanoMark 2.x, work assumed.

use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::Medium;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::tally::Tally;
use crate::note::Note;
use crate::program::{Op, ProgramBuilder, Times};
use crate::resource::{ChannelId, Ref};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::long_only("rooms", "N", "chat rooms (def: 10)"),
    OptionSpec::long_only("users", "N", "users of each room (def: 20)"),
    OptionSpec::with_value('r', "runtime", "SECONDS", "how long (def: 10)"),
];

/// Of a message.
const BYTES: u32 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Volano {
    rooms: u32,
    users: u32,
    seconds: u32,
}

pub(super) fn volano(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("volano", OPTIONS, arguments)?;
    given.no_rest()?;
    Ok(Box::new(Volano {
        rooms: given.number("rooms", 1, 4096)?.unwrap_or(10),
        // A server thread has its own channel and all of the room as arguments, numbered with a byte.
        users: given.number("users", 1, 250)?.unwrap_or(20),
        seconds: given.number("runtime", 1, 86_400)?.unwrap_or(10),
    }))
}

impl Volano {
    /// Arguments: what it sends to, what it reads from.
    fn user(&self, received: u32) -> ProgramBuilder {
        let mut user = ProgramBuilder::new();
        user.begin(Times::Forever)
            .op(Op::Run((Nanos::from_micros(10) + Medium::Tcp.send(BYTES)).into()))
            .op(Op::Write { channel: Ref::Argument(0), bytes: BYTES, sync: true })
            .begin(Times::Exactly(self.users))
            .op(Op::Read { channel: Ref::Argument(1), bytes: BYTES })
            .op(Op::Run(Medium::Tcp.receive(BYTES).into()))
            .op(Op::Mark(received))
            .end()
            .end();
        user
    }

    /// Arguments: what it reads from, then what everybody in the room reads from.
    fn server(&self) -> ProgramBuilder {
        let mut server = ProgramBuilder::new();
        server
            .begin(Times::Forever)
            .op(Op::Read { channel: Ref::Argument(0), bytes: BYTES })
            .op(Op::Run((Nanos::from_micros(20) + Medium::Tcp.receive(BYTES)).into()));
        for user in 1..=self.users as u8 {
            server.op(Op::Run(Medium::Tcp.send(BYTES).into())).op(Op::Write {
                channel: Ref::Argument(user),
                bytes: BYTES,
                sync: true,
            });
        }
        server.end();
        server
    }
}

impl Model for Volano {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let received = cast.marks(1);
        let (user, server) = (self.user(received), self.server());
        for room in 0..self.rooms {
            let mut channels = |what: &str| -> Vec<ChannelId> {
                let of_user = |user| Medium::Tcp.channel(format!("{what} user {user} of room {room}"), BYTES);
                (0..self.users).map(|user| cast.channel(of_user(user))).collect()
            };
            let (to_server, to_users) = (channels("from"), channels("to"));
            for (said, heard) in to_server.iter().zip(&to_users) {
                let arguments =
                    [said.0].into_iter().chain(to_users.iter().map(|channel| channel.0)).collect();
                let part = cast.part("chat-server", built(&server), arguments);
                cast.start(part);
                let part = cast.part("chat-user", built(&user), vec![said.0, heard.0]);
                cast.start(part);
            }
        }
        Box::new(VolanoWatch { tally: Tally::new(received, 1, place.start) })
    }
}

#[derive(Clone, Debug)]
struct VolanoWatch {
    tally: Tally,
}

impl Watch for VolanoWatch {
    fn note(&mut self, note: &Note) {
        self.tally.note(note);
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let rate = self.tally.rate(0, end);
        let text = format!("Average throughput = {rate:.0} messages per second\n");
        Outcome { text, metrics: vec![Metric::rate("messages", "1/s", rate)] }
    }
}
