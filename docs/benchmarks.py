#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures, and writes what it finds into docs/benchmarks.md: each table between the marks that name it, with the
computer, the day and the commit above. What stands outside of the marks is written by hand.

    docs/benchmarks.py                    everything, a quarter of an hour on a computer that does nothing else
    docs/benchmarks.py simulator start    these only

Exit codes: 0 done, 2 bad arguments, or something does not run.
"""
import argparse
import datetime
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / 'docs/benchmarks.md'
ZEROLAG = pathlib.Path(os.environ.get('CARGO_TARGET_DIR') or ROOT / 'target') / 'release/zerolag'
SCENARIO = ROOT / 'scenarios/batch-and-service.toml'
sys.dont_write_bytecode = True


def output(*command):
    """What a command prints; it is not supposed to fail."""
    return subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def program(path):
    """A program of this repository as a module."""
    loader = importlib.machinery.SourceFileLoader('program_' + pathlib.Path(path).name, str(ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def table(columns, rows):
    lines = [columns, ['---'] * len(columns), *rows]
    return ''.join('| ' + ' | '.join(str(cell) for cell in line) + ' |\n' for line in lines)


def decisions(kernel):
    """The cost of a decision, beside the kernel's own code."""
    def measure(a):
        rows = []
        # Many short runs: the least of them is the least disturbed.
        lines = output('oracle/bench', '--kernel', kernel, '--rounds', 3 * a.rounds, '--iterations', 4000).splitlines()[2:]
        for line in lines:
            case, *cells = line.split('|')
            rows.append([', '.join(case.split()), *(' '.join(cell.split()) for cell in cells)])
        return table(['tasks, groups deep', 'tick', 'switch', 'wake', 'sleep and switch'], rows)
    return measure


def many(a):
    """Decisions on many CPUs, beside the kernel's own code built for as many."""
    directory = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    directory = os.path.join(directory, 'zerolag-oracle-512')
    subprocess.run(['oracle/build', '--out', directory, '6.12'], cwd=ROOT, env={**os.environ, 'CPUS': '512'}, check=True)
    lines = output('oracle/bench', '--bin', directory, '--rounds', 3 * a.rounds, '--iterations', 5000,
                   '--cpus', '8/1', '64/4', '384/2').splitlines()[2:]
    rows = []
    for case, *cells in (line.split('|') for line in lines):
        rows.append([' in '.join(case.split()), *(' '.join(cell.split()) for cell in cells)])
    return table(['CPUs in nodes', 'wake', 'sleep and switch', 'reschedule', 'tick and balancing'], rows)


def instructions(_):
    """Instructions of a tick, a switch, a wake-up and a sleep together."""
    counter = program('ci/instructions')
    example = counter.build()
    rows = [[case[0], f'{case[1]}, {case[2]}', counter.per_round(example, case)] for case in counter.CASES]
    return table(['kernel', 'tasks, groups deep', 'instructions'], rows)


def simulator(a):
    """Scheduling events a second, by number of CPUs."""
    best = {}
    for _ in range(a.rounds):
        lines = output('cargo', 'run', '--release', '-q', '-p', 'zerolag-sim', '--example', 'speed').splitlines()[1:]
        for cpus, events, _, rate, *_ in (line.split() for line in lines):
            best[cpus] = max(best.get(cpus, (0.0, events)), (float(rate), events))
    rows = [[cpus, events, f'{rate / 1e6:.2f} million'] for cpus, (rate, events) in best.items()]
    return table(['CPUs', 'scheduling events', 'a second'], rows)


