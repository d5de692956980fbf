#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cmp.py EXPECT ACTUAL [ignore,these,keys]: first event where two outputs differ, field by field.

A name that ends in .gz is unpacked, - is standard input."""
import sys, gzip
def lines(fn):
    return sys.stdin if fn == '-' else gzip.open(fn, 'rt') if fn.endswith('.gz') else open(fn)
def recs(fn):
    cur = None
    for l in lines(fn):
        l = l.rstrip('\n')
        if l.startswith('#'): continue
        if l.startswith('E '):
            if cur: yield cur
            cur = [l]
        elif cur: cur.append(l)
    if cur: yield cur
def split(l):
    w = l.split(); head = [x for x in w if '=' not in x]; kv = dict(x.split('=', 1) for x in w if '=' in x)
    return ' '.join(head), kv
ign = set(sys.argv[3].split(',')) if len(sys.argv) > 3 else set()
A, B = list(recs(sys.argv[1])), list(recs(sys.argv[2]))
for i, (a, b) in enumerate(zip(A, B)):
    da, db = dict(map(split, a)), dict(map(split, b)); out = []
    for k in list(da) + [k for k in db if k not in da]:
        x, y = da.get(k), db.get(k)
        if x is None or y is None: out.append(f'  {k}: only in {"actual" if x is None else "expect"}'); continue
        d = [f'{f}: {x.get(f)} / {y.get(f)}' for f in list(x) + [f for f in y if f not in x] if f not in ign and x.get(f) != y.get(f)]
        if d: out.append(f'  {k}: ' + '  '.join(d))
    if out:
        print(f'first difference at event {i + 1} (expect / actual):\n  {a[0]}'); print('\n'.join(out))
        if i: print(f'  the event before: {A[i - 1][0]}')
        sys.exit(1)
if len(A) != len(B): print(f'equal for {min(len(A), len(B))} events, then lengths differ: {len(A)} / {len(B)}'); sys.exit(1)
print(f'{len(A)} events, equal')
