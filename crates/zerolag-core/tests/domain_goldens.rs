// SPDX-License-Identifier: GPL-2.0-only
//! Domains against what the kernels' own code builds: `tests/domains/*.golden`, which `regenerate.py` beside
//! them makes and describes.

use zerolag_core::cpu_set::CpuSet;
use zerolag_core::domain::{
    DomainInput, DomainRules, DomainStates, Domains, Partitions, ShowDomains, TickTime,
};
use zerolag_core::ids::{CpuId, IdVec};
use zerolag_core::topology::{Topology, TopologyBuilder};

const HZ: u32 = 250;

#[test]
fn linux_6_1_builds_the_same() {
    check(&DomainRules::LINUX_6_1, include_str!("domains/linux-6.1.golden"));
}

#[test]
fn linux_6_12_builds_the_same() {
    check(&DomainRules::LINUX_6_12, include_str!("domains/linux-6.12.golden"));
}

fn check(rules: &DomainRules, golden: &str) {
    let mut machines = 0;
    for stanza in golden.split("machine: ").skip(1) {
        let (script, expected) = stanza.split_once('\n').expect("a script, then what it prints");
        assert_eq!(run(rules, script), expected, "machine: {script}");
        machines += 1;
    }
    assert!(machines >= 25, "the golden file has been cut short");
}

/// Runs a script, and prints what the golden file says about it.
fn run(rules: &DomainRules, script: &str) -> String {
    let mut builder = TopologyBuilder::new();
    let mut machine: Option<Machine<'_>> = None;
    let mut output = String::new();
    for line in script.split("; ") {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "domains" || builder.word(&words).unwrap() {
            continue;
        }
        let first = machine.is_none();
        let machine = machine.get_or_insert_with(|| Machine::boot(builder.build().unwrap(), rules));
        match words[..] {
            ["show"] => output += &summary(&machine.show(), first),
            ["offline", cpu] => machine.offline(CpuId(cpu.parse().unwrap())),
            ["online", cpu] => machine.online(CpuId(cpu.parse().unwrap())),
            _ => panic!("unknown line {line}"),
        }
    }
    output
}

struct Machine<'a> {
    topology: Topology,
    rules: &'a DomainRules,
    online: CpuSet,
    domains: Domains,
    states: DomainStates,
    cpu_capacity: IdVec<CpuId, u32>,
}

impl<'a> Machine<'a> {
    fn boot(topology: Topology, rules: &'a DomainRules) -> Self {
        let (domains, states, cpu_capacity) = Domains::boot(&topology, rules, HZ);
        Self { online: topology.online().clone(), topology, rules, domains, states, cpu_capacity }
    }

    /// Domains are rebuilt while the CPU still counts as online.
    fn offline(&mut self, cpu: CpuId) {
        let mut active = self.online.clone();
        active.remove(cpu);
        self.rebuild(&active);
        self.online = active;
    }

    fn online(&mut self, cpu: CpuId) {
        self.online.insert(cpu);
        self.rebuild(&self.online.clone());
    }

    fn rebuild(&mut self, active: &CpuSet) {
        let input = DomainInput {
            topology: &self.topology,
            rules: self.rules,
            online: &self.online,
            active,
            partitions: &Partitions::default(),
            time: TickTime::boot(HZ),
        };
        let free = |cpu| self.topology.capacity(cpu).0;
        self.domains.rebuild(&mut self.states, &input, free, &mut self.cpu_capacity);
    }

    fn show(&self) -> String {
        ShowDomains {
            topology: &self.topology,
            rules: self.rules,
            online: &self.online,
            domains: &self.domains,
            states: &self.states,
            only: None,
        }
        .to_string()
    }
}

/// Number and hash of the lines, and if asked for those of the last CPU.
fn summary(lines: &str, with_last: bool) -> String {
    let hash = lines
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mut summary = format!("sum {} {hash:016x}\n", lines.lines().count());
    if with_last {
        summary += &lines[lines.rfind("# cpu ").expect("a machine has CPUs")..];
    }
    summary
}
