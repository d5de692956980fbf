// SPDX-License-Identifier: GPL-2.0-only
//! Layouts of the kernels whose timeline is ordered by deadline.

use zerolag_core::entity::Entity;
use zerolag_core::ids::{EntityId, QueueId, TaskId};

use super::{
    Layout, Line, View, average_fields, cpu_fields, entity_name, group_fields, propagation_fields,
    standing_fields,
};

pub(super) const LINUX_6_12: Layout = Layout {
    cpu: cpu_fields,
    group: group_fields,
    group_entity,
    queue: |view, queue, line| queue_fields(view, queue, Counts::WithIdleEntities, line),
    task: task_fields,
};

pub(super) const LINUX_6_18: Layout =
    Layout { queue: |view, queue, line| queue_fields(view, queue, Counts::TasksOnly, line), ..LINUX_6_12 };

/// What 6.18 no longer counts: idle entities at a level. Its anchor has another name, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    WithIdleEntities,
    TasksOnly,
}

fn queue_fields(view: &View, queue: QueueId, counts: Counts, line: &mut Line) {
    let s = view.scheduler;
    let q = &s.queues()[queue];
    line.field("w", q.load.0).field("nr", q.nr_queued);
    line.field("hq", q.h_nr_queued).field("hr", q.h_nr_runnable).field("hd", q.h_nr_delayed);
    let anchor_name = match counts {
        Counts::WithIdleEntities => {
            line.field("idl", q.idle_nr);
            "zv"
        }
        Counts::TasksOnly => "minv",
    };
    line.field("ih", q.idle_h_nr);
    let (anchor, sum) = if view.print_anchor { (q.anchor.0, q.key_weight_sum()) } else { (0, 0) };
    line.field(anchor_name, anchor).field("av", sum).field("al", q.weight_sum());
    line.field("V", q.virtual_time(s.entities()).0);
    entity_name(view, "curr", q.curr, line);
    entity_name(view, "next", q.next, line);
    average_fields(&q.avg, line);
    line.field("ltg", q.last_tg_load_update.0).field("tgc", q.tg_load_contrib);
    propagation_fields(q, line);
}

fn group_entity(view: &View, entity: EntityId, line: &mut Line) {
    let e = &view.scheduler.entities()[entity];
    entity_fields(e, line);
    line.field("rw", e.runnable_weight);
}

fn task_fields(view: &View, task: TaskId, line: &mut Line) {
    standing_fields(view, task, line);
    let e = &view.scheduler.entities()[view.scheduler.tasks()[task].entity];
    entity_fields(e, line);
    line.field("ue", e.avg.util_est);
}

fn entity_fields(e: &Entity, line: &mut Line) {
    line.flag("onrq", e.on_rq).field("v", e.vruntime.0).field("dl", e.deadline.0).field("sl", e.slice.0);
    line.field("lag", e.vlag.0).flag("del", e.delayed).flag("rd", e.rel_deadline).flag("cs", e.custom_slice);
    line.field("w", e.weight.0).field("ex", e.exec_start.0);
    line.field("sum", e.sum_exec.0).field("psum", e.prev_sum_exec.0);
    average_fields(&e.avg, line);
}
