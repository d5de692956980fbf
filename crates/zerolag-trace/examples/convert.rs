// SPDX-License-Identifier: GPL-2.0-only
//! Converts a recording to a Perfetto trace with a counter of switches.
//!
//! `cargo run --release --example convert -- trace.txt out.pftrace`

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use zerolag_core::event::EventKind;
use zerolag_trace::read::open;
use zerolag_trace::write::{EventWriter, Perfetto};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = args.as_slice() else { return Err("usage: convert RECORDING OUT".into()) };
    let mut trace = open(File::open(from)?)?;
    let mut writer = Perfetto::new(BufWriter::new(File::create(to)?));
    let counter = writer.counter("switches", "")?;
    let mut switches = 0;
    while let Some(event) = trace.next() {
        let event = event?;
        writer.event(&event, trace.tasks())?;
        if let EventKind::Switch { .. } = event.kind {
            switches += 1;
            writer.set(counter, event.time, switches)?;
        }
    }
    writer.finish()?;
    print!("{}", trace.loss());
    Ok(())
}
