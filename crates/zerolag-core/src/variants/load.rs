// SPDX-License-Identifier: GPL-2.0-only
//! Load tracking, and the weight of groups that follows from it.

/// The form of a task's utilisation estimate (`util_est`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UtilEst {
    /// The utilisation at the last sleep and a moving average, of which the greater counts. They are taken
    /// after the task was dequeued, unless it used more than the CPU has capacity (4.17 to 6.7).
    SampleAndAverage,
    /// The average alone, taken before the task is dequeued, with the same exception (6.8 to 6.12).
    WithinCapacity,
    /// The same without exception (6.18).
    Unbounded,
}

/// When a group's entity is given the weight that its share comes to. Even if that is the same weight, load
/// sums are rounded, and the running entity is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupReweight {
    /// Each time it is looked at (6.1).
    Always,
    /// If it differs, and somebody is in the group: the entity of an empty group keeps its weight, which a
    /// delayed dequeue needs (6.12).
    IfChangedAndPopulated,
    /// Not by whoever comes or goes: the shares are divided among the CPUs of a domain now and then
    /// (up to 2.6.37).
    ByDomain,
}

/// The weight in the first guess at a new task's utilisation, `util * weight / (load + 1)` of the queue it
/// joins, which is limited to half of what is left of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialUtil {
    /// In fine units, although the load is in table units: nearly always the limit (up to 6.7).
    FineWeight,
    /// In table units, as the load is (6.8).
    TableWeight,
}
