// SPDX-License-Identifier: GPL-2.0-only
//! Command lines of the benchmarks, as the real tools take them.
//!
//! People paste lines such as `schbench -m 2 -t 10 -s 10000 -c 15000 -r 30` out of mails, so a model takes the
//! tool's own options, by the rules of `getopt_long()`: `-m 2`, `-m2`, `-Lm2`, `--message-threads 2`,
//! `--message-threads=2`, `--message=2` where that is not ambiguous. Unlike the tools, which read numbers with
//! `atoi()`, it refuses what is no number.

use std::fmt::Write;
use std::str::FromStr;

/// An option that a tool has.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Its letter, if it has one.
    pub short: Option<char>,
    /// Its long name, which is unique within the tool.
    pub long: &'static str,
    /// What its value is called, if it takes one.
    pub value: Option<&'static str>,
    /// The value may be left out: then what follows is one only if it begins with a digit.
    pub optional: bool,
    /// What it means, with unit and default.
    pub help: &'static str,
}

impl OptionSpec {
    /// An option without a value.
    pub const fn flag(short: char, long: &'static str, help: &'static str) -> Self {
        Self { short: Some(short), long, value: None, optional: false, help }
    }

    /// An option with a value.
    pub const fn with_value(
        short: char,
        long: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Self {
        Self { short: Some(short), long, value: Some(value), optional: false, help }
    }

    /// An option whose value may be left out.
    pub const fn with_optional(
        short: char,
        long: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Self {
        Self { short: Some(short), long, value: Some(value), optional: true, help }
    }

    /// An option with a value and no letter.
    pub const fn long_only(long: &'static str, value: &'static str, help: &'static str) -> Self {
        Self { short: None, long, value: Some(value), optional: false, help }
    }

    /// An option with neither.
    pub const fn long_flag(long: &'static str, help: &'static str) -> Self {
        Self { short: None, long, value: None, optional: false, help }
    }

    /// How it is written, for messages.
    fn shown(&self) -> String {
        match self.short {
            Some(letter) => format!("-{letter} (--{})", self.long),
            None => format!("--{}", self.long),
        }
    }
}

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The tool has no such option.
    #[error("{tool} has no option {found}{}; accepted: {accepted}", did_you_mean(.nearest))]
    Unknown {
        /// The tool.
        tool: &'static str,
        /// What was given.
        found: String,
        /// The option that looks most like it.
        nearest: Option<String>,
        /// The options there are.
        accepted: String,
    },
    /// A long name that could be several.
    #[error("{tool}: {found} could be any of {candidates}")]
    Ambiguous {
        /// The tool.
        tool: &'static str,
        /// What was given.
        found: String,
        /// What it could be.
        candidates: String,
    },
    /// An option's value is missing.
    #[error("{tool}: {option} needs a value: {value}")]
    NoValue {
        /// The tool.
        tool: &'static str,
        /// The option.
        option: String,
        /// What the value is called.
        value: &'static str,
    },
    /// A value for an option that takes none.
    #[error("{tool}: {option} takes no value, found '{found}'")]
    NeedlessValue {
        /// The tool.
        tool: &'static str,
        /// The option.
        option: String,
        /// The value.
        found: String,
    },
    /// A value that makes no sense.
    #[error("{tool}: {option} is '{found}', accepted: {accepted}")]
    Value {
        /// The tool.
        tool: &'static str,
        /// The option.
        option: String,
        /// The value.
        found: String,
        /// What would.
        accepted: String,
    },
    /// Something that belongs to no option.
    #[error("{tool}: '{found}' belongs to no option")]
    Extra {
        /// The tool.
        tool: &'static str,
        /// What was given.
        found: String,
    },
    /// The tool does one of several things and was not told which.
    #[error("{tool}: {}, accepted: {accepted}", what_mode(.found))]
    Mode {
        /// The tool.
        tool: &'static str,
        /// What was given.
        found: Option<String>,
        /// What would.
        accepted: &'static str,
    },
    /// An option of the tool that cannot be simulated, or not with another one.
    #[error("{tool}: {option} is not simulated: {reason}")]
    Unsupported {
        /// The tool.
        tool: &'static str,
        /// The option.
        option: String,
        /// Why, and what to do instead.
        reason: &'static str,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

fn what_mode(found: &Option<String>) -> String {
    match found {
        Some(found) => format!("'{found}' is nothing it does"),
        None => "nothing to do".into(),
    }
}

/// A command line taken apart.
#[derive(Clone, Debug)]
pub struct Parsed {
    tool: &'static str,
    specs: &'static [OptionSpec],
    given: Vec<(&'static OptionSpec, String)>,
    rest: Vec<String>,
}

/// Takes a command line, without the tool's name, apart.
///
/// # Errors
/// [`OptionError`] for options that the tool does not have and values that are missing.
pub fn parse<S: AsRef<str>>(
    tool: &'static str,
    specs: &'static [OptionSpec],
    arguments: &[S],
) -> Result<Parsed, OptionError> {
    let mut parsed = Parsed { tool, specs, given: Vec::new(), rest: Vec::new() };
    let mut arguments = arguments.iter().map(AsRef::as_ref).peekable();
    let begins_with_digit = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            parsed.rest.extend(arguments.by_ref().map(String::from));
        } else if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            let spec = parsed.find_long(name)?;
            let value = match (spec.value, value) {
                (None, None) => "",
                (Some(_), Some(value)) => value,
                (Some(_), None) if spec.optional => arguments.next_if(begins_with_digit).unwrap_or(""),
                (Some(value), None) => arguments.next().ok_or_else(|| parsed.no_value(spec, value))?,
                (None, Some(found)) => {
                    let (option, found) = (spec.shown(), found.into());
                    return Err(OptionError::NeedlessValue { tool, option, found });
                }
            };
            parsed.given.push((spec, value.into()));
        } else if argument.len() > 1 && argument.starts_with('-') {
            let mut letters = argument[1..].chars();
            while let Some(letter) = letters.next() {
                let spec = parsed.find_short(letter)?;
                let Some(value) = spec.value else {
                    parsed.given.push((spec, String::new()));
                    continue;
                };
                let value = match std::mem::replace(&mut letters, "".chars()).as_str() {
                    "" if spec.optional => arguments.next_if(begins_with_digit).unwrap_or(""),
                    "" => arguments.next().ok_or_else(|| parsed.no_value(spec, value))?,
                    attached => attached,
                };
                parsed.given.push((spec, value.into()));
            }
        } else {
            parsed.rest.push(argument.into());
        }
    }
    Ok(parsed)
}

impl Parsed {
    fn no_value(&self, spec: &OptionSpec, value: &'static str) -> OptionError {
        OptionError::NoValue { tool: self.tool, option: spec.shown(), value }
    }

