#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Replays recordings and prints how far each comes out from what was measured, as a Markdown table.

    docs/trace-table.py [--zerolag BIN] [--reasons FILE] [--repeat N] [--set NAME=VALUE ...] DIRECTORY

For each NAME.perf.txt.gz in the directory, NAME.context.toml is its context. Columns: the largest difference of any
task's share, in points (1 point is a hundredth of one CPU), among the workload's tasks and among programs that were not
part of it (they are called `other` in these recordings; nothing is known of them); switches of all tasks together,
simulated over measured; wake-up latencies of all tasks that have ten or more on both sides, simulated over measured: of p50 and p99 the median
over these tasks. The reasons are lines `NAME<tab>reason` and stand in the last column.

With --repeat each recording is replayed so many times, with other chance. What the first replay comes to is judged; if a share misses,
the least and the largest of that task's shares stand beside it, and it counts as chance if the measured one lies between them.
"""
import argparse
import json
import pathlib
import subprocess
import sys

SHARE_POINTS, SWITCHES, LATENCY = 1.0, 0.10, 2.0
OTHER = 'other'


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


def median(values):
    return sorted(values)[len(values) // 2] if values else None


def judge(report):
    tasks = report['tasks']
    def worst(chosen):
        off = max(chosen, key=lambda t: abs(t['simulated']['share'] - t['measured']['share']), default=None)
        return off and (100 * (off['simulated']['share'] - off['measured']['share']), off)
    shares = worst([t for t in tasks if t['comm'] != OTHER]), worst([t for t in tasks if t['comm'] == OTHER])
    switches = ratio(*(sum(t[side]['switches'] for t in tasks) for side in ('simulated', 'measured')))
    latencies = {}
    for p in ('p50', 'p99'):
        pairs = [(t['simulated']['wakeup_us'], t['measured']['wakeup_us']) for t in tasks]
        latencies[p] = median([ratio(s[p], m[p]) for s, m in pairs if min(s['n'], m['n']) >= 10])
    return shares, switches, latencies


def is_chance(report):
    """Whether every task of the workload was measured with a share that some repetition may have."""
    def fits(task):
        repeated = task['simulated'].get('share_repeated', [task['simulated']['share']])
        slack = SHARE_POINTS / 100
        return repeated[0] - slack <= task['measured']['share'] <= repeated[-1] + slack
    return all(fits(task) for task in report['tasks'] if task['comm'] != OTHER)


def row(name, report, reason):
    shares, switches, latencies = judge(report)
    def mark(text, good):
        return text if good else f'**{text}**'
    def times(x):
        return '-' if x is None else mark(f'{x:.2f}', 1 / LATENCY <= x <= LATENCY)
    def share(worst):
        if not worst:
            return '-'
        points, task = worst
        good, comm = abs(points) <= SHARE_POINTS, task['comm']
        repeated = task['simulated'].get('share_repeated')
        between = f", {100 * repeated[0]:.1f} to {100 * repeated[-1]:.1f}" if repeated else ''
        return mark(f'{points:+.1f}', good) + ('' if good or comm == OTHER else f' ({comm}{between})')
    cells = [
        name,
        *(share(s) for s in shares),
        mark(f'{switches:.2f}', abs(switches - 1) <= SWITCHES),
        times(latencies['p50']),
        times(latencies['p99']),
        reason,
    ]
    return '| ' + ' | '.join(cells) + ' |'


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
    print('| recording | share | share of others | switches | p50 | p99 | why |\n|---|---|---|---|---|---|---|')
    good = chance = total = 0
    for trace in sorted(args.directory.glob('*.perf.txt.gz')):
        name = trace.name.removesuffix('.perf.txt.gz')
        if name.endswith('.filtered') or not name.startswith(tuple(args.only.split(','))):
            continue
        context = args.directory / f'{name}.context.toml'
        report = replay(args.zerolag, trace, context, args.set, args.repeat)
        total += 1
        is_good = abs(judge(report)[0][0][0]) <= SHARE_POINTS
        good += is_good
        chance += not is_good and is_chance(report)
        print(row(name, report, reasons.get(name, '')), flush=True)
    print(f'\n{good} of {total} recordings: every task of the workload within {SHARE_POINTS:g} point of its share.')
    if args.repeat > 1:
        print(f'{chance} more: every measured share between the least and the largest of {args.repeat} replays, or within'
              f' {SHARE_POINTS:g} point of them.')


main()
