# SPDX-License-Identifier: GPL-2.0-only
"""Answers as text."""

from __future__ import annotations

from typing import Any, Optional

LIMITS = {"at_most": "at most", "at_least": "at least", "loss_at_most": "loss at most"}


def figure(value: float) -> str:
    """Four significant digits, or all of those before the point."""
    if value == 0:
        return "0"
    from math import floor, log10

    return f"{value:.{min(max(3 - floor(log10(abs(value))), 0), 9)}f}"


def chosen(value: str) -> str:
    """A duration in nanoseconds in the largest unit that makes it short enough to read."""
    digits = value[:-2]
    if not value.endswith("ns") or not digits.isdigit():
        return value
    for unit, ns in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if int(digits) >= ns:
            return f"{int(digits) / ns:.4g}{unit}"
    return value


def limit(constraint: dict[str, Any]) -> str:
    """A constraint in words."""
    unit = "%" if constraint["limit"] == "loss_at_most" else constraint["unit"]
    return f"{constraint['metric']}: {LIMITS[constraint['limit']]} {constraint['bound']:g} {unit}"


def aligned(rows: list[list[str]], right: set[int]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(f"{c:>{w}}" if at in right else f"{c:<{w}}" for at, (c, w) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def table(report: dict[str, Any]) -> str:
    """The front, beside the baseline, and what to know about it."""
    n, objectives, constraints = len(report["confirm"]), report["objectives"], report["constraints"]
    lines = [
        f"{report['scenario']}: {report['tried']} candidates with {len(report['seeds'])} seeds each, "
        f"{report['keeping']} keep all constraints" + (f", {report['failed']} could not be judged" if report["failed"] else "")
    ]
    lines += [f"  {why}" for why in report["failures"][:3]]
    lines += [f"constraint {at + 1}  {limit(c)}" for at, c in enumerate(constraints)]
    if not report["front"]:
        return "\n".join([*lines, "", "No candidate could be judged."]) + "\n"
    if not report["keeping"]:
        lines.append("No candidate keeps all constraints; these break them least:")
    names = [f"{o['metric']} ({o['unit']})".upper() for o in objectives]
    head = ["", *[key.upper() for key in report["axes"]]]
    for name in names:
        head += [name, "SEARCH", "WORST", "BETTER"]
    head += [f"HELD {at + 1}" for at in range(len(constraints))] + ["CONFIRMED"]
    rows = [head]

    def cells(kind: dict[str, Optional[dict[str, float]]], search: dict[str, Any], better: Optional[list[int]]) -> list[str]:
        out = []
        for at, objective in enumerate(objectives):
            found, before = kind[objective["metric"]], search[objective["metric"]]
            worst = "max" if objective["better"] == "lower" else "min"
            out += [
                "-" if found is None else figure(found["mean"]),
                figure(before["mean"]),
                "-" if found is None else figure(found[worst]),
                "" if better is None else f"{better[at]}/{n}",
            ]
        return out

    base = report["baseline"]
    rows.append(["baseline", *["" for _ in report["axes"]], *cells(base["confirm"], base["search"], None), *["" for _ in constraints], ""])
    for c in report["front"]:
        held = [f"{h['confirm']}/{n}" for h in c["held"]]
        picked = [chosen(c["choices"][key]) for key in report["axes"]]
        confirmed = "yes" if c["confirmed"] else "no"
        rows.append([str(c["number"]), *picked, *cells(c["confirm"], c["search"], c["better_than_baseline"]), *held, confirmed])
    first = 1 + len(report["axes"])
    lines += ["", aligned(rows, set(range(first, len(head))))]
    lines += [
        "",
        f"Means and worst of {n} seeds that the search has not seen; SEARCH: means of the search's own. BETTER: with how",
        "many of them it beats the baseline with the same seed. HELD: with how many a constraint is kept; CONFIRMED: all.",
        "",
        "Not modelled:",
    ]
    lines += [f"  {what}" for what in report["not_modelled"]]
    return "\n".join(lines) + "\n"
