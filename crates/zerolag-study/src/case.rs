// SPDX-License-Identifier: GPL-2.0-only
//! Cases: everything about a run but its seed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fmt, fs, io};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::Topology;
use zerolag_sim::duration;
use zerolag_sim::input::{self, Demands, Input, InputError};
use zerolag_sim::machines::{self, MachineError, form};
use zerolag_sim::scenario::Overrides;
use zerolag_sim::setting::SettingError;

use crate::choice::{self, ChoiceError, Key};

/// Files by the names that a case has for them.
pub type Contents = BTreeMap<String, Arc<[u8]>>;

/// A workload file, and what is chosen beside it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file's name, for messages and tables.
    pub file: String,
    /// What is in it.
    pub bytes: Arc<[u8]>,
    /// Where the files are that it refers to.
    pub beside: Beside,
    /// What is chosen, by key.
    pub choices: BTreeMap<Key, String>,
}

/// Where the files are that a case refers to.
#[derive(Clone, Debug)]
pub enum Beside {
    /// In this directory.
    Directory(PathBuf),
    /// Here.
    Contents(Contents),
}

impl Beside {
    fn read(&self, name: &str) -> io::Result<Arc<[u8]>> {
        match self {
            Self::Directory(path) => fs::read(path.join(name)).map(Arc::from),
            Self::Contents(files) => files.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into()),
        }
    }
}

/// Why a case makes no sense.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// A file cannot be read.
    #[error("{0}: {1}")]
    Unreadable(String, io::Error),
    /// Something cannot vary so.
    #[error("{file}: {error}")]
    Choice {
        /// The file.
        file: String,
        /// What is wrong.
        error: ChoiceError,
    },
    /// A choice has a value that it cannot have.
    #[error("{key} = {value}: {why}")]
    Value {
        /// The choice.
        key: Key,
        /// Its value.
        value: String,
        /// What is wrong, and what would be accepted.
        why: String,
    },
    /// The file, or what is chosen for it, is wrong.
    #[error("{error}{chosen}")]
    Input {
        /// What is wrong.
        error: InputError,
        /// What was chosen.
        chosen: Box<Chosen>,
    },
}

/// Which choice is to blame for an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Culprit<'e> {
    Key(&'e Key),
    Set(&'e str),
    Group(&'e str),
    Workload(&'e str),
}

impl Culprit<'_> {
    pub(crate) fn is(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Key(one), other) => *one == other,
            (Self::Set(one), Key::Set(other)) => one == other,
            (Self::Group(one), Key::Cgroup { path, .. }) => one == path,
            (Self::Workload(one), Key::Workload { name, .. }) => one == name,
            _ => false,
        }
    }
}

impl CaseError {
    /// Which choice is to blame, as far as the error tells.
    pub(crate) fn culprit(&self) -> Option<Culprit<'_>> {
        match self {
            Self::Value { key, .. } => Some(Culprit::Key(key)),
            Self::Choice { error: ChoiceError::NoGroup { path, .. }, .. } => Some(Culprit::Group(path)),
            Self::Choice { error: ChoiceError::NoWorkload { name, .. }, .. } => Some(Culprit::Workload(name)),
            Self::Input { error: InputError::Setting(error), .. } => {
                error.assignment.split('=').next().map(Culprit::Set)
            }
            Self::Input { error: InputError::NoTime(_), .. } => Some(Culprit::Key(&Key::Duration)),
            Self::Input { chosen, .. } => chosen.because.as_ref().map(Culprit::Key),
            _ => None,
        }
    }

    /// The setting that the case's kernel does not have, though others do.
    pub fn foreign(&self) -> Option<Key> {
        let Self::Input { error: InputError::Setting(SettingError { assignment, fault }), .. } = self else {
            return None;
        };
        fault.is_lack().then(|| Key::Set(assignment.split('=').next().unwrap_or_default().to_owned()))
    }
}

/// Choices, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    all: Box<str>,
    /// The one without which the error would not be, if there is one.
    because: Option<Key>,
}

impl Chosen {
    fn of(case: &Case) -> Box<Self> {
        Box::new(Self { all: case.chosen().into(), because: None })
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all.is_empty() { Ok(()) } else { write!(f, " (with {})", self.all) }
    }
}

