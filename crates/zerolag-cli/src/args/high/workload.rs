// SPDX-License-Identifier: GPL-2.0-only
//! Workload files of all kinds, with what the command line says about them.

use std::fs;
use std::path::Path;

use zerolag_core::units::Instant;
use zerolag_sim::input::{self, Demands, RTAPP_MACHINE, is_json};
use zerolag_sim::scenario::{Overrides, Scenario, UNTIL_OVER};
use zerolag_sim::workload::rtapp::{Compiled, RtApp};

use super::{Source, machine};
use crate::args::low;
use crate::failure::Failure;

/// A file that has been read.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) scenario: Scenario,
    /// The machine as the user named it; nothing if the file describes it.
    pub(crate) machine: Option<String>,
    /// What it says beyond a scenario, if it is an rt-app file.
    pub(crate) app: Option<(RtApp, Compiled)>,
}

impl Input {
    /// Reads a workload, whichever kind it is. rt-app's programs report where they are if `observe`.
    pub(crate) fn read(file: &Path, args: &low::Workload, observe: bool) -> Result<Self, Failure> {
        let source = Source::new(file);
        let bytes = source.read()?;
        Self::parse(&source, &bytes, args, observe)
    }

    /// The same, if its text is there already.
    pub(crate) fn parse(
        source: &Source,
        bytes: &[u8],
        args: &low::Workload,
        observe: bool,
    ) -> Result<Self, Failure> {
        let overrides = Overrides {
            kernel: args.kernel,
            machine: args.machine.as_deref().map(machine).transpose()?,
            duration: args.duration,
            seed: args.seed,
        };
        let settings = args.settings.clone();
        let demands = Demands { overrides, settings, rtapp_compatible: args.rtapp_compat, observe };
        let beside = source.path().parent().unwrap_or(Path::new(""));
        let files = |name: &str| fs::read(beside.join(name));
        let read = input::read(&source.to_string(), bytes, &demands, &files).map_err(Failure::input)?;
        if let Some((app, compiled)) = &read.app {
            for remark in app.remarks.iter().chain(&compiled.remarks) {
                eprintln!("zerolag: {source}:{}: {}", remark.at, remark.text);
            }
        }
        let default = read.app.is_some().then(|| RTAPP_MACHINE.to_owned());
        let machine = args.machine.clone().or(default);
        Ok(Self { scenario: read.scenario, machine, app: read.app })
    }

    /// When the run ends, if the file or the user says; some files leave it to their benchmarks.
    pub(crate) fn end(&self) -> Result<Instant, Failure> {
        if self.scenario.duration == UNTIL_OVER {
            let file = &self.scenario.file;
            return Err(Failure::Input(format!("{file}: does not say how long it lasts; give a --duration")));
        }
        Ok(Instant(self.scenario.duration.0))
    }
}

/// Whether a text is a workload rather than a recording: it begins as JSON does, or its first line is a table
/// or a key of TOML. `trace-cmd report` begins with lines that look like keys.
pub(crate) fn is_workload(head: &[u8]) -> bool {
    let lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).find(|line| {
        let report = line.starts_with(b"cpus=") || line.starts_with(b"version = ");
        !report || !line[line.len() - 1].is_ascii_digit()
    });
    let Some(first) = first else { return false };
    let key = first.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_-.\"' /*".contains(b)).count();
    let toml = first.starts_with(b"[") || (key > 0 && first.get(key) == Some(&b'='));
    is_json(first) || (toml && !is_event(first))
}

/// A line of a recording: somewhere there is `[CPU]`, and then the first colon follows a digit of the time.
fn is_event(line: &[u8]) -> bool {
    let Some(open) = line.windows(2).position(|w| w == b" [") else { return false };
    let rest = &line[open + 2..];
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let colon = rest.iter().position(|&b| b == b':').unwrap_or(0);
    digits > 0 && rest.get(digits) == Some(&b']') && colon > digits && rest[colon - 1].is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_and_recordings_are_told_apart() {
        for text in
            ["{ \"tasks\": {} }", "# a scenario\nmachine = \"2cpu\"\n", "[features]\n", "\n/* x */ {}"]
        {
            assert!(is_workload(text.as_bytes()), "{text}");
        }
        for text in [
            "# tracer: nop\n#\n          <idle>-0       [000] d..2. 1.5: sched_switch: prev_comm=x\n",
            "     a=b     7 [000]     1.000000001:       sched:sched_wakeup: comm=a=b pid=7\n",
            "cpus=2\n            hog-7     [001]     1.5: sched_switch: hog:7 [120] R ==> x:8 [120]\n",
            "version = 6\nCPU 1 is empty\ncpus=2\n",
            "",
        ] {
            assert!(!is_workload(text.as_bytes()), "{text}");
        }
    }
}
