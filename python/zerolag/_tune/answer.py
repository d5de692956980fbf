# SPDX-License-Identifier: GPL-2.0-only
"""What came of a search: the front, run again with seeds that the search has not seen, and how to set it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Optional

from zerolag._engine import Case, Store, Tuning, __version__, run_all
from zerolag._progress import Progress
from zerolag._tune import plot, text
from zerolag._tune.search import Candidate, Figures, Search

# Where nothing keeps all constraints, so many of those that break them least are run again.
NEAREST = 5


@dataclass(frozen=True)
class Answer:
    """What came of a tuning.

    `report` is all of it as plain data (schema zerolag.tune/1, docs/tuning.md); printing it gives the table, and a
    notebook shows the table and the plot.
    """

    report: dict[str, Any]

    @property
    def best(self) -> Optional[dict[str, Any]]:
        """The confirmed candidate that is best in the first objective; None if none is confirmed."""
        confirmed = [c for c in self.report["front"] if c["confirmed"]]
        return confirmed[0] if confirmed else None

    def commands(self, number: Optional[int] = None) -> str:
        """A shell script that sets a candidate of the front on a Linux machine.

        Args:
            number: which one; the best without.

        Raises:
            ValueError: there is no such candidate, or none is confirmed.
        """
        if number is None:
            if self.best is None:
                raise ValueError("no candidate is confirmed; say of which one the commands are wanted")
            return str(self.best["commands"])
        for candidate in self.report["front"]:
            if candidate["number"] == number:
                return str(candidate["commands"])
        numbers = ", ".join(str(c["number"]) for c in self.report["front"])
        raise ValueError(f"candidate {number} is not on the front; it has {numbers or 'none'}")

    def svg(self) -> str:
        """The front as a picture: what was tried, what none beats, what was confirmed, and the baseline."""
        return plot.draw(self.report)

    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.report, indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        return text.table(self.report)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>{self.svg()}"


def dominates(one: list[float], other: list[float], signs: list[int]) -> bool:
    """Whether one is nowhere worse than the other, and somewhere better. Signs are 1 where less is better."""
    pairs = [(sign * a, sign * b) for sign, a, b in zip(signs, one, other)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def front(candidates: list[Candidate], signs: list[int]) -> list[Candidate]:
    """Those that none dominates, the best in the first objective first; without any that keep the constraints,
    those that break them least."""
    keep = [c for c in candidates if c.keeps()]
    if not keep:
        return sorted(candidates, key=lambda c: (sum(max(v, 0.0) for v in c.violations), c.number))[:NEAREST]
    best: list[Candidate] = []
    for candidate in keep:
        if any(dominates(c.values, candidate.values, signs) or c.values == candidate.values for c in best):
            continue
        best = [c for c in best if not dominates(candidate.values, c.values, signs)] + [candidate]
    return sorted(best, key=lambda c: ([sign * v for sign, v in zip(signs, c.values)], c.number))


def confirm(
    tuning: Tuning,
    search: Search,
    store: Store,
    *,
    jobs: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> Answer:
    """Runs the baseline and the front with the seeds of the confirmation, and says what came of it all."""
    signs = [1 if better == "lower" else -1 for _, _, better in search.targets.objectives]
    candidates = search.candidates()
    chosen = front(candidates, signs)
    cases = [tuning.candidate(c.choices) for c in chosen]
    # A candidate may be what the scenario has anyway.
    distinct = list(dict.fromkeys([tuning.baseline, *cases]))
    run_all(distinct, tuning.confirm, store, jobs=jobs, progress=progress)
    baseline = _figures(store, tuning.baseline, tuning.confirm, search.wanted)
    rows = [
        _row(tuning, search, candidate, _figures(store, case, tuning.confirm, search.wanted), baseline, case, signs)
        for candidate, case in zip(chosen, cases)
    ]
    objectives = [{"metric": m, "unit": u, "better": b} for m, u, b in search.targets.objectives]
    constraints = [
        {"metric": m, "unit": u, "limit": limit, "bound": bound} for m, u, limit, bound in search.targets.constraints
    ]
    failures = search.failures()
    return Answer(
        {
            "schema": "zerolag.tune/1",
            "zerolag": __version__,
            "scenario": tuning.baseline.file,
            "kernel": tuning.kernel,
            "axes": [key for key, *_ in tuning.axes],
            "objectives": objectives,
            "constraints": constraints,
            "seeds": tuning.seeds,
            "confirm": tuning.confirm,
            "search_seed": tuning.search_seed,
            "tried": len(candidates) + len(failures),
            "failed": len(failures),
            "failures": sorted(set(failures))[:10],
            "keeping": sum(c.keeps() for c in candidates),
            "baseline": {
                "hash": tuning.baseline.hash,
                "search": {metric: _sum_up(values) for metric, values in search.baseline.items()},
                "confirm": {metric: _sum_up(values) for metric, values in baseline.items()},
            },
            "candidates": [
                {"number": c.number, "choices": c.choices, "values": c.values, "keeps": c.keeps()} for c in candidates
            ],
            "front": rows,
            "not_modelled": tuning.not_modelled,
        }
    )


def _figures(store: Store, case: Case, seeds: list[int], wanted: list[str]) -> Figures:
    """Figures of the runs that have them all."""
    figures: Figures = {metric: [] for metric in wanted}
    for seed in seeds:
        metrics = store.figures(case, seed) or {}
        for metric in wanted:
            figures[metric].append(metrics.get(metric, float("nan")))
    return figures


def _row(
    tuning: Tuning,
    search: Search,
    candidate: Candidate,
    figures: Figures,
    baseline: Figures,
    case: Case,
    signs: list[int],
) -> dict[str, Any]:
    """A candidate of the front as data."""
    before = search.violations(candidate.figures, search.baseline)
    after = search.violations(figures, baseline)
    held = [
        {"search": sum(v <= 0 for v in a), "confirm": sum(v <= 0 for v in b)} for a, b in zip(before, after)
    ]
    whole = all(value == value for values in figures.values() for value in values)
    kept = whole and all(h["confirm"] == len(tuning.confirm) for h in held)
    means = [[fmean(f[m]) for m, *_ in search.targets.objectives] for f in (figures, baseline)]
    better = [
        sum(sign * f < sign * b for f, b in zip(figures[metric], baseline[metric]))
        for sign, (metric, *_) in zip(signs, search.targets.objectives)
    ]
    # Where nothing is bounded, at least the baseline must not be better.
    useful = bool(held) or not dominates(means[1], means[0], signs)
    return {
        "number": candidate.number,
        "choices": candidate.choices,
        "hash": case.hash,
        "search": {metric: _sum_up(values) for metric, values in candidate.figures.items()},
        "confirm": {metric: _sum_up(values) for metric, values in figures.items()},
        "held": held,
        "better_than_baseline": better,
        "confirmed": kept and useful,
        "commands": tuning.commands(candidate.choices),
    }


def _sum_up(values: list[float]) -> Optional[dict[str, float]]:
    """None if a run has no such figure."""
    if any(value != value for value in values):
        return None
    return {"mean": fmean(values), "min": min(values), "max": max(values)}
