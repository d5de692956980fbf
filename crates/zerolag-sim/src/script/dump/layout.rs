// SPDX-License-Identifier: GPL-2.0-only
//! Which fields each kind of line has, and in which order, by kernel.

use zerolag_core::kernel::Kernel;

use super::field::{AverageField, CacheField, CpuField, EntityField, GroupField, QueueField, TaskField};

/// The fields of each kind of line.
pub(super) struct Layout {
    /// `C`: a CPU.
    pub(super) cpu: &'static [CpuField],
    /// The rest of it, if there are sched domains.
    pub(super) cpu_with_domains: &'static [CpuField],
    /// `L`: a last-level cache.
    pub(super) cache: &'static [CacheField],
    /// `H`: a group.
    pub(super) group: &'static [GroupField],
    /// `G`: a group's entity on a CPU.
    pub(super) group_entity: &'static [EntityField],
    /// `Q`: a group's queue on a CPU.
    pub(super) queue: &'static [QueueField],
    /// The rest of it, if there are sched domains.
    pub(super) queue_with_domains: &'static [QueueField],
    /// `T`: a task, up to where its entity begins.
    pub(super) task: &'static [TaskField],
    /// The rest of it.
    pub(super) task_entity: &'static [EntityField],
    /// The end of it, on machines that are described in more detail.
    pub(super) task_on_machine: &'static [TaskField],
    /// What `Averages` stands for.
    pub(super) averages: &'static [AverageField],
}

impl Layout {
    pub(super) fn of(kernel: Kernel) -> &'static Self {
        match kernel {
            Kernel::V2_6_29 => &LINUX_2_6_29,
            Kernel::V2_6_29Pw => &LINUX_2_6_29_PW,
            Kernel::V4_6Unpatched | Kernel::V4_6 => &LINUX_4_6,
            Kernel::V4_11Unpatched | Kernel::V4_11 | Kernel::V4_12 => &LINUX_4_11,
            Kernel::V4_16 | Kernel::V4_17 | Kernel::V4_17Stale => &LINUX_4_17,
            Kernel::V6_1 => &LINUX_6_1,
            Kernel::EevdfRfc => &EEVDF_RFC,
            Kernel::V6_6 => &LINUX_6_6,
            Kernel::V6_18 => &LINUX_6_18,
            _ => &LINUX_6_12,
        }
    }
}

const LINUX_6_12: Layout = Layout {
    cpu: {
        use CpuField::*;
        &[Curr, NeedResched, NrRunning, Clock, ClockTask, ClockPelt, LostIdle, ClockIdle, ClockPeltIdle, Skip]
    },
    cpu_with_domains: {
        use CpuField::*;
        &[NextBalance, AvgIdle, MaxIdleBalanceCost, IdleStamp, Misfit, ActiveBalance, NohzFlags]
    },
    cache: {
        use CacheField::*;
        &[BusyCpus, HasIdleCores, IdleScan]
    },
    group: {
        use GroupField::*;
        &[Parent, Shares, LoadAvg, Idle]
    },
    group_entity: {
        use EntityField::*;
        &[
            OnRq,
            Vruntime,
            Deadline,
            Slice,
            Lag,
            Delayed,
            RelDeadline,
            CustomSlice,
            Weight,
            ExecStart,
            SumExec,
            PrevSumExec,
            Averages,
            RunnableWeight,
        ]
    },
    queue: {
        use QueueField::*;
        &[
            Weight,
            Nr,
            HierarchyQueued,
            HierarchyRunnable,
            HierarchyDelayed,
            IdleNr,
            HierarchyIdle,
            ZeroVruntime,
            KeySum,
            WeightSum,
            VirtualTime,
            Curr,
            Next,
            Averages,
            LastReport,
            Contribution,
            Propagate,
            PropagateSum,
            Removed,
            OnList,
        ]
    },
    queue_with_domains: &[],
    task: {
        use TaskField::*;
        &[Group, Cpu, State, OnRq, Nice, Policy]
    },
    task_entity: {
        use EntityField::*;
        &[
            OnRq,
            Vruntime,
            Deadline,
            Slice,
            Lag,
            Delayed,
            RelDeadline,
            CustomSlice,
            Weight,
            ExecStart,
            SumExec,
            PrevSumExec,
            Averages,
            UtilEst,
        ]
    },
    task_on_machine: {
        use TaskField::*;
        &[RecentCpu, WakeeFlips, LastWakee]
    },
    averages: {
        use AverageField::*;
        &[LastUpdate, PeriodContrib, LoadSum, RunnableSum, UtilSum, LoadAvg, RunnableAvg, UtilAvg]
    },
};

