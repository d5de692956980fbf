# SPDX-License-Identifier: GPL-2.0-only
"""The search: candidates from Optuna's sampler, their figures from the engine."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Optional

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import TPESampler
from optuna.study import StudyDirection
from optuna.trial import TrialState

from zerolag._engine import Case, Targets, Tuning, __version__
from zerolag._tune.journal import open_journal
from zerolag.errors import InputError

# Figures of a case by name, and by seed in the order of the seeds.
Figures = dict[str, list[float]]


@dataclass(frozen=True)
class Candidate:
    """A candidate that was run with all seeds."""

    number: int
    choices: dict[str, str]
    figures: Figures
    # For each objective the mean over the seeds.
    values: list[float]
    # For each constraint the worst violation over the seeds.
    violations: list[float]

    def keeps(self) -> bool:
        return all(violation <= 0 for violation in self.violations)


class NoFigures(Exception):
    """A run got stuck, or lacks a wanted figure."""


class Search:
    """A search that goes on from what its journal has, and writes to it."""

    def __init__(self, tuning: Tuning, journal: Optional[Path], *, jobs: Optional[int] = None) -> None:
        optuna.logging.set_verbosity(logging.WARNING)
        self.tuning = tuning
        self.jobs = jobs or os.cpu_count() or 1
        outcome = tuning.baseline.run(tuning.seeds[0])
        self.targets: Targets = tuning.targets(outcome)
        names = [o[0] for o in self.targets.objectives] + [c[0] for c in self.targets.constraints]
        self.wanted = sorted(set(names))
        try:
            self.baseline = self._figures(tuning.baseline, tuning.seeds)
        except NoFigures as why:
            raise InputError(f"{tuning.file}: the baseline does not do as a yardstick: {why}", file=tuning.file) from None
        self._study = self._open(journal)

    def _open(self, journal: Optional[Path]) -> optuna.Study:
        storage = open_journal(journal)
        name = f"zerolag-{self._identity()}"
        others = [s.study_name for s in storage.get_all_studies() if s.study_name != name]
        if others:
            raise InputError(
                f"{journal} belongs to another search: the tuning, its scenario or zerolag has changed; name another file",
                file=str(journal),
            )
        way = {"lower": StudyDirection.MINIMIZE, "higher": StudyDirection.MAXIMIZE}
        directions = [way[better] for _, _, better in self.targets.objectives]
        return optuna.create_study(study_name=name, storage=storage, directions=directions, load_if_exists=True)

    def _identity(self) -> str:
        """What a search depends on, but for how long it is."""
        t = self.tuning
        parts = [__version__, t.baseline.hash, t.axes, t.seeds, t.search_seed]
        parts += [self.targets.objectives, self.targets.constraints]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def _figures(self, case: Case, seeds: list[int]) -> Figures:
        """The wanted figures with each seed."""
        with ThreadPoolExecutor(min(self.jobs, len(seeds))) as threads:
            outcomes = list(threads.map(case.run, seeds))
        figures: Figures = {metric: [] for metric in self.wanted}
        for seed, outcome in zip(seeds, outcomes):
            if outcome.end not in ("duration", "finished"):
                raise NoFigures(f"seed {seed}: {outcome.end}")
            metrics = outcome.metrics
            for metric in self.wanted:
                if metric not in metrics:
                    raise NoFigures(f"seed {seed}: there is no '{metric}'")
                figures[metric].append(metrics[metric])
        return figures

    def violations(self, figures: Figures, baseline: Figures) -> list[list[float]]:
        """By how much each constraint is broken with each seed; 0 or less if it is kept."""
        return [
            [self.targets.violation(at, f, b) for f, b in zip(figures[metric], baseline[metric])]
            for at, (metric, *_) in enumerate(self.targets.constraints)
        ]

    def distributions(self) -> dict[str, BaseDistribution]:
        found: dict[str, BaseDistribution] = {}
        for key, values, span in self.tuning.axes:
            if span is None:
                found[key] = CategoricalDistribution(values)
            else:
                low, high, log, _ = span
                found[key] = IntDistribution(low, high, log=log)
        return found

    def choices(self, params: dict[str, Any]) -> dict[str, str]:
        """What Optuna has drawn, as what is chosen."""
        times = {key for key, _, span in self.tuning.axes if span is not None and span[3]}
        return {key: f"{value}ns" if key in times else str(value) for key, value in params.items()}

    def over(self) -> int:
        """How many candidates are over, whoever has run them."""
        return len(self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL)))

    def run(self, tell: Optional[Callable[[int], object]] = None, *, helps: bool = False) -> None:
        """Try candidates until there are as many as wanted.

        The sampler is made anew for each candidate, from the search's seed and the number of those that are over:
        so a search that was interrupted goes on as if it had not been. A process that helps another draws from a
        seed of its own.
        """
        chance = random.SystemRandom() if helps else None
        distributions = self.distributions()
        while (over := self.over()) < self.tuning.candidates:
            if tell is not None:
                tell(over)
            seed = chance.getrandbits(32) if chance else (self.tuning.search_seed * 1_000_003 + over) % 2**32
            self._study.sampler = TPESampler(seed=seed, multivariate=True, constant_liar=helps)
            self._one(distributions)
        if tell is not None:
            tell(over)

    def _one(self, distributions: dict[str, BaseDistribution]) -> None:
        trial = self._study.ask(distributions)
        try:
            figures = self._figures(self.tuning.candidate(self.choices(trial.params)), self.tuning.seeds)
        except (InputError, NoFigures) as error:
            # Each value by itself makes sense, or the tuning would not have been read; together they may not.
            trial.set_user_attr("why", str(error))
            self._study.tell(trial, state=TrialState.FAIL)
            return
        trial.set_user_attr("figures", figures)
        for at, by_seed in enumerate(self.violations(figures, self.baseline)):
            trial.set_constraint(str(at), min(max(by_seed), 1e9))
        self._study.tell(trial, [fmean(figures[metric]) for metric, *_ in self.targets.objectives])

    def candidates(self) -> list[Candidate]:
        """Those that were run with all seeds, one for each choice, in order."""
        known: dict[tuple[tuple[str, str], ...], Candidate] = {}
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            choices, figures = self.choices(trial.params), trial.user_attrs["figures"]
            violations = [max(by_seed) for by_seed in self.violations(figures, self.baseline)]
            candidate = Candidate(trial.number, choices, figures, list(trial.values), violations)
            known.setdefault(tuple(sorted(choices.items())), candidate)
        # Numbers depend on who was interrupted; positions do not.
        return [
            Candidate(at + 1, c.choices, c.figures, c.values, c.violations) for at, c in enumerate(known.values())
        ]

    def failures(self) -> list[str]:
        """Why candidates could not be judged."""
        failed = self._study.get_trials(deepcopy=False, states=(TrialState.FAIL,))
        return [trial.user_attrs.get("why", "interrupted") for trial in failed]