impl Case {
    /// A file as it is.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> Result<Self, CaseError> {
        let file = path.display().to_string();
        let bytes = fs::read(path).map_err(|e| CaseError::Unreadable(file.clone(), e))?;
        let beside = Beside::Directory(path.parent().unwrap_or(Path::new("")).to_owned());
        Ok(Self { file, bytes: bytes.into(), beside, choices: BTreeMap::new() })
    }

    /// The same case with something chosen.
    #[must_use]
    pub fn with(mut self, key: Key, value: impl Into<String>) -> Self {
        self.choices.insert(key, value.into());
        self
    }

    /// Its choices as text: `kernel=6.1 set:base_slice=3ms`.
    pub fn chosen(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.choices {
            let space = if text.is_empty() { "" } else { " " };
            _ = write!(text, "{space}{key}={value}");
        }
        text
    }

    fn value_error(&self, key: &Key, why: impl fmt::Display) -> CaseError {
        let value = self.choices.get(key).cloned().unwrap_or_default();
        CaseError::Value { key: key.clone(), value, why: why.to_string() }
    }

    fn kernel(&self) -> Result<Option<Kernel>, CaseError> {
        let Some(name) = self.choices.get(&Key::Kernel) else { return Ok(None) };
        let known = Kernel::ALL.map(Kernel::name).join(", ");
        let unknown = || self.value_error(&Key::Kernel, format_args!("there are {known}"));
        Kernel::by_name(name).map(Some).ok_or_else(unknown)
    }

    fn machine(&self) -> Result<Option<Topology>, CaseError> {
        let open = |name: &String| -> Result<Topology, MachineError> {
            match self.beside.read(name) {
                Ok(bytes) if Topology::preset(name).is_err() => machines::parse(name, &bytes),
                _ => machines::open(name),
            }
        };
        let machine = self.choices.get(&Key::Machine).map(open).transpose();
        machine.map_err(|e| self.value_error(&Key::Machine, e))
    }

    /// What is demanded beside the file.
    fn demands(&self, machine: Option<Topology>) -> Result<Demands, CaseError> {
        let duration = self.choices.get(&Key::Duration).map(|text| duration::parse(text)).transpose();
        let duration = duration.map_err(|e| {
            self.value_error(&Key::Duration, format_args!("{e}; accepted: {}", duration::ACCEPTED))
        })?;
        let mut settings: Vec<String> = Vec::new();
        for (key, value) in &self.choices {
            let Key::Set(name) = key else { continue };
            // Single costs are changes to a preset, never the other way round.
            let at = if name == "costs" { 0 } else { settings.len() };
            settings.insert(at, format!("{name}={value}"));
        }
        let overrides = Overrides { kernel: self.kernel()?, machine, duration, seed: None };
        Ok(Demands { overrides, settings, observe: true, ..Demands::default() })
    }

    fn text(&self) -> Result<Arc<[u8]>, CaseError> {
        let edits = self.choices.iter().map(|(k, v)| (k, v.as_str()));
        if !self.choices.keys().any(|k| matches!(k, Key::Cgroup { .. } | Key::Workload { .. })) {
            return Ok(self.bytes.clone());
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let wrong = |error| CaseError::Choice { file: self.file.clone(), error };
        Ok(choice::edit(&text, edits).map_err(wrong)?.into_bytes().into())
    }

    /// Checks the case and fixes its inputs: whatever it refers to is read now, and never again.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn seal(&self) -> Result<Sealed, CaseError> {
        self.read().map_err(|error| self.blame(error))
    }

    /// The error of the choice that a scenario is wrong by. What is chosen in the scenario's own text does not stand
    /// there for the user, so that its place would lead astray.
    fn blame(&self, error: CaseError) -> CaseError {
        let CaseError::Input { error: InputError::Scenario(wrong), mut chosen } = error else { return error };
        // Lines move with what is chosen, so the place is no part of it.
        let said = wrong.fault.to_string();
        let differs = |key: &&Key| {
            let mut without = self.clone();
            without.choices.remove(*key);
            match without.read() {
                Err(CaseError::Input { error: InputError::Scenario(other), .. }) => {
                    other.fault.to_string() != said
                }
                other => other.is_ok(),
            }
        };
        // Those in the text first: others may be what the scenario needs to be read at all.
        let because = self.choices.keys().rev().find(differs).cloned();
        match because {
            Some(key @ (Key::Cgroup { .. } | Key::Workload { .. })) => self.value_error(&key, &wrong.fault),
            because => {
                chosen.because = because;
                CaseError::Input { error: InputError::Scenario(wrong), chosen }
            }
        }
    }

    fn read(&self) -> Result<Sealed, CaseError> {
        let machine = self.machine()?;
        let machine_text = machine.as_ref().map(|m| Arc::from(form::write(m).into_bytes()));
        let demands = self.demands(machine)?;
        let text = self.text()?;
        let read = Mutex::new(Contents::new());
        let files = |name: &str| {
            let bytes = self.beside.read(name)?;
            read.lock().map(|mut files| files.insert(name.into(), bytes.clone())).ok();
            Ok(bytes.to_vec())
        };
        input::read(&self.file, &text, &demands, &files)
            .map_err(|error| CaseError::Input { error, chosen: Chosen::of(self) })?;
        let files = read.into_inner().unwrap_or_default();
        let mut sealed = Sealed {
            case: self.clone(),
            text,
            demands,
            files,
            machine: machine_text,
            inputs: String::new(),
            hash: String::new(),
        };
        sealed.inputs = sealed.describe().to_string();
        sealed.hash = hash(sealed.inputs.as_bytes());
        Ok(sealed)
    }
}

