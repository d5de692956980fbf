// SPDX-License-Identifier: GPL-2.0-only
//! Clients and servers, in pairs: `oltp` (sysbench against a database) and `tbench`.
//!
//! | | a client | its server |
//! |---|---|---|
//! | `oltp` | sends a request over a socket and waits, without thinking | works 0.2 to 2 ms (log-normal, median 0.5 ms), 20 µs of it under a lock that all share; every eighth transaction waits for the log |
//! | `tbench` | works 10 µs, sends a request over TCP, waits for the answer | works 20 µs, answers |
//!
//! Writing wakes the other side with the promise to sleep soon. The lengths are assumed: of the order that is
//! told of such servers, near saturation of the CPUs.

use zerolag_core::units::{Instant, Nanos};

use super::Workload;
use super::cast::{Cast, built};
use super::medium::Medium;
use super::model::{Metric, Model, Outcome, Place, Watch};
use super::options::{OptionError, OptionSpec, parse};
use super::sample::Sample;
use crate::length::{Distribution, Length};
use crate::note::{Note, NoteKind};
use crate::program::{Op, ProgramBuilder, Times};
use crate::resource::{DeviceSpec, Named};

pub(super) const OLTP: &[OptionSpec] = &[
    OptionSpec::long_only("threads", "N", "clients, each with a server thread (def: 1)"),
    OptionSpec::long_only("time", "SECONDS", "how long (def: 10)"),
];

pub(super) const TBENCH: &[OptionSpec] =
    &[OptionSpec::with_value('t', "timelimit", "SECONDS", "how long (def: 10; the tool's: 600)")];

/// Bytes of a request and of an answer.
const OLTP_BYTES: [u32; 2] = [200, 1000];
/// The mix of tbench's load file comes to some KiB for each operation.
const TBENCH_BYTES: [u32; 2] = [4096, 200];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Oltp,
    Tbench,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ClientServer {
    kind: Kind,
    clients: u32,
    seconds: u32,
}

pub(super) fn oltp(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("oltp", OLTP, arguments)?;
    given.no_rest()?;
    let clients = given.number("threads", 1, 65_536)?.unwrap_or(1);
    let seconds = given.number("time", 1, 86_400)?.unwrap_or(10);
    Ok(Box::new(ClientServer { kind: Kind::Oltp, clients, seconds }))
}

/// The number of clients is the tool's only argument.
pub(super) fn tbench(arguments: &[&str]) -> Result<Box<dyn Model>, OptionError> {
    let given = parse("tbench", TBENCH, arguments)?;
    let clients = match given.rest() {
        [] => Some(1),
        [count] => count.parse().ok().filter(|n| (1..=65_536).contains(n)),
        [_, found, ..] => return Err(OptionError::Extra { tool: "tbench", found: found.clone() }),
    };
    let Some(clients) = clients else {
        let (found, accepted) = (given.rest().first().cloned(), "the number of clients, from 1 to 65536");
        return Err(OptionError::Mode { tool: "tbench", found, accepted });
    };
    let seconds = given.number("timelimit", 1, 86_400)?.unwrap_or(10);
    Ok(Box::new(ClientServer { kind: Kind::Tbench, clients, seconds }))
}

impl ClientServer {
    /// Medium, work of the client, bytes of request and answer.
    const fn exchange(&self) -> (Medium, Nanos, [u32; 2]) {
        match self.kind {
            Kind::Oltp => (Medium::Unix, Nanos::from_micros(50), OLTP_BYTES),
            Kind::Tbench => (Medium::Tcp, Nanos::from_micros(10), TBENCH_BYTES),
        }
    }
}

impl Model for ClientServer {
    fn run_time(&self) -> Option<Nanos> {
        Some(Nanos::from_secs(self.seconds.into()))
    }

