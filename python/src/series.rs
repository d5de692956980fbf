// SPDX-License-Identifier: GPL-2.0-only
//! Values of all tasks and CPUs at regular times, as columns.

use zerolag_core::ids::{CpuId, Id, TaskId};
use zerolag_sim::sim::Sim;
use zerolag_study::values::{OfCpu, OfTask};

use crate::columns::{Column, Table};

/// Samples, in order of time, then of tasks or CPUs.
#[derive(Debug, Default)]
pub(crate) struct Series {
    task_time_ns: Vec<i64>,
    task: Vec<i32>,
    vruntime_ns: Vec<i64>,
    lag_ns: Vec<i64>,
    task_load: Vec<i64>,
    task_util: Vec<i64>,
    cpu_time_ns: Vec<i64>,
    cpu: Vec<i32>,
    running: Vec<i32>,
    cpu_load: Vec<i64>,
    cpu_util: Vec<i64>,
}

impl Series {
    /// Takes a sample now. Tasks that have ended, and those to come, have none.
    pub(crate) fn sample(&mut self, sim: &Sim) {
        let now = sim.now().0 as i64;
        for task in (0..sim.task_count()).map(TaskId::from_index) {
            let Some(values) = OfTask::at(sim, task) else { continue };
            self.task_time_ns.push(now);
            self.task.push(task.0 as i32);
            self.vruntime_ns.push(values.vruntime_ns);
            self.lag_ns.push(values.lag_ns);
            self.task_load.push(values.load);
            self.task_util.push(values.util);
        }
        for cpu in (0..sim.scheduler().cpus().len()).map(CpuId::from_index) {
            let values = OfCpu::at(sim, cpu);
            self.cpu_time_ns.push(now);
            self.cpu.push(cpu.0 as i32);
            self.running.push(values.running as i32);
            self.cpu_load.push(values.load);
            self.cpu_util.push(values.util);
        }
    }

    /// Those of tasks, and those of CPUs.
    pub(crate) fn into_tables(self) -> (Table, Table) {
        let tasks = vec![
            ("time_ns", Column::I64(self.task_time_ns)),
            ("task", Column::I32(self.task)),
            ("vruntime_ns", Column::I64(self.vruntime_ns)),
            ("lag_ns", Column::I64(self.lag_ns)),
            ("load", Column::I64(self.task_load)),
            ("util", Column::I64(self.task_util)),
        ];
        let cpus = vec![
            ("time_ns", Column::I64(self.cpu_time_ns)),
            ("cpu", Column::I32(self.cpu)),
            ("running", Column::I32(self.running)),
            ("load", Column::I64(self.cpu_load)),
            ("util", Column::I64(self.cpu_util)),
        ];
        (tasks, cpus)
    }
}