/// A case whose inputs are fixed.
#[derive(Clone, Debug)]
pub struct Sealed {
    case: Case,
    /// The file with what is chosen in it.
    text: Arc<[u8]>,
    demands: Demands,
    files: Contents,
    /// The machine, if one is chosen, as the TOML that describes it.
    machine: Option<Arc<[u8]>>,
    inputs: String,
    hash: String,
}

impl Sealed {
    /// The case.
    pub const fn case(&self) -> &Case {
        &self.case
    }

    /// Everything that its runs depend on but the seed and zerolag itself, as JSON that names files by hash.
    pub fn inputs(&self) -> &str {
        &self.inputs
    }

    /// SHA-256 of the [inputs](Self::inputs), in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The file's name without its directory.
    pub fn file_name(&self) -> &str {
        self.case.file.rsplit('/').next().unwrap_or(&self.case.file)
    }

    /// All files that the inputs name, with their hashes.
    pub fn contents(&self) -> impl Iterator<Item = (String, &[u8])> {
        let all = [&self.case.bytes].into_iter().chain(self.files.values()).chain(&self.machine);
        all.map(|bytes| (hash(bytes), &**bytes))
    }

    /// The same case with all that it refers to at hand, so that it can be sealed where none of its files are.
    pub fn portable(&self) -> Case {
        let mut files = self.files.clone();
        if let (Some(text), Some(name)) = (&self.machine, self.case.choices.get(&Key::Machine)) {
            files.insert(name.clone(), text.clone());
        }
        Case { beside: Beside::Contents(files), ..self.case.clone() }
    }

    /// What is to be run with this seed, or with the one that the file says.
    ///
    /// # Errors
    /// None that did not show when it was sealed, unless the seed itself is to blame.
    pub fn input(&self, seed: impl Into<Option<u64>>) -> Result<Input, CaseError> {
        let mut demands = self.demands.clone();
        demands.overrides.seed = seed.into();
        let files = |name: &str| {
            let file = self.files.get(name).ok_or(io::ErrorKind::NotFound)?;
            Ok(file.to_vec())
        };
        input::read(&self.case.file, &self.text, &demands, &files)
            .map_err(|error| CaseError::Input { error, chosen: Chosen::of(&self.case) })
    }

