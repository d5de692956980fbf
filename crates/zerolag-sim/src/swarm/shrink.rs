// SPDX-License-Identifier: GPL-2.0-only
//! Takes away from a case what its fault does not need.
//!
//! Changes go first, then workloads, groups, switches; big bites before small ones. Then what is left is made
//! plainer: fewer tasks, no attributes, a smaller machine, default costs. It goes round until a whole round
//! brings nothing, or the budget of runs is used up.

use zerolag_core::units::Nanos;

use super::case::Case;

/// The smallest case found that still shows the fault, according to `shows`, which is asked at most `runs`
/// times. `case` itself is taken to show it.
pub fn shrink(case: &Case, runs: usize, mut shows: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut left = runs;
    let mut accept = |best: &mut Case, mut candidate: Case| {
        candidate.prune();
        if candidate == *best || left == 0 {
            return false;
        }
        left -= 1;
        let smaller = shows(&candidate);
        if smaller {
            *best = candidate;
        }
        smaller
    };
    loop {
        let before = best.clone();
        cut(&mut best, &mut accept, |c| &mut c.changes);
        cut(&mut best, &mut accept, |c| &mut c.works);
        cut(&mut best, &mut accept, |c| &mut c.groups);
        cut(&mut best, &mut accept, |c| &mut c.features);
        cut(&mut best, &mut accept, |c| &mut c.tunables);
        simplify(&mut best, &mut accept);
        if best == before {
            return best;
        }
    }
}

type Accept<'a> = dyn FnMut(&mut Case, Case) -> bool + 'a;

/// Leaves out runs of a list's elements, long ones first.
fn cut<T>(best: &mut Case, accept: &mut Accept<'_>, list: impl Fn(&mut Case) -> &mut Vec<T>) {
    let mut bite = list(best).len();
    while bite > 0 {
        let mut from = 0;
        while from < list(best).len() {
            let mut candidate = best.clone();
            let end = (from + bite).min(list(&mut candidate).len());
            list(&mut candidate).drain(from..end);
            if !accept(best, candidate) {
                from += bite;
            }
        }
        bite /= 2;
    }
}

/// Makes what cannot be left out as plain as possible.
fn simplify(best: &mut Case, accept: &mut Accept<'_>) {
    for machine in ["1cpu", "2cpu", "4cpu", "8cpu"] {
        let smaller = zerolag_core::topology::Topology::preset(machine).map(|t| t.cpu_count());
        let now = zerolag_core::topology::Topology::preset(&best.machine).map(|t| t.cpu_count());
        if smaller.ok() < now.ok() && accept(best, Case { machine: machine.into(), ..best.clone() }) {
            break;
        }
    }
    accept(best, Case { costs: "ideal", ..best.clone() });
    accept(best, Case { hz: 250, ..best.clone() });
    accept(best, Case { stagger_ticks: false, ..best.clone() });
    accept(best, Case { ties: None, ..best.clone() });
    if let Some((last, _)) = best.changes.last() {
        accept(best, Case { busy: Nanos(last.0 + 1_000_000), ..best.clone() });
    } else {
        accept(best, Case { busy: Nanos(best.busy.0 / 2), ..best.clone() });
    }
    accept(best, Case { calm: Nanos(best.calm.0 / 2), ..best.clone() });
    for at in 0..best.works.len() {
        let with = |edit: &dyn Fn(&mut super::Work), best: &Case| {
            let mut candidate = best.clone();
            edit(&mut candidate.works[at]);
            candidate
        };
        for edit in [
            &(|w: &mut super::Work| w.count = 1) as &dyn Fn(&mut super::Work),
            &|w| w.count = w.count.div_ceil(2),
            &|w| w.program = "forever { run 1ms }".into(),
            &|w| w.group = None,
            &|w| w.cpus = None,
            &|w| w.nice = 0,
            &|w| w.policy = None,
            &|w| w.slice = None,
        ] {
            let candidate = with(edit, best);
            accept(best, candidate);
        }
    }
    for at in 0..best.groups.len() {
        let mut candidate = best.clone();
        candidate.groups[at].limit = None;
        accept(best, candidate);
        let mut candidate = best.clone();
        candidate.groups[at].weight = Some(100);
        accept(best, candidate);
    }
}
