// SPDX-License-Identifier: GPL-2.0-only
//! The state lines: everything the scheduler knows, in the reference's words and order.
//!
//! A line per CPU (`C`), then for each group its own line (`H`) and, per CPU, its entity (`G`) and queue
//! (`Q`), then a line per task (`T`).

use zerolag_core::entity::{Entity, Owner};
use zerolag_core::ids::{CpuId, EntityId, GroupId, Id, TaskId};
use zerolag_core::pelt::SchedAvg;
use zerolag_core::task::{OnRq, TaskState};

use super::machine::Machine;

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
    for cpu in s.cpus().ids() {
        cpu_line(machine, cpu, &mut Line(out));
    }
    if machine.rich && machine.domains {
        cache_lines(machine, out);
    }
    for (&number, &group) in &names.groups {
        let g = &s.groups()[group];
        if let Some(parent) = g.parent {
            let mut line = Line(out);
            line.word("H ").number(number).field("p", names.group_number(parent));
            line.field("sh", g.shares.down()).field("la", g.load_avg).flag("idle", g.idle).end();
        }
        for cpu in s.cpus().ids() {
            if let Some(entity) = s.group_on(group, cpu).entity {
                let e = &s.entities()[entity];
                let mut line = Line(out);
                line.word("G ").number(cpu.0).word(" ").number(number);
                entity_fields(e, &mut line);
                line.field("rw", e.runnable_weight).end();
            }
            queue_line(machine, cpu, group, print_anchor, &mut Line(out));
        }
    }
    for (&number, &task) in &names.tasks {
        task_line(machine, number, task, &mut Line(out));
    }
}

fn cpu_line(machine: &Machine, cpu: CpuId, line: &mut Line) {
    let rq = &machine.scheduler.cpus()[cpu];
    line.word("C ").number(cpu.0);
    match rq.curr {
        Some(task) => line.field("curr", machine.names.task_number(task)),
        None => line.field("curr", -1),
    };
    line.flag("nr", rq.need_resched).field("nrun", rq.nr_running);
    line.field("clk", rq.clock.0).field("ct", rq.clock_task.0).field("cp", rq.clock_pelt.0);
    line.field("lost", rq.lost_idle_time.0).field("ci", rq.clock_idle.0).field("cpi", rq.clock_pelt_idle.0);
    line.flag("skip", rq.skip_requested);
    if machine.domains {
        let b = &rq.balance;
        line.field("nb", b.next_balance.0).field("avgidle", b.avg_idle.0);
        line.field("maxcost", b.max_idle_balance_cost.0).field("stamp", b.idle_stamp.0);
        line.field("misfit", b.misfit_task_load).flag("ab", b.active_balance);
        line.field("nohz", b.nohz_flags.bits());
    }
    if machine.rich {
        line.field("cap", rq.balance.cpu_capacity).flag("toff", machine.tick_is_off(cpu));
    }
    line.end();
}

/// A line for each last-level cache, then one for the machine.
fn cache_lines(machine: &Machine, out: &mut String) {
    let s = &machine.scheduler;
    for cpu in s.cpus().ids() {
        let places = s.domains().cpu(cpu);
        if let Some(shared) = places.shared.filter(|_| places.llc_id == cpu) {
            let cache = &s.domain_states().shared[shared];
            let mut line = Line(out);
            line.word("L ").number(cpu.0).field("busy", cache.nr_busy_cpus);
            line.flag("hic", cache.has_idle_cores).field("scan", cache.nr_idle_scan).end();
        }
    }
    // Only with an energy model can a machine be overutilised.
    Line(out).word("R").flag("ol", s.is_overloaded(CpuId(0))).flag("ou", false).end();
}

fn queue_line(machine: &Machine, cpu: CpuId, group: GroupId, print_anchor: bool, line: &mut Line) {
    let s = &machine.scheduler;
    let q = &s.queues()[s.group_on(group, cpu).queue];
    line.word("Q ").number(cpu.0).word(" ").number(machine.names.group_number(group));
    line.field("w", q.load.0).field("nr", q.nr_queued);
    line.field("hq", q.h_nr_queued).field("hr", q.h_nr_runnable).field("hd", q.h_nr_delayed);
    line.field("idl", q.idle_nr).field("ih", q.idle_h_nr);
    let (anchor, sum) = if print_anchor { (q.anchor.0, q.key_weight_sum()) } else { (0, 0) };
    line.field("zv", anchor).field("av", sum).field("al", q.weight_sum());
    line.field("V", q.virtual_time(s.entities()).0);
    entity_name(machine, "curr", q.curr, line);
    entity_name(machine, "next", q.next, line);
    average_fields(&q.avg, line);
    line.field("ltg", q.last_tg_load_update.0).field("tgc", q.tg_load_contrib);
    line.flag("prop", q.propagate).field("prs", q.prop_runnable_sum);
    let r = &q.removed;
    line.field("rm", r.nr)
        .word(",")
        .number(r.load_avg)
        .word(",")
        .number(r.util_avg)
        .word(",")
        .number(r.runnable_avg);
    line.flag("onl", q.on_list()).end();
}

fn entity_name(machine: &Machine, key: &str, entity: Option<EntityId>, line: &mut Line) {
    match entity.map(|e| machine.scheduler.entities()[e].owner) {
        None => line.text(key, "-"),
        Some(Owner::Task(task)) => line.text(key, "T").number(machine.names.task_number(task)),
        Some(Owner::Group(group)) => line.text(key, "G").number(machine.names.group_number(group)),
    };
}

fn entity_fields(e: &Entity, line: &mut Line) {
    line.flag("onrq", e.on_rq).field("v", e.vruntime.0).field("dl", e.deadline.0).field("sl", e.slice.0);
    line.field("lag", e.vlag.0).flag("del", e.delayed).flag("rd", e.rel_deadline).flag("cs", e.custom_slice);
    line.field("w", e.weight.0).field("ex", e.exec_start.0);
    line.field("sum", e.sum_exec.0).field("psum", e.prev_sum_exec.0);
    average_fields(&e.avg, line);
}

fn average_fields(a: &SchedAvg, line: &mut Line) {
    line.field("lut", a.last_update_time.0).field("pc", a.period_contrib);
    line.field("ls", a.load_sum).field("rs", a.runnable_sum).field("us", a.util_sum);
    line.field("la", a.load_avg).field("ra", a.runnable_avg).field("ua", a.util_avg);
}

fn task_line(machine: &Machine, number: u64, task: TaskId, line: &mut Line) {
    let s = &machine.scheduler;
    let t = &s.tasks()[task];
    line.word("T ").number(number).field("g", machine.names.group_number(t.group)).field("c", t.cpu.0);
    line.text(
        "st",
        match t.state {
            TaskState::New => "N",
            TaskState::Runnable => "R",
            TaskState::Sleeping | TaskState::Uninterruptible | TaskState::Dead => "S",
        },
    );
    line.field(
        "q",
        match t.on_rq {
            OnRq::No => 0,
            OnRq::Queued => 1,
            OnRq::Migrating => 2,
        },
    );
    line.field("ni", t.nice.get()).field("pol", t.policy.number());
    let e = &s.entities()[t.entity];
    entity_fields(e, line);
    line.field("ue", e.avg.util_est);
    if machine.rich {
        line.field("ru", t.recent_used_cpu.0).field("wf", t.waker.wakee_flips);
        match t.waker.last_wakee {
            Some(wakee) => line.field("lw", machine.names.task_number(wakee)),
            None => line.field("lw", -1),
        };
    }
    line.end();
}
