// SPDX-License-Identifier: GPL-2.0-only
//! The state lines that concern idle balancing, in kernels that keep blocked load of idle CPUs up to date by kicks
//! (4.17): of each CPU (`A`), then of the machine: what is idle (`N`), counts (`K`), and what was aged since the last such line
//! (`U`).

use zerolag_core::balance::NohzScheme;
use zerolag_core::balance::nohz::BlockedDeed;
use zerolag_core::ids::CpuId;

use super::Line;
use crate::script::machine::Machine;

/// The kernel has such lines.
pub(in crate::script) fn is_printed(machine: &Machine) -> bool {
    let scheme = machine.scheduler.config().variants.balance.nohz;
    matches!(scheme, NohzScheme::HasBlocked | NohzScheme::StaleCpus)
}

/// Appends them all.
pub(in crate::script) fn state(machine: &Machine, out: &mut String) {
    let s = &machine.scheduler;
    for (cpu, rq) in s.cpus().iter() {
        let avg = &s.queues()[rq.root].avg;
        let mut line = Line(out);
        line.word("A ").number(cpu.0);
        match rq.curr {
            Some(task) => line.field("curr", machine.names.task_number(task)),
            None => line.field("curr", -1),
        };
        line.field("nr", rq.nr_running)
            .field("lut", avg.last_update_time.0)
            .field("la", avg.load_avg)
            .field("rla", avg.runnable_avg)
            .field("ua", avg.util_avg)
            .field("lbu", rq.balance.last_blocked_update().0)
            .flag("hbl", rq.balance.has_blocked_load())
            .flag("nts", rq.balance.is_tick_stopped())
            .field("nohz", super::field::nohz_word(rq));
        let busy =
            s.domains().cpu(cpu).shared.map_or(0, |shared| s.domain_states().shared[shared].nr_busy_cpus);
        line.field("busy", busy)
            .field("nb", rq.balance.next_balance.0)
            .field("avgidle", rq.balance.avg_idle.0)
            .end();
    }
    Line(out).word("R").flag("ol", s.is_overloaded(CpuId(0))).end();
    machine_lines(machine, out);
}

/// Appends those of the machine.
pub(super) fn machine_lines(machine: &Machine, out: &mut String) {
    let nohz = machine.scheduler.nohz();
    let keeps_mask = machine.scheduler.config().variants.balance.nohz == NohzScheme::StaleCpus;
    let stale = if keeps_mask { nohz.stale_cpus.to_string() } else { "-".to_owned() };
    let blocked = if keeps_mask { !nohz.stale_cpus.is_empty() } else { nohz.has_blocked };
    Line(out)
        .word("N")
        .text("mask", &nohz.idle_cpus.to_string())
        .field("nr", nohz.nr_cpus)
        .flag("hb", blocked)
        .text("stale", &stale)
        .field("nb", nohz.next_balance.0)
        .field("nbl", nohz.next_blocked.0)
        .end();
    let c = &nohz.counts;
    let counts = [
        ("enter", c.enter),
        ("first", c.first),
        ("exit", c.exit),
        ("kicks", c.kicks_stats),
        ("kickb", c.kicks_balance),
        ("noilb", c.no_target),
        ("pending", c.pending),
        ("passs", c.passes_stats),
        ("passb", c.passes_balance),
        ("passn", c.passes_newly_idle),
        ("abort", c.abort),
        ("visit", c.visit),
        ("skip", c.skip),
        ("push", c.push),
        ("nishort", c.newly_idle_short),
        ("ninone", c.newly_idle_none),
    ];
    let mut line = Line(out);
    line.word("K");
    for (key, count) in counts {
        line.field(key, count);
    }
    line.end();
    let mut line = Line(out);
    line.word("U");
    for &(deed, cpu) in &machine.blocked_deeds {
        let letter = match deed {
            BlockedDeed::PassStats => " S",
            BlockedDeed::PassBalance => " B",
            BlockedDeed::PassNewlyIdle => " N",
            BlockedDeed::InPass => " p",
            BlockedDeed::PassOwn => " o",
            BlockedDeed::InSurvey => " s",
            BlockedDeed::NewlyIdle => " n",
            BlockedDeed::Periodic => " b",
        };
        line.word(letter).number(cpu.0);
    }
    line.end();
}
