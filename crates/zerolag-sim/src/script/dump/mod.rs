// SPDX-License-Identifier: GPL-2.0-only
//! The state lines: everything the scheduler knows, in the reference's words and order.
//!
//! Kernels differ in what they have; [`layout`] says who prints what.
//!
//! A line per CPU (`C`), then for each group its own line (`H`) and, per CPU, its entity (`G`) and queue
//! (`Q`), then a line per task (`T`). Builds with CFS bandwidth have another line for each group (`B`) and for
//! each queue (`W`).

mod bandwidth;
mod field;
mod layout;
pub(super) mod nohz;

use zerolag_core::ids::{CpuId, GroupId};
use zerolag_core::variants::Throttling;

use super::machine::Machine;
use layout::Layout;

/// FNV-1a, 64 bits.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// A line under construction: `key=value` pairs. Formatting by hand, since a script may print millions.
struct Line<'a>(&'a mut String);

impl Line<'_> {
    fn word(&mut self, word: &str) -> &mut Self {
        self.0.push_str(word);
        self
    }

    fn number(&mut self, value: impl itoa::Integer) -> &mut Self {
        self.0.push_str(itoa::Buffer::new().format(value));
        self
    }

    fn field(&mut self, key: &str, value: impl itoa::Integer) -> &mut Self {
        self.0.push(' ');
        self.0.push_str(key);
        self.0.push('=');
        self.number(value)
    }

    fn flag(&mut self, key: &str, value: bool) -> &mut Self {
        self.field(key, u8::from(value))
    }

    fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.0.push(' ');
        self.0.push_str(key);
        self.0.push('=');
        self.word(value)
    }

    fn end(&mut self) {
        self.0.push('\n');
    }
}

/// Appends all state lines.
pub(super) fn state(machine: &Machine, print_anchor: bool, out: &mut String) {
    let s = &machine.scheduler;
    let names = &machine.names;
    let layout = Layout::of(s.config().kernel);
    let per_task = s.config().variants.bandwidth.is_some_and(|b| b.throttling == Throttling::Tasks);
    for (cpu, rq) in s.cpus().iter() {
        let mut line = Line(out);
        line.word("C ").number(cpu.0);
        layout.cpu.iter().for_each(|field| field.print(machine, rq, &mut line));
        if machine.printed.domains {
            layout.cpu_with_domains.iter().for_each(|field| field.print(machine, rq, &mut line));
        }
        if machine.printed.rich && !layout.cache.is_empty() {
            line.field("cap", rq.balance.cpu_capacity).flag("toff", machine.tick_is_off(cpu));
        }
        line.end();
    }
    if machine.printed.rich && machine.printed.domains && !layout.cache.is_empty() {
        cache_lines(machine, layout, out);
    }
    if machine.printed.domains && nohz::is_printed(machine) {
        nohz::machine_lines(machine, out);
    }
    for (&number, &group) in &names.groups {
        if machine.printed.bandwidth && group != GroupId::ROOT {
            bandwidth::group_line(number, &s.groups()[group].bandwidth, &mut Line(out));
        }
        if group != GroupId::ROOT {
            let mut line = Line(out);
            line.word("H ").number(number);
            let group = &s.groups()[group];
            layout.group.iter().for_each(|field| field.print(machine, group, &mut line));
            line.end();
        }
        for cpu in s.cpus().ids() {
            let place = s.group_on(group, cpu);
            let mut line = Line(out);
            if let Some(entity) = place.entity {
                line.word("G ").number(cpu.0).word(" ").number(number);
                layout.group_entity.iter().for_each(|f| f.print(machine, entity, layout.averages, &mut line));
                line.end();
            }
            let how = (layout.averages, print_anchor);
            line.word("Q ").number(cpu.0).word(" ").number(number);
            layout.queue.iter().for_each(|field| field.print(machine, place.queue, how, &mut line));
            if machine.printed.domains {
                layout.queue_with_domains.iter().for_each(|f| f.print(machine, place.queue, how, &mut line));
            }
            line.end();
            if machine.printed.bandwidth {
                let throttle = &s.queues()[place.queue].throttle;
                bandwidth::queue_line(cpu, number, throttle, per_task, &mut Line(out));
            }
        }
    }
    for (&number, &task) in &names.tasks {
        let task = &s.tasks()[task];
        let mut line = Line(out);
        line.word("T ").number(number);
        layout.task.iter().for_each(|field| field.print(machine, task, &mut line));
        layout.task_entity.iter().for_each(|f| f.print(machine, task.entity, layout.averages, &mut line));
        if machine.printed.rich {
            layout.task_on_machine.iter().for_each(|field| field.print(machine, task, &mut line));
        }
        if machine.printed.bandwidth && per_task {
            line.flag("thr", task.throttled);
        }
        line.end();
    }
}

/// A line for each last-level cache, then one for the machine.
fn cache_lines(machine: &Machine, layout: &Layout, out: &mut String) {
    let s = &machine.scheduler;
    for cpu in s.cpus().ids() {
        let places = s.domains().cpu(cpu);
        if let Some(shared) = places.shared.filter(|_| places.llc_id == cpu) {
            let cache = &s.domain_states().shared[shared];
            let mut line = Line(out);
            line.word("L ").number(cpu.0);
            layout.cache.iter().for_each(|field| field.print(cache, &mut line));
            line.end();
        }
    }
    // Only with an energy model can a machine be overutilised.
    let mut line = Line(out);
    line.word("R").flag("ol", s.is_overloaded(CpuId(0)));
    if s.config().variants.balance.by_load.is_none() {
        line.flag("ou", false);
    }
    line.end();
}
