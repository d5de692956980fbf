// SPDX-License-Identifier: GPL-2.0-only
//! netperf: `TCP_RR` and `UDP_RR`, requests and responses over the loopback device.
//!
//! One client and one server per instance; the client sends a request, the server answers, and so on. Over
//! loopback the sender's CPU does the receiver's protocol work, in a soft interrupt, and wakes it.
//!
//! Source: netperf 2.7, src/nettest_bsd.c.

use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::Medium;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::tally::Tally;
use crate::note::Note;
use crate::program::{Op, ProgramBuilder, Times};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::with_value('t', "testname", "TEST", "TCP_RR or UDP_RR (def: TCP_RR)"),
    OptionSpec::with_value('l', "testlen", "SECONDS", "how long (def: 10)"),
    OptionSpec::with_value('r', "sizes", "REQ,RSP", "bytes of a request and of a response (def: 1,1)"),
    OptionSpec::with_value('H', "host", "NAME", "localhost or 127.0.0.1, the only host there is"),
    OptionSpec::long_only("instances", "N", "so many at once, as benchmark suites start them (def: 1)"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct NetPerf {
    medium: Medium,
    seconds: u32,
    request: u32,
    response: u32,
    instances: u32,
}

pub(super) fn netperf(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    // The test's own options come after a `--`.
    let arguments: Vec<_> = arguments.iter().filter(|word| **word != "--").collect();
    let given = parse("netperf", OPTIONS, &arguments)?;
    given.no_rest()?;
    let medium = match given.text("testname").map(str::to_uppercase).as_deref() {
        None | Some("TCP_RR") => Medium::Tcp,
        Some("UDP_RR") => Medium::Udp,
        Some(_) => return Err(given.bad_value("testname", "TCP_RR, UDP_RR")),
    };
    if !matches!(given.text("host"), None | Some("localhost" | "127.0.0.1")) {
        return Err(given.bad_value("host", "localhost, 127.0.0.1"));
    }
    let size = |text: &str| text.parse().ok().filter(|bytes| (1..=65_536).contains(bytes));
    let sizes = match given.text("sizes") {
        None => Some((1, 1)),
        Some(text) => match text.split_once(',') {
            Some((request, response)) => size(request).zip(size(response)),
            None => size(text).map(|both| (both, both)),
        },
    };
    let accepted = "two numbers from 1 to 65536 with a comma between them, or one for both";
    let (request, response) = sizes.ok_or_else(|| given.bad_value("sizes", accepted))?;
    Ok(Box::new(NetPerf {
        medium,
        seconds: given.number("testlen", 1, 86_400)?.unwrap_or(10),
        request,
        response,
        instances: given.number("instances", 1, 65_536)?.unwrap_or(1),
    }))
}

impl Model for NetPerf {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        let done = cast.marks(1);
        let m = self.medium;
        let (request, response) = (self.request, self.response);
        for _ in 0..self.instances {
            let requests = cast.channel(m.channel("requests", request)).into();
            let responses = cast.channel(m.channel("responses", response)).into();
            let mut server = ProgramBuilder::new();
            server
                .begin(Times::Forever)
                .op(Op::Read { channel: requests, bytes: request })
                .op(Op::Run((m.receive(request) + m.send(response)).into()))
                .op(Op::Write { channel: responses, bytes: response, sync: true })
                .end();
            let mut client = ProgramBuilder::new();
            client
                .begin(Times::Forever)
                .op(Op::Run(m.send(request).into()))
                .op(Op::Write { channel: requests, bytes: request, sync: true })
                .op(Op::Read { channel: responses, bytes: response })
                .op(Op::Run(m.receive(response).into()))
                .op(Op::Mark(done))
                .end();
            for (name, program) in [("netserver", server), ("netperf", client)] {
                let part = cast.part(name, built(&program), Vec::new());
                cast.start(part);
            }
        }
        Box::new(NetPerfWatch { model: self.clone(), tally: Tally::new(done, 1, place.start) })
    }
}

#[derive(Clone, Debug)]
struct NetPerfWatch {
    model: NetPerf,
    tally: Tally,
}

impl Watch for NetPerfWatch {
    fn note(&mut self, note: &Note) {
        self.tally.note(note);
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let m = &self.model;
        let (name, send, receive) = match m.medium {
            Medium::Udp => ("UDP", 212_992, 212_992),
            _ => ("TCP", 16_384, 131_072),
        };
        let rate = self.tally.rate(0, end);
        let text = format!(
            "MIGRATED {name} REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to localhost () port 0 AF_INET\n\
             Local /Remote\n\
             Socket Size   Request  Resp.   Elapsed  Trans.\n\
             Send   Recv   Size     Size    Time     Rate         \n\
             bytes  Bytes  bytes    bytes   secs.    per sec   \n\n\
             {send:<6} {receive:<6} {:<6}   {:<6}  {:<6.2}   {rate:>7.2}   \n\
             {send:<6} {receive:<6}\n",
            m.request,
            m.response,
            self.tally.seconds(end),
        );
        Outcome { text, metrics: vec![Metric::rate("transactions", "1/s", rate)] }
    }
}
