// SPDX-License-Identifier: GPL-2.0-only
//! The fields of the state lines: under which word each is printed, and what.

use zerolag_core::domain::SharedState;
use zerolag_core::entity::Owner;
use zerolag_core::group::Group;
use zerolag_core::ids::{EntityId, QueueId};
use zerolag_core::pelt::SchedAvg;
use zerolag_core::rq::{NohzFlags, Rq};
use zerolag_core::task::{OnRq, Task, TaskState};

use super::Line;
use crate::script::machine::Machine;

/// Fields of a CPU.
#[derive(Clone, Copy)]
pub(super) enum CpuField {
    Curr,
    NeedResched,
    NrRunning,
    Clock,
    ClockTask,
    ClockPelt,
    LostIdle,
    ClockIdle,
    ClockPeltIdle,
    Skip,
    NextBalance,
    AvgIdle,
    MaxIdleBalanceCost,
    IdleStamp,
    Misfit,
    ActiveBalance,
    NohzFlags,
    /// `cpu_load[]`.
    LoadHistory,
    MeanWeight,
    /// The tick is stopped, and the CPU has been kicked, before 4.17.
    NohzBits,
    /// What a CPU has been kicked for, in 4.17.
    NohzWord,
    /// It is in the mask of idle CPUs, may have blocked load, when that was aged, and whether it was idle at its last
    /// tick.
    NohzState,
    /// The load over spans of ticks alone.
    Loads,
    /// The load over spans of ticks, and when that was last brought up to date.
    LoadsDated,
}

impl CpuField {
    pub(super) fn print(self, machine: &Machine, rq: &Rq, line: &mut Line) {
        match self {
            Self::Curr => match rq.curr {
                Some(task) => line.field("curr", machine.names.task_number(task)),
                None => line.field("curr", -1),
            },
            Self::NeedResched => line.flag("nr", rq.need_resched),
            Self::NrRunning => line.field("nrun", rq.nr_running),
            Self::Clock => line.field("clk", rq.clock.0),
            Self::ClockTask => line.field("ct", rq.clock_task.0),
            Self::ClockPelt => line.field("cp", rq.clock_pelt.0),
            Self::LostIdle => line.field("lost", rq.lost_idle_time.0),
            Self::ClockIdle => line.field("ci", rq.clock_idle.0),
            Self::ClockPeltIdle => line.field("cpi", rq.clock_pelt_idle.0),
            Self::Skip => line.flag("skip", rq.skip_requested),
            Self::NextBalance => line.field("nb", rq.balance.next_balance.0),
            Self::AvgIdle => line.field("avgidle", rq.balance.avg_idle.0),
            Self::MaxIdleBalanceCost => line.field("maxcost", rq.balance.max_idle_balance_cost.0),
            Self::IdleStamp => line.field("stamp", rq.balance.idle_stamp.0),
            Self::Misfit => line.field("misfit", rq.balance.misfit_task_load),
            Self::ActiveBalance => line.flag("ab", rq.balance.active_balance),
            Self::NohzFlags => line.field("nohz", rq.balance.nohz_flags.bits()),
            Self::LoadHistory => {
                let [now, spans @ ..] = rq.balance.weight_history;
                line.field("cl", now);
                for load in spans {
                    line.word(",").number(load);
                }
                line
            }
            Self::MeanWeight => line.field("alt", rq.balance.mean_weight),
            Self::NohzBits => {
                let kicked = rq.balance.nohz_flags.contains(NohzFlags::BALANCE);
                line.field("nohz", u32::from(rq.balance.is_tick_stopped()) | u32::from(kicked) << 1)
            }
            Self::NohzWord => line.field("nohz", nohz_word(rq)),
            Self::NohzState => line
                .flag("nts", rq.balance.is_tick_stopped())
                .flag("hbl", rq.balance.has_blocked_load())
                .field("lbu", rq.balance.last_blocked_update().0)
                .flag("ib", rq.balance.was_idle_at_tick()),
            Self::Loads => print_loads(rq, line),
            Self::LoadsDated => print_loads(rq, line).field("llt", rq.balance.history.updated.0),
        };
    }
}

/// What the CPU has been kicked for.
pub(super) fn nohz_word(rq: &Rq) -> u32 {
    (rq.balance.nohz_flags & (NohzFlags::BALANCE | NohzFlags::STATS)).bits()
}

