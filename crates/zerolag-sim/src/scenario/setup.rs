// SPDX-License-Identifier: GPL-2.0-only
//! The keys that say what the workload runs on: `kernel`, `machine`, `hz`, `seed`, `costs`, `speed`, `frequency`,
//! `partitions`, `isolated`, `ties`, `stagger_ticks`, `[features]`, `[tunables]`, `[rules]`.

use std::io;

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::domain::Partitions;
use zerolag_core::features::{Feature, FeatureError};
use zerolag_core::ids::Id;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::{PRESETS, Topology};
use zerolag_core::units::Nanos;

use super::Overrides;
use super::error::{Fault, ScenarioError};
use super::section::{Entry, Section};
use crate::costs::Costs;
use crate::frequency::{Frequencies, FrequencyDomain, FrequencyError, Governor, MHZ_MAX};
use crate::machines;
use crate::rule::Rule;
use crate::setting;
use crate::sim::Setup;
use crate::tunable::{Tunable, Unit};

const HZ: [i64; 4] = [100, 250, 300, 1000];

/// How to get at files that a scenario refers to, by the name it gives them.
pub type Files<'f> = &'f dyn Fn(&str) -> io::Result<Vec<u8>>;

pub(crate) fn read(
    root: &Section<'_>,
    overrides: &Overrides,
    files: Files<'_>,
) -> Result<Setup, ScenarioError> {
    let topology = match (&overrides.machine, root.get("machine")) {
        (Some(machine), _) => machine.clone(),
        (None, Some(entry)) => machine(&entry, files)?,
        (None, None) => {
            let (scope, accepted) = (root.scope.clone(), "a preset such as 2cpu, or a file".into());
            return Err(root.error(Fault::Missing { key: "machine", scope, accepted }));
        }
    };
    let kernel = match (overrides.kernel, root.get("kernel")) {
        (Some(kernel), _) => kernel,
        (None, Some(entry)) => kernel_of(&entry)?,
        (None, None) => Kernel::V6_12,
    };
    let cpus = topology.cpu_count();
    let Some(config) = kernel.config(cpus) else {
        let (found, accepted) = (format!("'{kernel}'"), implemented());
        return Err(root.error(Fault::Value { key: "kernel".into(), found, accepted, nearest: None }));
    };
    let mut setup = Setup::new(topology, config);
    if let Some(entry) = root.get("hz") {
        let hz = entry.integer(1..=100_000)?;
        if !HZ.contains(&hz) {
            return Err(entry.wrong("100, 250, 300 or 1000"));
        }
        setup.config.hz = hz as u32;
    }
    let seed = root.integer("seed", 0..=i64::MAX)?;
    setup.seed = overrides.seed.or(seed.map(|s| s as u64)).unwrap_or(setup.seed);
    setup.ties = match root.get("ties") {
        None => None,
        // Runs with other seeds then differ even if nothing else in them is left to chance.
        Some(entry) if entry.is_text() && entry.text()? == "seed" => Some(setup.seed),
        Some(entry) if entry.is_text() => return Err(entry.wrong("a number, or \"seed\"")),
        Some(entry) => Some(entry.integer(0..=i64::MAX)? as u64),
    };
    setup.stagger_ticks = root.boolean("stagger_ticks")?.unwrap_or(false);
    if let Some(entry) = root.get("costs") {
        setup.costs = costs(&entry)?;
    }
    for section in root.sections("speed")? {
        let set = section.need("cpus", "a list of CPUs")?.cpus(cpus)?;
        let percent = section.need("percent", "percent of the nominal speed")?.integer(1..=1000)?;
        section.finish()?;
        setup.speeds_permille.resize(cpus, 1000);
        for cpu in set.iter() {
            setup.speeds_permille[cpu.index()] = percent as u32 * 10;
        }
    }
    setup.frequencies = frequencies(root, cpus)?;
    if let Some(partitions) = partitions(root, cpus)? {
        setup.partitions = partitions;
    }
    for (feature, on) in features(root, kernel)? {
        setup.config.features.set(feature, on);
    }
    for (tunable, value) in tunables(root, setup.config.kernel)? {
        tunable.set(&mut setup.config.tunables, value);
        setup.config.tunables_written(setup.topology.online().len());
    }
    if let Some(table) = root.get("rules") {
        for entry in table.table("rules")?.entries() {
            let rule = Rule::by_name(entry.key).ok_or_else(|| {
                let names = Rule::ALL.map(Rule::name);
                entry.error(Fault::UnknownKey {
                    key: entry.key.into(),
                    scope: "rules".into(),
                    nearest: super::error::nearest(entry.key, names),
                    accepted: names.join(", "),
                })
            })?;
            setting::set_rule(&mut setup.config, rule, entry.text()?)
                .map_err(|fault| entry.error(Fault::Sense(format!("'{}': {fault}", entry.key))))?;
        }
    }
    Ok(setup)
}

