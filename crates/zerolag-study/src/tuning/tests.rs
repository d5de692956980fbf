// SPDX-License-Identifier: GPL-2.0-only
//! What a tuning asks for, and what is no tuning.

use std::fs;

use super::*;

const SCENARIO: &str = crate::study::tests::RANDOM;
const HEAD: &str = "scenario = \"r.toml\"\nseeds = 2\n";
const AXIS: &str = "[[axis]]\nkey = \"set:base_slice\"\nfrom = \"1ms\"\nto = \"4ms\"\nscale = \"log\"\n";
const WISH: &str = "[[objective]]\nmetric = \"x wake-up p99\"\n";

fn tuned(text: &str) -> Result<Tuning, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("r.toml"), SCENARIO).unwrap();
    let path = dir.path().join("t.toml");
    fs::write(&path, text).unwrap();
    let shown = format!("{}/", dir.path().display());
    read(&path).map_err(|e| e.to_string().replace(&shown, ""))
}

fn kinds() -> Vec<Kind> {
    let kind = |name: &str, unit: &str, better| Kind { name: name.into(), unit: unit.into(), better };
    vec![
        kind("x wake-up p99", "us", Better::Lower),
        kind("hog share", "%", Better::Neither),
        kind("job rate", "1/s", Better::Higher),
    ]
}

fn targets(rest: &str) -> Result<Targets, String> {
    let tuning = tuned(&format!("{HEAD}{AXIS}{rest}"))?;
    tuning.targets(&kinds()).map_err(|e| e.to_string())
}

#[test]
fn seeds_of_the_confirmation_follow_those_of_the_search() {
    let text = |more: &str| tuned(&format!("{HEAD}{more}{AXIS}{WISH}")).unwrap();
    let tuning = text("");
    assert_eq!((tuning.seeds, tuning.confirm), (vec![1, 2], (3..13).collect()));
    assert_eq!((tuning.candidates, tuning.search_seed), (100, 1));
    assert_eq!(tuning.axes[0].1, Values::Range { from: 1_000_000, to: 4_000_000, log: true, time: true });
    assert_eq!(text("confirm = 2\n").confirm, [3, 4]);
    assert_eq!(text("confirm = [9, 7]\n").confirm, [9, 7]);
}

#[test]
fn the_baseline_is_the_scenario_with_what_all_have() {
    let tuning = tuned(&format!(
        "{HEAD}[choices]\nkernel = \"6.1\"\n[[axis]]\nkey = \"set:latency\"\nvalues = [\"3ms\"]\n{WISH}"
    ));
    let tuning = tuning.unwrap();
    assert_eq!(tuning.baseline.case().chosen(), "kernel=6.1");
    let candidate = tuning.candidate(Point::from([("set:latency".parse().unwrap(), "3ms".into())])).unwrap();
    assert_eq!(candidate.case().chosen(), "kernel=6.1 set:latency=3ms");
}

#[test]
fn bounds_are_taken_to_the_unit_of_the_figure() {
    let bound = |metric: &str, bound: &str| {
        targets(&format!("[[constraint]]\nmetric = \"{metric}\"\n{bound}\n")).unwrap().constraints[0].bound
    };
    assert_eq!(bound("x wake-up p99", "at_most = \"2ms\""), 2000.0);
    assert_eq!(bound("x wake-up p99", "at_most = 1.5"), 1.5);
    assert_eq!(bound("hog share", "at_least = \"30%\""), 30.0);
    assert_eq!(bound("job rate", "loss_at_most = \"3%\""), 3.0);
    assert_eq!(bound("job rate", "loss_at_most = 3"), 3.0);
}

#[test]
fn without_objectives_constrained_figures_are_to_be_as_good_as_can_be() {
    let found = targets(
        "[[constraint]]\nmetric = \"x wake-up p99\"\nat_most = \"2ms\"\n\
         [[constraint]]\nmetric = \"hog share\"\nloss_at_most = 3\n",
    );
    let aims: Vec<_> = found.unwrap().objectives.into_iter().map(|k| (k.name, k.better)).collect();
    assert_eq!(aims, [("x wake-up p99".into(), Better::Lower), ("hog share".into(), Better::Higher)]);
}