    /// Keys are in alphabetical order whether or not maps keep their order, so that the text is always the same.
    fn describe(&self) -> Value {
        let choices: Map<String, Value> = self
            .case
            .choices
            .iter()
            .map(|(k, v)| (k.to_string(), v.clone().into()))
            .collect::<BTreeMap<_, Value>>()
            .into_iter()
            .collect();
        let files: Map<String, Value> =
            self.files.iter().map(|(name, bytes)| (name.clone(), hash(bytes).into())).collect();
        let mut all = Map::new();
        all.insert("choices".into(), choices.into());
        all.insert("file".into(), hash(&self.case.bytes).into());
        all.insert("files".into(), files.into());
        all.insert("machine".into(), self.machine.as_ref().map(|m| hash(m)).into());
        all.insert("name".into(), self.file_name().into());
        all.into()
    }
}

/// SHA-256 in hexadecimal, as `sha256sum` prints it.
pub fn hash(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOG: &str = "machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nkind = \"hog\"\nname = \"a\"\n";

    fn case() -> Case {
        let beside = Beside::Contents(Contents::new());
        Case { file: "dir/hog.toml".into(), bytes: HOG.as_bytes().into(), beside, choices: BTreeMap::new() }
    }

    fn chosen(choices: &[(&str, &str)]) -> Result<Sealed, CaseError> {
        choices.iter().fold(case(), |case, (k, v)| case.with(k.parse().unwrap(), *v)).seal()
    }

    #[test]
    fn inputs_are_named_by_their_hash() {
        // As `printf abc | sha256sum` prints it (FIPS 180-2, appendix B.1).
        assert_eq!(hash(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let plain = chosen(&[]).unwrap();
        assert_eq!(
            plain.inputs(),
            format!(
                "{{\"choices\":{{}},\"file\":\"{}\",\"files\":{{}},\"machine\":null,\"name\":\"hog.toml\"}}",
                hash(HOG.as_bytes())
            )
        );
        assert_eq!(plain.hash(), hash(plain.inputs().as_bytes()));
        assert_ne!(plain.hash(), chosen(&[("kernel", "6.1")]).unwrap().hash());
    }

    #[test]
    fn the_order_of_choices_does_not_matter_but_a_preset_comes_before_its_parts() {
        let ab = chosen(&[("set:costs", "x86-server"), ("set:context_switch", "9us")]).unwrap();
        let ba = chosen(&[("set:context_switch", "9us"), ("set:costs", "x86-server")]).unwrap();
        assert_eq!(ab.hash(), ba.hash());
        let costs = ab.input(1).unwrap().scenario.setup.costs;
        assert_eq!((costs.context_switch.0, costs.wakeup.0), (9_000, 800));
    }

    #[test]
    fn a_case_is_the_same_where_its_files_are_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("m.toml"), form::write(&Topology::preset("4cpu").unwrap())).unwrap();
        std::fs::write(dir.path().join("a.json"), r#"{"tasks": {"t": {"run": 10}}}"#).unwrap();
        let text =
            "machine = \"1cpu\"\nduration = \"1s\"\n[[workload]]\nkind = \"rt-app\"\nfile = \"a.json\"\n";
        std::fs::write(dir.path().join("s.toml"), text).unwrap();
        let case = Case::of_file(&dir.path().join("s.toml")).unwrap().with(Key::Machine, "m.toml");
        let sealed = case.seal().unwrap();
        let portable = sealed.portable();
        drop(dir);
        assert!(case.seal().is_err());
        assert_eq!(portable.seal().unwrap().inputs(), sealed.inputs());
    }

    #[test]
    fn choices_that_make_no_sense_are_refused_with_what_would() {
        for (key, value, said) in [
            ("kernel", "7.0", "kernel = 7.0: there are 2.6.29,"),
            ("machine", "toaster", "toaster"),
            ("duration", "5", "the unit is missing"),
            ("set:base_slise", "3ms", "did you mean 'base_slice'?"),
            ("workload:b:nice", "3", "dir/hog.toml: the scenario has no workload 'b'; it has: a"),
            (
                "workload:a:nice",
                "30",
                "workload:a:nice = 30: 'nice' is 30; accepted: an integer from -20 to 19",
            ),
            ("workload:a:slise", "3ms", "workload:a:slise = 3ms: unknown key 'slise' in workload 1 (did you"),
        ] {
            let error = chosen(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(said), "{key}: {error}");
        }
    }
}
