// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag topology`: what a machine is made of, and the scheduling domains Linux would build on it.

use std::fs;
use std::io::{self, Write};

use serde_json::{Value, json};
use zerolag_core::domain::{DomainRules, DomainStates, Domains, ShowDomains};
use zerolag_core::ids::{DomainId, NodeId};
use zerolag_core::topology::{PRESETS, Topology};
use zerolag_sim::machines::form;

use crate::args::high;
use crate::args::low::{self, TopologyCommand};
use crate::failure::Failure;
use crate::table;

/// Lists machines, or shows or converts one.
pub(crate) fn run(args: &low::Topology, out: &mut dyn Write) -> Result<(), Failure> {
    match &args.what {
        TopologyCommand::List => Ok(list(out)?),
        TopologyCommand::Show(args) => {
            let machine = high::machine(&args.machine)?;
            match args.json {
                true => Ok(writeln!(out, "{:#}", as_json(&machine))?),
                false => Ok(show(&machine, out)?),
            }
        }
        TopologyCommand::Domains(args) => domains(args, out),
        TopologyCommand::Import(args) => {
            let text = form::write(&high::machine(&args.machine)?);
            match &args.output {
                Some(path) => {
                    fs::write(path, text).map_err(|e| Failure::input(format_args!("{}: {e}", path.display())))
                }
                None => Ok(out.write_all(text.as_bytes())?),
            }
        }
    }
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let row = |name: &str, cpus: &str, about: &str| vec![name.to_owned(), cpus.to_owned(), about.to_owned()];
    let presets = PRESETS.iter().map(|preset| {
        let machine = Topology::preset(preset.name).expect("a preset is a machine");
        row(preset.name, &machine.cpu_count().to_string(), preset.about)
    });
    let any = row("ncpu:N", "N", "N equal CPUs that share everything; also Ncpu");
    table::write(out, &["MACHINE", "CPUS", "WHAT IT IS"], presets.chain([any]))
}

fn show(machine: &Topology, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "CPUs: {}, cores: {}, clusters: {}, last-level caches: {}, nodes: {}, packages: {}",
        machine.cpu_count(),
        machine.cores().len(),
        machine.clusters().len(),
        machine.llcs().len(),
        machine.nodes().len(),
        machine.packages().len(),
    )?;
    if machine.online().len() < machine.cpu_count() {
        writeln!(out, "online: {}", machine.online())?;
    }
    writeln!(out)?;
    let rows = machine.cores().iter().filter_map(|(core, cpus)| {
        let place = machine.place(cpus.first()?);
        let ids =
            [place.package.0, place.node.0, place.llc.0, place.cluster.0, core.0].map(|id| id.to_string());
        Some(ids.into_iter().chain([cpus.to_string(), place.capacity.0.to_string()]).collect())
    });
    table::write(out, &["PACKAGE", "NODE", "LLC", "CLUSTER", "CORE", "CPUS", "CAPACITY"], rows)?;
    let nodes: Vec<NodeId> = machine.nodes().ids().collect();
    if nodes.len() > 1 {
        let heads: Vec<String> =
            std::iter::once("NODE".into()).chain(nodes.iter().map(|n| format!("TO {}", n.0))).collect();
        let rows = nodes.iter().map(|&from| {
            let distances = nodes.iter().map(|&to| machine.distance(from, to).to_string());
            std::iter::once(from.0.to_string()).chain(distances).collect()
        });
        writeln!(out)?;
        table::write(out, &heads.iter().map(String::as_str).collect::<Vec<_>>(), rows)?;
    }
    Ok(())
}

fn domains(args: &low::TopologyDomains, out: &mut dyn Write) -> Result<(), Failure> {
    let machine = high::machine(&args.machine)?;
    let config = high::config(args.kernel, machine.cpu_count())?;
    let rules = &config.variants.domains;
    let (domains, states, _) = Domains::boot(&machine, rules, config.hz);
    if args.json {
        let cpus = machine.online().iter().map(|cpu| {
            let domains: Vec<Value> =
                domains.chain(cpu).map(|id| domain_json(rules, &domains, &states, id)).collect();
            json!({ "id": cpu.0, "domains": domains })
        });
        let all = json!({
            "schema": "zerolag.domains/1",
            "kernel": args.kernel.name(),
            "cpus": cpus.collect::<Vec<_>>(),
        });
        return Ok(writeln!(out, "{all:#}")?);
    }
    let online = machine.online();
    let shown =
        ShowDomains { topology: &machine, rules, online, domains: &domains, states: &states, only: None };
    for line in shown.to_string().lines() {
        writeln!(out, "{}", line.strip_prefix("# ").unwrap_or(line))?;
    }
    Ok(())
}

fn domain_json(rules: &DomainRules, domains: &Domains, states: &DomainStates, id: DomainId) -> Value {
    let domain = &domains[id];
    let groups = domains.groups(domain).map(|group| {
        let sum = &states.capacities[domains.group(group).capacity];
        json!({
            "cpus": domains.group_span(group).to_string(),
            "balance": domains.balance_mask(group).to_string(),
            "capacity": sum.capacity,
            "min_capacity": sum.min_capacity,
            "max_capacity": sum.max_capacity,
        })
    });
    json!({
        "level": rules.level_name(domain.level),
        "span": domains.span(id).to_string(),
        "weight": domain.weight,
        "flags": domain.flags.iter().map(|flag| rules.flag_name(flag)).collect::<Vec<_>>(),
        "imbalance_pct": domain.imbalance_pct,
        "cache_nice_tries": domain.cache_nice_tries,
        "min_interval_ms": domain.min_interval_ms,
        "max_interval_ms": domain.max_interval_ms,
        "busy_factor": domain.busy_factor,
        "imb_numa_nr": domain.imb_numa_nr,
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn as_json(machine: &Topology) -> Value {
    let cpus: Vec<Value> = machine
        .cpus()
        .map(|cpu| {
            let place = machine.place(cpu);
            json!({
                "id": cpu.0,
                "online": machine.online().contains(cpu),
                "core": place.core.0,
                "cluster": place.cluster.0,
                "llc": place.llc.0,
                "node": place.node.0,
                "package": place.package.0,
                "capacity": place.capacity.0,
            })
        })
        .collect();
    let nodes: Vec<NodeId> = machine.nodes().ids().collect();
    let distances: Vec<Vec<u8>> =
        nodes.iter().map(|&from| nodes.iter().map(|&to| machine.distance(from, to)).collect()).collect();
    json!({ "schema": "zerolag.topology/2", "cpus": cpus, "distances": distances })
}
