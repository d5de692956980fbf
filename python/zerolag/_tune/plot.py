# SPDX-License-Identifier: GPL-2.0-only
"""Fronts as SVG: each pair of objectives by itself; a single one by the order in which candidates came."""

from __future__ import annotations

from html import escape
from itertools import combinations
from math import floor, log10
from typing import Any, Optional

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 400, 80, 50, 40, 20
STYLE = (
    ".t{fill:#bbb}.b{fill:none;stroke:#bbb}.f{fill:#1f5fa8}.c{fill:#1f5fa8;stroke:#000}.l{fill:none;stroke:#1f5fa8}"
    ".e{stroke:#1f5fa8}.x{stroke:#c0392b;stroke-width:2}.a{stroke:#444;fill:none}.g{stroke:#eee}"
    "text{font:12px sans-serif;fill:#222}"
)


def draw(report: dict[str, Any]) -> str:
    """The whole picture."""
    objectives = report["objectives"]
    pairs: list[tuple[Optional[int], int]] = list(combinations(range(len(objectives)), 2)) or [(None, 0)]
    height = HEIGHT * len(pairs)
    panels = "".join(_panel(report, x, y, at * HEIGHT) for at, (x, y) in enumerate(pairs))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f"<style>{STYLE}</style>{panels}</svg>\n"
    )


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two others, about five of them."""
    raw = (high - low) / 5
    power = 10.0 ** floor(log10(raw))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= raw)
    first = -floor(-low / step)
    return [n * step for n in range(first, floor(high / step) + 1)]


class _Scale:
    def __init__(self, values: list[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        margin = (high - low or abs(high) or 1.0) * 0.05
        self.low, self.high, self.start, self.end = low - margin, high + margin, start, end

    def __call__(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return round(self.start + part * (self.end - self.start), 1)


def _panel(report: dict[str, Any], x: Optional[int], y: int, down: int) -> str:
    objectives = report["objectives"]

    def at(objective: Optional[int], number: int, values: list[float]) -> float:
        return float(number) if objective is None else values[objective]

    def mean(objective: Optional[int], number: int, figures: dict[str, Any], which: str = "mean") -> Optional[float]:
        if objective is None:
            return float(number)
        found = figures[objectives[objective]["metric"]]
        return None if found is None else float(found[which])

    tried = [(at(x, c["number"], c["values"]), at(y, 0, c["values"]), c["keeps"]) for c in report["candidates"]]
    front: list[tuple[dict[str, Any], list[float], Optional[list[Optional[float]]]]] = []
    for c in report["front"]:
        values = [mean(o, c["number"], c["confirm"], w) for w in ("mean", "min", "max") for o in (x, y)]
        found = [c["search"][objectives[o]["metric"]]["mean"] if o is not None else c["number"] for o in (x, y)]
        front.append((c, found, values if None not in values else None))
    base = report["baseline"]["confirm"]
    base_at = (mean(x, 0, base), mean(y, 0, base))
    xs = [t[0] for t in tried] + [v for _, _, vs in front if vs for v in vs[0::2] if v is not None]
    ys = [t[1] for t in tried] + [v for _, _, vs in front if vs for v in vs[1::2] if v is not None]
    if None not in base_at:
        xs.append(base_at[0] or 0.0)
        ys.append(base_at[1] or 0.0)
    if not xs:
        return f'<text x="{LEFT}" y="{down + TOP}">no candidate could be judged</text>'
    across = _Scale(xs, LEFT, WIDTH - RIGHT)
    up = _Scale(ys, down + HEIGHT - BOTTOM, down + TOP)
    out = _axes(across, up, _name(objectives, x), _name(objectives, y), down)
    for a, b, keeps in tried:
        out.append(f'<circle class="{"t" if keeps else "b"}" cx="{across(a)}" cy="{up(b)}" r="3"/>')
    if x is not None and report["keeping"] and len(objectives) == 2:
        line = sorted((found for _, found, _ in front), key=lambda f: f[0])
        points = " ".join(f"{across(a)},{up(b)}" for a, b in line)
        out.append(f'<polyline class="l" points="{points}"/>')
    for c, found, spread in front:
        title = escape(f"{c['number']}: " + " ".join(f"{k}={v}" for k, v in c["choices"].items()))
        out.append(f'<circle class="f" cx="{across(found[0])}" cy="{up(found[1])}" r="3"/>')
        if spread is None:
            continue
        a, b, a0, b0, a1, b1 = (v or 0.0 for v in spread)
        out.append(f'<line class="e" x1="{across(a)}" y1="{up(b0)}" x2="{across(a)}" y2="{up(b1)}"/>')
        if x is not None:
            out.append(f'<line class="e" x1="{across(a0)}" y1="{up(b)}" x2="{across(a1)}" y2="{up(b)}"/>')
        if c["confirmed"]:
            out.append(f'<circle class="c" cx="{across(a)}" cy="{up(b)}" r="5"><title>{title}</title></circle>')
            out.append(f'<text x="{across(a) + 7}" y="{up(b) - 6}">{c["number"]}</text>')
    if None not in base_at:
        cx, cy = across(base_at[0] or 0.0), up(base_at[1] or 0.0)
        out.append(f'<path class="x" d="M{cx - 5} {cy - 5}l10 10m0 -10l-10 10"><title>baseline</title></path>')
    return "".join(out)


def _name(objectives: list[dict[str, Any]], at: Optional[int]) -> str:
    if at is None:
        return "candidate"
    o = objectives[at]
    return f"{o['metric']} ({o['unit']}, {o['better']} is better)"


def _axes(across: _Scale, up: _Scale, x: str, y: str, down: int) -> list[str]:
    bottom, right = down + HEIGHT - BOTTOM, WIDTH - RIGHT
    out = []
    for value in ticks(across.low, across.high):
        at = across(value)
        out.append(f'<line class="g" x1="{at}" y1="{down + TOP}" x2="{at}" y2="{bottom}"/>')
        out.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{value:.6g}</text>')
    for value in ticks(up.low, up.high):
        at = up(value)
        out.append(f'<line class="g" x1="{LEFT}" y1="{at}" x2="{right}" y2="{at}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">{value:.6g}</text>')
    out.append(f'<path class="a" d="M{LEFT} {down + TOP}V{bottom}H{right}"/>')
    out.append(f'<text x="{(LEFT + right) / 2}" y="{bottom + 38}" text-anchor="middle">{escape(x)}</text>')
    out.append(f'<text x="{LEFT}" y="{down + 16}">{escape(y)}; x baseline, o confirmed with its range</text>')
    return out