    fn add(&self, workload: &mut Workload, place: &Place<'_>) -> Box<dyn Watch> {
        let mut cast = Cast::new(workload, place);
        // Two for each client: it asks, it is answered.
        let first = cast.marks(2 * self.clients);
        let lock = cast.workload.mutexes.push(Named { name: "table".into() });
        let log = cast.workload.devices.push(DeviceSpec { name: "log".into(), lanes: 1 });
        let (medium, think, [request, answer]) = self.exchange();
        for client in 0..self.clients {
            let requests = cast.channel(medium.channel(format!("requests of {client}"), request)).into();
            let answers = cast.channel(medium.channel(format!("answers to {client}"), answer)).into();
            let mut server = ProgramBuilder::new();
            let service = Distribution::LogNormal { median: Nanos::from_micros(500), sigma_milli: 600 };
            let service = Length::Drawn(server.distribution(service));
            let flush = Distribution::Uniform { min: Nanos::from_micros(50), max: Nanos::from_micros(200) };
            let flush = Length::Drawn(server.distribution(flush));
            server.begin(Times::Forever);
            for turn in 0..8 {
                server
                    .op(Op::Read { channel: requests, bytes: request })
                    .op(Op::Run(medium.receive(request).into()));
                match self.kind {
                    Kind::Oltp => {
                        server
                            .op(Op::Run(service))
                            .op(Op::Lock(lock.into()))
                            .op(Op::Run(Nanos::from_micros(20).into()))
                            .op(Op::Unlock(lock.into()));
                        if turn == 7 {
                            server.op(Op::Io { device: Some(log.into()), service: flush });
                        }
                    }
                    Kind::Tbench => _ = server.op(Op::Run(Nanos::from_micros(20).into())),
                }
                server.op(Op::Run(medium.send(answer).into())).op(Op::Write {
                    channel: answers,
                    bytes: answer,
                    sync: true,
                });
            }
            server.end();
            let mut program = ProgramBuilder::new();
            program
                .begin(Times::Forever)
                .op(Op::Run(think.into()))
                .op(Op::Mark(first + 2 * client))
                .op(Op::Run(medium.send(request).into()))
                .op(Op::Write { channel: requests, bytes: request, sync: true })
                .op(Op::Read { channel: answers, bytes: answer })
                .op(Op::Run(medium.receive(answer).into()))
                .op(Op::Mark(first + 2 * client + 1))
                .end();
            let (server_name, client_name) = match self.kind {
                Kind::Oltp => ("database", "sysbench"),
                Kind::Tbench => ("tbench_srv", "tbench"),
            };
            for (name, program) in [(server_name, server), (client_name, program)] {
                let part = cast.part(name, built(&program), Vec::new());
                cast.start(part);
            }
        }
        let asked = vec![None; self.clients as usize];
        let (start, latencies) = (place.start, Sample::default());
        Box::new(ClientServerWatch { model: self.clone(), first, start, asked, latencies })
    }
}

#[derive(Clone, Debug)]
struct ClientServerWatch {
    model: ClientServer,
    first: u32,
    start: Instant,
    /// Since when each client waits.
    asked: Vec<Option<Instant>>,
    latencies: Sample,
}

impl Watch for ClientServerWatch {
    fn note(&mut self, note: &Note) {
        let NoteKind::Mark(mark) = note.kind else { return };
        let Some(number) = mark.checked_sub(self.first) else { return };
        let Some(asked) = self.asked.get_mut(number as usize / 2) else { return };
        if number.is_multiple_of(2) {
            *asked = Some(note.time);
        } else if let Some(asked) = asked.take() {
            self.latencies.add(note.time.saturating_since(asked));
        }
    }

    fn boxed(&self) -> Box<dyn Watch> {
        Box::new(self.clone())
    }

    fn finish(&mut self, end: Instant) -> Outcome {
        let seconds = end.saturating_since(self.start).0 as f64 / 1e9;
        let done = self.latencies.len();
        let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
        let [min, p95, max] = self.latencies.percentiles_us([0.0, 95.0, 100.0]).map(|us| us / 1e3);
        let mean = self.latencies.mean_us() / 1e3;
        let [request, answer] = self.model.exchange().2;
        match self.model.kind {
            Kind::Oltp => {
                let text = format!(
                    "SQL statistics:\n    transactions:                        {done:<6} ({rate:.2} per sec.)\n\n\
                     Latency (ms):\n         min:                             {min:>12.2}\n         \
                     avg:                             {mean:>12.2}\n         \
                     max:                             {max:>12.2}\n         \
                     95th percentile:                 {p95:>12.2}\n"
                );
                let mut metrics = vec![Metric::rate("transactions", "1/s", rate)];
                metrics.extend(self.latencies.metrics("latency"));
                Outcome { text, metrics }
            }
            Kind::Tbench => {
                let mb = rate * f64::from(request + answer) / 1e6;
                let n = self.model.clients;
                let text =
                    format!("Throughput {mb:.3} MB/sec  {n} clients  {n} procs  max_latency={max:.3} ms\n");
                let mut metrics = vec![Metric::rate("throughput", "MB/s", mb)];
                metrics.extend(self.latencies.metrics("latency"));
                Outcome { text, metrics }
            }
        }
    }
}