fn print_loads<'l, 'a>(rq: &Rq, line: &'l mut Line<'a>) -> &'l mut Line<'a> {
    line.word(" cl=");
    for (i, &load) in rq.balance.history.load.iter().enumerate() {
        line.word(if i == 0 { "" } else { "," }).number(load);
    }
    line
}

/// Fields of a last-level cache.
#[derive(Clone, Copy)]
pub(super) enum CacheField {
    BusyCpus,
    HasIdleCores,
    IdleScan,
}

impl CacheField {
    pub(super) fn print(self, cache: &SharedState, line: &mut Line) {
        match self {
            Self::BusyCpus => line.field("busy", cache.nr_busy_cpus),
            Self::HasIdleCores => line.flag("hic", cache.has_idle_cores),
            Self::IdleScan => line.field("scan", cache.nr_idle_scan),
        };
    }
}

/// Fields of a group.
#[derive(Clone, Copy)]
pub(super) enum GroupField {
    Parent,
    Shares,
    LoadAvg,
    Idle,
    LatencyNice,
}

impl GroupField {
    pub(super) fn print(self, machine: &Machine, group: &Group, line: &mut Line) {
        match self {
            Self::Parent => {
                let parent = group.parent.expect("the root group has no line");
                line.field("p", machine.names.group_number(parent))
            }
            Self::Shares => line.field("sh", group.shares.down()),
            Self::LoadAvg => line.field("la", group.load_avg),
            Self::Idle => line.flag("idle", group.idle),
            Self::LatencyNice => line.field("ln", group.latency_nice.get()),
        };
    }
}

/// Fields of an entity.
#[derive(Clone, Copy)]
pub(super) enum EntityField {
    OnRq,
    Vruntime,
    Deadline,
    Slice,
    Lag,
    /// Whether it is eligible now, if it is queued.
    Eligible,
    Delayed,
    RelDeadline,
    CustomSlice,
    Weight,
    /// The weight in units of which nice 0 has 1024.
    TableWeight,
    ExecStart,
    SumExec,
    PrevSumExec,
    /// All averages.
    Averages,
    RunnableWeight,
    /// Of its load as one of those queued.
    QueuedWeight,
    UtilEst,
    /// What is kept of how a task wakes others; 0 for a group.
    LastWakeup,
    AvgOverlap,
    StartRuntime,
    AvgWakeup,
    /// The last sample and the average.
    UtilEstPair,
}

impl EntityField {
    pub(super) fn print(self, machine: &Machine, id: EntityId, averages: &[AverageField], line: &mut Line) {
        let entity = &machine.scheduler.entities()[id];
        let wakes = || entity.task().map(|t| machine.scheduler.tasks()[t].wakes).unwrap_or_default();
        match self {
            Self::OnRq => line.flag("onrq", entity.on_rq),
            Self::Vruntime => line.field("v", entity.vruntime.0),
            Self::Deadline => line.field("dl", entity.deadline.0),
            Self::Slice => line.field("sl", entity.slice.0),
            Self::Lag => line.field("lag", entity.vlag.0),
            Self::Eligible if entity.on_rq => line.flag("el", machine.scheduler.is_eligible(id)),
            Self::Eligible => line.text("el", "-"),
            Self::Delayed => line.flag("del", entity.delayed),
            Self::RelDeadline => line.flag("rd", entity.rel_deadline),
            Self::CustomSlice => line.flag("cs", entity.custom_slice),
            Self::Weight => line.field("w", entity.weight.0),
            Self::TableWeight => line.field("w", entity.weight.down()),
            Self::ExecStart => line.field("ex", entity.exec_start.0),
            Self::SumExec => line.field("sum", entity.sum_exec.0),
            Self::PrevSumExec => line.field("psum", entity.prev_sum_exec.0),
            Self::Averages => AverageField::print_all(averages, &entity.avg, line),
            Self::RunnableWeight => line.field("rw", entity.runnable_weight),
            Self::QueuedWeight => line.field("rwt", entity.runnable_weight),
            Self::UtilEst => line.field("ue", entity.avg.util_est),
            Self::LastWakeup => line.field("lw", wakes().last_wakeup.0),
            Self::AvgOverlap => line.field("ao", wakes().avg_overlap.0),
            Self::StartRuntime => line.field("sr", wakes().start_runtime.0),
            Self::AvgWakeup => line.field("aw", wakes().avg_wakeup.0),
            Self::UtilEstPair => {
                line.field("ue", entity.avg.util_est).word(",").number(entity.avg.util_est_ewma)
            }
        };
    }
}

