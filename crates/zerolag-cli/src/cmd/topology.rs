// SPDX-License-Identifier: GPL-2.0-only
//! `zerolag topology`: what a machine is made of, and the scheduling domains Linux would build on it.

use std::io::{self, Write};

use serde_json::{Value, json};
use zerolag_core::domain::{Domains, ShowDomains};
use zerolag_core::ids::NodeId;
use zerolag_core::kernel::Kernel;
use zerolag_core::topology::{PRESETS, Topology};
use zerolag_sim::machines::form;

use crate::args::high;
use crate::args::low;
use crate::failure::Failure;
use crate::table;

/// Shows one machine, or lists those that have a name.
pub(crate) fn run(args: &low::Topology, out: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = &args.machine else {
        return Ok(list(out)?);
    };
    let machine = high::machine(name)?;
    if args.json {
        writeln!(out, "{:#}", as_json(&machine))?;
    } else if args.toml {
        write!(out, "{}", form::write(&machine))?;
    } else if args.domains {
        domains(args.kernel, &machine, out)?;
    } else {
        show(&machine, out)?;
    }
    Ok(())
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let row = |name: &str, cpus: &str, about: &str| vec![name.to_owned(), cpus.to_owned(), about.to_owned()];
    let presets = PRESETS.iter().map(|preset| {
        let machine = Topology::preset(preset.name).expect("a preset is a machine");
        row(preset.name, &machine.cpu_count().to_string(), preset.about)
    });
    let any = row("Ncpu", "N", "N equal CPUs that share everything");
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

fn domains(kernel: Kernel, machine: &Topology, out: &mut dyn Write) -> Result<(), Failure> {
    let config = high::config(kernel, machine.cpu_count())?;
    let rules = &config.variants.domains;
    let (domains, states, _) = Domains::boot(machine, rules, config.hz);
    let online = machine.online();
    let shown =
        ShowDomains { topology: machine, rules, online, domains: &domains, states: &states, only: None };
    for line in shown.to_string().lines() {
        writeln!(out, "{}", line.strip_prefix("# ").unwrap_or(line))?;
    }
    Ok(())
}

fn as_json(machine: &Topology) -> Value {
    let cpus: Vec<Value> = machine
        .cpus()
        .map(|cpu| {
            let place = machine.place(cpu);
            json!({
                "cpu": cpu.0,
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
    json!({ "schema": "zerolag.topology/1", "cpus": cpus, "distances": distances })
}
