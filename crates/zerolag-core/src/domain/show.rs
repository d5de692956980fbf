// SPDX-License-Identifier: GPL-2.0-only
//! Prints domains as the word `show` of event scripts does.

use core::fmt;

use super::rules::DomainRules;
use super::{Domain, DomainStates, Domains};
use crate::cpu_set::CpuSet;
use crate::ids::{CpuId, DomainId};
use crate::topology::Topology;

/// The domains of all CPUs or of one, as lines that start with `#`. See the event script format for what
/// the fields mean.
#[derive(Clone, Copy, Debug)]
pub struct ShowDomains<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// The kernel, whose names are used.
    pub rules: &'a DomainRules,
    /// The CPUs that are online.
    pub online: &'a CpuSet,
    /// The domains.
    pub domains: &'a Domains,
    /// Their present state.
    pub states: &'a DomainStates,
    /// Only those of this CPU.
    pub only: Option<CpuId>,
}

impl fmt::Display for ShowDomains<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cpu in self.topology.cpus().filter(|&cpu| self.only.is_none_or(|only| only == cpu)) {
            self.cpu(f, cpu)?;
            for domain in self.domains.chain(cpu) {
                self.domain(f, domain)?;
            }
        }
        Ok(())
    }
}

impl ShowDomains<'_> {
    fn cpu(&self, f: &mut fmt::Formatter<'_>, cpu: CpuId) -> fmt::Result {
        let place = self.topology.place(cpu);
        write!(f, "# cpu {cpu} node {} capacity {} core ", place.node, place.capacity.0)?;
        if self.online.contains(cpu) {
            let (core, llc) = (self.topology.core(cpu), self.topology.llc(cpu));
            writeln!(f, "{} llc {}", core.and(self.online), llc.and(self.online))
        } else {
            // A CPU that is offline has no siblings, not even itself.
            writeln!(f, " offline llc ")
        }
    }

    fn domain(&self, f: &mut fmt::Formatter<'_>, id: DomainId) -> fmt::Result {
        let (sd, state) = (&self.domains[id], &self.states.domains[id]);
        write!(
            f,
            "#  {} span {} weight {} imbalance_pct {} cache_nice_tries {} interval {}..{} busy_factor {} \
             imb_numa_nr {}",
            self.rules.level_name(sd.level),
            self.domains.span(id),
            sd.weight,
            sd.imbalance_pct,
            sd.cache_nice_tries,
            sd.min_interval_ms,
            sd.max_interval_ms,
            sd.busy_factor,
            sd.imb_numa_nr,
        )?;
        for flag in sd.flags.iter() {
            write!(f, " {}", self.rules.flag_name(flag))?;
        }
        write!(
            f,
            "\n#   now: last_balance {} interval {} failed {} newidle cost {}",
            state.last_balance.0,
            state.balance_interval_ms,
            state.nr_balance_failed,
            state.max_newidle_lb_cost.0,
        )?;
        if self.rules.newidle_statistics {
            let (call, success, ratio) = (state.newidle_call, state.newidle_success, state.newidle_ratio);
            write!(f, " calls {call} success {success} ratio {ratio}")?;
        }
        f.write_str("\n#   groups")?;
        self.groups(f, sd)?;
        f.write_str("\n")
    }

    fn groups(&self, f: &mut fmt::Formatter<'_>, sd: &Domain) -> fmt::Result {
        for id in self.domains.groups(sd) {
            let group = self.domains.group(id);
            let sum = &self.states.capacities[group.capacity];
            write!(
                f,
                " {}[cap {} {}..{}",
                self.domains.group_span(id),
                sum.capacity,
                sum.min_capacity,
                sum.max_capacity
            )?;
            if group.balance != group.span {
                write!(f, " balance {}", self.domains.balance_mask(id))?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}
