// SPDX-License-Identifier: GPL-2.0-only
//! The texts of the scheduler's tracepoints, in their three spellings:
//!
//! | spelling | `sched_switch` | who prints it |
//! |---|---|---|
//! | kernel | `prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=120` | tracefs, perf |
//! | raw | the same with a number for the state and without the arrow | `trace-cmd report -R` |
//! | plugin | `a:5 [120] S ==> b:6 [120]` | trace-cmd, perf with libtraceevent's plugins |
//!
//! Sources: `TP_printk` of `include/trace/events/sched.h` in 2.6.31 to 6.18, `plugin_sched_switch.c` of
//! libtraceevent. Names are free text: see [`Cursor::until`].

use zerolag_core::ids::CpuId;
use zerolag_core::units::Nanos;

use super::cursor::Cursor;
use super::header::cpu_id;
use super::naming::Thread;
use super::record::{Body, State, Wake};

/// Reads the text of the tracepoint `event`; none if it is one of the scheduler's and makes no sense.
pub(crate) fn body<'a>(event: &[u8], text: &'a [u8]) -> Option<Body<'a>> {
    let mut c = Cursor::new(text);
    let c = &mut c;
    Some(match event {
        b"sched_switch" => switch(c)?,
        b"sched_waking" => wake(c)?.map_or(Body::Other, Body::Waking),
        b"sched_wakeup" => wake(c)?.map_or(Body::Other, Body::Wakeup),
        b"sched_wakeup_new" => wake(c)?.map_or(Body::Other, Body::WakeupNew),
        b"sched_migrate_task" => migrate(c)?,
        b"sched_stat_runtime" => runtime(c)?,
        b"sched_process_fork" => fork(c)?,
        b"sched_process_exit" => Body::Exit(named(c, b"comm=", Cursor::prio)?),
        b"sched_process_exec" => exec(c)?,
        _ => Body::Other,
    })
}

impl Cursor<'_> {
    fn pid(&mut self) -> Option<u32> {
        u32::try_from(self.unsigned()?).ok()
    }

    fn number_after(&mut self, key: &[u8]) -> Option<u64> {
        self.tag(key)?;
        self.unsigned()
    }

    /// ` prio=120`; real-time kernels have had it missing.
    fn prio(&mut self) -> Option<i16> {
        self.tag(b" prio=")?;
        self.short()
    }

    fn short(&mut self) -> Option<i16> {
        i16::try_from(self.signed()?).ok()
    }
}

/// `comm=NAME pid=PID`, then what `tail` reads.
fn named<'a>(
    c: &mut Cursor<'a>,
    key: &[u8],
    tail: impl Fn(&mut Cursor<'a>) -> Option<i16>,
) -> Option<Thread<'a>> {
    c.tag(key)?;
    let (comm, (pid, prio)) = c.until(b' ', |c| {
        c.tag(b" pid=")?;
        let pid = c.pid()?;
        Some((pid, tail(c)?))
    })?;
    Some(Thread { pid, comm, prio: Some(prio) })
}

fn switch<'a>(c: &mut Cursor<'a>) -> Option<Body<'a>> {
    if c.tag(b"prev_comm=").is_none() {
        return plugin_switch(c);
    }
    let (comm, (pid, prio, prev_state)) = c.until(b' ', |c| {
        c.tag(b" prev_pid=")?;
        let pid = c.pid()?;
        c.tag(b" prev_prio=")?;
        let prio = c.short()?;
        c.tag(b" prev_state=")?;
        let state = State::from_letters(c.word(), false)?;
        c.tag(b" ==>").or(Some(()))?;
        c.tag(b" next_comm=")?;
        Some((pid, prio, state))
    })?;
    let prev = Thread { pid, comm, prio: Some(prio) };
    let (comm, (pid, prio)) = c.until(b' ', |c| {
        c.tag(b" next_pid=")?;
        let pid = c.pid()?;
        c.tag(b" next_prio=")?;
        Some((pid, c.short()?))
    })?;
    Some(Body::Switch { prev, prev_state, next: Thread { pid, comm, prio: Some(prio) } })
}

/// `a:5 [120] S ==> b:6 [120]`
fn plugin_switch<'a>(c: &mut Cursor<'a>) -> Option<Body<'a>> {
    let (comm, (pid, prio, prev_state)) = c.until(b':', |c| {
        let (pid, prio) = plugin_ids(c)?;
        c.tag(b" ")?;
        let state = State::from_letters(c.word(), true)?;
        c.tag(b" ==> ")?;
        Some((pid, prio, state))
    })?;
    let prev = Thread { pid, comm, prio: Some(prio) };
    let next = plugin_thread(c)?;
    Some(Body::Switch { prev, prev_state, next })
}

