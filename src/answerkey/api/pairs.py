"""Two runs beside each other: is B better, and which answers does a judge prefer?"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from answerkey.api.adapters import judge_of
from answerkey.api.evaluate import evaluate
from answerkey.api.run import Run, open_run
from answerkey.comparison.comparison import Comparison, compare_sides
from answerkey.comparison.pair import Side, load_side, side_of
from answerkey.comparison.prefer import Preference, prefer_outcomes, remember_flips
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.runs.newest import find_run
from answerkey.types import Outcome

RunLike = Run | str | Path


def compare(
    a: RunLike | object, b: RunLike | object, repeats: Iterable[RunLike] = ()
) -> Comparison:
    """Is run B better than run A? Cases are paired by id; `repeats` are further runs of A's bot, to estimate noise.

    `a` and `b` are runs, run folders, or data with answers, which are evaluated first.

    >>> compare(old, new).sentence  # doctest: +SKIP
    'B is better: 56 % → 92 % passed; over 50 cases the score changed by +0.127 (95 % interval +0.0917 to +0.173, p < 0.001)'
    """
    return compare_sides(_side(a), _side(b), [_side(run) for run in repeats])


def _side(run: object) -> Side:
    if isinstance(run, (str, Path)):
        return load_side(find_run(Path(run)))
    if not isinstance(run, Run):
        run = evaluate(run)
    return side_of(run.name, run.manifest, run.outcomes, run.profile)


def prefer(a: RunLike, b: RunLike, judge: object = "local", workers: int = 20) -> Preference:
    """Ask a judge for the better answer to each case of two runs, in both orders. A choice that flips is a tie.

    `judge` is "local", a preset, a dict of settings, or a function from prompt to text.

    >>> prefer(old, new, judge=my_llm).sentence  # doctest: +SKIP
    'B is preferred: B wins 31 cases, A 12, 7 are ties (win rate of B 69 %, 95 % interval 57–80 %, p = 0.0054)'
    """
    with closing(judge_of(judge, workers) or load_judge(judge)) as opened:
        preference = prefer_outcomes(_outcomes(a), _outcomes(b), opened)
        remember_flips(preference, opened)
    return preference


def _outcomes(run: RunLike) -> tuple[str, Iterable[Outcome]]:
    if isinstance(run, Run):
        opened = run
    else:
        opened = open_run(run)
    return opened.name, opened.outcomes
