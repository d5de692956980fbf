#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Replays recordings and prints how far each comes out from what was measured, as a Markdown table.

    docs/trace-table.py [--zerolag BIN] [--reasons FILE] [--repeat N] [--set NAME=VALUE ...] DIRECTORY

For each NAME.perf.txt.gz in the directory, NAME.context.toml is its context. Figures are given for the workload, and for
all else: kernel threads, the shell that started it, and programs that had nothing to do with it (they are called `other`
in these recordings; nothing is known of them).

share     the largest difference of any task's share, in points (1 point is a hundredth of one CPU)
switches  of all tasks together, simulated over measured
p50, p99  wake-up latencies, simulated over measured, of all tasks that have ten or more on both sides: the median of the
          tasks' ratios

The first replay is judged. A figure that misses is bold, and what it is compared with stands beside it: the task, if one
decides; what was measured; of how many wake-ups (the p99 of less than a hundred is the largest of them); and with --repeat,
in which each recording is replayed so many times with other chance, the least and the largest that the replays gave. It is
called chance if the measured value lies between these, or as close to them as a replay has to come.

The reasons are lines `NAME<tab>reason` and stand in the last column. Recordings whose workload misses in something that
is not chance and that have no reason are told on standard error, and make for exit code 1.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

SHARE_POINTS, SWITCHES, LATENCY = 1.0, 0.10, 2.0
# Fewer wake-ups have no percentiles.
WAKEUPS = 10
OTHER = re.compile(r'(other|bash|sleep|(kworker|ksoftirqd|migration)/.*|rcu_.*)$')
FIGURES = 'share', 'switches', 'p50', 'p99'


def replay(zerolag, trace, context, settings, repeat):
    command = [zerolag, 'replay', str(trace), '--json', '--repeat', str(repeat)]
    if context.exists():
        command += ['--context', str(context)]
    for setting in settings:
        command += ['--set', setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{trace.name}: {done.stderr}')
    return json.loads(done.stdout)


def ratio(a, b):
    return a / b if b else float('inf') if a else 1.0


def us(x):
    return f'{x:.0f}' if x >= 10 else f'{x:.1f}'


class Figure:
    """How one figure came out: whether it is right, or else by chance wrong."""

    def __init__(self, text, good, within=False, beside=()):
        self.good, self.chance = good, not good and within
        beside = [*beside, *['chance'] * self.chance]
        self.text = text if good else f'**{text}** ({"; ".join(beside)})'


NOTHING = Figure('-', True)


def share(tasks):
    if not tasks:
        return NOTHING
    def off(task):
        return 100 * (task['simulated']['share'] - task['measured']['share'])
    def again(task):
        return [100 * r['share'] for r in task['simulated'].get('repeated', [task['simulated']])]
    def fits(task):
        return min(again(task)) - SHARE_POINTS <= 100 * task['measured']['share'] <= max(again(task)) + SHARE_POINTS
    worst = max(tasks, key=lambda t: abs(off(t)))
    least, most = min(again(worst)), max(again(worst))
    beside = [f"{worst['comm']} {100 * worst['measured']['share']:.1f}", f'{least:.1f} to {most:.1f}']
    return Figure(f'{off(worst):+.1f}', abs(off(worst)) <= SHARE_POINTS, all(map(fits, tasks)), beside)


def switches(tasks):
    measured = sum(t['measured']['switches'] for t in tasks)
    if not measured:
        return NOTHING
    simulated = ratio(sum(t['simulated']['switches'] for t in tasks), measured)
    again = zip(*([r['switches'] for r in t['simulated'].get('repeated', [t['simulated']])] for t in tasks))
    again = [sum(replay) / measured for replay in again]
    least, most = min(again), max(again)
    within = least - SWITCHES <= 1 <= most + SWITCHES
    return Figure(f'{simulated:.2f}', abs(simulated - 1) <= SWITCHES, within, [f'{least:.2f} to {most:.2f}'])


def latency(tasks, p):
    def of(side):
        return side['wakeup_us']
    often = [t for t in tasks if min(of(t['simulated'])['n'], of(t['measured'])['n']) >= WAKEUPS]
    if not often:
        return NOTHING
    def off(task):
        return ratio(of(task['simulated'])[p], of(task['measured'])[p])
    middle = sorted(often, key=off)[len(often) // 2]
    again = [of(r)[p] for r in middle['simulated'].get('repeated', [middle['simulated']]) if of(r)['n']]
    measured, n = of(middle['measured'])[p], of(middle['measured'])['n']
    least, most = min(again), max(again)
    within = least / LATENCY <= measured <= most * LATENCY
    what = f"{middle['comm']} {us(measured)} us of {n}", f'{us(least)} to {us(most)}'
    return Figure(f'{off(middle):.2f}', 1 / LATENCY <= off(middle) <= LATENCY, within, what)


def judge(tasks):
    return [share(tasks), switches(tasks), latency(tasks, 'p50'), latency(tasks, 'p99')]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('directory', type=pathlib.Path)
    parser.add_argument('--zerolag', default='target/release/zerolag')
    parser.add_argument('--reasons', type=pathlib.Path)
    parser.add_argument('--repeat', type=int, default=1)
    parser.add_argument('--only', default='', help='only recordings whose name begins with one of these, comma-separated')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE')
    args = parser.parse_args()
    reasons = {}
    if args.reasons:
        reasons = dict(line.split('\t', 1) for line in args.reasons.read_text().splitlines() if '\t' in line)
    print(f"| recording | {' | '.join(FIGURES)} | others: {' | '.join(FIGURES)} | why |\n{'|---' * 10}|")
    unexplained = []
    total, right, chance = 0, [0] * 4, [0] * 4
    for trace in sorted(args.directory.glob('*.perf.txt.gz')):
        name = trace.name.removesuffix('.perf.txt.gz')
        if name.endswith('.filtered') or not name.startswith(tuple(args.only.split(','))):
            continue
        tasks = replay(args.zerolag, trace, args.directory / f'{name}.context.toml', args.set, args.repeat)['tasks']
        total += 1
        workload = judge([t for t in tasks if not OTHER.match(t['comm'])])
        others = judge([t for t in tasks if OTHER.match(t['comm'])])
        right = [n + figure.good for n, figure in zip(right, workload)]
        chance = [n + figure.chance for n, figure in zip(chance, workload)]
        if name not in reasons and not all(figure.good or figure.chance for figure in workload):
            unexplained.append(name)
        cells = [name, *(figure.text for figure in workload + others), reasons.get(name, '')]
        print('| ' + ' | '.join(cells) + ' |', flush=True)
    print(f'\nOf the workloads of {total} recordings, right (or chance):', end=' ')
    print(', '.join(f'{what} {n} ({m})' for what, n, m in zip(FIGURES, right, chance)) + '.')
    for name in unexplained:
        print(f'{name}: no reason is given for what misses', file=sys.stderr)
    sys.exit(bool(unexplained))


main()
