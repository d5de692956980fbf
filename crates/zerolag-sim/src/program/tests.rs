// SPDX-License-Identifier: GPL-2.0-only
//! What programs are accepted, and what is known of them.

use super::*;

const MS: Nanos = Nanos::from_millis(1);

#[test]
fn loops_know_their_ends() {
    let p = ProgramBuilder::new()
        .begin(Times::Exactly(2))
        .begin(Times::Exactly(3))
        .op(Op::Run(MS.into()))
        .end()
        .op(Op::Yield)
        .end()
        .build()
        .unwrap();
    assert_eq!(p.ops()[0], Op::Repeat { times: Times::Exactly(2), again: 5 });
    assert_eq!(p.ops()[1], Op::Repeat { times: Times::Exactly(3), again: 3 });
    assert_eq!(p.ops()[3], Op::Again { body: 2, depth: 1 });
    assert_eq!(p.ops()[5], Op::Again { body: 1, depth: 0 });
    assert_eq!(p.loop_depth(), 2);
}

#[test]
fn unbalanced_loops_are_refused() {
    let open = ProgramBuilder::new().op(Op::Yield).begin(Times::Exactly(1)).build();
    assert_eq!(open, Err(ProgramError::BeginWithoutEnd { at: 1 }));
    let closed = ProgramBuilder::new().op(Op::Yield).end().build();
    assert_eq!(closed, Err(ProgramError::EndWithoutBegin { at: 1 }));
    let mut deep = ProgramBuilder::new();
    for _ in 0..=LOOP_DEPTH_MAX {
        deep.begin(Times::Exactly(1));
    }
    assert_eq!(deep.build(), Err(ProgramError::TooDeep { at: LOOP_DEPTH_MAX }));
}

#[test]
fn an_endless_loop_must_take_time() {
    let endless = |ops: &[Op]| {
        let mut b = ProgramBuilder::new();
        b.begin(Times::Forever);
        ops.iter().for_each(|&op| {
            b.op(op);
        });
        b.end().build()
    };
    let refused = Err(ProgramError::TakesNoTime { at: 0 });
    assert_eq!(endless(&[]), refused);
    assert_eq!(endless(&[Op::Run(Nanos::ZERO.into()), Op::Yield, Op::Mark(1)]), refused);
    assert!(endless(&[Op::Mark(1), Op::Sleep(Nanos::ZERO.into())]).is_ok());
    assert!(endless(&[Op::Lock(MutexId(0).into())]).is_ok());

    let mut b = ProgramBuilder::new();
    let never = b.distribution(Distribution::Exponential { mean: Nanos::ZERO });
    b.begin(Times::Forever).op(Op::Run(Length::Drawn(never))).end();
    assert_eq!(b.build(), refused);
}

#[test]
fn numbers_of_other_programs_are_refused() {
    let drawn = ProgramBuilder::new().op(Op::Run(Length::Drawn(DistributionId(3)))).build();
    assert_eq!(drawn, Err(ProgramError::UnknownDistribution { at: 0, number: 3 }));
    let bound = ProgramBuilder::new().op(Op::Set(Attribute::Affinity(AffinityId(0)))).build();
    assert_eq!(bound, Err(ProgramError::UnknownAffinity { at: 0, number: 0 }));
}

#[test]
fn a_program_knows_what_its_tasks_need() {
    let timer = TimerRef::Own(1);
    let p = ProgramBuilder::new()
        .op(Op::Timer { timer, period: MS, late: Late::Restart })
        .op(Op::Enlist { roster: RosterId(0).into(), semaphore: Ref::Argument(2) })
        .build()
        .unwrap();
    assert_eq!((p.own_timers(), p.arguments()), (2, 3));
}

#[test]
fn an_operation_is_at_most_half_a_cache_line() {
    assert!(size_of::<Op>() <= 32, "{}", size_of::<Op>());
}
