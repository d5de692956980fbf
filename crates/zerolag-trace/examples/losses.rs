// SPDX-License-Identifier: GPL-2.0-only
//! Reads recordings and says what was missing in them and how fast they were read.
//!
//! `cargo run --release --example losses -- trace.txt …`

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use zerolag_trace::read::open_path;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let file = File::open(&path)?;
        let megabytes = file.metadata()?.len() as f64 / 1e6;
        let started = Instant::now();
        let mut trace = open_path(path.as_ref())?;
        for event in trace.by_ref() {
            event?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let (tasks, loss) = trace.into_parts();
        println!(
            "{path}: {} events, {} tasks, {:.0} MB/s, head {} ns, tail {} ns",
            loss.events,
            tasks.len(),
            megabytes / seconds,
            loss.head.0,
            loss.tail.0,
        );
        print!("{loss}");
    }
    Ok(())
}