def wall(*command):
    """Seconds, and those of CPU time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    output(*command)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start(a):
    """Starting up, and a scenario of next to nothing."""
    with tempfile.NamedTemporaryFile('w', suffix='.toml') as tiny:
        tiny.write('machine = "2cpu"\nduration = "1ms"\n[[workload]]\nkind = "hog"\nname = "hog"\n')
        tiny.flush()
        cases = [('`zerolag --version`', ['--version']), ('`zerolag run` of a hog on two CPUs for 1 ms', ['run', tiny.name])]
        rows = [[name, f'{min(wall(ZEROLAG, *words)[0] for _ in range(20 * a.rounds)) * 1000:.1f} ms'] for name, words in cases]
    return table(['command', 'least time'], rows)


def compare(a):
    """How a comparison uses two cores."""
    command = [ZEROLAG, 'compare', SCENARIO, '--vary', 'kernel=6.1,6.12', '--repeat', '120', '--json']
    one, two = (min(wall(*command, '--jobs', n) for _ in range(a.rounds)) for n in (1, 2))
    rows = [[n, f'{seconds:.2f} s', f'{cpu:.2f} s', f'{one[0] / seconds:.2f}'] for n, (seconds, cpu) in ((1, one), (2, two))]
    return table(['jobs', 'time', 'CPU time', 'times as fast'], rows)


# What the kernel's own C takes on a server of two cores, flag and mask, and what the document has of a Juno: six CPUs.
NOHZ_C = {
    'idle entry, first': ('11.1', '13.0', '+17 %', '+18 to +21 %'),
    'kicked pass, one stale': ('141', '74', '-47 %', '-16 %'),
    'newly idle pass, one stale': ('132', '65', '-51 %', '-38 %'),
    'kicked pass, all stale': ('195', '182', '-7 %', ''),
    'newly idle pass, all stale': ('198', '198', '0 %', ''),
    'kicked pass, one stale, 4 groups': ('223', '157', '-30 %', ''),
    'newly idle pass, one stale, 4 groups': ('215', '148', '-31 %', ''),
    'kicked pass, all stale, 4 groups': ('630', '613', '-3 %', ''),
    'newly idle pass, all stale, 4 groups': ('643', '647', '+1 %', ''),
}


def nohz(_):
    """Entering idle and passes for idle CPUs, in the two schemes of the 2018 document."""
    lines = output('cargo', 'run', '--release', '-q', '-p', 'zerolag-sim', '--example', 'nohz').splitlines()[1:]
    rows = []
    for line in lines:
        case, figures = re.fullmatch(r'(.*?)((?: +[-+\d.]+%?){3})', line.rstrip()).groups()
        place, what = case.split(': ')
        machine, groups = place.split(', ')
        groups = '' if groups.startswith('0') else ', ' + groups
        flag, mask, change = figures.split()
        c = NOHZ_C.get(what + groups, ('', '', '', '')) if machine == 'juno-r2' else ('', '', '', '')
        rows.append([machine, what + groups, flag, mask, change.replace('%', ' %'), *c])
    return table(['machine', 'what', 'flag, ns', 'mask, ns', 'change', 'C: flag', 'mask', 'change', 'document'], rows)


SECTIONS = {
    'decisions-6.12': decisions('6.12'),
    'decisions-6.1': decisions('6.1'),
    'instructions': instructions,
    'many': many,
    'simulator': simulator,
    'start': start,
    'compare': compare,
    'nohz': nohz,
}


def conditions():
    """Where and when."""
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        info = f.read()
    model = re.search(r'model name\s*: (.*)', info)
    commit = output('git', 'rev-parse', '--short', 'HEAD').strip()
    if output('git', 'status', '--porcelain', '--untracked-files=no', '--', 'crates', 'Cargo.toml', 'Cargo.lock'):
        commit += ' and changes'
    tools = [output('rustc', '--version').split()[:2], ['gcc', output('gcc', '-dumpfullversion').strip()]]
    return (f'{model[1] if model else "unknown processor"}, {os.cpu_count()} CPUs; {datetime.date.today()}, commit {commit}; '
            + ', '.join(' '.join(tool) for tool in tools) + f'; load average {os.getloadavg()[0]:.0f}.\n')


def main():
    ap = argparse.ArgumentParser(prog='docs/benchmarks.py', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('sections', nargs='*', metavar='SECTION', help='of ' + ', '.join(SECTIONS) + ' (default: all)')
    ap.add_argument('--rounds', type=int, default=5, metavar='N', help='how often each is measured; the best counts (default 5)')
    a = ap.parse_args()
    unknown = set(a.sections) - set(SECTIONS)
    if unknown:
        ap.error(f'no section {", ".join(sorted(unknown))}; there are {", ".join(SECTIONS)}')
    subprocess.run(['cargo', 'build', '--release', '-q', '-p', 'zerolag-cli'], cwd=ROOT, check=True)
    for name in a.sections or SECTIONS:
        print(name, flush=True)
        found = conditions() + '\n' + SECTIONS[name](a)
        text = OUT.read_text(encoding='utf-8')
        marks = re.compile(rf'(<!-- {re.escape(name)} -->\n).*?(<!-- end -->\n)', re.DOTALL)
        text, times = marks.subn(lambda m: m[1] + found + m[2], text)
        if times != 1:
            print(f'docs/benchmarks.py: {OUT} has no marks for {name}', file=sys.stderr)
            return 2
        OUT.write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as e:
        print(f'docs/benchmarks.py: {e}\n{e.stderr or ""}', file=sys.stderr)
        sys.exit(2)
