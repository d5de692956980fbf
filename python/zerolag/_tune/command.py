# SPDX-License-Identifier: GPL-2.0-only
"""`zerolag tune`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Optional

# As for all commands of zerolag.
DONE, NOT_REACHED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

EPILOG = """\
The search is written to the journal as it goes: whoever is killed, the same command goes on, and several processes,
on several machines that share the file, search together. Exit codes: 0 a candidate is confirmed, 1 none is, 2 bad input.

Examples:
  zerolag tune slices.toml --svg front.svg
  zerolag tune slices.toml --search-only &      # helps the other, here or elsewhere
  zerolag tune slices.toml --commands 17 > apply.sh
"""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="zerolag tune",
        description="Look for settings that reach what is wanted, confirm the best with other seeds, and say how to set them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="the tuning (TOML, see docs/tuning.md)")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="where the search is written; NAME.journal by default")
    parser.add_argument("--store", type=Path, metavar="FILE", help="where runs of the confirmation go; NAME.sqlite by default")
    parser.add_argument("--jobs", type=positive, metavar="N", help="runs at a time; as many as there are CPUs by default")
    parser.add_argument("--search-only", action="store_true", help="help another process with its search, and no more")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also draw the front")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table (schema zerolag.tune/1)")
    parser.add_argument(
        "--commands",
        type=positive,
        metavar="N",
        help="print the commands that set candidate N of the front on a Linux machine, and nothing else",
    )
    return parser


def positive(text: str) -> int:
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return number


def main(words: list[str]) -> int:
    options = arguments().parse_args(words)
    try:
        code = _tune(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever reads it has seen enough; nor is there anything to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print("zerolag: interrupted; the same command goes on", file=sys.stderr)
        return INTERRUPTED


def _tune(options: argparse.Namespace) -> int:
    try:
        import optuna  # noqa: F401
    except ModuleNotFoundError as error:
        print(f"zerolag: {error}: zerolag tune needs Optuna; pip install 'zerolag[tune]'", file=sys.stderr)
        return BAD_INPUT
    from zerolag import ProgressBar, Store, Tuning
    from zerolag._engine import put
    from zerolag._tune.answer import confirm
    from zerolag._tune.search import Search
    from zerolag.errors import Error

    name = options.file.stem
    journal = options.journal or Path(f"{name}.journal")
    store = options.store or Path(f"{name}.sqlite")
    bar = ProgressBar()
    try:
        tuning = Tuning(options.file)
        search = Search(tuning, journal, jobs=options.jobs)
        seeds = len(tuning.seeds)
        search.run(lambda done: bar(done * seeds, tuning.candidates * seeds), helps=options.search_only)
        if options.search_only:
            return DONE
        with Store(store, resume=True) as kept:
            answer = confirm(tuning, search, kept, jobs=options.jobs, progress=ProgressBar())
        if options.svg is not None:
            put(options.svg, answer.svg())
        if options.commands is not None:
            print(answer.commands(options.commands), end="")
            return DONE
    except (Error, OSError, ValueError) as error:
        print(f"zerolag: {error}", file=sys.stderr)
        return BAD_INPUT
    if options.json:
        print(answer.json())
    else:
        print(answer, end="")
        if answer.best is not None:
            print(f"\nTo set candidate {answer.best['number']} (others: --commands N):\n\n{answer.commands()}", end="")
    return DONE if answer.best is not None else NOT_REACHED


def run(words: Optional[list[str]] = None) -> None:
    """Ends the process."""
    sys.exit(main(sys.argv[1:] if words is None else words))
