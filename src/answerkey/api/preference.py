"""`prefer`: which of two runs gives the better answers, by a judge that sees each pair in both orders."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from answerkey.api.adapters import judge_of
from answerkey.api.run import Run, open_folder
from answerkey.comparison.prefer import Preference, prefer_outcomes, remember_flips
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.types import Outcome


def prefer(a: Run | str | Path, b: Run | str | Path, judge: Any = "local", workers: int = 20) -> Preference:
    """Ask a judge for the better answer to each case of two runs, in both orders. A choice that flips is a tie.

    `judge` is "local", a preset, a dict of settings, or a function from prompt to text.

    >>> prefer(old, new, judge=my_llm).sentence  # doctest: +SKIP
    'B is preferred: B wins 31 cases, A 12, 7 are ties (win rate of B 0.69, 95 % interval 0.57 to 0.80, p = 0.0054)'
    """
    first, second = _side(a), _side(b)
    with closing(judge_of(judge, workers) or load_judge(judge)) as opened:
        preference = prefer_outcomes(first, second, opened)
        remember_flips(preference, opened)
    return preference


def _side(run: Run | str | Path) -> tuple[str, Iterable[Outcome]]:
    opened = run if isinstance(run, Run) else open_folder(run)
    return opened.name, opened.outcomes
