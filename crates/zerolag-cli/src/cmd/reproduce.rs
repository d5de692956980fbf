// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag reproduce`: published experiments, run again.

use std::io::Write;

use serde_json::{Value, json};
use zerolag_study::reproduce::{Drawn, Experiment, Judged, Picture, Row, Simulation, Verdict, library};
use zerolag_study::stats::Interval;
use zerolag_study::study::Shard;

use super::study;
use crate::args::low;
use crate::failure::Failure;
use crate::table;

/// An experiment and what became of its rows.
struct Done {
    experiment: Experiment,
    seeds: u64,
    judged: Vec<Judged>,
    /// By picture of the experiment.
    drawn: Vec<Option<Drawn>>,
}

/// Runs experiments and judges them.
pub(crate) fn run(args: &low::Reproduce, out: &mut dyn Write) -> Result<(), Failure> {
    let all = || library::NAMES.map(String::from).to_vec();
    let names = if args.names.is_empty() { all() } else { args.names.clone() };
    let mut store = study::open(&args.means)?;
    let mut done = Vec::new();
    for name in &names {
        let experiment = library::experiment(name).map_err(Failure::input)?;
        let seeds = args.repeat.unwrap_or(experiment.seeds);
        let prepared = experiment.prepare(seeds);
        study::run(&prepared.study, &mut store, args.means.jobs, Shard::ALL)?;
        let judged = experiment.judge(&prepared, &store).map_err(study::refused)?;
        let drawn = experiment.pictures.iter().map(|picture| picture.draw(&prepared, &store));
        let drawn = drawn.collect::<Result<_, _>>().map_err(study::refused)?;
        done.push(Done { experiment, seeds, judged, drawn });
    }
    match (args.json, args.markdown) {
        (true, _) => writeln!(out, "{:#}", as_json(&done))?,
        (_, true) => markdown(&done, out)?,
        _ => text(&done, out)?,
    }
    out.flush()?;
    store.close().map_err(study::refused)
}

impl Done {
    fn rows(&self) -> impl Iterator<Item = (&Row, &Judged)> {
        self.experiment.rows.iter().zip(&self.judged)
    }

    /// Each picture with its title, what stands above the columns, and a row for each node.
    fn pictures(&self) -> impl Iterator<Item = (String, Vec<String>, Vec<Vec<String>>)> {
        self.experiment.pictures.iter().zip(&self.drawn).filter_map(|(picture, drawn)| {
            let drawn = drawn.as_ref()?;
            let mark = picture.mark.as_ref().map_or(String::new(), |mark| format!("; * where {mark} is"));
            let title = format!(
                "{}: runnable tasks of {} by node, seed {}, mean over the time up to each second{mark}",
                picture.title, picture.group, drawn.seed
            );
            let columns = std::iter::once("NODE".into()).chain(drawn.times.iter().map(|t| format!(">{t}")));
            let cell =
                |&(tasks, marked): &(f64, bool)| format!("{tasks:.0}{}", if marked { "*" } else { "" });
            let row = |(node, cells): (usize, &Vec<(f64, bool)>)| {
                std::iter::once(node.to_string()).chain(cells.iter().map(cell)).collect()
            };
            Some((title, columns.collect(), drawn.nodes.iter().enumerate().map(row).collect()))
        })
    }

    /// How many rows have each verdict.
    fn count(&self) -> String {
        let n = |name| self.judged.iter().filter(|j| j.verdict.name() == name).count();
        format!(
            "{} reproduced, {} not reproduced, {} not simulable",
            n("reproduced"),
            n("not reproduced"),
            n("not simulable")
        )
    }

    /// Reasons, each with how many rows it stands for.
    fn reasons(&self) -> Vec<(&str, usize)> {
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for judged in &self.judged {
            let Verdict::NotSimulable(why) = &judged.verdict else { continue };
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, n)) => *n += 1,
                None => reasons.push((why, 1)),
            }
        }
        reasons
    }
}

fn cells(row: &Row, judged: &Judged) -> Vec<String> {
    let range = |i: Interval| format!("{}..{}", study::figure(i.low), study::figure(i.high));
    let band = match &row.simulation {
        Simulation::Figure { band, .. } => range(*band),
        Simulation::Impossible(_) => "-".into(),
    };
    vec![
        row.what.clone(),
        row.source.clone(),
        row.unit.clone(),
        row.published.clone(),
        judged.simulated.map_or("-".into(), study::figure),
        judged.interval.map_or("-".into(), range),
        band,
        judged.verdict.name().to_owned(),
    ]
}

fn text(done: &[Done], out: &mut dyn Write) -> Result<(), Failure> {
    for (at, one) in done.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let e = &one.experiment;
        writeln!(out, "{}: {}", e.name, e.title)?;
        writeln!(out, "{}", e.document)?;
        writeln!(out, "{} seeds; {}", one.seeds, one.count())?;
        writeln!(out)?;
        let columns = ["WHAT", "SOURCE", "UNIT", ">PUBLISHED", ">SIMULATED", ">CI95", ">BAND", "VERDICT"];
        table::write(out, &columns, one.rows().map(|(row, judged)| cells(row, judged)))?;
        for (title, columns, rows) in one.pictures() {
            writeln!(out, "\n{title}:\n")?;
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            table::write(out, &columns, rows)?;
        }
        let reasons: Vec<String> = one.reasons().iter().map(|(why, n)| format!("{why} ({n})")).collect();
        for (heading, list) in [
            ("Not simulable, because (rows)", &reasons),
            ("Calibration", &e.calibration),
            ("The simulation cannot show", &e.cannot_show),
            ("Findings", &e.findings),
        ] {
            if !list.is_empty() {
                writeln!(out, "\n{heading}:")?;
                list.iter().try_for_each(|item| writeln!(out, "  * {item}"))?;
            }
        }
    }
    Ok(())
}