/// CFS has neither lag nor deadlines, but more kinds of buddies.
const LINUX_6_1: Layout = Layout {
    group_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, Weight, ExecStart, SumExec, PrevSumExec, Averages, RunnableWeight]
    },
    queue: {
        use QueueField::*;
        &[
            Weight,
            Nr,
            HierarchyRunning,
            IdleNr,
            HierarchyIdle,
            MinVruntime,
            Curr,
            Next,
            Last,
            Skip,
            Averages,
            Contribution,
            Propagate,
            PropagateSum,
            Removed,
            OnList,
        ]
    },
    task_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, Weight, ExecStart, SumExec, PrevSumExec, Averages, UtilEstPair]
    },
    ..LINUX_6_12
};

/// As 6.1, with deadlines and lag, and latency nice.
const EEVDF_RFC: Layout = Layout {
    group: {
        use GroupField::*;
        &[Parent, Shares, LoadAvg, Idle, LatencyNice]
    },
    group_entity: {
        use EntityField::*;
        &[
            OnRq,
            Vruntime,
            Deadline,
            Slice,
            Lag,
            Eligible,
            Weight,
            ExecStart,
            SumExec,
            PrevSumExec,
            Averages,
            RunnableWeight,
        ]
    },
    queue: {
        use QueueField::*;
        &[
            Weight,
            Nr,
            HierarchyRunning,
            IdleNr,
            HierarchyIdle,
            MinVruntimeAnchor,
            KeySum,
            WeightSum,
            SliceSum,
            VirtualTime,
            Curr,
            Next,
            Averages,
            Contribution,
            Propagate,
            PropagateSum,
            Removed,
            OnList,
        ]
    },
    task: {
        use TaskField::*;
        &[Group, Cpu, State, OnRq, Nice, Policy, LatencyNice]
    },
    task_entity: {
        use EntityField::*;
        &[
            OnRq,
            Vruntime,
            Deadline,
            Slice,
            Lag,
            Eligible,
            Weight,
            ExecStart,
            SumExec,
            PrevSumExec,
            Averages,
            UtilEstPair,
        ]
    },
    ..LINUX_6_12
};

/// As the series, without latency nice and what follows from it.
const LINUX_6_6: Layout = Layout {
    group: LINUX_6_12.group,
    queue: {
        use QueueField::*;
        &[
            Weight,
            Nr,
            HierarchyRunning,
            IdleNr,
            HierarchyIdle,
            MinVruntimeAnchor,
            KeySum,
            WeightSum,
            VirtualTime,
            Curr,
            Next,
            Averages,
            Contribution,
            Propagate,
            PropagateSum,
            Removed,
            OnList,
        ]
    },
    task: LINUX_6_12.task,
    ..EEVDF_RFC
};

/// The anchor has another name, and idle entities of a level are no longer counted.
const LINUX_6_18: Layout = Layout {
    queue: {
        use QueueField::*;
        &[
            Weight,
            Nr,
            HierarchyQueued,
            HierarchyRunnable,
            HierarchyDelayed,
            HierarchyIdle,
            MinVruntimeAnchor,
            KeySum,
            WeightSum,
            VirtualTime,
            Curr,
            Next,
            Averages,
            LastReport,
            Contribution,
            Propagate,
            PropagateSum,
            Removed,
            OnList,
        ]
    },
    ..LINUX_6_12
};

/// No averages, weights in units of the table, and who wakes whom.
const LINUX_2_6_29: Layout = Layout {
    cpu: {
        use CpuField::*;
        &[Curr, NeedResched, NrRunning, Clock]
    },
    cpu_with_domains: {
        use CpuField::*;
        &[LoadHistory, NextBalance, MeanWeight]
    },
    cache: &[],
    group: {
        use GroupField::*;
        &[Parent, Shares]
    },
    group_entity: WAKING_2_6_29,
    queue: {
        use QueueField::*;
        &[TableWeight, Nr, MinVruntime, Curr, Next, Last]
    },
    queue_with_domains: {
        use QueueField::*;
        &[TaskWeight, SharesPart, DividedWeight, HierarchyLoad]
    },
    task: {
        use TaskField::*;
        &[Group, Cpu, State, Nice, Policy]
    },
    task_entity: WAKING_2_6_29,
    task_on_machine: &[],
    averages: &[],
};