fn plugin_thread<'a>(c: &mut Cursor<'a>) -> Option<Thread<'a>> {
    let (comm, (pid, prio)) = c.until(b':', plugin_ids)?;
    Some(Thread { pid, comm, prio: Some(prio) })
}

/// `:5 [120]`
fn plugin_ids(c: &mut Cursor<'_>) -> Option<(u32, i16)> {
    c.tag(b":")?;
    let pid = c.pid()?;
    c.tag(b" [")?;
    let prio = c.short()?;
    c.tag(b"]")?;
    Some((pid, prio))
}

/// A wake-up; `Some(None)` is one that found the task awake (`success=0`, until 4.2).
fn wake<'a>(c: &mut Cursor<'a>) -> Option<Option<Wake<'a>>> {
    let (task, cpu_key): (_, &[u8]) = if c.rest.starts_with(b"comm=") {
        (named(c, b"comm=", Cursor::prio)?, b"target_cpu=")
    } else {
        (plugin_thread(c)?, b"CPU:")
    };
    c.skip_spaces();
    // libtraceevent prints `<CANT FIND FIELD success>` where a kernel has no such field any more.
    let success = c.number_after(b"success=") != Some(0);
    let (_, target) = c.until(cpu_key[0], |c| c.number_after(cpu_key).and_then(cpu_id))?;
    Some(success.then_some(Wake { task, target }))
}

fn migrate<'a>(c: &mut Cursor<'a>) -> Option<Body<'a>> {
    let task = named(c, b"comm=", Cursor::prio)?;
    let cpu = |c: &mut Cursor<'_>, key| c.number_after(key).and_then(cpu_id);
    let from: CpuId = cpu(c, b" orig_cpu=")?;
    let to = cpu(c, b" dest_cpu=")?;
    Some(Body::Migrate { task, from, to })
}

fn runtime<'a>(c: &mut Cursor<'a>) -> Option<Body<'a>> {
    c.tag(b"comm=")?;
    let (comm, (pid, ran)) = c.until(b' ', |c| {
        c.tag(b" pid=")?;
        let pid = c.pid()?;
        Some((pid, c.number_after(b" runtime=")?))
    })?;
    Some(Body::Runtime { task: Thread { pid, comm, prio: None }, ran: Nanos(ran) })
}

fn fork<'a>(c: &mut Cursor<'a>) -> Option<Body<'a>> {
    c.tag(b"comm=").or_else(|| c.tag(b"parent_comm="))?;
    let (comm, pid) = c.until(b' ', |c| {
        c.tag(b" pid=").or_else(|| c.tag(b" parent_pid="))?;
        let pid = c.pid()?;
        c.tag(b" child_comm=")?;
        Some(pid)
    })?;
    let parent = Thread { pid, comm, prio: None };
    let (comm, pid) = c.until(b' ', |c| {
        c.tag(b" child_pid=")?;
        let pid = c.pid()?;
        (c.rest.is_empty() || c.rest.starts_with(b" ")).then_some(pid)
    })?;
    Some(Body::Fork { parent, child: Thread { pid, comm, prio: None } })
}

