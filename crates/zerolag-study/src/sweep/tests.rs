// SPDX-License-Identifier: GPL-2.0-only
//! Which points a sweep has, and what is no sweep.

use super::*;

const SCENARIO: &str = crate::study::tests::RANDOM;

fn swept(text: &str) -> Result<Sweep, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("r.toml"), SCENARIO).unwrap();
    let path = dir.path().join("sweep.toml");
    fs::write(&path, text).unwrap();
    let shown = format!("{}/", dir.path().display());
    read(&path).map_err(|e| e.to_string().replace(&shown, ""))
}

fn points(text: &str) -> Vec<String> {
    swept(text).unwrap().study.cases.iter().map(|case| case.case().chosen()).collect()
}

const HEAD: &str = "scenario = \"r.toml\"\nseeds = 2\n";

#[test]
fn a_grid_has_all_combinations_the_last_axis_varying_fastest() {
    let text = format!(
        "{HEAD}[choices]\n\"set:hz\" = 1000\n[[axis]]\nkey = \"kernel\"\nvalues = [\"6.1\", \"6.12\"]\n\
         [[axis]]\nkey = \"workload:hog:count\"\nfrom = 1\nto = 4\nsteps = 2\n[[point]]\n\"workload:hog:count\" = 9\n"
    );
    let all = points(&text);
    assert_eq!(
        all,
        [
            "kernel=6.1 set:hz=1000 workload:hog:count=1",
            "kernel=6.1 set:hz=1000 workload:hog:count=4",
            "kernel=6.12 set:hz=1000 workload:hog:count=1",
            "kernel=6.12 set:hz=1000 workload:hog:count=4",
            "set:hz=1000 workload:hog:count=9",
        ]
    );
    assert_eq!(swept(&text).unwrap().study.seeds, [1, 2]);
}

#[test]
fn ranges_are_cut_evenly_or_by_logarithms() {
    let axis = |rest: &str| points(&format!("{HEAD}[[axis]]\nkey = \"set:base_slice\"\n{rest}"));
    let even = axis("from = \"1ms\"\nto = \"4ms\"\nsteps = 4\n");
    assert_eq!(even[1..3], ["set:base_slice=2000000ns", "set:base_slice=3000000ns"]);
    let logarithmic = axis("from = \"1ms\"\nto = \"16ms\"\nsteps = 5\nscale = \"log\"\n");
    assert_eq!(
        logarithmic[1..4],
        ["set:base_slice=2000000ns", "set:base_slice=4000000ns", "set:base_slice=8000000ns"]
    );
    let count =
        points(&format!("{HEAD}[[axis]]\nkey = \"workload:hog:count\"\nfrom = 4\nto = 1\nsteps = 4\n"));
    assert_eq!(count[0], "workload:hog:count=4");
}

#[test]
fn another_axis_does_not_shift_what_is_drawn_for_the_first() {
    let first = "[[axis]]\nkey = \"workload:hog:nice\"\nfrom = -20\nto = 19\n";
    let second = "[[axis]]\nkey = \"cgroup:/a:cpu.weight\"\nfrom = 1\nto = 10000\nscale = \"log\"\n";
    let head = format!("{HEAD}method = \"random\"\npoints = 30\nsample_seed = 7\n");
    let nice = |text: &str| -> std::collections::BTreeSet<String> {
        points(text).iter().map(|p| p.split("nice=").nth(1).unwrap().to_owned()).collect()
    };
    let alone = nice(&format!("{head}{first}"));
    assert_eq!(nice(&format!("{head}{first}{second}")), alone);
    assert!(alone.len() > 15);
}

#[test]
fn a_latin_hypercube_has_one_point_in_each_part_of_each_axis() {
    let text = format!(
        "{HEAD}method = \"latin-hypercube\"\npoints = 40\n[[axis]]\nkey = \"workload:hog:nice\"\nfrom = -20\nto = 19\n\
         [[axis]]\nkey = \"kernel\"\nvalues = [\"6.1\", \"6.12\"]\n"
    );
    let all = points(&text);
    for nice in -20..20 {
        let at = format!("workload:hog:nice={nice}");
        assert_eq!(all.iter().filter(|p| p.ends_with(&at)).count(), 1, "{nice}");
    }
    assert_eq!(all.iter().filter(|p| p.contains("kernel=6.1 ")).count(), 20);
    assert_eq!(points(&text), all);
    assert_ne!(points(&format!("sample_seed = 2\n{text}")), all);
}

