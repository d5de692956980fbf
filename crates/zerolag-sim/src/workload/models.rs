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
use super::{
    client_server, cyclictest, hogs, interactive, make, messaging, netperf, ping_pong, random, schbench,
    stress_ng, unixbench, volano,
};

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
pub const ALL: &[Kind] = &[
    Kind {
        name: "schbench",
        about: "Wake-up latency of workers that message threads wake in groups (schbench, both generations)",
        options: schbench::OPTIONS,
        examples: &["-m 2 -t 4 -r 10", "--classic -m 2 -t 10 -s 10000 -c 15000 -r 30"],
        parse: schbench::parse,
    },
    Kind {
        name: "hackbench",
        about: "Time of groups of senders that write to all receivers of their group (rt-tests)",
        options: &[("Options", messaging::HACKBENCH)],
        examples: &["-g 2 -l 100", "-p -T -g 4 -f 10 -l 1000"],
        parse: messaging::hackbench,
    },
    Kind {
        name: "cyclictest",
        about: "How much later than they meant to threads run that sleep (rt-tests)",
        options: &[("Options", cyclictest::OPTIONS)],
        examples: &["--policy other -t 2 -D 10 -q", "-a -t -i 500 -l 10000 -h 100"],
        parse: cyclictest::cyclictest,
    },
    Kind {
        name: "perf-bench-sched",
        about: "Two tasks that talk through pipes, or groups of senders and receivers (perf bench sched)",
        options: &[("Options of pipe", ping_pong::PIPE), ("Options of messaging", messaging::PERF)],
        examples: &["pipe -l 100000", "messaging -p -g 4"],
        parse: ping_pong::perf,
    },
    Kind {
        name: "stress-ng",
        about: "Switches, forks, futex wake-ups and short sleeps as fast as possible (stress-ng)",
        options: &[("Options", stress_ng::OPTIONS)],
        examples: &["--switch 2 -t 5", "--futex 1 --nanosleep 1 --timeout 10s --metrics-brief"],
        parse: stress_ng::stress_ng,
    },
    Kind {
        name: "unixbench",
        about: "Process creation, context switches through pipes, a pipe alone (UnixBench: spawn, context1, pipe)",
        options: &[("Options", unixbench::OPTIONS)],
        examples: &["spawn -c 2 --time 10", "context1"],
        parse: unixbench::unixbench,
    },
    Kind {
        name: "netperf",
        about: "Requests and responses over the loopback device (netperf: TCP_RR, UDP_RR)",
        options: &[("Options", netperf::OPTIONS)],
        examples: &["-t TCP_RR -l 10", "-t UDP_RR -l 10 --instances 4 -- -r 1,1"],
        parse: netperf::netperf,
    },
    Kind {
        name: "make",
        about: "A kernel build with -jN, from a local disk or an NFS server",
        options: &[("Options", make::OPTIONS)],
        examples: &["-j8 --files 300", "-j8 --nfs bzImage"],
        parse: make::make,
    },
    Kind {
        name: "oltp",
        about: "Transactions of clients against a database's threads (sysbench, OLTP)",
        options: &[("Options", client_server::OLTP)],
        examples: &["--threads 4 --time 10"],
        parse: client_server::oltp,
    },
    Kind {
        name: "tbench",
        about: "Clients and servers that exchange small messages over TCP (tbench)",
        options: &[("Options", client_server::TBENCH)],
        examples: &["-t 10 4"],
        parse: client_server::tbench,
    },
    Kind {
        name: "volano",
        about: "A chat server with a thread for each connection (VolanoMark)",
        options: &[("Options", volano::OPTIONS)],
        examples: &["--rooms 2 --users 10 -r 5"],
        parse: volano::volano,
    },
    Kind {
        name: "interactive",
        about: "Somebody reads mail while a kernel is built: how long it takes until the screen answers",
        options: &[("Options", interactive::OPTIONS)],
        examples: &["--hogs 4 -r 10"],
        parse: interactive::interactive,
    },
    Kind {
        name: "hogs",
        about: "Tasks that want all CPU time they can get, and how evenly it is shared",
        options: &[("Options", hogs::OPTIONS)],
        examples: &["-n 3 -r 10"],
        parse: hogs::hogs,
    },
    Kind {
        name: "random",
        about: "Tasks that run and sleep for times drawn from named distributions",
        options: &[("Options", random::OPTIONS)],
        examples: &["-n 8 --run lognormal(1ms,0.5) --sleep exponential(9ms) -r 10"],
        parse: random::random,
    },
];

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