fn exec<'a>(c: &mut Cursor<'_>) -> Option<Body<'a>> {
    let (_, (pid, old_pid)) = c.until(b' ', |c| {
        c.tag(b" pid=")?;
        let pid = c.pid()?;
        c.tag(b" old_pid=")?;
        Some((pid, c.pid()?))
    })?;
    Some(Body::Exec { pid, old_pid })
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerolag_core::event::PrevState;

    fn read<'a>(event: &str, text: &'a str) -> Option<Body<'a>> {
        body(event.as_bytes(), text.as_bytes())
    }

    fn thread(pid: u32, comm: &str, prio: Option<i16>) -> Thread<'_> {
        Thread { pid, comm: comm.as_bytes(), prio }
    }

    #[track_caller]
    fn check_switch(text: &str, prev: &str, state: PrevState, next: &str) {
        let Some(Body::Switch { prev: p, prev_state, next: n }) = read("sched_switch", text) else {
            panic!("not understood: {text}");
        };
        assert_eq!(p, thread(7, prev, Some(120)), "{text}");
        assert_eq!(n, thread(0, next, Some(-1)), "{text}");
        assert_eq!(prev_state.state, state, "{text}");
    }

    #[test]
    fn a_switch_reads_the_same_in_every_spelling() {
        for comm in ["a", "my ==> app [x]", "k/0:2", " prev_pid=9", "a=b c", " ==> next_comm=", ""] {
            for text in [
                format!(
                    "prev_comm={comm} prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=-1"
                ),
                format!(
                    "prev_comm={comm} prev_pid=7 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=-1"
                ),
                format!("{comm}:7 [120] S ==> swapper/1:0 [-1]"),
            ] {
                check_switch(&text, comm, PrevState::Sleeping, "swapper/1");
            }
        }
        check_switch(
            "prev_comm=x prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm= next_pid=8 y next_pid=0 next_prio=-1 [trailing]",
            "x",
            PrevState::Preempted,
            " next_pid=8 y",
        );
        check_switch("a:7 [120] D|K ==> b:1 [1:0 [-1]", "a", PrevState::Uninterruptible, "b:1 [1");
    }

    #[test]
    fn wake_ups_old_and_new() {
        let want = Wake { task: thread(7, "a b", Some(120)), target: CpuId(3) };
        for text in [
            "comm=a b pid=7 prio=120 target_cpu=003",
            "comm=a b pid=7 prio=120 success=1 target_cpu=003",
            "a b:7 [120] success=1 CPU:003",
            "a b:7 [120] CPU:003",
            "a b:7 [120] <CANT FIND FIELD success> CPU:003",
        ] {
            assert_eq!(read("sched_wakeup", text), Some(Body::Wakeup(want)), "{text}");
            assert_eq!(read("sched_waking", text), Some(Body::Waking(want)), "{text}");
            assert_eq!(read("sched_wakeup_new", text), Some(Body::WakeupNew(want)), "{text}");
        }
        let failed = "comm=a pid=7 prio=120 success=0 target_cpu=003";
        assert_eq!(read("sched_wakeup", failed), Some(Body::Other));
    }

    #[test]
    fn the_other_tracepoints() {
        assert_eq!(
            read("sched_stat_runtime", "comm=a pid= pid=7 runtime=12 [ns] vruntime=99 [ns]"),
            Some(Body::Runtime { task: thread(7, "a pid=", None), ran: Nanos(12) })
        );
        assert_eq!(
            read("sched_migrate_task", "comm=a pid=7 prio=120 orig_cpu=1 dest_cpu=0"),
            Some(Body::Migrate { task: thread(7, "a", Some(120)), from: CpuId(1), to: CpuId(0) })
        );
        assert_eq!(
            read("sched_process_fork", "comm=a pid=7 child_comm=a b child_pid=8"),
            Some(Body::Fork { parent: thread(7, "a", None), child: thread(8, "a b", None) })
        );
        assert_eq!(
            read("sched_process_exit", "comm=a pid=7 prio=120 group_dead=true"),
            Some(Body::Exit(thread(7, "a", Some(120))))
        );
        assert_eq!(
            read("sched_process_exec", "filename=/bin/a b pid=7 old_pid=8"),
            Some(Body::Exec { pid: 7, old_pid: 8 })
        );
        assert_eq!(read("irq_handler_entry", "irq=1 name=x"), Some(Body::Other));
    }

    #[test]
    fn truncated_texts_are_not_understood() {
        for (event, text) in [
            (
                "sched_switch",
                "prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120",
            ),
            ("sched_switch", "a:7 [120] S ==> b:8 [120]"),
            ("sched_wakeup", "comm=a pid=7 prio=120 target_cpu=003"),
            ("sched_migrate_task", "comm=a pid=7 prio=120 orig_cpu=1 dest_cpu=0"),
            ("sched_stat_runtime", "comm=a pid=7 runtime=1"),
            ("sched_process_fork", "comm=a pid=7 child_comm=b child_pid=8"),
            ("sched_process_exit", "comm=a pid=7 prio=1"),
            ("sched_process_exec", "filename=x pid=7 old_pid=8"),
        ] {
            // The last number may lose digits and still be one.
            let least = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == ']').len();
            for end in 0..=least {
                assert_eq!(read(event, &text[..end]), None, "{event}: {:?}", &text[..end]);
            }
        }
        assert_eq!(read("sched_wakeup", "comm=a pid=7 prio=120 target_cpu=8192"), None, "no such CPU");
        assert_eq!(read("sched_wakeup", "comm=a pid=-7 prio=120 target_cpu=0"), None, "no such pid");
    }
}