#[test]
fn what_is_no_sweep_is_refused_with_its_place() {
    let axis = "[[axis]]\nkey = \"kernel\"\n";
    for (text, said) in [
        ("seeds = 1\n", "has no 'scenario'"),
        ("scenario = \"r.toml\"\n", "has no 'seeds'"),
        (HEAD, "there are no points"),
        (
            "scenario = \"r.toml\"\nseeds = [1, 1]\n",
            "sweep.toml:2:13: 'seeds' is 1; accepted: each seed once",
        ),
        ("scenario = \"r.toml\"\nseeds = []\n", "at least one seed"),
        (&format!("{HEAD}method = \"gird\"\npoints = 3\n"), "grid, random, latin-hypercube"),
        (&format!("{HEAD}colour = 1\n{axis}values = [\"6.1\"]\n"), "sweep.toml:3:1: unknown key 'colour'"),
        (&format!("{HEAD}{axis}values = []\n"), "at least one value"),
        (&format!("{HEAD}{axis}values = [\"6.1\", \"6.1\"]\n"), "each value once"),
        (&format!("{HEAD}{axis}values = [\"6.1\"]\nsteps = 3\n"), "value by value"),
        (&format!("{HEAD}{axis}"), "'from' and 'to'"),
        (&format!("{HEAD}{axis}values = [\"7.1\"]\n"), "sweep.toml:4:7: kernel = 7.1: there are"),
        (&format!("{HEAD}{axis}values = [\"6.1\"]\n{axis}values = [\"6.12\"]\n"), "'kernel' is chosen twice"),
        (
            &format!("{HEAD}[[axis]]\nkey = \"workload:z:nice\"\nvalues = [1]\n"),
            "no workload 'z'; it has: x, hog",
        ),
        (
            &format!("{HEAD}[[axis]]\nkey = \"workload:hog:nice\"\nvalues = [0, 30]\n"),
            "sweep.toml:4:7: workload:hog:nice = 30: 'nice' is 30; accepted: an integer from -20 to 19",
        ),
        (
            &format!(
                "{HEAD}[choices]\nkernel = \"6.1\"\n[[axis]]\nkey = \"cgroup:/a:cpu.wait\"\nvalues = [3]\n"
            ),
            "sweep.toml:6:7: cgroup:/a:cpu.wait = 3: unknown key 'cpu.wait'",
        ),
        (&format!("{HEAD}[[axis]]\nkey = \"seed\"\nvalues = [1]\n"), "unknown key 'seed' in what can vary"),
        (
            &format!("{HEAD}[[axis]]\nkey = \"set:base_slice\"\nfrom = \"1ms\"\nto = 3\nsteps = 2\n"),
            "'to' is 3",
        ),
        (
            &format!("{HEAD}[[axis]]\nkey = \"set:base_slice\"\nfrom = \"1ms\"\nto = \"1ms\"\nsteps = 2\n"),
            "another value",
        ),
        (
            &format!(
                "{HEAD}[[axis]]\nkey = \"set:nr_migrate\"\nfrom = 0\nto = 3\nsteps = 2\nscale = \"log\"\n"
            ),
            "greater than 0",
        ),
        (&format!("{HEAD}[[axis]]\nkey = \"set:nr_migrate\"\nfrom = 1\nto = 3\n"), "has no 'steps'"),
        ("scenario = \"q.toml\"\nseeds = 1\n[[point]]\nkernel = \"6.1\"\n", "sweep.toml: q.toml: "),
    ] {
        let error = swept(text).unwrap_err();
        assert!(error.contains(said), "{text}\n{error}");
    }
    let huge = "[[axis]]\nkey = \"set:nr_migrate\"\nfrom = 1\nto = 5000000\nsteps = 900000\n";
    let huge = format!("{HEAD}{axis}values = [\"6.1\", \"6.12\"]\n{huge}");
    assert!(swept(&huge).unwrap_err().contains("the grid has more than 1000000 points"));
}
