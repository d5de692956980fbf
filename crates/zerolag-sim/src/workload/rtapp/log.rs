// SPDX-License-Identifier: GPL-2.0-only
//! The log that rt-app writes for each thread: a row for each iteration of a phase.

use std::collections::VecDeque;
use std::fmt;

use super::spec::LogSize;

/// The first line of a log.
pub const LOG_HEADER: &str = "#idx     perf      run   period           start             end          rel_st      slack \
     c_duration   c_period     wu_lat";

/// Size of a row in rt-app's memory, which decides how many fit in a buffer (`timing_point_t`, 64 bits).
const ROW_BYTES: usize = 88;

/// A row. Times are in microseconds, rounded to the nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRow {
    /// Number of the thread.
    pub idx: u32,
    /// Thousands of loops that the events asked for.
    pub perf: u64,
    /// Time in `run` and `runtime` events.
    pub run_us: u64,
    /// Time of the whole iteration.
    pub period_us: u64,
    /// Its start.
    pub start_us: u64,
    /// Its end.
    pub end_us: u64,
    /// Its start since that of all.
    pub rel_start_us: u64,
    /// What was left to the last timer's expiry when it was used, or the sum over all timers.
    pub slack_us: i64,
    /// Time that `run` and `runtime` events ask for.
    pub c_duration_us: u64,
    /// Sum of the timers' periods.
    pub c_period_us: u64,
    /// Time between timers' expiry and the thread's going on, summed since the last that was late.
    pub wu_lat_us: u64,
}

impl fmt::Display for LogRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:4} {:8} {:8} {:8} {:15} {:15} {:15} {:10} {:10} {:10} {:10}",
            self.idx,
            self.perf,
            self.run_us,
            self.period_us,
            self.start_us,
            self.end_us,
            self.rel_start_us,
            self.slack_us,
            self.c_duration_us,
            self.c_period_us,
            self.wu_lat_us
        )
    }
}

/// A thread's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The thread's name, which is part of the file's.
    pub thread: String,
    rows: VecDeque<LogRow>,
    capacity: usize,
}

impl Log {
    /// An empty log that keeps what `size` says.
    pub fn new(thread: String, size: LogSize) -> Self {
        let capacity = match size {
            LogSize::Disabled => 0,
            LogSize::File => usize::MAX,
            LogSize::Ring { mebibytes } => (mebibytes as usize) * (1 << 20) / ROW_BYTES,
        };
        Self { thread, rows: VecDeque::new(), capacity }
    }

    /// Appends a row; in a full ring, the oldest goes.
    pub fn push(&mut self, row: LogRow) {
        if self.capacity == 0 {
            return;
        }
        if self.rows.len() == self.capacity {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    /// The rows kept.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &LogRow> {
        self.rows.iter()
    }

    /// The same log under the name and number of a thread.
    pub(super) fn of_thread(mut self, thread: String, idx: u32) -> Self {
        self.thread = thread;
        self.rows.iter_mut().for_each(|row| row.idx = idx);
        self
    }

    /// Name of the log file, without directory.
    pub fn file_name(&self, basename: &str) -> String {
        format!("{basename}-{}.log", self.thread)
    }
}

impl fmt::Display for Log {
    /// The whole file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{LOG_HEADER}")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header as rt-app puts it together, and a row of its tutorial.
    #[test]
    fn columns_are_as_wide_as_rt_app_prints_them() {
        let names =
            ["perf", "run", "period", "start", "end", "rel_st", "slack", "c_duration", "c_period", "wu_lat"];
        let widths = [8, 8, 8, 15, 15, 15, 10, 10, 10, 10];
        let mut header = "#idx".to_string();
        for (name, width) in names.iter().zip(widths) {
            header += &format!(" {name:>width$}");
        }
        assert_eq!(LOG_HEADER, header);
        let row = LogRow {
            idx: 0,
            perf: 92164,
            run_us: 19935,
            period_us: 98965,
            start_us: 504549567051,
            end_us: 504549666016,
            rel_start_us: 2443,
            slack_us: -78701,
            c_duration_us: 20000,
            c_period_us: 100000,
            wu_lat_us: 266,
        };
        assert_eq!(
            row.to_string(),
            "   0    92164    19935    98965    504549567051    504549666016            2443     -78701      20000     100000        266"
        );
    }

    #[test]
    fn a_ring_keeps_the_last_rows() {
        let mut log = Log::new("a-0".into(), LogSize::Ring { mebibytes: 1 });
        let fits = (1 << 20) / 88;
        for n in 0..fits as u64 + 5 {
            log.push(LogRow { perf: n, ..LogRow::default() });
        }
        assert_eq!(log.rows().len(), fits);
        assert_eq!(log.rows().next().unwrap().perf, 5);
        assert_eq!(log.file_name("rt-app"), "rt-app-a-0.log");
    }
}
