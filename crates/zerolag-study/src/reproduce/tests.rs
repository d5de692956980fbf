// SPDX-License-Identifier: GPL-2.0-only
//! What an experiment says, and how it is judged.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::*;
use crate::case::Contents;
use crate::study::{Means, Shard};

const HEAD: &str = "title = \"t\"\ndocument = \"d\"\nseeds = 3\ncalibration = []\ncannot_show = [\"x\"]\n";
const HOGS: &str = "machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nkind = \"hog\"\nname = \"a\"\n\
                    [[workload]]\nkind = \"hog\"\nname = \"b\"\ncount = 3\n";
const CASE: &str = "[[case]]\neach = { n = [1, 3] }\nid = \"c{n}\"\nscenario = \"s.toml\"\n\
                    choices = { \"workload:b:count\" = \"{n}\" }\n\
                    [[case]]\nid = \"no\"\nscenario = \"s.toml\"\nchoices = { \"set:NO_SUCH\" = \"on\" }\n";

fn experiment(rows: &str) -> Result<Experiment, String> {
    let files = Contents::from([("s.toml".to_owned(), Arc::from(HOGS.as_bytes()))]);
    read("e", format!("{HEAD}{CASE}{rows}").as_bytes(), &files).map_err(|e| e.to_string())
}

fn judged(rows: &str) -> Vec<Judged> {
    let experiment = experiment(rows).unwrap();
    let prepared = experiment.prepare(2);
    let mut store = Store::in_memory().unwrap();
    let means = Means { jobs: NonZeroUsize::MIN, shard: Shard::ALL };
    prepared.study.run(&mut store, means, &mut ()).unwrap();
    experiment.judge(&prepared, &store).unwrap()
}

fn row(rest: &str) -> String {
    format!("[[row]]\nwhat = \"w\"\nsource = \"s\"\nunit = \"%\"\n{rest}\n")
}

#[test]
fn a_figure_in_its_band_is_reproduced_and_one_outside_is_not() {
    let share = "of = { a = [\"c{n}\", \"a share\"] }\neach = { n = [1, 3] }\n";
    let all = judged(&row(&format!("{share}published = [50, 50]\nband = \"within 1\"")));
    assert_eq!((&all[0].verdict, &all[1].verdict), (&Verdict::Reproduced, &Verdict::NotReproduced));
    assert!((all[1].simulated.unwrap() - 25.0).abs() < 0.5);
    let ratio =
        "of = { a = [\"c1\", \"a share\"], b = [\"c3\", \"a share\"] }\nvalue = \"100 * (b / a - 1)\"\n";
    let all = judged(&row(&format!("{ratio}published = \"half\"\nband = [-51, -49]")));
    assert_eq!(all[0].verdict, Verdict::Reproduced);
    assert!(all[0].interval.is_some());
}

#[test]
fn what_cannot_be_run_is_not_simulable_and_says_why() {
    let reasons: Vec<String> = judged(&format!(
        "{}{}{}",
        row("published = 1\nnot_simulable = \"no Juno\""),
        row("published = 1\nof = { a = [\"no\", \"a share\"] }\nband = \"factor 2\""),
        row("published = 1\nof = { a = [\"c1\", \"z share\"] }\nband = \"factor 2\""),
    ))
    .into_iter()
    .map(|judged| match judged.verdict {
        Verdict::NotSimulable(why) => why,
        other => panic!("{other:?}"),
    })
    .collect();
    assert_eq!(reasons[0], "no Juno");
    assert!(reasons[1].contains("NO_SUCH"), "{}", reasons[1]);
    assert_eq!(reasons[2], "runs of case 'c1' have no figure 'z share'");
}

#[test]
fn scenarios_refer_to_files_beside_themselves() {
    let scenario = "machine = \"m.toml\"\nduration = \"1ms\"\n[[workload]]\nkind = \"hog\"\nname = \"a\"\n";
    let files = [("d/s.toml", scenario), ("d/m.toml", "cpus = 3\n"), ("m.toml", "cpus = 1\n")];
    let files = files.map(|(name, text)| (name.to_owned(), Arc::from(text.as_bytes())));
    let case = "[[case]]\nid = \"c\"\nscenario = \"d/s.toml\"\n";
    let experiment = read("e", format!("{HEAD}{case}").as_bytes(), &Contents::from(files)).unwrap();
    let sealed = experiment.cases["c"].seal().unwrap();
    assert!(sealed.input(1).is_ok());
    assert!(sealed.inputs().contains("m.toml"), "{}", sealed.inputs());
}