    fn find_short(&self, letter: char) -> Result<&'static OptionSpec, OptionError> {
        let known = self.specs.iter().find(|spec| spec.short == Some(letter));
        known.ok_or_else(|| self.unknown(format!("-{letter}")))
    }

    fn find_long(&self, name: &str) -> Result<&'static OptionSpec, OptionError> {
        let exact = self.specs.iter().find(|spec| spec.long == name);
        let begun: Vec<_> = self.specs.iter().filter(|spec| spec.long.starts_with(name)).collect();
        match (exact, begun.as_slice()) {
            (Some(spec), _) => Ok(spec),
            (None, [spec]) => Ok(spec),
            (None, []) => Err(self.unknown(format!("--{name}"))),
            (None, several) => {
                let names: Vec<_> = several.iter().map(|spec| format!("--{}", spec.long)).collect();
                let (found, candidates) = (format!("--{name}"), names.join(", "));
                Err(OptionError::Ambiguous { tool: self.tool, found, candidates })
            }
        }
    }

    fn unknown(&self, found: String) -> OptionError {
        let name = found.trim_start_matches('-');
        let nearest = self
            .specs
            .iter()
            .map(|spec| (strsim::damerau_levenshtein(name, spec.long), spec))
            .filter(|(distance, _)| *distance <= (name.len() / 3).max(1))
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, spec)| format!("--{}", spec.long));
        let accepted: Vec<_> = self.specs.iter().map(OptionSpec::shown).collect();
        OptionError::Unknown { tool: self.tool, found, nearest, accepted: accepted.join(", ") }
    }

    /// What belongs to no option.
    pub fn rest(&self) -> &[String] {
        &self.rest
    }

    /// Refuses everything that belongs to no option.
    ///
    /// # Errors
    /// [`OptionError::Extra`] for the first such thing.
    pub fn no_rest(&self) -> Result<(), OptionError> {
        match self.rest.first() {
            Some(found) => Err(OptionError::Extra { tool: self.tool, found: found.clone() }),
            None => Ok(()),
        }
    }

    /// Whether an option was given.
    pub fn flag(&self, long: &str) -> bool {
        self.given.iter().any(|(spec, _)| spec.long == long)
    }

    /// The value that was given last for an option.
    pub fn text(&self, long: &str) -> Option<&str> {
        self.given.iter().rev().find(|(spec, _)| spec.long == long).map(|(_, value)| value.as_str())
    }

    /// The same as a number from `min` to `max`.
    ///
    /// # Errors
    /// [`OptionError::Value`] if it is no number or out of range.
    pub fn number<T: FromStr + PartialOrd + std::fmt::Display>(
        &self,
        long: &str,
        min: T,
        max: T,
    ) -> Result<Option<T>, OptionError> {
        let Some(found) = self.text(long) else { return Ok(None) };
        match found.parse() {
            Ok(number) if min <= number && number <= max => Ok(Some(number)),
            _ => Err(self.bad_value(long, format!("a number from {min} to {max}"))),
        }
    }

    /// The error that the value of an option makes no sense.
    pub fn bad_value(&self, long: &str, accepted: impl Into<String>) -> OptionError {
        let option =
            self.specs.iter().find(|spec| spec.long == long).map(OptionSpec::shown).unwrap_or_default();
        let found = self.text(long).unwrap_or_default().into();
        OptionError::Value { tool: self.tool, option, found, accepted: accepted.into() }
    }

    /// Refuses an option that the tool has and the model has not.
    ///
    /// # Errors
    /// [`OptionError::Unsupported`] if it was given.
    pub fn refuse(&self, long: &str, reason: &'static str) -> Result<(), OptionError> {
        let given = self.given.iter().find(|(spec, _)| spec.long == long);
        match given {
            Some((spec, _)) => {
                Err(OptionError::Unsupported { tool: self.tool, option: spec.shown(), reason })
            }
            None => Ok(()),
        }
    }
}