/// The averages of an entity or a queue.
#[derive(Clone, Copy)]
pub(super) enum AverageField {
    LastUpdate,
    PeriodContrib,
    LoadSum,
    RunnableSum,
    UtilSum,
    LoadAvg,
    RunnableAvg,
    UtilAvg,
    /// Load of those queued, where it takes the place of runnable time.
    RunnableLoadSum,
    RunnableLoadAvg,
}

impl AverageField {
    fn print_all<'l, 'a>(fields: &[Self], avg: &SchedAvg, line: &'l mut Line<'a>) -> &'l mut Line<'a> {
        for field in fields {
            match field {
                Self::LastUpdate => line.field("lut", avg.last_update_time.0),
                Self::PeriodContrib => line.field("pc", avg.period_contrib),
                Self::LoadSum => line.field("ls", avg.load_sum),
                Self::RunnableSum => line.field("rs", avg.runnable_sum),
                Self::UtilSum => line.field("us", avg.util_sum),
                Self::LoadAvg => line.field("la", avg.load_avg),
                Self::RunnableAvg => line.field("ra", avg.runnable_avg),
                Self::UtilAvg => line.field("ua", avg.util_avg),
                Self::RunnableLoadSum => line.field("rls", avg.runnable_sum),
                Self::RunnableLoadAvg => line.field("rla", avg.runnable_avg),
            };
        }
        line
    }
}

/// Fields of a queue.
#[derive(Clone, Copy)]
pub(super) enum QueueField {
    Weight,
    /// The weight in units of which nice 0 has 1024.
    TableWeight,
    Nr,
    HierarchyQueued,
    HierarchyRunnable,
    HierarchyDelayed,
    IdleNr,
    HierarchyIdle,
    ZeroVruntime,
    /// The same kind of anchor, where that is the least vruntime.
    MinVruntimeAnchor,
    /// The least vruntime, where it is more than an anchor.
    MinVruntime,
    /// All tasks below, in kernels that do not tell the delayed ones apart.
    HierarchyRunning,
    KeySum,
    WeightSum,
    /// The sum of slices times weights.
    SliceSum,
    VirtualTime,
    Curr,
    Next,
    Last,
    Skip,
    /// All averages.
    Averages,
    LastReport,
    Contribution,
    Propagate,
    PropagateSum,
    Removed,
    /// Load of those queued, apart from the other averages.
    RunnableLoad,
    /// What left and is to be taken off, load and use.
    RemovedAverages,
    /// Its part of the CPU's load.
    HierarchyAverage,
    /// Sum of the weights of load as of those queued.
    QueuedWeight,
    OnList,
    /// Where shares are divided by domain: the weight of tasks, the part of the shares, the weight when they were
    /// divided, and the load as seen from the top.
    TaskWeight,
    SharesPart,
    DividedWeight,
    HierarchyLoad,
}

