#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cmp.py EXPECT ACTUAL [ignore,these,keys]: the first event where two outputs differ, field by field.

A name that ends in .gz is unpacked, - is standard input. Exit code 0 equal, 1 different."""
import gzip
import sys


def open_text(name):
    return sys.stdin if name == '-' else gzip.open(name, 'rt') if name.endswith('.gz') else open(name)


def events(lines):
    """Each event's lines: the E line, then the state lines that follow it."""
    cur = None
    for line in lines:
        line = line.rstrip('\n')
        if line.startswith('#'):
            continue
        if line.startswith('E '):
            if cur:
                yield cur
            cur = [line]
        elif cur:
            cur.append(line)
    if cur:
        yield cur


def split(line):
    """What the line is about, and its fields."""
    words = line.split()
    return ' '.join(w for w in words if '=' not in w), dict(w.split('=', 1) for w in words if '=' in w)


def event_difference(expect, actual, ignore=()):
    """How two events differ, a line for each line that does; empty if they do not."""
    a, b = dict(map(split, expect)), dict(map(split, actual))
    out = []
    for about in list(a) + [k for k in b if k not in a]:
        x, y = a.get(about), b.get(about)
        if x is None or y is None:
            out.append(f'  {about}: only in {"actual" if x is None else "expect"}')
            continue
        fields = list(x) + [f for f in y if f not in x]
        d = [f'{f}: {x.get(f)} / {y.get(f)}' for f in fields if f not in ignore and x.get(f) != y.get(f)]
        if d:
            out.append(f'  {about}: ' + '  '.join(d))
    return out


def compare(expect, actual, ignore=()):
    """True if equal, and a text that says so or where the first difference is."""
    a, b = list(events(expect)), list(events(actual))
    for i, (x, y) in enumerate(zip(a, b)):
        out = event_difference(x, y, ignore)
        if out:
            before = [f'  the event before: {a[i - 1][0]}'] if i else []
            head = f'first difference at event {i + 1} (expect / actual):\n  {x[0]}'
            return False, '\n'.join([head, *out, *before])
    if len(a) != len(b):
        return False, f'equal for {min(len(a), len(b))} events, then lengths differ: {len(a)} / {len(b)}'
    return True, f'{len(a)} events, equal'


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    ignore = set(sys.argv[3].split(',')) if len(sys.argv) > 3 else ()
    equal, text = compare(open_text(sys.argv[1]), open_text(sys.argv[2]), ignore)
    print(text)
    return 0 if equal else 1


if __name__ == '__main__':
    sys.exit(main())