const WAKING_2_6_29: &[EntityField] = {
    use EntityField::*;
    &[OnRq, Vruntime, TableWeight, ExecStart, SumExec, PrevSumExec, LastWakeup, AvgOverlap]
};

/// The patch keeps two values more.
const LINUX_2_6_29_PW: Layout =
    Layout { group_entity: WAKING_2_6_29_PW, task_entity: WAKING_2_6_29_PW, ..LINUX_2_6_29 };

const WAKING_2_6_29_PW: &[EntityField] = {
    use EntityField::*;
    &[
        OnRq,
        Vruntime,
        TableWeight,
        ExecStart,
        SumExec,
        PrevSumExec,
        LastWakeup,
        AvgOverlap,
        StartRuntime,
        AvgWakeup,
    ]
};

/// Loads are weighted, and there is a second one, of those queued.
const LINUX_4_11: Layout = Layout {
    cpu: {
        use CpuField::*;
        &[Curr, NeedResched, NrRunning, Clock, ClockTask, Skip, LoadsDated]
    },
    cpu_with_domains: {
        use CpuField::*;
        &[NextBalance, AvgIdle, MaxIdleBalanceCost, IdleStamp, ActiveBalance, NohzBits]
    },
    cache: {
        use CacheField::*;
        &[BusyCpus, HasIdleCores]
    },
    group: {
        use GroupField::*;
        &[Parent, Shares, LoadAvg]
    },
    group_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, Weight, ExecStart, SumExec, PrevSumExec, Averages]
    },
    queue: {
        use QueueField::*;
        &[
            Weight,
            Nr,
            HierarchyRunning,
            MinVruntime,
            Curr,
            Next,
            Last,
            Skip,
            Averages,
            RunnableLoad,
            Contribution,
            Propagate,
            RemovedAverages,
            HierarchyAverage,
            OnList,
        ]
    },
    task_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, Weight, ExecStart, SumExec, PrevSumExec, Averages]
    },
    task_on_machine: {
        use TaskField::*;
        &[WakeeFlips, LastWakee]
    },
    averages: {
        use AverageField::*;
        &[LastUpdate, PeriodContrib, LoadSum, UtilSum, LoadAvg, UtilAvg]
    },
    ..LINUX_6_1
};

/// Weights are in table units, and nothing is propagated.
const LINUX_4_6: Layout = Layout {
    cache: {
        use CacheField::*;
        &[BusyCpus]
    },
    group_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, TableWeight, ExecStart, SumExec, PrevSumExec, Averages]
    },
    queue: {
        use QueueField::*;
        &[
            TableWeight,
            Nr,
            HierarchyRunning,
            MinVruntime,
            Curr,
            Next,
            Last,
            Skip,
            Averages,
            RunnableLoad,
            Contribution,
            RemovedAverages,
            HierarchyAverage,
            OnList,
        ]
    },
    task_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, TableWeight, ExecStart, SumExec, PrevSumExec, Averages]
    },
    ..LINUX_4_11
};

/// Load as of those queued has a weight of its own, and idle CPUs' load is looked after.
const LINUX_4_17: Layout = Layout {
    cpu: {
        use CpuField::*;
        &[Curr, NeedResched, NrRunning, Clock, ClockTask, Skip, Loads]
    },
    cpu_with_domains: {
        use CpuField::*;
        &[NextBalance, AvgIdle, MaxIdleBalanceCost, IdleStamp, ActiveBalance, NohzWord, NohzState]
    },
    group_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, Weight, QueuedWeight, ExecStart, SumExec, PrevSumExec, Averages]
    },
    queue: {
        use QueueField::*;
        &[
            Weight,
            QueuedWeight,
            Nr,
            HierarchyRunning,
            MinVruntime,
            Curr,
            Next,
            Last,
            Skip,
            Averages,
            Contribution,
            Propagate,
            PropagateSum,
            Removed,
            OnList,
        ]
    },
    task_entity: {
        use EntityField::*;
        &[OnRq, Vruntime, Weight, QueuedWeight, ExecStart, SumExec, PrevSumExec, Averages, UtilEstPair]
    },
    task_on_machine: {
        use TaskField::*;
        &[RecentCpu, WakeeFlips, LastWakee]
    },
    averages: {
        use AverageField::*;
        &[LastUpdate, PeriodContrib, LoadSum, RunnableLoadSum, UtilSum, LoadAvg, RunnableLoadAvg, UtilAvg]
    },
    ..LINUX_4_11
};
