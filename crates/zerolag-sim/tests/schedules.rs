// SPDX-License-Identifier: GPL-2.0-only
//! Schedules as drawings: one small scenario for each thing that the machine does.

mod drawing;

use drawing::check;
use expect_test::{Expect, expect};

/// Slices of 0.7 ms end at ticks, every 4 ms.
#[test]
fn hogs_take_turns_at_ticks() {
    check(
        r#"
machine = "1cpu"
duration = "32ms"
[[workload]]
kind = "hog"
name = "a"
[[workload]]
kind = "hog"
name = "b"
"#,
        500,
        &expect![[r#"
            cpu0 |aaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbb|

            a 1 |########--------########--------########--------########--------|
            b 2 |--------########--------########--------########--------########|
        "#]],
    );
}

#[test]
fn at_hz_1000_they_take_turns_more_often() {
    check(
        r#"
machine = "1cpu"
duration = "16ms"
hz = 1000
[[workload]]
kind = "hog"
name = "a"
[[workload]]
kind = "hog"
name = "b"
"#,
        250,
        &expect![[r#"
            cpu0 |aaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbb|

            a 1 |####----####----####----####----####----####----####----####----|
            b 2 |----####----####----####----####----####----####----####----####|
        "#]],
    );
}

/// The timer fires at the end of its slack of 50 µs.
#[test]
fn a_sleeper_wakes_after_its_slack() {
    check(
        r#"
machine = "1cpu"
duration = "1ms"
[[workload]]
name = "a"
program = "forever { run 100us; sleep 200us }"
"#,
        10,
        &expect![[r#"
            cpu0 |aaaaaaaaaa.........................aaaaaaaaaa.........................aaaaaaaaaa....................|

            a 1 |##########                         ##########                         ##########                    |
        "#]],
    );
}

/// The interrupt for one timer serves the other, which may fire already.
#[test]
fn timers_are_coalesced() {
    check(
        r#"
machine = "1cpu"
duration = "500us"
[[workload]]
name = "a"
program = "sleep 100us; run 50us"
[[workload]]
name = "b"
program = "sleep 130us; run 50us"
"#,
        10,
        &expect![[r#"
            cpu0 |...............aaaaabbbbb.........................|

            a 1 |               #####                              |
            b 2 |               -----#####                         |
        "#]],
    );
}

#[test]
fn a_real_time_task_has_no_slack() {
    check(
        r#"
machine = "1cpu"
duration = "500us"
[[workload]]
name = "r"
policy = "fifo:10"
program = "sleep 100us; run 100us"
[[workload]]
kind = "hog"
name = "h"
"#,
        10,
        &expect![[r#"
            cpu0 |hhhhhhhhhhrrrrrrrrrrhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh|

            r 1 |          ##########                              |
            h 2 |##########----------##############################|
        "#]],
    );
}

/// Wake-up, switch and idle exit take their time.
#[test]
fn costs_show_as_latency() {
    check(
        r#"
machine = "1cpu"
duration = "100us"
costs = { wakeup = "5us", context_switch = "10us", idle_exit = "20us" }
[[workload]]
name = "a"
timer_slack = "0us"
program = "sleep 30us; run 15us"
"#,
        1,
        &expect![[r#"
            cpu0 |....................aaaaaaaaaa.......................................................aaaaaaaaaaaaaaa|

            a 1 |--------------------##########                                                  -----###############|
        "#]],
    );
}

#[test]
fn a_mutex_is_waited_for() {
    check(
        r#"
machine = "2cpu"
duration = "10ms"
[[workload]]
name = "a"
program = "forever { lock m; run 2ms; unlock m; run 1ms }"
[[workload]]
name = "b"
program = "forever { lock m; run 1ms; unlock m; run 1ms }"
"#,
        250,
        &expect![[r#"
            cpu0 |aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|
            cpu1 |........bbbbbbbb....bbbbbbbb....bbbbbbbb|

            a 1 |########################################|
            b 2 |        ########    ########    ########|
        "#]],
    );
}

#[test]
fn a_spinner_works_in_vain() {
    check(
        r#"
machine = "2cpu"
duration = "6ms"
[[workload]]
name = "a"
program = "spin-lock s; run 3ms; spin-unlock s; sleep 10ms"
[[workload]]
name = "b"
program = "run 1ms; spin-lock s; run 1ms; spin-unlock s; sleep 10ms"
"#,
        250,
        &expect![[r#"
            cpu0 |aaaaaaaaaaaa............|
            cpu1 |bbbbbbbbbbbbbbbb........|

            a 1 |############            |
            b 2 |################        |
        "#]],
    );
}

#[test]
fn a_barrier_holds_until_all_are_there() {
    check(
        r#"
machine = "4cpu"
duration = "8ms"
barrier.b.parties = 3
[[workload]]
name = "a"
program = "repeat 2 { run 1ms; barrier b }"
[[workload]]
name = "b"
program = "repeat 2 { run 2ms; barrier b }"
[[workload]]
name = "c"
program = "repeat 2 { run 3ms; barrier b }"
"#,
        250,
        &expect![[r#"
            cpu0 |aaaa........aaaa................|
            cpu1 |bbbbbbbb....bbbbbbbb............|
            cpu2 |cccccccccccccccccccccccc........|

            a 1 |####        ####                |
            b 2 |########    ########            |
            c 3 |########################        |
        "#]],
    );
}

#[test]
fn a_condition_is_signalled_or_missed() {
    check(
        r#"
machine = "4cpu"
duration = "8ms"
[[workload]]
name = "w"
program = "lock m; wait c m; unlock m; run 1ms; lock m; wait c m; unlock m; run 1ms"
[[workload]]
name = "s"
program = "run 1ms; lock m; signal c; unlock m; run 500us; signal c; run 2ms; broadcast c; run 1ms"
"#,
        250,
        &expect![[r#"
            cpu0 |....wwww......wwww..............|
            cpu1 |ssssssssssssssssss..............|

            w 1 |    ####      ####              |
            s 2 |##################              |
        "#]],
    );
}

/// The writer fills the pipe and waits for room, the reader for bytes.
#[test]
fn a_full_channel_stops_its_writer() {
    check(
        r#"
machine = "2cpu"
duration = "10ms"
channel.c = { capacity = 300 }
[[workload]]
name = "w"
program = "repeat 6 { run 250us; write c 100 sync }"
[[workload]]
name = "r"
program = "run 4ms; repeat 6 { read c 100; run 500us }"
"#,
        250,
        &expect![[r#"
            cpu0 |wwww............w.w.....................|
            cpu1 |rrrrrrrrrrrrrrrrrrrrrrrrrrrr............|

            w 1 |####            # #                     |
            r 2 |############################            |
        "#]],
    );
}

/// Of two requests to a device with one lane, the second is served after the first.
#[test]
fn a_device_serves_one_after_the_other() {
    check(
        r#"
machine = "2cpu"
duration = "8ms"
[[workload]]
name = "a"
program = "run 1ms; io 2ms d; run 1ms"
[[workload]]
name = "b"
program = "run 1ms; io 2ms d; run 1ms"
"#,
        250,
        &expect![[r#"
            cpu0 |aaaa........aaaa................|
            cpu1 |bbbb................bbbb........|

            a 1 |####        ####                |
            b 2 |####                ####        |
        "#]],
    );
}

fn check_late_timer(late: &str, expected: &Expect) {
    let scenario = format!(
        r#"
machine = "1cpu"
duration = "30ms"
[[workload]]
name = "a"
timer_slack = "0us"
program = "run 7ms; forever {{ timer 5ms {late}; run 1ms }}"
"#
    );
    check(&scenario, 500, expected);
}

#[test]
fn a_late_timer_restarts() {
    check_late_timer(
        "restart",
        &expect![[r#"
        cpu0 |aaaaaaaaaaaaaaaa........aa........aa........aa........aa....|

        a 1 |################        ##        ##        ##        ##    |
    "#]],
    );
}

#[test]
fn a_late_timer_keeps_its_beat() {
    check_late_timer(
        "keep-beat",
        &expect![[r#"
        cpu0 |aaaaaaaaaaaaaaaa....aa........aa........aa........aa........|

        a 1 |################    ##        ##        ##        ##        |
    "#]],
    );
}

#[test]
fn a_late_timer_skips_beats() {
    check_late_timer(
        "skip-beats",
        &expect![[r#"
        cpu0 |aaaaaaaaaaaaaa......aa........aa........aa........aa........|

        a 1 |##############      ##        ##        ##        ##        |
    "#]],
    );
}

#[test]
fn forked_tasks_inherit_and_are_counted() {
    check(
        r#"
machine = "2cpu"
duration = "6ms"
[[workload]]
name = "parent"
cpus = "1"
program = "run 1ms; fork child; run 1ms; fork child; run 1ms"
[[workload]]
name = "child"
count = 0
program = "run 500us"
"#,
        250,
        &expect![[r#"
            cpu1 |AAAABBAAAAAAAACC........|
            A = parent
            B = child-0000
            C = child-0001

            parent 1     |####--########          |
            child-0000 2 |    ##                  |
            child-0001 3 |          ----##        |
        "#]],
    );
}

#[test]
fn a_task_can_be_sent_elsewhere_while_it_runs() {
    check(
        r#"
machine = "2cpu"
duration = "8ms"
[[workload]]
name = "a"
program = "run 2ms; set cpus 1; run 2ms; set cpus 0; run 2ms"
[[at]]
time = "5ms"
task = [{ match = "a", cpus = "1" }]
"#,
        250,
        &expect![[r#"
            cpu0 |aaaaaaaa........aaaa............|
            cpu1 |........aaaaaaaa....aaaa........|

            a 1 |########################        |
        "#]],
    );
}

/// Half the speed, twice the time.
#[test]
fn a_slow_cpu_takes_longer() {
    check(
        r#"
machine = "2cpu"
duration = "8ms"
speed = [{ cpus = "1", percent = 50 }]
[[workload]]
name = "a"
cpus = "0"
program = "run 3ms"
[[workload]]
name = "b"
cpus = "1"
program = "run 3ms"
"#,
        250,
        &expect![[r#"
            cpu0 |aaaaaaaaaaaa....................|
            cpu1 |bbbbbbbbbbbbbbbbbbbbbbbb........|

            a 1 |############                    |
            b 2 |########################        |
        "#]],
    );
}

/// Wall time goes on while a task is preempted, work does not.
#[test]
fn wall_time_includes_preemption() {
    check(
        r#"
machine = "1cpu"
duration = "40ms"
[[workload]]
name = "w"
program = "run-for 20ms"
[[workload]]
name = "h"
program = "run 15ms"
"#,
        500,
        &expect![[r#"
            cpu0 |wwwwwwwwhhhhhhhhwwwwwwwwhhhhhhhhwwwwwwwwhhhhhhhhhhhhhh..........................|

            w 1 |########--------########--------########                                        |
            h 2 |--------########--------########--------##############                          |
        "#]],
    );
}

#[test]
fn a_roster_is_released_last_come_first() {
    check(
        r#"
machine = "1cpu"
duration = "3ms"
[[workload]]
name = "a"
program = "run 100us; enlist r a; acquire a; run 200us"
[[workload]]
name = "b"
program = "run 100us; enlist r b; acquire b; run 200us"
[[workload]]
name = "m"
program = "sleep 1ms; release r; run 200us"
"#,
        50,
        &expect![[r#"
            cpu0 |aabb.....................mmmmbbbbaaaa.......................|

            a 1 |##                       --------####                       |
            b 2 |--##                     ----####                           |
            m 3 |----                     ####                               |
        "#]],
    );
}

#[test]
fn changes_take_effect_at_their_time() {
    check(
        r#"
machine = "1cpu"
duration = "64ms"
cgroup."/g" = {}
[[workload]]
kind = "hog"
name = "a"
[[workload]]
kind = "hog"
name = "b"
cgroup = "/g"
[[at]]
time = "32ms"
cgroup."/g" = { "cpu.shares" = 4096 }
"#,
        1000,
        &expect![[r#"
            cpu0 |aaaabbbbaaaabbbbaaaabbbbaaaabbbbbbbbaaaabbbbbbbbbbbbbbbbaaaabbbb|

            a 1 |####----####----####----####--------####----------------####----|
            b 2 |----####----####----####----########----################----####|
        "#]],
    );
}

/// At half the frequency everything takes twice as long; the sleep does not.
#[test]
fn a_clock_that_is_turned_down_slows_its_cpu() {
    check(
        r#"
machine = "1cpu"
duration = "1200us"
[[frequency]]
cpus = "0"
levels = [1000, 2000]
[[workload]]
name = "a"
timer_slack = "0us"
program = "forever { run 100us; sleep 100us }"
[[at]]
time = "450us"
frequency = [{ cpus = "0", level = 1000 }]
"#,
        50,
        &expect![[r#"
            cpu0 |aa..aa..aaa..aaaa..aaaa.|

            a 1 |##  ##  ###  ####  #### |
        "#]],
    );
}

/// A sleeper's CPU goes, and its timer fires on another; a running task is pushed away, and one that may only run
/// there may run anywhere from then on. When the CPU is back, balancing finds it.
#[test]
fn a_cpu_goes_and_comes_back() {
    check(
        r#"
machine = "2cpu"
duration = "60ms"
[[workload]]
name = "a"
cpus = "1"
program = "run 6ms; sleep 8ms; run 40ms"
[[workload]]
kind = "hog"
name = "b"
cpus = "0-1"
start = "1ms"
[[at]]
time = "10ms"
offline = "1"
[[at]]
time = "40ms"
online = "1"
"#,
        1000,
        &expect![[r#"
            cpu0 |.bbbbbbbbbbbbbaabbbbaaaabbbbaaaabbbbaaaabbbbbbbbbbbbbbbbbbbb|
            cpu1 |aaaaaa......................................aaaaaaaaaaaaaaaa|

            a 1 |######        ##----####----####----####----################|
            b 2 | #############--####----####----####----####################|
        "#]],
    );
}

/// CPUs 0 and 1 are divided, so that the second task of CPU 0 stays there; once they are one set again, CPU 1 takes
/// it when it next goes idle.
#[test]
fn partitions_keep_tasks_apart_until_they_are_joined() {
    check(
        r#"
machine = "2cpu"
duration = "60ms"
partitions = ["0", "1"]
[[workload]]
name = "a"
program = "set cpus 0; run 2ms; set cpus 0-1; run 100ms"
[[workload]]
name = "b"
program = "set cpus 0; run 2ms; set cpus 0-1; run 100ms"
[[workload]]
name = "c"
cpus = "1"
program = "forever { sleep 9ms; run 1ms }"
[[at]]
time = "32ms"
partitions = []
"#,
        1000,
        &expect![[r#"
            cpu0 |aabbbbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaabbbbaaaaaaaaaaaa|
            cpu1 |.........c.........c.........c.........c........bbbbcbbbbbbb|

            a 1 |##------####----####----####----####----####----############|
            b 2 |--######----####----####----####----####----########-#######|
            c 3 |         #         #         #         #         ---#       |
        "#]],
    );
}
