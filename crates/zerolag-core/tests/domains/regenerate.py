#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""regenerate.py ORACLE > linux-VERSION.golden: prints what the kernel's own code builds.

ORACLE is the reference program of a kernel version, which reads event scripts. For each machine below
the output has the script's lines after `machine:`, then for each `show` a line `sum` with the number of
printed lines and their FNV-1a hash (64 bits, each line with its newline), and for the first `show` the lines
of the last CPU. Features and tunables, which `show` prints first, are left out.
"""
import random
import subprocess
import sys

PRESETS = ['ivb-ep', 'juno-r2', 'numa4x48', 'zen-32', 'cluster-24', 'square-16', 'numa8-32', 'hybrid-16']


def random_machine(r):
    smt, nodes, per = r.choice([1, 1, 2, 4]), r.choice([1, 2, 3, 4, 6, 8]), r.choice([1, 2, 3, 4, 6])
    cores = nodes * per
    words = [f'cpus {cores * smt}', f'nodes {nodes}', f'smt {smt}' + r.choice(['', ' split'])]
    llc = r.choice([k for k in range(1, per + 1) if per % k == 0])
    words.append(f'llc {llc * smt}')
    if llc > 1 and r.random() < .5:
        words.append(f'cluster {r.choice([k for k in range(2, llc + 1) if llc % k == 0])}')
    kind = r.choice(['ring', 'line', 'hierarchy', 'any'])
    if kind == 'hierarchy':
        words.append('hierarchy 12 20 32')
    else:
        for i in range(nodes):
            for j in range(i):
                hops = {'ring': min(i - j, nodes - i + j), 'line': i - j, 'any': r.choice([1, 2, 3])}[kind]
                words.append(f'distance {i} {j} {10 + 6 * hops}')
    if r.random() < .4:
        sizes = r.choice([[446, 1024], [160, 498, 1024]])
        split = 'split' in words[2]
        for c in range(cores):
            threads = [t * cores + c if split else c * smt + t for t in range(smt)]
            words.append(f'capacity {",".join(map(str, threads))} {r.choice(sizes)}')
    return words + ['domains 1', 'show'], cores * smt


def scripts():
    for name in PRESETS:
        yield [f'machine {name}', 'show']
    for n in (1, 2, 5):
        yield [f'cpus {n}', 'domains 1', 'show']
    for seed in range(16):
        r = random.Random(seed)
        script, cpus = random_machine(r)
        up = set(range(cpus))
        for _ in range(4 if seed >= 10 and cpus > 4 else 0):
            down = set(range(cpus)) - up
            if down and r.random() < .3:
                c = r.choice(sorted(down))
                up.add(c)
                script += [f'online {c}', 'show']
            else:
                c = r.choice(sorted(up - {0}))
                up.discard(c)
                script += [f'offline {c}', 'show']
        yield script


def fnv(text):
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 % 2**64
    return h


def ask(oracle, script):
    """The lines of each `show`, or nothing if the kernel warns about the machine."""
    marked = '\n'.join(script).replace('show', 'show\nstats') + '\n'
    run = subprocess.run([oracle, 'quiet'], input=marked, capture_output=True, text=True)
    if run.returncode:
        return None
    shows, lines, inside = [], [], False
    for line in run.stdout.splitlines():
        if line.startswith('# cpu '):
            inside = True
        if inside and not line.startswith(('# cpu ', '#  ')):
            shows.append(lines)
            lines, inside = [], False
        if inside:
            lines.append(line)
    return shows


def of_cpu(lines, cpu):
    start = next(i for i, line in enumerate(lines) if line.startswith(f'# cpu {cpu} '))
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith('# cpu ')), len(lines))
    return lines[start:end]


for script in scripts():
    shows = ask(sys.argv[1], script)
    if shows is None:
        continue
    assert len(shows) == script.count('show'), (script, len(shows))
    print('machine: ' + '; '.join(script))
    for i, lines in enumerate(shows):
        print(f'sum {len(lines)} {fnv("".join(line + chr(10) for line in lines)):016x}')
        if i == 0:
            last = sum(line.startswith('# cpu ') for line in lines) - 1
            print('\n'.join(of_cpu(lines, last)))
