// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag report`: schedules as a page to look at.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::args::low;
use crate::failure::Failure;
use crate::file;
use crate::html::{self, Collector, Run, Shown, plots};
use crate::report::text::ms;
use crate::schedule::Schedule;

/// Pieces of timelines in one page: about 7 MB.
const SEGMENTS_MAX: usize = 700_000;

/// Results of `zerolag run --json` are not longer.
const JSON_MAX: u64 = 64 << 20;

/// Follows all schedules and writes the page, the plots, or both.
pub(crate) fn run(args: &low::Report, command: String) -> Result<(), Failure> {
    if args.output.is_none() && args.svg.is_none() && args.png.is_none() {
        return Err(Failure::Input(
            "nothing to write: give -o FILE, --svg DIR, --png DIR, or several".into(),
        ));
    }
    let mut runs = Vec::new();
    let room = SEGMENTS_MAX / (args.runs.len() * args.kernels.len().max(1)).max(1);
    for path in &args.runs {
        if let Some(figures) = figures(path) {
            runs.push(of_figures(path, figures));
            continue;
        }
        let mut workload = args.workload.clone();
        if args.kernels.is_empty() {
            runs.push(collect(path, workload, &args.beside, room)?);
            continue;
        }
        for &kernel in &args.kernels {
            workload.kernel = Some(kernel);
            runs.push(collect(path, workload.clone(), &args.beside, room)?);
        }
    }
    let shown = Shown { command, runs };
    let drawings = plots::all(&shown);
    for (dir, ending) in [(&args.svg, "svg"), (&args.png, "png")] {
        let Some(dir) = dir else { continue };
        fs::create_dir_all(dir).map_err(|e| file::failure(dir, &e))?;
        for drawing in &drawings {
            let bytes = match ending {
                "svg" => html::alone(&drawing.picture.svg()).into_bytes(),
                _ => html::png::png(&drawing.picture),
            };
            file::put(&dir.join(format!("{}.{ending}", drawing.name)), &bytes)?;
        }
    }
    if let Some(path) = &args.output {
        file::put(path, html::page(&shown, &drawings))?;
    }
    Ok(())
}

fn collect(path: &Path, workload: low::Workload, beside: &low::Beside, room: usize) -> Result<Run, Failure> {
    let schedule = Schedule::open(&low::Schedule { file: path.to_owned(), workload }, beside)?;
    let mut collector = Collector::new(schedule.start(), room);
    let ending = schedule.follow(&mut |moment| {
        collector.feed(moment);
        Ok(())
    })?;
    let collected = collector.finish(ending);
    let rows = html::rows_by_name(&collected);
    let ending = &collected.ending;
    let mut about = Vec::new();
    let mut name = ending.input.clone();
    match &ending.simulated {
        Some(simulated) => {
            name = format!("{name}, Linux {}", simulated.kernel);
            about.push(("kernel", format!("Linux {}", simulated.kernel)));
            about.push(("machine", format!("{}, {} CPUs", simulated.machine, simulated.cpus)));
            about.push(("seed", simulated.seed.to_string()));
        }
        None => about.push(("recording, from", ending.start.to_string())),
    }
    about.push(("length", format!("{} ms", ms(collected.summary.span))));
    about.push(("events", collected.summary.events.to_string()));
    if let Some(loss) = &ending.loss {
        let lines: Vec<_> = loss.to_string().lines().map(str::to_owned).collect();
        let missing = if lines.is_empty() { "nothing that is known".to_owned() } else { lines.join("; ") };
        about.push(("missing", missing));
    }
    Ok(Run { name, about, collected: Some(collected), rows, figures: None })
}

/// What `zerolag run --json` printed, if that is what the file has.
fn figures(path: &Path) -> Option<Value> {
    let mut text = String::new();
    let file = File::open(path).ok().filter(|_| path.is_file())?;
    let mut reader = file.take(JSON_MAX);
    let mut head = [0; 64];
    let len = reader.read(&mut head).ok()?;
    let head = std::str::from_utf8(&head[..len]).ok()?;
    if !head.trim_start().starts_with('{') || !head.contains("\"schema\"") {
        return None;
    }
    text.push_str(head);
    reader.read_to_string(&mut text).ok()?;
    let json: Value = serde_json::from_str(&text).ok()?;
    (json["schema"] == "zerolag.run/1").then_some(json)
}

fn of_figures(path: &Path, figures: Value) -> Run {
    let word = |key: &str| figures[key].as_str().map_or_else(|| figures[key].to_string(), str::to_owned);
    let about = [
        ("input", "input"),
        ("kernel", "kernel"),
        ("machine", "machine"),
        ("seed", "seed"),
        ("length in ms", "duration_ms"),
    ];
    let about = about.map(|(what, key)| (what, word(key))).to_vec();
    Run { name: path.display().to_string(), about, collected: None, rows: Vec::new(), figures: Some(figures) }
}
