// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag report`. That a browser can do something with it is checked by ci/browser-check.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::run;

const RECORDING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../zerolag-trace/tests/data/measured/schbench_beside_hogs.perf.txt.gz"
);
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/groups.toml");

#[track_caller]
fn page(args: &[&str]) -> String {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("r.html");
    let output = run(&[&["report", "-o", path.to_str().unwrap()], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(path).unwrap()
}

/// What the page's script is given.
fn data(page: &str) -> Value {
    let start = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap()
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let page = page(&[SCENARIO, RECORDING]);
    assert!(page.contains("default-src 'none'"));
    let namespace = "http://www.w3.org/2000/svg";
    assert!(
        !page.replace(namespace, "").replace("http-equiv", "").contains("http"),
        "no address of anything else"
    );
    for loads in ["src=\"", "<link rel=\"stylesheet", "@import", "url("] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("zerolag report") && page.contains("seed: 1"));
}

#[test]
fn the_timeline_has_every_run_of_a_short_schedule() {
    let page = page(&[SCENARIO, "--duration", "1s"]);
    let data = data(&page);
    let row = &data["runs"][0]["cpus"][0];
    let packed = row["segments"].as_str().unwrap();
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits: Vec<u8> = packed.bytes().filter(|&c| c != b'=').map(value).collect();
    let bytes: Vec<u8> = bits
        .chunks(4)
        .flat_map(|four| {
            let number = four.iter().fold(0u32, |sum, &b| sum << 6 | u32::from(b)) << (6 * (4 - four.len()));
            number.to_be_bytes()[1..four.len()].to_vec()
        })
        .collect();
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0u64, 0);
    for byte in bytes {
        number |= u64::from(byte & 127) << shift;
        shift += 7;
        if byte < 128 {
            numbers.push(std::mem::take(&mut number));
            shift = 0;
        }
    }
    let segments: Vec<&[u64]> = numbers.chunks(3).collect();
    assert!(segments.iter().all(|s| s[2] == 0), "each stands for one run");
    assert_eq!(segments.iter().map(|s| s[0]).sum::<u64>(), 1_000_000_000);
    let output = run(&["stat", SCENARIO, "--duration", "1s", "--json"]);
    let stat: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Tasks that are switched away from at once take no time and are not in it.
    let switches = stat["cpus"][0]["switches"].as_u64().unwrap();
    assert!(segments.len() as u64 <= switches && segments.len() as u64 > switches / 2);
    let ran = |name: &str| {
        let tasks = data["runs"][0]["tasks"].as_array().unwrap();
        let number = tasks.iter().position(|t| t["name"] == name).unwrap() as u64 + 1;
        segments.iter().filter(|s| s[1] == number).map(|s| s[0]).sum::<u64>() as f64 / 1e6
    };
    for task in stat["tasks"].as_array().unwrap() {
        assert!((ran(task["comm"].as_str().unwrap()) - task["cpu_ms"].as_f64().unwrap()).abs() < 1e-3);
    }
}

#[test]
fn runs_are_compared_and_kernels_are_runs() {
    let page = page(&[SCENARIO, "--kernels", "6.1,6.12", "--duration", "1s"]);
    assert!(page.contains("2 runs compared") && page.contains("Tasks of the same name"));
    assert!(page.contains("groups.toml, Linux 6.1<") && page.contains("groups.toml, Linux 6.12<"));
    assert_eq!(data(&page)["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn figures_of_a_run_make_a_page_without_a_timeline() {
    let dir = TempDir::new().unwrap();
    let json = dir.path().join("run.json");
    fs::write(&json, run(&["run", SCENARIO, "--json"]).stdout).unwrap();
    let page = page(&[json.to_str().unwrap()]);
    assert!(page.contains("Only figures are known") && page.contains("b-light"));
}

#[test]
fn plots_are_files_of_their_own() {
    let dir = TempDir::new().unwrap();
    let plots = dir.path().join("plots");
    let pixels = dir.path().join("pixels");
    let (svg, png) = (plots.to_str().unwrap(), pixels.to_str().unwrap());
    let output = run(&["report", SCENARIO, "--svg", svg, "--png", png]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = |dir: &std::path::Path| {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let names = listed(&plots);
    let want = ["lag-1.svg", "latency-1.svg", "latency.svg", "load-1.svg", "shares-1.svg", "timeline-1.svg"];
    assert_eq!(names, want);
    for name in names {
        let svg = fs::read_to_string(plots.join(&name)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert!(svg.contains("<style>"), "{name}");
    }
    assert_eq!(listed(&pixels), want.map(|name| name.replace(".svg", ".png")));
    for name in listed(&pixels) {
        assert!(fs::read(pixels.join(&name)).unwrap().starts_with(b"\x89PNG"), "{name}");
    }
}

#[test]
fn names_of_tasks_do_no_harm() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.toml");
    let text =
        "machine = \"1cpu\"\nduration = \"10ms\"\n[[workload]]\nkind = \"hog\"\nname = \"</script><b>x\"\n";
    fs::write(&path, text).unwrap();
    let page = page(&[path.to_str().unwrap()]);
    assert!(!page.contains("<b>x") && page.contains("&lt;b&gt;x"));
    assert_eq!(data(&page)["runs"][0]["tasks"][0]["name"], "</script><b>x");
}

#[test]
fn without_anything_to_write_or_to_read_nothing_is_done() {
    assert_eq!(run(&["report", SCENARIO]).status.code(), Some(2));
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("r.html");
    let output = run(&["report", SCENARIO, "/nonexistent", "-o", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!out.exists());
}
