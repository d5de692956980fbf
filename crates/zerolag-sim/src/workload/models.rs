// SPDX-License-Identifier: GPL-2.0-only
//! Workload models by name.
//!
//! Commands, scenario files and comparisons take a name and the real tool's options from here, and get a
//! [`Model`]; a new model is one more line in [`ALL`].
//!
//! ```
//! use zerolag_sim::workload::models;
//!
//! let model = models::by_name("schbench")?.parse(&["-m", "2", "-t", "10", "-r", "30"])?;
//! assert_eq!(model.run_time(), Some(zerolag_core::units::Nanos::from_secs(30)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt::Write;

use super::model::Model;
use super::options::{OptionError, OptionSpec, help};
use super::schbench;

/// A kind of model.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, which is the tool's, and the first word of a command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// What may be given to it: tables of options, each with what it applies to.
    pub options: &'static [(&'static str, &'static [OptionSpec])],
    /// Command lines that people use.
    pub examples: &'static [&'static str],
    parse: Parse,
}

/// Reads a command line without the tool's name.
type Parse = fn(&[&str]) -> Result<Box<dyn Model>, OptionError>;

/// All of them.
pub const ALL: &[Kind] = &[Kind {
    name: "schbench",
    about: "Wake-up latency of workers that message threads wake in groups (schbench, both generations)",
    options: schbench::OPTIONS,
    examples: &["-m 2 -t 4 -r 10", "--classic -m 2 -t 10 -s 10000 -c 15000 -r 30"],
    parse: schbench::parse,
}];

/// There is no model of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no model '{found}'{}; there are {}", did_you_mean(.found), names().join(", "))]
pub struct UnknownModel {
    /// What was asked for.
    pub found: String,
}

fn did_you_mean(found: &str) -> String {
    let near = ALL.iter().map(|kind| (strsim::damerau_levenshtein(found, kind.name), kind.name)).min();
    match near {
        Some((distance, name)) if distance <= 2 => format!(" (did you mean {name}?)"),
        _ => String::new(),
    }
}

/// The names of all models.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|kind| kind.name).collect()
}

/// The kind with this name.
///
/// # Errors
/// If there is none.
pub fn by_name(name: &str) -> Result<&'static Kind, UnknownModel> {
    ALL.iter().find(|kind| kind.name == name).ok_or_else(|| UnknownModel { found: name.into() })
}

impl Kind {
    /// The model with these options, as they come after the tool's name.
    ///
    /// # Errors
    /// [`OptionError`] for what the tool does not have or the model does not do.
    pub fn parse<S: AsRef<str>>(&self, arguments: &[S]) -> Result<Box<dyn Model>, OptionError> {
        (self.parse)(&arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    /// All options, as `--help` shows them.
    pub fn options_help(&self) -> String {
        let table = |(title, specs): &(&str, &[OptionSpec])| format!("{title}:\n{}", help(specs));
        self.options.iter().map(table).collect::<Vec<_>>().join("\n")
    }

    /// Command lines that people use, one a line, each begun with `command`.
    pub fn examples_help(&self, command: &str) -> String {
        self.examples.iter().fold(String::new(), |mut out, example| {
            let _ = writeln!(out, "  {command} {} {example}", self.name);
            out
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_found_and_all_different() {
        assert_eq!(names().into_iter().collect::<BTreeSet<_>>().len(), ALL.len());
        for kind in ALL {
            assert_eq!(by_name(kind.name).unwrap().name, kind.name);
        }
        let error = by_name("shbench").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no model 'shbench' (did you mean schbench?); there are "),
            "{error}"
        );
    }

    #[test]
    fn every_example_is_understood() {
        for kind in ALL {
            for example in kind.examples {
                let words: Vec<_> = example.split_whitespace().collect();
                kind.parse(&words).unwrap_or_else(|e| panic!("{} {example}: {e}", kind.name));
            }
        }
    }

    #[test]
    fn every_model_refuses_what_it_does_not_know_and_names_what_it_does() {
        for kind in ALL {
            let error = kind.parse(&["--nonsense-option"]).map(|_| ()).unwrap_err().to_string();
            assert!(
                error.contains("--nonsense-option") && error.contains("accepted: "),
                "{}: {error}",
                kind.name
            );
        }
    }
}
