// SPDX-License-Identifier: GPL-2.0-only
//! What is to be dumped, and when: `1s`, `1.5s:hog-*`.

use zerolag_sim::pattern::Pattern;

use super::settings::span;
use crate::args::low::Dump;

/// A time and, after a colon, a task's name or pattern.
pub(crate) fn dump(text: &str) -> Result<Dump, String> {
    let (time, tasks) = match text.split_once(':') {
        Some((_, "")) => return Err("no task after the colon; accepted: TIME or TIME:TASK".into()),
        Some((time, tasks)) => (time, Some(Pattern::new(tasks))),
        None => (text, None),
    };
    Ok(Dump { at: span(time)?, tasks })
}
