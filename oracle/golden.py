#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""golden.py [--bin DIR] [--check] DIR [VERSION...]: write DIR/VERSION/NN.script and NN.expect.gz

--bin DIR   where the oracles are (default: where ./build puts them)
--check     write nothing: run the scripts that are in DIR and compare (cmp.py tells where)
"""
import os, subprocess, random, sys, argparse, gzip
BASE = os.path.dirname(os.path.abspath(__file__))
ap = argparse.ArgumentParser(usage=__doc__)
ap.add_argument('--bin', default=os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'zerolag-oracle'))
ap.add_argument('--check', action='store_true')
ap.add_argument('dir'); ap.add_argument('versions', nargs='*')
ARGS = ap.parse_args()
def oracle(w, mode, txt):
    return subprocess.run([os.path.join(ARGS.bin, 'oracle-' + w), mode], input=txt, capture_output=True, text=True)
MS = 1000000
class S:
    def __init__(s, v, title, cpus=1, extra=()):
        s.v = v; s.o = [f'# {title}', f'cpus {cpus}', *extra]; s.t = 1 * MS
        s.o.append(f'clock {s.t}')
    def __call__(s, *l): s.o.extend(l); return s
    def at(s, t): s.t = t; s.o.append(f'clock {t}'); return s
    def adv(s, d): return s.at(s.t + d)
    def fork(s, *ids):
        for i in ids: s(f'fork {i}')
        return s
    def ticks(s, n, d=4 * MS):
        for _ in range(n): s.adv(d); s('tick', 'resched')
        return s
    def feat(s, n, x): return s(f'feature {n} {x}')

def two_hogs(v):
    s = S(v, 'two hogs of equal weight')
    s('task 1', 'task 2', 'fork 1', 'resched').adv(100000)('fork 2', 'resched').ticks(12)
    return s
def nice_mix(v):
    s = S(v, 'four hogs, nice -5 0 5 19')
    for i, n in enumerate((-5, 0, 5, 19), 1): s(f'task {i} nice {n}')
    s.fork(1, 2, 3, 4)('resched').ticks(13)
    return s
def sleeper(v, pre=()):
    s = S(v, 'a sleeper (2 ms of work each 10 ms) against a hog')
    s(*pre)
    s('task 1', 'task 2', 'fork 1', 'resched').adv(3 * MS)('fork 2', 'resched').ticks(2)
    for k in range(6):
        s.adv(1500000)('resched')
        s('tick', 'resched').adv(500000)('sleep').adv(4 * MS)('tick', 'resched').adv(4 * MS + 17)('wake 1', 'wake 2', 'resched')
    return s
def short_slice(v):
    s = S(v, 'a task with a short slice wakes among tasks with long ones')
    s('task 1 slice 20000000', 'task 2 slice 20000000', 'task 3 slice 500000').fork(1, 2, 3)('resched')
    for k in range(5):
        s.ticks(1)
        s.adv(300000)('sleep').adv(2 * MS)('wake 3', 'resched').adv(700000)('wake 1', 'wake 2', 'tick', 'resched')
    return s
def run(v, txt):
    o = oracle(v, 'hash', txt).stdout
    return '\n'.join(l for l in o.split('\n') if l.startswith('E'))
def mixed(v, seed, n, pre=(), grp=False):
    """sub-slice traffic: wakeups, sleeps and ticks at gaps below a slice"""
    r = random.Random(seed)
    s = S(v, '')
    s(*pre)
    if v == '6.12': s('sysctl base_slice_ns 6000000')
    if grp: s('sysctl latency_ns 3000000', 'sysctl min_granularity_ns 1000000', 'sysctl wakeup_granularity_ns 300000', 'group 1 parent 0 shares 1024')
    nt = 5 if grp else 3
    for i in range(1, nt + 1): s(f'task {i} nice {r.choice([0, 0, 2, -2])}' + (f' group {r.randrange(2)}' if grp else '') + (f' slice {r.choice([1000000, 2000000, 12000000])}' if v == '6.12' and r.random() < .6 else ''))
    if grp: s('mode hash')
    s.fork(*range(1, nt + 1))('resched')
    for k in range(n):
        if grp and k == n // 2: s('mode full')
        s.adv(r.choice([r.randrange(1, 1000000), r.randrange(1, 4000000)]))
        x = r.random()
        if x < .3: s('sleep')
        elif x < .75: s(f'wake {r.randrange(1, nt + 1)}', 'resched')
        else: s('tick', 'resched')
    return s
def toggled(v, feats, title, n=22, grp=False):
    """the first seed whose schedule visibly depends on the feature; the default run is kept beside it for comparison"""
    best = None
    if not feats:
        s = mixed(v, 3, n); s.o[0] = '# ' + title; return s
    for seed in range(3, 400):
        on = mixed(v, seed, n, [f'feature {f} {x}' for f, x in feats], grp); off = mixed(v, seed, n, (), grp)
        d = sum(1 for x, y in zip(run(v, '\n'.join(on.o)).split('\n'), run(v, '\n'.join(off.o)).split('\n')) if x.split(' h=')[0] != y.split(' h=')[0])
        if best is None or d > best[0]: best = (d, seed, on)
        if d >= 6: break
    best[2].o[0] = f'# {title} ({best[0]} events come out otherwise than with the defaults)'
    return best[2]
def nested2(v):
    s = S(v, 'two groups of equal shares, one and two hogs')
    s('group 1 parent 0 shares 1024', 'group 2 parent 0 shares 1024', 'task 1 group 1', 'task 2 group 2', 'task 3 group 2').fork(1, 2, 3)('resched').ticks(11)
    return s
def nested3(v):
    s = S(v, 'groups three deep, nice mix, sleeping and waking')
    s('group 1 parent 0 shares 512', 'group 2 parent 1 shares 2048', 'group 3 parent 2 shares 100', 'task 1 group 3', 'task 2 group 2 nice 4', 'task 3')
    s.fork(1, 2, 3)('resched', 'mode hash').ticks(2)('mode full').adv(1 * MS)('sleep').adv(3 * MS)('tick', 'resched').adv(700001)('sleep').adv(2 * MS)('wake 1', 'resched', 'mode hash', 'wake 2', 'wake 3', 'resched').ticks(3)
    s.adv(12345)('sleep').adv(30 * MS)('sleep').adv(2 * MS)('mode full', 'sleep').adv(300 * MS)('wake 2', 'resched').ticks(1)('wake 1', 'wake 3', 'resched').ticks(1)
    return s
def reweight(v):
    s = S(v, 'group shares changed while it runs')
    s('group 1 parent 0 shares 1024', 'group 2 parent 1 shares 1024', 'task 1 group 2', 'task 2 group 1', 'task 3').fork(1, 2, 3)('resched').ticks(2)
    for g, x in ((1, 2048), (2, 64), (1, 2), (2, 20000), (1, 1024), (2, 262144)): s.adv(1234567)(f'shares {g} {x}').ticks(1)
    return s
def setgroup(v):
    s = S(v, 'tasks change group: queued, running, asleep')
    s('group 1 parent 0 shares 1024', 'group 2 parent 0 shares 3000', 'task 1 group 1', 'task 2', 'task 3 group 2').fork(1, 2, 3)('resched', 'mode hash').ticks(3)('mode full')
    s('setgroup 1 2', 'setgroup 2 1', 'setgroup 3 0', 'resched', 'mode hash').ticks(2)('mode full').adv(999)('sleep').adv(5 * MS)('setgroup 1 0', 'setgroup 2 0', 'setgroup 3 1').adv(40 * MS)('wake 1', 'wake 2', 'wake 3', 'resched').ticks(3)('setgroup 1 0').ticks(1)
    return s
def migq(v):
    s = S(v, 'queued tasks move between two cpus with their lag', 2)
    s('task 1 cpu 0', 'task 2 cpu 0', 'task 3 cpu 0 nice 5', 'task 4 cpu 1', 'cpu 0').fork(1, 2, 3)('resched', 'cpu 1', 'fork 4', 'resched')
    for k in range(4):
        s('mode hash' if k == 1 else 'mode full').adv(4 * MS)
        for c in (0, 1): s(f'cpu {c}', 'tick', 'resched')
        s.adv(777777)(f'move {k % 3 + 1} cpu {1 - k % 2}', f'move {(k + 1) % 3 + 1} cpu {1 - k % 2}')
        s('cpu 0', 'resched', 'cpu 1', 'resched')
    return s
def migs(v):
    s = S(v, 'a sleeping task moves and wakes on the other cpu', 2)
    s('task 1 cpu 0', 'task 2 cpu 0', 'task 3 cpu 1', 'cpu 0').fork(1, 2)('resched', 'cpu 1', 'fork 3', 'resched')
    for k in range(3):
        c = k % 2
        s.adv(3 * MS)(f'cpu {c}', 'tick', 'resched').adv(1 * MS)('sleep').adv(2500000)(f'move 1 cpu {1 - c}', f'move 2 cpu {1 - c}', 'wake 1', f'wake 2')
        s(f'cpu {1 - c}', 'resched').adv(2 * MS)('tick', 'resched')
    return s
def group2cpu(v):
    s = S(v, 'one group on two cpus: shares follow load', 2)
    s('group 1 parent 0 shares 1024', 'task 1 group 1 cpu 0', 'task 2 group 1 cpu 1', 'task 3 cpu 0', 'cpu 0').fork(1, 3)('resched', 'cpu 1', 'fork 2', 'resched')
    s('mode hash')
    for k in range(5):
        if k == 1: s('mode full')
        s.adv(4 * MS)
        for c in (0, 1): s(f'cpu {c}', 'tick', 'resched')
        if k == 2: s('cpu 1', 'sleep')
        if k == 3: s('cpu 1', 'wake 2', 'resched')
    return s
def yld(v):
    s = S(v, 'yield')
    s('task 1', 'task 2', 'task 3 nice 2').fork(1, 2, 3)('resched')
    for k in range(8): s.adv(500000 + 1000 * k)('yield').adv(250000)('yield').ticks(1)
    s('task 4')
    return s
def storm(v):
    s = S(v, 'fork storm'); s('task 1', 'fork 1', 'resched', 'mode hash')
    for i in range(2, 14): s.adv(150000)(f'task {i} nice {(i * 7) % 11 - 5}', f'fork {i}', 'resched')
    s('dump').ticks(20)('dump').ticks(40)('mode full').ticks(3)
    return s
def policies(v):
    s = S(v, 'SCHED_BATCH and SCHED_IDLE')
    s('task 1', 'task 2 policy batch', 'task 3 policy idle').fork(1, 2, 3)('resched').ticks(3)
    s.adv(1 * MS)('sleep').adv(2 * MS)('tick', 'resched', 'wake 1', 'wake 2', 'wake 3', 'resched').adv(50000)('sleep').adv(2 * MS)('sleep').adv(1 * MS)('wake 1', 'resched', 'wake 2', 'resched')
    s('policy 1 idle', 'policy 3 normal', 'resched').ticks(2)('policy 2 normal', 'policy 1 batch', 'resched').ticks(3)
    return s
def gidle(v):
    s = S(v, 'cpu.idle group')
    s('group 1 parent 0 shares 1024', 'gidle 1 1', 'task 1 group 1', 'task 2', 'task 3 policy idle').fork(1, 2, 3)('resched').ticks(4)
    s.adv(2 * MS)('sleep').ticks(2)('wake 2', 'resched', 'gidle 1 0').ticks(3)('shares 1 300').ticks(1)
    return s
def nice_ev(v):
    s = S(v, 'nice on running, queued and sleeping tasks')
    s('task 1', 'task 2', 'task 3').fork(1, 2, 3)('resched').ticks(2).adv(123456)('nice 1 5', 'nice 2 -10', 'nice 3 19', 'resched').ticks(2).adv(1 * MS)('sleep').adv(1 * MS)('nice 1 0', 'nice 2 0', 'nice 3 0', 'resched').ticks(1)
    s('wake 1', 'wake 2', 'wake 3', 'resched').ticks(3).adv(1)('nice 1 -20', 'nice 1 19', 'resched').ticks(1)
    return s
def longidle(v):
    s = S(v, 'long sleeps: PELT decay, and a vruntime far behind')
    s('task 1', 'task 2', 'fork 1', 'resched').ticks(2).adv(1 * MS)('sleep').adv(345 * MS)('wake 1', 'resched').ticks(1)('fork 2', 'resched').ticks(2).adv(100)('sleep')
    s.ticks(1).adv(3600000 * MS)('wake 1', 'wake 2', 'resched').ticks(2).adv(7)('sleep').adv(9)('sleep').adv(2200 * MS)('wake 2', 'resched').ticks(2)('wake 1', 'resched').ticks(2)
    return s
def exits(v):
    s = S(v, 'exit'); s('group 1 parent 0 shares 1024', 'task 1', 'task 2 group 1', 'task 3 group 1').fork(1, 2, 3)('resched').ticks(3)
    s.adv(1500000)('exit').ticks(3).adv(100)('exit').ticks(1)('exit').adv(50 * MS)('resched', 'task 4 group 1', 'fork 4', 'resched').ticks(2)
    return s
def knobs(v):
    s = S(v, 'settings changed at run time')
    s('task 1', 'task 2', 'task 3', 'task 4').fork(1, 2, 3, 4)('resched').ticks(2)
    if v == '6.12':
        s('sysctl base_slice_ns 3000000').ticks(3)('slice 1 100000', 'slice 2 50000000').ticks(3)('slice 1 0').adv(1 * MS)('sleep').adv(1 * MS)('wake 1', 'wake 2', 'wake 3', 'wake 4', 'resched').ticks(2)
    else:
        s('sysctl latency_ns 24000000', 'sysctl min_granularity_ns 3000000').ticks(4)('sysctl wakeup_granularity_ns 4000000').adv(1 * MS)('sleep').adv(1 * MS)('wake 1', 'wake 2', 'wake 3', 'wake 4', 'resched').ticks(3)('sysctl child_runs_first 1', 'task 5', 'fork 5', 'resched').ticks(2)
    return s
def tiny(v):
    s = S(v, 'clock steps of a few nanoseconds'); s('task 1', 'task 2').fork(1, 2)('resched')
    r = random.Random(5)
    for k in range(14):
        s.adv(r.choice([1, 3, 511, 1023, 1024, 1025, 2047]))(r.choice(['tick', 'yield', 'sleep']), f'wake {1 + k % 2}', 'resched')
    return s
def rnd(v, seed, n, *opts, hashmode=False):
    out = subprocess.run([sys.executable, os.path.join(BASE, 'gen.py'), str(seed), str(n), '--ver', v, *opts], capture_output=True, text=True, check=True).stdout.split('\n')
    s = S(v, 'random: ' + ' '.join(opts) + f' seed {seed}'); s.o = [s.o[0]] + (['mode hash'] if hashmode else []) + [l for l in out if l] + ['dump']
    # the mode line must follow cpus/nodes/domains
    if hashmode:
        s.o.remove('mode hash'); k = next(i for i, l in enumerate(s.o) if l.startswith('clock')); s.o.insert(k, 'mode hash')
    return s
def dom4(v):
    s = S(v, 'four cpus, one LLC: fork placement, wake placement, balancing', 4, ('domains 1', 'mode hash'))
    for i in range(1, 7): s(f'task {i}')
    s('cpu 0', 'fork 1', 'resched')
    for i in range(2, 7): s.adv(20000)(f'fork {i}')
    for c in range(4): s(f'cpu {c}', 'resched')
    s('dump')
    for k in range(12):
        s.adv(4 * MS)
        for c in range(4): s(f'cpu {c}', 'tick', 'resched')
    s('dump', 'cpu 1', 'sleep').adv(300000)('cpu 0', 'wake 2', 'wake 1 sync')
    for c in range(4): s(f'cpu {c}', 'resched')
    s('dump')
    for i in range(1, 7): s(f'affine {i} 1')
    for c in range(4): s(f'cpu {c}', 'resched')
    s('dump')
    for i in range(1, 7): s(f'affine {i} 15')
    for k in range(12):
        s.adv(4 * MS)
        for c in range(4): s(f'cpu {c}', 'tick', 'resched')
    s('dump')
    return s
def dom8(v):
    s = S(v, 'two nodes of four cpus', 8, ('nodes 2', 'domains 1', 'mode hash'))
    for i in range(1, 13): s(f'task {i}')
    s('cpu 0', 'fork 1', 'resched')
    for i in range(2, 13): s.adv(20000)(f'fork {i}')
    for c in range(8): s(f'cpu {c}', 'resched')
    for k in range(16):
        s.adv(4 * MS)
        for c in range(8): s(f'cpu {c}', 'tick', 'resched')
        if k == 8:
            for c in (1, 3, 5, 7): s(f'cpu {c}', 'sleep', 'nohz 1')
    s('dump')
    return s
common = [two_hogs, nice_mix, sleeper]
l612 = [short_slice,
    lambda v: toggled(v, [('PREEMPT_SHORT', 0)], 'PREEMPT_SHORT off'),
    lambda v: toggled(v, [('RUN_TO_PARITY', 0)], 'RUN_TO_PARITY off'),
    lambda v: toggled(v, [('DELAY_DEQUEUE', 0)], 'DELAY_DEQUEUE off'),
    lambda v: toggled(v, [('DELAY_ZERO', 0)], 'DELAY_ZERO off'),
    lambda v: toggled(v, [('PLACE_LAG', 0)], 'PLACE_LAG off'),
    lambda v: toggled(v, [('PLACE_DEADLINE_INITIAL', 0), ('PLACE_REL_DEADLINE', 0)], 'PLACE_DEADLINE_INITIAL and PLACE_REL_DEADLINE off'),
    lambda v: toggled(v, [('NEXT_BUDDY', 1)], 'NEXT_BUDDY on'),
    lambda v: toggled(v, [], 'default features'),
    lambda v: toggled(v, [('WAKEUP_PREEMPTION', 0)], 'WAKEUP_PREEMPTION off')]
l61 = [
    lambda v: toggled(v, [('START_DEBIT', 0)], 'START_DEBIT off'),
    lambda v: toggled(v, [('GENTLE_FAIR_SLEEPERS', 0)], 'GENTLE_FAIR_SLEEPERS off'),
    lambda v: toggled(v, [('NEXT_BUDDY', 1)], 'NEXT_BUDDY on', 32, True),
    lambda v: toggled(v, [('LAST_BUDDY', 0)], 'LAST_BUDDY off', 32, True),
    lambda v: sleeper(v, ['sysctl wakeup_granularity_ns 0']),
    lambda v: sleeper(v, ['sysctl wakeup_granularity_ns 20000000']),
    lambda v: toggled(v, [], 'default features'),
    lambda v: toggled(v, [('WAKEUP_PREEMPTION', 0)], 'WAKEUP_PREEMPTION off'),
    lambda v: toggled(v, [('ALT_PERIOD', 0)], 'ALT_PERIOD off', 32, True),
    lambda v: toggled(v, [('BASE_SLICE', 0)], 'BASE_SLICE off', 32, True)]
rest = [nested2, nested3, reweight, setgroup, migq, migs, group2cpu, yld, storm, policies, gidle, nice_ev, longidle, exits, knobs, tiny,
    lambda v: rnd(v, 101, 18, '--tasks', '3', '--groups', '2', '--features', '--policies', '--slices'),
    lambda v: rnd(v, 102, 400, '--tasks', '6', '--groups', '3', '--policies', '--slices', '--features', hashmode=True),
    lambda v: rnd(v, 103, 300, '--cpus', '2', '--tasks', '6', '--groups', '3', '--policies', '--slices', hashmode=True),
    lambda v: rnd(v, 104, 12, '--cpus', '2', '--tasks', '3', '--groups', '2'),
    dom4, dom8,
    lambda v: rnd(v, 105, 300, '--cpus', '4', '--domains', '--tasks', '8', '--groups', '2', hashmode=True)]
def bw1(v):
    s = S(v, 'a quota of 20 ms in 100 on two cpus', 2)
    s('group 1 parent 0 shares 1024', 'quota 1 20000 100000', 'task 1 group 1 cpu 0', 'task 2 group 1 cpu 1', 'task 3 cpu 0', 'cpu 0', 'fork 1', 'fork 3', 'resched', 'cpu 1', 'fork 2', 'resched', 'mode hash')
    for k in range(50):
        s.adv(4 * MS)
        if k in (7, 30): s('mode full')
        if k in (8, 31): s('mode hash')
        for c in (0, 1): s(f'cpu {c}', 'tick', 'resched')
    return s
def bw2(v):
    s = S(v, 'nested quotas, changed and lifted while throttled')
    s('group 1 parent 0 shares 1024', 'group 2 parent 1 shares 512', 'quota 1 10000 20000', 'quota 2 3000 20000', 'task 1 group 1', 'task 2 group 2', 'task 3').fork(1, 2, 3)('resched', 'mode hash').ticks(12)
    s('mode full', 'quota 2 -1', 'resched').ticks(2)('mode hash').ticks(5)('mode full', 'quota 1 2000 20000', 'resched').ticks(1)('sleep').adv(1 * MS)('wake 1', 'wake 2', 'wake 3', 'mode hash', 'resched').ticks(20)('setgroup 1 2', 'setgroup 2 0', 'quota 1 -1', 'resched').ticks(4)('dump')
    return s
bwl = [bw1, bw2, lambda v: rnd(v, 201, 400, '--bw', '--tasks', '6', '--groups', '4', '--policies', hashmode=True), lambda v: rnd(v, 202, 400, '--bw', '--cpus', '3', '--tasks', '9', '--groups', '4', hashmode=True)]

# ---- several cpus: hash mode, with dumps
class M(S):
    def __init__(s, v, title, *setup):
        s.v = v; s.o = [f'# {title}', *setup, 'mode hash']; s.t = 1 * MS; s.o += [f'clock {s.t}', 'warm']
    def all(s, n):
        """n ticks of all cpus, 4 ms apart"""
        for _ in range(n): s.adv(4 * MS)('tickall')
        return s
def ivb_fork(v):
    s = M(v, 'ivb-ep: 44 forks from one cpu spread over sockets, cores, siblings; then balancing', 'machine ivb-ep', 'auto 1')
    for i in range(1, 45): s(f'task {i}'); s.adv(30000)(f'fork {i}')
    s('dump').all(20)
    for c in (0, 3, 20, 25, 31): s.adv(100000)(f'cpu {c}', 'sleep')
    return s.all(6)('dump')
def ivb_wake(v):
    s = M(v, 'ivb-ep: tasks that slept on one cpu wake up on idle cores, then idle siblings, then queue', 'machine ivb-ep', 'auto 1')
    for i in range(1, 25): s(f'task {i} cpus 0'); s.adv(20000)(f'fork {i}')
    s.all(3)
    for i in range(30): s.adv(50000)('sleep')
    for i in range(1, 25): s(f'affine {i} cpus 0-39')
    s('task 90 cpus 0', 'fork 90', 'task 91 cpus 0', 'fork 91').all(30).adv(1 * MS)
    for i in range(1, 25): s.adv(15000)(f'wake {i}' + (' sync' if i % 5 == 0 else ''))
    s('dump').all(3)
    for c in range(40): s.adv(2000)(f'cpu {c}', 'sleep')
    for k in range(40): s.adv(200000 if k % 10 else 4 * MS)(f'cpu {k * 7 % 40}', f'wake {1 + k * 5 % 24}', f'wake {1 + k * 11 % 24} sync', 'sleep')
    return s.all(4)
def juno_misfit(v):
    s = M(v, 'juno-r2: a hog that began on a small cpu goes up by misfit balancing; capacity-aware wakeups', 'machine juno-r2', 'auto 1')
    s('task 1 cpu 1', 'task 2 cpu 2', 'task 3 cpu 3 cpus 3', 'cpu 1', 'fork 1', 'cpu 2', 'fork 2', 'cpu 3', 'fork 3').all(30)('dump', 'affine 3 cpus 0-5').all(3)
    s('cpu 1', 'sleep').all(12)('dump')
    for k in range(24): s.adv(1 * MS)(f'cpu {k % 6}', 'sleep').adv(1 * MS)(f'wake {1 + k % 3}', 'tickall')
    return s('dump')
def numa_affine(v):
    s = M(v, 'two nodes of eight threads, distance 21: a crowd confined to one node, then let go', 'cpus 16', 'nodes 2', 'smt 2', 'distance 0 1 21', 'domains 1', 'auto 1')
    for i in range(1, 21): s(f'task {i} cpus 0-7'); s.adv(10000)(f'fork {i}')
    s.all(12)('dump')
    for i in range(1, 21): s.adv(50000)(f'affine {i} 0xffff')
    s.all(25)('dump', 'affine 1 cpus 15', 'affine 2 cpus 15', 'affine 3 0x8000', 'affine 4 cpus 8-9,12').all(8)
    for i in range(1, 21): s(f'affine {i} cpus 0-3')
    return s.all(6)('dump')
def nohz_ilb(v):
    s = M(v, 'idle cpus with the tick stopped are kicked to balance for a busy one', 'cpus 12', 'smt 2 split', 'domains 1', 'auto 1')
    for i in range(1, 7): s(f'task {i} cpus 0'); s.adv(10000)(f'fork {i}')
    s.all(6)('dump')
    for i in range(2, 5): s(f'affine {i} 0xfff')
    s.all(10)('dump', 'affine 5 cpus 0,1,6', 'affine 6 cpus 0,6').all(10)
    s.adv(40 * MS)('tickall')
    for c in range(12): s(f'cpu {c}', 'sleep')
    return s.all(30).adv(200 * MS)('tickall', 'wake 2', 'wake 1').all(4)('dump')
def by_hand(v):
    s = M(v, 'the same words without auto: ticks, kicks and rescheduling one at a time', 'cpus 8', 'smt 2', 'llc 4', 'domains 1')
    for i in range(1, 6): s(f'task {i} cpus 0-1'); s.adv(20000)(f'fork {i}')
    s('cpu 0', 'resched', 'cpu 1', 'resched')
    for c in range(2, 8): s(f'cpu {c}', 'tick', 'nohz 1')
    for i in range(1, 6): s(f'affine {i} 0xff')
    for k in range(12):
        s.adv(4 * MS)
        for c in range(8):
            if c < 2 or k > 3: s(f'cpu {c}', 'tick', 'resched')
            else: s(f'cpu {c}', 'resched')
    return s('dump', 'cpu 0', 'sleep', 'cpu 1', 'wake 1', 'wake 2', 'wake 3 sync', 'cpu 0', 'resched', 'cpu 2', 'resched', 'dump')
def hotplug(v):
    s = M(v, 'cpus go offline and come back', 'cpus 8', 'smt 2', 'nodes 2', 'domains 1', 'auto 1')
    for i in range(1, 13): s(f'task {i} cpu 0' + (' pin' if i == 3 else '')); s.adv(20000)(f'fork {i}')
    s.all(3).adv(1 * MS)('cpu 7', 'offline 1').all(2)('offline 0').all(4)('offline 2', 'offline 3').all(2).adv(500000)('sleep', 'wake 1', 'wake 2', 'dump', 'online 0').all(3)
    s('online 3', 'online 2').adv(1 * MS)('sleep', 'wake 1').all(3)('online 1').all(12)
    return s('dump')
def mrnd(v, seed, n, *opts):
    out = subprocess.run([sys.executable, os.path.join(BASE, 'gen.py'), str(seed), str(n), '--ver', v, '--auto', *opts], capture_output=True, text=True, check=True).stdout.split('\n')
    s = S(v, 'random: ' + ' '.join(opts) + f' seed {seed}'); k = next(i for i, l in enumerate(out) if l.startswith('clock'))
    s.o = [s.o[0]] + out[:k] + ['mode hash'] + [l for l in out[k:] if l]
    return s
smp = [ivb_fork, ivb_wake, juno_misfit, numa_affine, nohz_ilb, by_hand,
    lambda v: mrnd(v, 301, 420, '--machine', 'ivb-ep', '--tasks', '30', '--groups', '3', '--policies'),
    lambda v: mrnd(v, 302, 500, '--machine', 'juno-r2', '--tasks', '8', '--groups', '1', '--slices')('dump'),
    lambda v: mrnd(v, 303, 400, '--machine', 'square-16', '--tasks', '20', '--groups', '2', '--features'),
    lambda v: mrnd(v, 304, 300, '--machine', 'numa4x48', '--tasks', '120', '--groups', '0'),
    hotplug]

def main():
    for w in ARGS.versions or ('6.12', '6.1', '6.12bw', '6.1bw'):
        v = w[:-2] if w.endswith('bw') else w
        d = os.path.join(ARGS.dir, w)
        if ARGS.check:
            names = sorted(f[:-7] for f in os.listdir(d) if f.endswith('.script'))
            bad = []
            for n in names:
                r = oracle(w, 'full', open(f'{d}/{n}.script').read())
                if r.returncode or r.stderr or r.stdout != gzip.open(f'{d}/{n}.expect.gz', 'rt').read(): bad.append(n)
            print(f'{w}: {len(names) - len(bad)} of {len(names)} equal' + (', different: ' + ' '.join(bad) if bad else ''))
            if bad: main.rc = 1
            continue
        os.makedirs(d, exist_ok=True)
        for f in os.listdir(d):
            if f.endswith(('.script', '.expect.gz')): os.unlink(os.path.join(d, f))
        for i, f in enumerate(bwl if w != v else common + (l612 if v == '6.12' else l61) + rest + smp, 1):
            s = f(v); txt = '\n'.join(s.o) + '\n'
            r = oracle(w, 'full', txt)
            if r.returncode or r.stderr: print(w, i, s.o[0], 'rc', r.returncode, r.stderr[:300]); main.rc = 1
            with open(f'{d}/{i:02d}.script', 'w') as o: o.write(txt)
            with open(f'{d}/{i:02d}.expect.gz', 'wb') as o: o.write(gzip.compress(r.stdout.encode(), 9, mtime=0))
            sz = len(r.stdout)
            print(w, f'{i:02d}', sz, 'TOO BIG' if sz > (60 if i <= 36 else 80) * 1024 else '', s.o[0])
main.rc = 0
main()
sys.exit(main.rc)
