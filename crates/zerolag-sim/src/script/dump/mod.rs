// SPDX-License-Identifier: GPL-2.0-only
//! The state lines: everything the scheduler knows, in the reference's words and order.
//!
//! A line per CPU (`C`), then for each group its own line (`H`) and, per CPU, its entity (`G`) and queue
//! (`Q`), then a line per task (`T`). What a line shows depends on the kernel: a [`Layout`] each.

mod eevdf;

use std::collections::BTreeMap;

use zerolag_core::entity::Owner;
use zerolag_core::fair::queue::CfsRq;
use zerolag_core::ids::{CpuId, EntityId, GroupId, Id, QueueId, TaskId};
use zerolag_core::kernel::Kernel;
use zerolag_core::pelt::SchedAvg;
use zerolag_core::scheduler::Scheduler;
use zerolag_core::task::{OnRq, TaskState};

/// The numbers by which the script knows tasks and groups.
pub(super) struct Names {
    /// Live tasks by number.
    pub(super) tasks: BTreeMap<u64, TaskId>,
    /// Numbers of all tasks that ever were.
    pub(super) task_numbers: Vec<u64>,
    pub(super) groups: BTreeMap<u64, GroupId>,
    pub(super) group_numbers: Vec<u64>,
}

impl Names {
    pub(super) fn task_number(&self, task: TaskId) -> u64 {
        self.task_numbers[task.index()]
    }

    fn group_number(&self, group: GroupId) -> u64 {
        self.group_numbers[group.index()]
    }
}

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

/// What is to be printed.
pub(super) struct View<'a> {
    pub(super) scheduler: &'a Scheduler,
    pub(super) names: &'a Names,
    /// Print where the sums are anchored; off: print 0.
    pub(super) print_anchor: bool,
}

/// How one kernel's lines are filled, after the words that say whose they are.
struct Layout {
    cpu: fn(&View, CpuId, &mut Line),
    group: fn(&View, GroupId, &mut Line),
    group_entity: fn(&View, EntityId, &mut Line),
    queue: fn(&View, QueueId, &mut Line),
    task: fn(&View, TaskId, &mut Line),
}

/// The layout of a kernel that has one.
fn layout(kernel: Kernel) -> &'static Layout {
    match kernel {
        Kernel::V6_18 => &eevdf::LINUX_6_18,
        _ => &eevdf::LINUX_6_12,
    }
}

impl View<'_> {
    /// Appends all state lines.
    pub(super) fn print(&self, out: &mut String) {
        let (s, names) = (self.scheduler, self.names);
        let layout = layout(s.config().kernel);
        for cpu in s.cpus().ids() {
            let mut line = Line(out);
            line.word("C ").number(cpu.0);
            (layout.cpu)(self, cpu, &mut line);
            line.end();
        }
        for (&number, &group) in &names.groups {
            if group != GroupId::ROOT {
                let mut line = Line(out);
                line.word("H ").number(number);
                (layout.group)(self, group, &mut line);
                line.end();
            }
            for cpu in s.cpus().ids() {
                let place = s.group_on(group, cpu);
                if let Some(entity) = place.entity {
                    let mut line = Line(out);
                    line.word("G ").number(cpu.0).word(" ").number(number);
                    (layout.group_entity)(self, entity, &mut line);
                    line.end();
                }
                let mut line = Line(out);
                line.word("Q ").number(cpu.0).word(" ").number(number);
                (layout.queue)(self, place.queue, &mut line);
                line.end();
            }
        }
        for (&number, &task) in &names.tasks {
            let mut line = Line(out);
            line.word("T ").number(number);
            (layout.task)(self, task, &mut line);
            line.end();
        }
    }
}

fn cpu_fields(view: &View, cpu: CpuId, line: &mut Line) {
    let rq = &view.scheduler.cpus()[cpu];
    match rq.curr {
        Some(task) => line.field("curr", view.names.task_number(task)),
        None => line.field("curr", -1),
    };
    line.flag("nr", rq.need_resched).field("nrun", rq.nr_running);
    line.field("clk", rq.clock.0).field("ct", rq.clock_task.0).field("cp", rq.clock_pelt.0);
    line.field("lost", rq.lost_idle_time.0).field("ci", rq.clock_idle.0).field("cpi", rq.clock_pelt_idle.0);
    line.flag("skip", rq.skip_requested);
}

fn group_fields(view: &View, group: GroupId, line: &mut Line) {
    let g = &view.scheduler.groups()[group];
    line.field("p", view.names.group_number(g.parent.unwrap_or(GroupId::ROOT)));
    line.field("sh", g.shares.down()).field("la", g.load_avg).flag("idle", g.idle);
}

/// What a queue has handed up or still has to hand up.
fn propagation_fields(q: &CfsRq, line: &mut Line) {
    line.flag("prop", q.propagate).field("prs", q.prop_runnable_sum);
    let r = &q.removed;
    line.field("rm", r.nr);
    for sum in [r.load_avg, r.util_avg, r.runnable_avg] {
        line.word(",").number(sum);
    }
    line.flag("onl", q.on_list());
}

fn entity_name(view: &View, key: &str, entity: Option<EntityId>, line: &mut Line) {
    match entity.map(|e| view.scheduler.entities()[e].owner) {
        None => line.text(key, "-"),
        Some(Owner::Task(task)) => line.text(key, "T").number(view.names.task_number(task)),
        Some(Owner::Group(group)) => line.text(key, "G").number(view.names.group_number(group)),
    };
}

fn average_fields(a: &SchedAvg, line: &mut Line) {
    line.field("lut", a.last_update_time.0).field("pc", a.period_contrib);
    line.field("ls", a.load_sum).field("rs", a.runnable_sum).field("us", a.util_sum);
    line.field("la", a.load_avg).field("ra", a.runnable_avg).field("ua", a.util_avg);
}

/// Who a task is and what it is doing.
fn standing_fields(view: &View, task: TaskId, line: &mut Line) {
    let t = &view.scheduler.tasks()[task];
    line.field("g", view.names.group_number(t.group)).field("c", t.cpu.0);
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
}