/// The machine that a file names.
pub(crate) fn machine(entry: &Entry<'_>, files: Files<'_>) -> Result<Topology, ScenarioError> {
    let name = entry.text()?;
    let unknown = match Topology::preset(name) {
        Ok(topology) => return Ok(topology),
        Err(unknown) => unknown,
    };
    match files(name) {
        Ok(bytes) => machines::parse(name, &bytes).map_err(|e| entry.error(Fault::Machine(e))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let presets = PRESETS.iter().map(|p| p.name);
            Err(entry.wrong_name(format_args!("a file, or a preset ({unknown})"), presets))
        }
        Err(e) => Err(entry.error(Fault::Unreadable { file: name.into(), why: e.to_string() })),
    }
}

/// The kernel that a file names.
pub(crate) fn kernel_of(entry: &Entry<'_>) -> Result<Kernel, ScenarioError> {
    let known = Kernel::by_name(entry.text()?).filter(|k| Kernel::implemented().any(|i| i == *k));
    known.ok_or_else(|| entry.wrong_name(implemented(), Kernel::implemented().map(Kernel::name)))
}

fn implemented() -> String {
    Kernel::implemented().map(Kernel::name).collect::<Vec<_>>().join(", ")
}

fn costs(entry: &Entry<'_>) -> Result<Costs, ScenarioError> {
    let preset = |entry: &Entry<'_>| {
        let names = Costs::PRESETS.map(|(name, _)| name);
        Costs::preset(entry.text()?).ok_or_else(|| entry.wrong_name(names.join(", "), names))
    };
    if entry.is_text() {
        return preset(entry);
    }
    let section = entry.table("costs")?;
    let mut costs = section.get("preset").map_or(Ok(Costs::IDEAL), |e| preset(&e))?;
    for name in Costs::NAMES {
        if let (Some(cost), Some(value)) = (costs.by_name_mut(name), section.duration(name)?) {
            *cost = value;
        }
    }
    section.finish()?;
    Ok(costs)
}

/// `[[frequency]]`: clocks that have levels.
fn frequencies(root: &Section<'_>, cpus: usize) -> Result<Frequencies, ScenarioError> {
    let (mut domains, mut frequencies) = (Vec::new(), Frequencies::default());
    for section in root.sections("frequency")? {
        let set = section.need("cpus", "the CPUs that share a clock")?.cpus(cpus)?;
        let levels = section.need("levels", "frequencies in MHz, ascending")?;
        let level = |entry: Entry<'_>| Ok(entry.integer(1..=i64::from(MHZ_MAX))? as u32);
        let levels_mhz =
            levels.items()?.into_iter().map(level).collect::<Result<Vec<u32>, ScenarioError>>()?;
        let rate_limit = section.duration("rate_limit")?;
        let governor = match section.get("governor") {
            None => Governor::Fixed,
            Some(entry) => governor_of(entry.text()?, rate_limit)
                .ok_or_else(|| entry.wrong_name(Governor::NAMES.join(", "), Governor::NAMES))?,
        };
        let mut domain =
            FrequencyDomain { cpus: set, level: levels_mhz.len().max(1) - 1, levels_mhz, governor };
        if let Some(entry) = section.get("level") {
            domain.level = level_of(&entry, &domain)?;
        } else if governor != Governor::Fixed {
            domain.level = 0;
        }
        domains.push(domain);
        // Each as it comes, so that an error names the one that is to blame.
        frequencies = Frequencies::new(domains.clone(), cpus)
            .map_err(|e: FrequencyError| section.error(Fault::Sense(e.to_string())))?;
        section.finish()?;
    }
    Ok(frequencies)
}

