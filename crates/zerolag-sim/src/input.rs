// SPDX-License-Identifier: GPL-2.0-only
//! Workload files of all kinds, together with what is demanded beside them: by a command line, or by a study
//! that varies something.

use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_core::units::Nanos;

use crate::scenario::{self, Files, Overrides, Scenario, ScenarioError};
use crate::setting::{self, SettingError};
use crate::sim::Setup;
use crate::workload::Workload;
use crate::workload::rtapp::{self, Compiled, RtApp, RtAppError};

/// The machine that an rt-app file runs on if nobody says.
pub const RTAPP_MACHINE: &str = "2cpu";
/// The kernel that it runs on.
const RTAPP_KERNEL: Kernel = Kernel::V6_12;
/// How long it runs if neither it nor anybody else says.
const RTAPP_DURATION: Nanos = Nanos::from_secs(10);

/// What is demanded beside a file; it takes precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// Kernel, machine, duration, seed.
    pub overrides: Overrides,
    /// Settings (see [`setting`]), in order.
    pub settings: Vec<String>,
    /// Read an rt-app file exactly as rt-app does.
    pub rtapp_compatible: bool,
    /// Programs of an rt-app file report where they are.
    pub observe: bool,
}

/// A file that has been read.
#[derive(Debug)]
pub struct Input {
    /// What runs on what.
    pub scenario: Scenario,
    /// What the file says beyond that, if it is an rt-app file.
    pub app: Option<(RtApp, Compiled)>,
}

/// Why a file cannot be run as demanded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The rt-app file is wrong.
    #[error(transparent)]
    RtApp(#[from] RtAppError),
    /// Something cannot be set.
    #[error("--set {0}")]
    Setting(#[from] SettingError),
    /// The kernel has no scheduler here.
    #[error("this version does not have the scheduler of Linux {0}; it has: {have}", have = implemented())]
    Kernel(Kernel),
    /// It would not run at all.
    #[error("{0}: a run of no time shows nothing; give a --duration")]
    NoTime(String),
}

fn implemented() -> String {
    Kernel::implemented().map(Kernel::name).collect::<Vec<_>>().join(", ")
}

/// Reads a file, whichever kind it is. Files that it refers to are got from `files`.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(file: &str, bytes: &[u8], demands: &Demands, files: Files<'_>) -> Result<Input, InputError> {
    if let Some(kernel) = demands.overrides.kernel
        && kernel.config(1).is_none()
    {
        return Err(InputError::Kernel(kernel));
    }
    let mut input = if file.ends_with(".json") || is_json(bytes) {
        rtapp(file, bytes, demands)?
    } else {
        let scenario = scenario::read(file, bytes, &demands.overrides, files)?;
        Input { scenario, app: None }
    };
    for assignment in &demands.settings {
        setting::apply(&mut input.scenario.setup, assignment)?;
    }
    if input.scenario.duration == Nanos::ZERO {
        return Err(InputError::NoTime(file.into()));
    }
    Ok(input)
}

/// Whether it is JSON rather than TOML: an object, or a comment before one; TOML begins with neither.
pub fn is_json(bytes: &[u8]) -> bool {
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    matches!(first, Some(b'{' | b'/'))
}

fn rtapp(file: &str, bytes: &[u8], demands: &Demands) -> Result<Input, InputError> {
    let given = &demands.overrides;
    let machine = || Topology::preset(RTAPP_MACHINE).expect("there is such a preset");
    let topology = given.machine.clone().unwrap_or_else(machine);
    let kernel = given.kernel.unwrap_or(RTAPP_KERNEL);
    let config = kernel.config(topology.cpu_count()).ok_or(InputError::Kernel(kernel))?;
    let mut setup = Setup::new(topology, config);
    setup.seed = given.seed.unwrap_or(setup.seed);

    let mode = if demands.rtapp_compatible { rtapp::Mode::Compatible } else { rtapp::Mode::Strict };
    let app = rtapp::read(file, bytes, mode, rtapp::SuspendName::default())?;
    let mut workload = Workload::new();
    let options = rtapp::Options { observe: demands.observe, ..rtapp::Options::default() };
    let compiled = rtapp::add(&app, &mut workload, &setup.topology, &options)?;
    let duration = given.duration.or(app.global.duration).unwrap_or(RTAPP_DURATION);
    let file = file.to_owned();
    let (changes, rtapps, models) = (Vec::new(), Vec::new(), Vec::new());
    let scenario =
        Scenario { file, duration, setup, runnable_per_node: None, workload, changes, rtapps, models };
    Ok(Input { scenario, app: Some((app, compiled)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOG: &str = "machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nkind = \"hog\"\nname = \"a\"\n";

    fn none(_: &str) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    #[test]
    fn a_name_says_json_where_the_contents_do_not() {
        let error = |file| read(file, b"[]", &Demands::default(), &none).unwrap_err().to_string();
        assert_eq!(error("f.json"), "f.json:1:1: 'the file' is an array of 0, accepted: an object");
        assert!(error("f").contains("TOML"), "{}", error("f"));
    }

    #[test]
    fn what_is_demanded_takes_precedence() {
        let overrides = Overrides { kernel: Some(Kernel::V6_1), seed: Some(9), ..Overrides::default() };
        let demands = Demands { overrides, settings: vec!["hz=1000".into()], ..Demands::default() };
        let setup = read("f", HOG.as_bytes(), &demands, &none).unwrap().scenario.setup;
        assert_eq!((setup.config.kernel, setup.config.hz, setup.seed), (Kernel::V6_1, 1000, 9));
    }

    #[test]
    fn a_kernel_that_is_not_there_is_named_with_those_that_are() {
        let Some(kernel) = Kernel::ALL.into_iter().find(|k| k.config(1).is_none()) else { return };
        let overrides = Overrides { kernel: Some(kernel), ..Overrides::default() };
        let demands = Demands { overrides, ..Demands::default() };
        for text in [HOG, "{\"tasks\": {\"t\": {\"run\": 10}}}"] {
            let error = read("f", text.as_bytes(), &demands, &none).unwrap_err().to_string();
            assert!(error.contains(kernel.name()) && error.contains("6.12"), "{error}");
        }
    }
}