#[test]
fn a_violation_is_a_part_of_the_bound() {
    let constraint = |at: usize, limit, bound| Constraint { kind: kinds()[at].clone(), limit, bound };
    assert_eq!(constraint(0, Limit::AtMost, 2000.0).violation(3000.0, 0.0), 0.5);
    assert_eq!(constraint(1, Limit::AtLeast, 40.0).violation(50.0, 0.0), -0.25);
    // A tenth is lost where a twentieth may be.
    let lost = constraint(2, Limit::LossAtMost, 5.0).violation(90.0, 100.0);
    assert!((lost - 0.05).abs() < 1e-12);
    let slower = constraint(0, Limit::LossAtMost, 5.0).violation(110.0, 100.0);
    assert!((slower - 0.05).abs() < 1e-12);
}

#[test]
fn what_is_no_tuning_is_refused_with_its_place() {
    for (text, said) in [
        (format!("seeds = 1\n{AXIS}{WISH}"), "has no 'scenario'"),
        (format!("scenario = \"r.toml\"\n{AXIS}{WISH}"), "has no 'seeds'"),
        (format!("{HEAD}{WISH}"), "there is nothing to set"),
        (format!("{HEAD}{AXIS}"), "there is nothing to reach"),
        (
            format!("{HEAD}candidate = 3\n{AXIS}{WISH}"),
            "t.toml:3:1: unknown key 'candidate' in the tuning (did you mean 'candidates'?)",
        ),
        (
            format!("{HEAD}confirm = [2]\n{AXIS}{WISH}"),
            "t.toml:3:11: 'confirm' is an array; accepted: seeds that the search does not use; it uses 2",
        ),
        (format!("{HEAD}{AXIS}steps = 3\n{WISH}"), "only a grid has steps"),
        (
            format!("{HEAD}[[axis]]\nkey = \"machine\"\nvalues = [\"2cpu\"]\n{WISH}"),
            "t.toml:4:7: 'key' is 'machine'; accepted: what can be set",
        ),
        (format!("{HEAD}[[axis]]\nkey = \"set:costs\"\nvalues = [\"ideal\"]\n{WISH}"), "nobody sets them"),
        (
            format!("{HEAD}[[axis]]\nkey = \"set:base_slise\"\nvalues = [\"3ms\"]\n{WISH}"),
            "t.toml:4:7: --set base_slise=3ms: there is nothing called",
        ),
        (
            format!("{HEAD}[[axis]]\nkey = \"workload:z:nice\"\nvalues = [1]\n{WISH}"),
            "t.toml:4:7: r.toml: the scenario has no workload 'z'",
        ),
        (
            format!(
                "{HEAD}[choices]\nduration = \"1s\"\n[[axis]]\nkey = \"workload:hog:nice\"\nfrom = 0\nto = 30\n{WISH}"
            ),
            "t.toml:6:7: workload:hog:nice = 30: 'nice' is 30; accepted: an integer from -20",
        ),
        (format!("{HEAD}{AXIS}{AXIS}{WISH}"), "'set:base_slice' is chosen twice"),
        (format!("{HEAD}{AXIS}[[constraint]]\nmetric = \"x wake-up p99\"\n"), "has no 'at_most'"),
        (
            format!("{HEAD}{AXIS}[[constraint]]\nmetric = \"x\"\nat_most = 1\nat_least = 1\n"),
            "both 'at_most' and 'at_least'",
        ),
        (format!("{HEAD}{AXIS}{WISH}better = \"more\"\n"), "'better' is 'more'; accepted: lower, higher"),
    ] {
        let error = tuned(&text).unwrap_err();
        assert!(error.contains(said), "{text}\n{error}");
    }
}

#[test]
fn figures_that_do_not_exist_are_refused_where_they_are_named() {
    for (text, said) in [
        (
            "[[objective]]\nmetric = \"x wakeup p99\"\n",
            ":9:10: 'metric' is 'x wakeup p99' (did you mean 'x wake-up p99'?); accepted: figures of the baseline: x wake-up p99, hog share, job rate",
        ),
        ("[[objective]]\nmetric = \"hog share\"\n", "accepted: also 'better'"),
        (
            "[[constraint]]\nmetric = \"x wake-up p99\"\nat_most = \"2 bananas\"\n",
            ":10:11: 'at_most' is '2 bananas'; accepted: ",
        ),
        (
            "[[constraint]]\nmetric = \"job rate\"\nloss_at_most = \"3ms\"\n",
            "a number, or one with its unit, as in \"3%\"",
        ),
    ] {
        let error = targets(text).unwrap_err();
        assert!(error.contains(said), "{text}\n{error}");
    }
}