#[test]
fn rules_make_bands_that_keep_the_sign() {
    let band = |published: &str, rule: &str| {
        let text =
            format!("published = {published}\nof = {{ a = [\"c1\", \"a share\"] }}\nband = \"{rule}\"");
        match &experiment(&row(&text)).unwrap().rows[0].simulation {
            Simulation::Figure { band, .. } => (band.low, band.high),
            Simulation::Impossible(why) => panic!("{why}"),
        }
    };
    assert_eq!(band("-30", "factor 3"), (-90.0, -10.0));
    assert_eq!(band("12", "change"), (4.0, 36.0));
    assert_eq!(band("-2", "change"), (-12.0, 8.0));
    assert_eq!(band("33.3", "within 0.5"), (32.8, 33.8));
}

#[test]
fn what_is_no_experiment_is_refused_with_its_place() {
    let of = "of = { a = [\"c1\", \"a share\"] }";
    for (rows, said) in [
        (row("published = 1\nband = [0, 1]"), "has no 'of'"),
        (row(&format!("published = 1\n{of}")), "has no 'band'"),
        (row(&format!("published = 1\n{of}\nband = [2, 1]")), "accepted: [LOW, HIGH]"),
        (row(&format!("published = \"few\"\n{of}\nband = \"factor 2\"")), "what was published is no number"),
        (row(&format!("published = 1\n{of}\nband = \"about\"")), "\"factor N\""),
        (row(&format!("published = 1\n{of}\nvalue = \"a / c\"\nband = [0, 1]")), "'c' is not among"),
        (row(&format!("published = 1\n{of}\nvalue = \"a /\"\nband = [0, 1]")), "arithmetic"),
        (row("published = 1\nof = { a = [\"c2\", \"a share\"] }\nband = [0, 1]"), "there is no case 'c2'"),
        (row(&format!("each = {{ n = [1, 2] }}\npublished = [1]\n{of}\nband = [0, 1]")), "a value for each"),
        ("[[case]]\nid = \"c1\"\nscenario = \"s.toml\"\n".into(), "there are two cases 'c1'"),
        ("[[case]]\nid = \"d\"\nscenario = \"t.toml\"\n".into(), "a file beside the experiment"),
        (row(&format!("published = 1\n{of}\nband = [0, 1]\nbond = 7")), "unknown key 'bond'"),
    ] {
        let error = experiment(&rows).unwrap_err();
        assert!(error.contains(said) && error.starts_with("e.toml:"), "{rows}\n{error}");
    }
}

#[test]
fn the_library_is_the_directory() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/reproduce");
    let mut there: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            there.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path().display().to_string()));
        } else {
            there.push(path.display().to_string());
        }
    }
    let mut there: Vec<&str> = there
        .iter()
        .filter_map(|p| p.strip_prefix(dir)?.strip_prefix('/'))
        .filter(|p| p.ends_with(".toml"))
        .collect();
    there.sort_unstable();
    let mut here: Vec<&str> = library::FILES.iter().map(|(name, _)| *name).collect();
    here.sort_unstable();
    assert_eq!(here, there);
}

/// A kernel or a model may be missing in this version; anything else that keeps a case from being run is a
/// mistake in its files.
#[test]
fn experiments_can_be_read_and_their_cases_run_or_lack_a_kernel_or_model() {
    for name in library::NAMES {
        let experiment = library::experiment(name).unwrap();
        assert!(!experiment.rows.is_empty());
        let prepared = experiment.prepare(1);
        for (id, place) in &prepared.places {
            if let Err(why) = place {
                let known =
                    ["does not have the scheduler of", "'model' is", "is nothing called", "; these have:"];
                let known = known.iter().any(|k| why.contains(k));
                let later = ["'latency_nice'", "found 'exec'"].iter().any(|k| why.contains(k));
                assert!(known || later, "{name}, case {id}: {why}");
            }
        }
    }
}