/// The options of a tool, one a line, as `--help` shows them.
pub fn help(specs: &[OptionSpec]) -> String {
    let left = |spec: &OptionSpec| {
        let letter = spec.short.map_or("    ".to_string(), |letter| format!("-{letter}, "));
        let value = match spec.value {
            Some(value) if spec.optional => format!(" [{value}]"),
            Some(value) => format!(" {value}"),
            None => String::new(),
        };
        format!("{letter}--{}{value}", spec.long)
    };
    let width = specs.iter().map(|spec| left(spec).len()).max().unwrap_or(0);
    specs.iter().fold(String::new(), |mut out, spec| {
        let _ = writeln!(out, "  {:width$}  {}", left(spec), spec.help);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPECS: &[OptionSpec] = &[
        OptionSpec::with_value('m', "message-threads", "N", "message threads (def: 1)"),
        OptionSpec::with_value('M', "message-cpus", "LIST", "where they run"),
        OptionSpec::flag('L', "no-locking", "without locks"),
        OptionSpec::long_only("split", "PERCENT", "private share"),
    ];

    fn line(text: &str) -> Result<Parsed, String> {
        parse("tool", SPECS, &text.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn every_way_to_write_an_option_is_understood() {
        for text in [
            "-m 2",
            "-m2",
            "-Lm2",
            "-L -m 2",
            "--message-threads 2",
            "--message-threads=2",
            "--message-t=2",
            "-m 1 -m 2",
        ] {
            let parsed = line(text).unwrap();
            assert_eq!(parsed.number("message-threads", 0, 9), Ok(Some(2)), "{text}");
        }
        assert!(line("-Lm2").unwrap().flag("no-locking"));
        assert!(!line("-m2").unwrap().flag("no-locking"));
        assert_eq!(line("-m2 pipe -- -x").unwrap().rest(), ["pipe", "-x"]);
        assert_eq!(line("--split=").unwrap().text("split"), Some(""));
    }

    #[test]
    fn everything_else_is_refused_with_what_is_accepted() {
        let all = "accepted: -m (--message-threads), -M (--message-cpus), -L (--no-locking), --split";
        for (text, message) in [
            ("-x", format!("tool has no option -x; {all}")),
            ("--spilt 3", format!("tool has no option --spilt (did you mean --split?); {all}")),
            ("--message 3", "tool: --message could be any of --message-threads, --message-cpus".into()),
            ("-m", "tool: -m (--message-threads) needs a value: N".into()),
            ("--split", "tool: --split needs a value: PERCENT".into()),
            ("--no-locking=1", "tool: -L (--no-locking) takes no value, found '1'".into()),
        ] {
            assert_eq!(line(text).map(|_| ()), Err(message), "{text}");
        }
    }

    #[test]
    fn values_that_may_be_left_out_are_numbers() {
        const SPECS: &[OptionSpec] = &[
            OptionSpec::with_optional('t', "threads", "N", "threads"),
            OptionSpec::flag('q', "quiet", "say little"),
        ];
        for (words, value) in [
            ("-t4", "4"),
            ("-t 4", "4"),
            ("-q -t", ""),
            ("-t -q", ""),
            ("--threads", ""),
            ("--threads=4", "4"),
        ] {
            let words: Vec<_> = words.split(' ').collect();
            assert_eq!(parse("tool", SPECS, &words).unwrap().text("threads"), Some(value), "{words:?}");
        }
        assert!(help(SPECS).starts_with("  -t, --threads [N]  threads\n"));
    }

    #[test]
    fn numbers_are_checked() {
        let parsed = line("-m 10 --split x").unwrap();
        let error = parsed.number("message-threads", 1, 9).unwrap_err();
        assert_eq!(error.to_string(), "tool: -m (--message-threads) is '10', accepted: a number from 1 to 9");
        assert!(parsed.number("split", 0, 100).is_err());
        let error = parsed.refuse("split", "say it otherwise").unwrap_err();
        assert_eq!(error.to_string(), "tool: --split is not simulated: say it otherwise");
        assert_eq!(line("a b").unwrap().no_rest().unwrap_err().to_string(), "tool: 'a' belongs to no option");
    }

    #[test]
    fn help_has_a_line_for_each_option() {
        assert_eq!(
            help(&SPECS[2..]),
            "  -L, --no-locking     without locks\n      --split PERCENT  private share\n"
        );
    }

    proptest! {
        #[test]
        fn no_command_line_makes_it_panic(words in proptest::collection::vec("[-=a-zA-Z0-9é]{0,8}", 0..6)) {
            let _ = parse("tool", SPECS, &words);
        }
    }
}
