// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag sweep`: a scenario at many points, kept in a store, summed up.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use zerolag_study::case::Sealed;
use zerolag_study::comparison::Row;
use zerolag_study::store::{Begin, Store};
use zerolag_study::study::Shard;
use zerolag_study::sweep::{self, Sweep};

use super::study;
use crate::args::low;
use crate::failure::Failure;
use crate::table;

/// Runs a sweep, or joins shards of one.
pub(crate) fn run(args: &low::Sweep, out: &mut dyn Write) -> Result<(), Failure> {
    match (&args.merge, &args.file) {
        (Some(low::SweepCommand::Merge(merge)), _) => join(merge, out),
        (None, Some(file)) => sweep(file, args, out),
        (None, None) => Err(Failure::input("no sweep is given")),
    }
}

fn sweep(file: &Path, args: &low::Sweep, out: &mut dyn Write) -> Result<(), Failure> {
    let sweep = sweep::read(file).map_err(Failure::input)?;
    let shard = args.shard.and_then(|(i, n)| Shard::new(i, n)).unwrap_or(Shard::ALL);
    let path = args.means.store.clone().unwrap_or_else(|| beside(file, args.shard));
    let mut store = study::open_at(&path, args.means.resume)?;
    let account = study::run(&sweep.study, &mut store, args.means.jobs, shard)?;
    eprintln!(
        "{} points with {} seeds; {} runs here, {} of them done before; in {}",
        sweep.study.cases.len(),
        sweep.study.seeds.len(),
        account.runs,
        account.found,
        path.display()
    );
    let printed = study::csv(&store, &args.shown, out)?;
    // A part of the points, or of the seeds, is nothing to sum up.
    if args.shard.is_none() && (args.json || !printed) {
        let points = sweep.points(&store, study::wanted(&args.shown)).map_err(study::refused)?;
        if args.json {
            writeln!(out, "{:#}", sweep.to_json(&points))?;
        } else {
            write(&sweep, &points, out)?;
        }
    }
    out.flush()?;
    let verdict = study::verdict(&sweep.study, &store);
    store.close().map_err(study::refused)?;
    verdict
}

/// The store that goes with a sweep: `NAME.sqlite`, `NAME.3-of-16.sqlite`, in the current directory.
fn beside(file: &Path, shard: Option<(usize, usize)>) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let part = shard.map_or(String::new(), |(i, n)| format!(".{i}-of-{n}"));
    PathBuf::from(format!("{stem}{part}.sqlite"))
}

fn write(sweep: &Sweep, points: &[(&Sealed, Vec<Row>)], out: &mut dyn Write) -> Result<(), Failure> {
    let keys: Vec<String> = sweep.keys.iter().map(|key| key.to_string().to_uppercase()).collect();
    let fixed = ["METRIC", "UNIT", ">N", ">MEAN", ">STD", ">MIN", ">MEDIAN", ">MAX"];
    let columns: Vec<&str> = keys.iter().map(String::as_str).chain(fixed).collect();
    let rows = || points.iter().flat_map(|(case, rows)| rows.iter().map(move |row| (*case, row)));
    let zero = |row: &Row| row.cells.iter().flatten().all(|c| c.sample.min() == 0.0 && c.sample.max() == 0.0);
    let mut somewhere: Vec<&str> =
        rows().filter(|(_, row)| !zero(row)).map(|(_, row)| row.kind.name.as_str()).collect();
    somewhere.sort_unstable();
    somewhere.dedup();
    let shown = rows().filter(|(_, row)| somewhere.binary_search(&row.kind.name.as_str()).is_ok());
    let lines = shown.filter_map(|(case, row)| {
        let sample = &row.cells.first()?.as_ref()?.sample;
        let chosen = sweep.keys.iter().map(|key| case.case().choices.get(key).cloned().unwrap_or_default());
        let figures = [
            row.kind.name.clone(),
            row.kind.unit.clone(),
            sample.len().to_string(),
            study::figure(sample.mean()),
            study::percent(sample.deviation_percent()),
            study::figure(sample.min()),
            study::figure(sample.median()),
            study::figure(sample.max()),
        ];
        Some(chosen.chain(figures).collect())
    });
    Ok(table::write(out, &columns, lines)?)
}

/// Joins stores. The new one appears whole or not at all.
fn join(args: &low::SweepMerge, out: &mut dyn Write) -> Result<(), Failure> {
    let target = &args.store;
    if target.exists() {
        return Err(Failure::input(format_args!("{} exists already; name another file", target.display())));
    }
    let directory = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = |e: std::io::Error| Failure::input(format_args!("{}: {e}", target.display()));
    let file = NamedTempFile::new_in(directory).map_err(named)?;
    let mut merged = Store::open(file.path(), Begin::Resume).map_err(study::refused)?;
    let mut known = BTreeMap::new();
    for path in &args.shards {
        let shard = Store::read(path).map_err(study::refused)?;
        merged.merge(&shard, &known).map_err(study::refused)?;
        for key in shard.run_keys().map_err(study::refused)? {
            known.entry(key).or_insert_with(|| path.clone());
        }
    }
    let shown = low::study::Shown { metrics: Vec::new(), csv: args.csv.clone() };
    study::csv(&merged, &shown, out)?;
    out.flush()?;
    merged.close().map_err(study::refused)?;
    file.persist_noclobber(target).map_err(|e| named(e.error))?;
    eprintln!("{} runs of {} stores in {}", known.len(), args.shards.len(), target.display());
    Ok(())
}
