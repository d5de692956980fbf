// SPDX-License-Identifier: GPL-2.0-only
//! Recordings of every format: told apart by content, as the command does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zerolag_trace::check::{Bounds, Check};
use zerolag_trace::metrics::Metrics;
use zerolag_trace::read;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut trace) = read::open(bytes) else { return };
    let (mut metrics, mut check) = (Metrics::new(), Check::new(Bounds::EXACT));
    for event in trace.by_ref() {
        let Ok(event) = event else { return };
        metrics.feed(&event);
        check.feed(&event);
    }
    let (tasks, loss) = trace.into_parts();
    _ = (metrics.summary(), tasks.len(), format!("{loss:?}"));
});