impl QueueField {
    pub(super) fn print(
        self,
        machine: &Machine,
        id: QueueId,
        (averages, print_anchor): (&[AverageField], bool),
        line: &mut Line,
    ) {
        let queue = &machine.scheduler.queues()[id];
        match self {
            Self::Weight => line.field("w", queue.load.0),
            Self::TableWeight => line.field("w", queue.load.down()),
            Self::Nr => line.field("nr", queue.nr_queued),
            Self::HierarchyQueued => line.field("hq", queue.h_nr_queued),
            Self::HierarchyRunnable => line.field("hr", queue.h_nr_runnable),
            Self::HierarchyDelayed => line.field("hd", queue.h_nr_delayed),
            Self::IdleNr => line.field("idl", queue.idle_nr),
            Self::HierarchyIdle => line.field("ih", queue.idle_h_nr),
            Self::ZeroVruntime => line.field("zv", if print_anchor { queue.anchor.0 } else { 0 }),
            Self::MinVruntimeAnchor => line.field("minv", if print_anchor { queue.anchor.0 } else { 0 }),
            Self::MinVruntime => line.field("minv", queue.anchor.0),
            Self::HierarchyRunning => line.field("h", queue.h_nr_queued),
            Self::KeySum => line.field("av", if print_anchor { queue.key_weight_sum() } else { 0 }),
            Self::WeightSum => line.field("al", queue.weight_sum()),
            Self::SliceSum => line.field("as", queue.slice_weight_sum()),
            Self::VirtualTime => line.field("V", machine.scheduler.virtual_time(id).0),
            Self::Curr => print_name(machine, "curr", queue.curr, line),
            Self::Next => print_name(machine, "next", queue.next, line),
            Self::Last => print_name(machine, "last", queue.last, line),
            Self::Skip => print_name(machine, "skip", queue.skip, line),
            Self::Averages => AverageField::print_all(averages, &queue.avg, line),
            Self::LastReport => line.field("ltg", queue.last_tg_load_update.0),
            Self::Contribution => line.field("tgc", queue.tg_load_contrib),
            Self::Propagate => line.flag("prop", queue.propagate),
            Self::PropagateSum => line.field("prs", queue.prop_runnable_sum),
            Self::Removed => {
                let r = &queue.removed;
                line.field("rm", r.nr);
                for part in [r.load_avg, r.util_avg, r.runnable_avg] {
                    line.word(",").number(part);
                }
                line
            }
            Self::RunnableLoad => {
                line.field("rls", queue.avg.runnable_sum).field("rla", queue.avg.runnable_avg)
            }
            Self::RemovedAverages => {
                line.field("rml", queue.removed.load_avg).field("rmu", queue.removed.util_avg)
            }
            Self::QueuedWeight => line.field("rwt", queue.runnable_weight.0),
            Self::HierarchyAverage => line.field("hl", queue.h_load()),
            Self::OnList => line.flag("onl", queue.on_list()),
            Self::TaskWeight => line.field("tw", queue.share.task_weight),
            Self::SharesPart => line.field("cs", queue.share.shares),
            Self::DividedWeight => line.field("rw", queue.share.rq_weight),
            Self::HierarchyLoad => line.field("hl", queue.share.h_load),
        };
    }
}

fn print_name<'l, 'a>(
    machine: &Machine,
    key: &str,
    entity: Option<EntityId>,
    line: &'l mut Line<'a>,
) -> &'l mut Line<'a> {
    match entity.map(|e| machine.scheduler.entities()[e].owner) {
        None => line.text(key, "-"),
        Some(Owner::Task(task)) => line.text(key, "T").number(machine.names.task_number(task)),
        Some(Owner::Group(group)) => line.text(key, "G").number(machine.names.group_number(group)),
    }
}

/// Fields of a task.
#[derive(Clone, Copy)]
pub(super) enum TaskField {
    Group,
    Cpu,
    State,
    OnRq,
    Nice,
    Policy,
    LatencyNice,
    RecentCpu,
    WakeeFlips,
    LastWakee,
}

impl TaskField {
    pub(super) fn print(self, machine: &Machine, task: &Task, line: &mut Line) {
        match self {
            Self::Group => line.field("g", machine.names.group_number(task.group)),
            Self::Cpu => line.field("c", task.cpu.0),
            Self::State => line.text(
                "st",
                match task.state {
                    TaskState::New => "N",
                    TaskState::Runnable => "R",
                    TaskState::Sleeping | TaskState::Uninterruptible | TaskState::Dead => "S",
                },
            ),
            Self::OnRq => line.field(
                "q",
                match task.on_rq {
                    OnRq::No => 0,
                    OnRq::Queued => 1,
                    OnRq::Migrating => 2,
                },
            ),
            Self::Nice => line.field("ni", task.nice.get()),
            Self::Policy => line.field("pol", task.policy.number()),
            Self::LatencyNice => line.field("ln", task.latency_nice.get()),
            Self::RecentCpu => line.field("ru", task.recent_used_cpu.0),
            Self::WakeeFlips => line.field("wf", task.waker.wakee_flips),
            Self::LastWakee => match task.waker.last_wakee {
                Some(wakee) => line.field("lw", machine.names.task_number(wakee)),
                None => line.field("lw", -1),
            },
        };
    }
}