fn markdown(done: &[Done], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "# Published experiments, run again")?;
    writeln!(out)?;
    writeln!(
        out,
        "Made by `zerolag reproduce --markdown > docs/reproduction.md`; do not edit. What is run, and the bands, which"
    )?;
    writeln!(
        out,
        "were written down first, are in [scenarios/reproduce](../scenarios/reproduce/README.md). *Simulated* is computed from"
    )?;
    writeln!(out, "the means over all seeds, in brackets its bootstrap interval (95 %).")?;
    writeln!(out, "\n| experiment | rows |\n|---|---|")?;
    for one in done {
        writeln!(out, "| [{0}](#{0}) | {1} |", one.experiment.name, one.count())?;
    }
    for one in done {
        let e = &one.experiment;
        writeln!(out, "\n## {}\n\n{}. {}", e.name, e.title, e.document)?;
        writeln!(out, "\n{} seeds. {}.\n", one.seeds, one.count())?;
        writeln!(
            out,
            "| what | source | published | simulated | band | verdict |\n|---|---|---|---|---|---|"
        )?;
        for (row, judged) in one.rows() {
            let cells: Vec<String> = cells(row, judged).iter().map(|c| c.replace('|', "/")).collect();
            let [what, source, unit, published, simulated, interval, band, verdict] = &cells[..] else {
                continue;
            };
            let interval = if interval == "-" { String::new() } else { format!(" ({interval})") };
            writeln!(
                out,
                "| {what}, {unit} | {source} | {published} | {simulated}{interval} | {band} | {verdict} |"
            )?;
        }
        for (title, columns, rows) in one.pictures() {
            let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
            writeln!(out, "\n{title}:\n")?;
            writeln!(out, "{}", line(&columns).replace('>', ""))?;
            writeln!(out, "|{}", "---|".repeat(columns.len()))?;
            rows.iter().try_for_each(|cells| writeln!(out, "{}", line(cells)))?;
        }
        for (heading, list) in [
            (
                "Not simulable, because",
                one.reasons().iter().map(|(why, n)| format!("{why} ({n} rows)")).collect(),
            ),
            ("Calibration", e.calibration.clone()),
            ("What the simulation cannot show", e.cannot_show.clone()),
            ("Findings: what did not come out, what was tried, what it would take", e.findings.clone()),
        ] {
            if !list.is_empty() {
                writeln!(out, "\n{heading}:\n")?;
                list.iter().try_for_each(|item| writeln!(out, "* {item}"))?;
            }
        }
    }
    Ok(())
}

fn as_json(done: &[Done]) -> Value {
    let interval = |i: Interval| json!([i.low, i.high]);
    let row = |(row, judged): (&Row, &Judged)| {
        let band = match &row.simulation {
            Simulation::Figure { band, .. } => interval(*band),
            Simulation::Impossible(_) => Value::Null,
        };
        let reason = match &judged.verdict {
            Verdict::NotSimulable(why) => why.clone().into(),
            _ => Value::Null,
        };
        json!({
            "what": row.what,
            "source": row.source,
            "unit": row.unit,
            "published": row.published,
            "simulated": judged.simulated,
            "ci95": judged.interval.map(interval),
            "band": band,
            "verdict": judged.verdict.name(),
            "reason": reason,
        })
    };
    let experiments = done.iter().map(|one| {
        let e = &one.experiment;
        let picture = |(picture, drawn): (&Picture, &Option<Drawn>)| {
            drawn.as_ref().map(|drawn| {
                let parts = |part: fn(&(f64, bool)) -> Value| -> Vec<Vec<Value>> {
                    drawn.nodes.iter().map(|cells| cells.iter().map(part).collect()).collect()
                };
                json!({
                    "title": picture.title,
                    "group": picture.group,
                    "mark": picture.mark,
                    "seed": drawn.seed,
                    "until_s": drawn.times,
                    "runnable": parts(|cell| cell.0.into()),
                    "marked": parts(|cell| cell.1.into()),
                })
            })
        };
        let pictures: Vec<Value> = e.pictures.iter().zip(&one.drawn).filter_map(picture).collect();
        json!({
            "name": e.name,
            "title": e.title,
            "document": e.document,
            "seeds": one.seeds,
            "rows": one.rows().map(row).collect::<Vec<_>>(),
            "pictures": pictures,
            "calibration": e.calibration,
            "cannot_show": e.cannot_show,
            "findings": e.findings,
        })
    });
    json!({ "schema": "zerolag.reproduce/1", "experiments": experiments.collect::<Vec<_>>() })
}
