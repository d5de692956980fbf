// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag compare`: many runs of several cases, and how these differ.

use std::collections::BTreeMap;
use std::io::Write;

use zerolag_core::units::Nanos;
use zerolag_study::case::{Case, CaseError, Sealed};
use zerolag_study::choice::Key;
use zerolag_study::comparison::{self, Cell, Row};
use zerolag_study::stats::Interval;
use zerolag_study::study::{Shard, Study};

use super::study;
use crate::args::low;
use crate::failure::Failure;
use crate::table;

/// Runs and compares.
pub(crate) fn run(args: &low::Compare, out: &mut dyn Write) -> Result<(), Failure> {
    let cases = cases(args)?;
    if cases.len() < 2 {
        return Err(Failure::input(
            "there is only one case, and nothing to compare it with: name another file, or --vary something",
        ));
    }
    let sealed = sealed(cases, args)?;
    for (at, case) in sealed.iter().enumerate() {
        if let Some(first) = sealed[..at].iter().position(|other| other.hash() == case.hash()) {
            return Err(Failure::input(format_args!(
                "cases {} and {} are the same",
                letter(first),
                letter(at)
            )));
        }
    }
    let seeds: Vec<u64> = (args.seed..).take(args.repeat.get()).collect();
    let study = Study { cases: sealed, seeds };
    let mut store = study::open(&args.means)?;
    study::run(&study, &mut store, args.means.jobs, Shard::ALL)?;

    let rows = comparison::compare(&store, &study.cases, &study.seeds, study::wanted(&args.shown));
    let rows = rows.map_err(study::refused)?;
    let printed = study::csv(&store, &args.shown, out)?;
    if args.json {
        writeln!(out, "{:#}", comparison::json::of(&study, &rows))?;
    } else if !printed {
        write(&study, args.files.len() > 1, &rows, out)?;
    }
    out.flush()?;
    let verdict = study::verdict(&study, &store);
    store.close().map_err(study::refused)?;
    verdict
}

/// The cases, checked. A setting that is varied together with the kernel is left out where the kernel does not have
/// it: then there is one case in place of one for each of its values.
fn sealed(cases: Vec<Case>, args: &low::Compare) -> Result<Vec<Sealed>, Failure> {
    let varied = |key: &Key| args.vary.iter().any(|v| v.split('=').next() == Some(&key.to_string()));
    let mut sealed: Vec<Sealed> = Vec::new();
    let mut left_out: BTreeMap<(Key, Option<String>), CaseError> = BTreeMap::new();
    for mut case in cases {
        let whole = case.choices.len();
        let fits = loop {
            let error = match case.seal() {
                Ok(fits) => break fits,
                Err(error) => error,
            };
            let Some(key) = error.foreign().filter(|key| varied(key) && varied(&Key::Kernel)) else {
                return Err(Failure::input(error));
            };
            case.choices.remove(&key);
            left_out.entry((key, case.choices.get(&Key::Kernel).cloned())).or_insert(error);
        };
        let again = || sealed.iter().any(|other| other.hash() == fits.hash());
        if case.choices.len() == whole || !again() {
            sealed.push(fits);
        }
    }
    for ((key, _), error) in left_out {
        if !sealed.iter().any(|case| case.case().choices.contains_key(&key)) {
            return Err(Failure::input(error));
        }
        eprintln!("zerolag: {error}: there it is left out");
    }
    Ok(sealed)
}

/// Every file with every combination of what varies, the first file and the first values first.
fn cases(args: &low::Compare) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for file in &args.files {
        let mut case = Case::of_file(file).map_err(Failure::input)?;
        if let Some(kernel) = args.kernel {
            case = case.with(Key::Kernel, kernel.name());
        }
        if let Some(machine) = &args.machine {
            case = case.with(Key::Machine, machine);
        }
        if let Some(duration) = args.duration {
            case = case.with(Key::Duration, shown(duration));
        }
        for assignment in &args.settings {
            let (name, value) = parted(assignment, "--set")?;
            case = case.with(Key::Set(name.into()), value);
        }
        cases.push(case);
    }
    for vary in &args.vary {
        let (key, values) = parted(vary, "--vary")?;
        let key: Key = key.parse().map_err(|e| Failure::input(format_args!("--vary {vary}: {e}")))?;
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if values.iter().any(|value| value.is_empty()) {
            return Err(Failure::input(format_args!("--vary {vary}: a value is missing")));
        }
        let varied = |case: &Case| {
            values.iter().map(|value| case.clone().with(key.clone(), *value)).collect::<Vec<_>>()
        };
        cases = cases.iter().flat_map(varied).collect();
    }
    Ok(cases)
}

fn parted<'a>(assignment: &'a str, option: &str) -> Result<(&'a str, &'a str), Failure> {
    let parts = assignment.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    parts.ok_or_else(|| Failure::input(format_args!("{option} {assignment}: expected NAME=VALUE")))
}

/// In the largest unit of which it is a whole number.
fn shown(duration: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = units.into_iter().find(|(ns, _)| duration.0.is_multiple_of(*ns));
    whole.map_or_else(|| format!("{}ns", duration.0), |(ns, unit)| format!("{}{unit}", duration.0 / ns))
}

/// A, B, … Z, then numbers.
fn letter(at: usize) -> String {
    let letter = u8::try_from(at).ok().filter(|&at| at < 26).map(|at| char::from(b'A' + at));
    letter.map_or_else(|| (at + 1).to_string(), String::from)
}

fn write(study: &Study, files: bool, rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    let (first, last) = (study.seeds[0], study.seeds[study.seeds.len() - 1]);
    writeln!(out, "{} runs each, seeds {first} to {last}", study.seeds.len())?;
    for (at, case) in study.cases.iter().enumerate() {
        let chosen = case.case().chosen();
        let file = if files || chosen.is_empty() { format!("{} ", case.case().file) } else { String::new() };
        writeln!(out, "{}  {}", letter(at), format!("{file}{chosen}").trim_end())?;
    }
    writeln!(out)?;
    let columns = ["METRIC", "UNIT", "CASE", ">MEAN", ">STD", ">DIFF", ">CI95", ">P", "VERDICT"];
    let zero = |row: &Row| row.cells.iter().flatten().all(|c| c.sample.min() == 0.0 && c.sample.max() == 0.0);
    let shown = rows.iter().filter(|row| !zero(row));
    let lines = shown.flat_map(|row| {
        let cells = row.cells.iter().enumerate().filter_map(|(at, cell)| cell.as_ref().map(|c| (at, c)));
        cells.enumerate().map(|(nth, (at, cell))| line(row, nth == 0, at, cell)).collect::<Vec<_>>()
    });
    Ok(table::write(out, &columns, lines)?)
}

fn line(row: &Row, named: bool, at: usize, cell: &Cell) -> Vec<String> {
    let name = |text: &String| if named { text.clone() } else { String::new() };
    let sample = &cell.sample;
    let mut line = vec![
        name(&row.kind.name),
        name(&row.kind.unit),
        letter(at),
        study::figure(sample.mean()),
        study::percent(sample.deviation_percent()),
    ];
    if let Some(versus) = &cell.versus {
        let interval = |i: Interval| format!("{}..{}", study::signed(i.low), study::signed(i.high));
        line.extend([
            versus.percent.map_or("-".into(), study::signed),
            versus.interval.map_or("-".into(), interval),
            format!("{:.4}", versus.rank_sum.p),
            versus.verdict.name().to_owned(),
        ]);
    }
    line
}