/// The governor with this name.
pub(crate) fn governor_of(name: &str, rate_limit: Option<Nanos>) -> Option<Governor> {
    match name {
        "fixed" => Some(Governor::Fixed),
        "schedutil" => {
            Some(Governor::Schedutil { rate_limit: rate_limit.unwrap_or(Governor::RATE_LIMIT_DEFAULT) })
        }
        _ => None,
    }
}

/// The level of a clock that has this frequency.
pub(super) fn level_of(entry: &Entry<'_>, domain: &FrequencyDomain) -> Result<usize, ScenarioError> {
    let mhz = entry.integer(1..=i64::from(MHZ_MAX))? as u32;
    domain.level_of(mhz).ok_or_else(|| {
        let levels: Vec<String> = domain.levels_mhz.iter().map(u32::to_string).collect();
        entry.wrong(format_args!("one of the levels of CPUs {}: {} MHz", domain.cpus, levels.join(", ")))
    })
}

/// `partitions` and `isolated`, here or in a timed change; nothing if neither is there.
pub(super) fn partitions(section: &Section<'_>, cpus: usize) -> Result<Option<Partitions>, ScenarioError> {
    let (sets, isolated) = (section.get("partitions"), section.get("isolated"));
    let Some(entry) = sets.as_ref().or(isolated.as_ref()) else { return Ok(None) };
    let exclusive = match &sets {
        Some(entry) => entry.items()?.iter().map(|set| set.cpus(cpus)).collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    let alone = isolated.as_ref().map_or(Ok(CpuSet::new()), |entry| entry.cpus(cpus))?;
    let made = Partitions::new(exclusive, alone);
    made.map(Some).map_err(|e| entry.error(Fault::Sense(e.to_string())))
}

/// `[features]`, here or in a timed change.
pub(super) fn features(section: &Section<'_>, kernel: Kernel) -> Result<Vec<(Feature, bool)>, ScenarioError> {
    let Some(table) = section.get("features") else { return Ok(Vec::new()) };
    let unknown = |key: &str| {
        let exists = |f: &&Feature| f.default_in(kernel).is_some();
        let names: Vec<&str> = Feature::ALL.iter().filter(exists).map(|f| f.name()).collect();
        Fault::UnknownKey {
            key: key.into(),
            scope: format!("features of {kernel}"),
            nearest: super::error::nearest(key, names.iter().copied()),
            accepted: names.join(", "),
        }
    };
    let one = |entry: Entry<'_>| {
        let feature = Feature::in_kernel(entry.key, kernel).map_err(|e| {
            entry.error(match e {
                FeatureError::Unknown { .. } => unknown(entry.key),
                FeatureError::Elsewhere { .. } => Fault::Feature(e),
            })
        })?;
        Ok((feature, entry.boolean()?))
    };
    table.table("features")?.entries().map(one).collect()
}

/// `[tunables]`, here or in a timed change.
pub(super) fn tunables(section: &Section<'_>, kernel: Kernel) -> Result<Vec<(Tunable, u64)>, ScenarioError> {
    let Some(table) = section.get("tunables") else { return Ok(Vec::new()) };
    let unknown = |key: &str| {
        let names: Vec<&str> = Tunable::of(kernel).map(Tunable::name).collect();
        Fault::UnknownKey {
            key: key.into(),
            scope: format!("tunables of {kernel}"),
            nearest: super::error::nearest(key, names.iter().copied()),
            accepted: names.join(", "),
        }
    };
    let one = |entry: Entry<'_>| {
        let tunable = Tunable::by_name(entry.key).ok_or_else(|| entry.error(unknown(entry.key)))?;
        if !tunable.exists_in(kernel) {
            let why = setting::SettingFault::NoTunable { tunable, kernel };
            return Err(entry.error(Fault::Sense(why.to_string())));
        }
        let range = tunable.range();
        let value = match tunable.unit() {
            Unit::Time => entry.duration()?.0,
            Unit::Count => entry.integer(*range.start() as i64..=*range.end() as i64)? as u64,
        };
        if !range.contains(&value) {
            return Err(entry.wrong(tunable.accepted()));
        }
        Ok((tunable, value))
    };
    table.table("tunables")?.entries().map(one).collect()
}
