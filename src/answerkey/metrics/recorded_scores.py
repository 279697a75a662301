"""Scores that a result file of an earlier tool or script brings along: `recorded.NAME`.

They are kept, shown beside ours and compared. Grades of a judge among them stand for those of our
judged metrics where the judge is `recorded`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files

from answerkey.coerce.values import is_mapping, is_number
from answerkey.metrics.registry import RECORDED, Facts, metric_group
from answerkey.types import Pair, Score

RECORDED_PASS = f"{RECORDED}passed"
_NAMES = tomllib.loads(
    files("answerkey.metrics").joinpath("recorded_names.toml").read_text("utf-8")
)
_LONGEST_NAME = 60
RECORDED_JUDGE = "recorded"  # the name of the judge that reads the grades of the file


@metric_group(
    Facts(
        f"{RECORDED}NAME",
        "The score NAME that the case file recorded: `recorded.quality_score`.",
        family="recorded",
        low=None,
        high=None,
        empty="not applicable where the row has no such score",
    )
)
def recorded_metrics(pairs: Sequence[Pair], *, names: Sequence[str]) -> dict[str, list[Score]]:
    """The recorded scores of each case."""
    rows = [read_recorded_scores(case.extra) for case, _ in pairs]
    return {name: [_score_of(row, name) for row in rows] for name in names}


def _score_of(row: Mapping[str, float], name: str) -> Score:
    if name not in row:
        return Score.not_applicable("not in the file")
    return Score(row[name], "recorded in the file")


def read_recorded_scores(extra: Mapping[str, object]) -> dict[str, float]:
    """The scores that a row brings along, by metric name.

    >>> read_recorded_scores({"quality_score": 0.7, "status": "PERFECT"})
    {'recorded.quality_score': 0.7, 'recorded.passed': 1.0}
    """
    if "verdict" in extra:
        return {}  # a row of our own results.jsonl; `rescore` and `compare` read the run itself
    scores: dict[str, float] = {}
    for name in _NAMES["numbers"]:
        _add(scores, name, extra.get(name))
    for column in _NAMES["objects"]:
        table = extra.get(column)
        if is_mapping(table):
            for name, value in table.items():
                _add(scores, str(name), value)
    for column in _NAMES["outcomes"]:
        word = str(extra.get(column) or "").strip().casefold().replace(" ", "_")
        if word in _NAMES["passed"] or word in _NAMES["failed"]:
            scores[RECORDED_PASS] = float(word in _NAMES["passed"])
            break
    return scores


def has_grade(metric: str, recorded: Collection[str]) -> bool:
    """Whether one of these recorded scores is a grade for the judged metric.

    >>> has_grade("rubric.accuracy", ["recorded.accuracy"])
    True
    """
    family, _, name = metric.partition(".")
    return family in ("rubric", "judge") and any(key in recorded for key in grade_keys(name))


def grade_keys(name: str) -> list[str]:
    """The recorded scores that are a grade of this name, the likeliest first."""
    return [f"{RECORDED}{key}" for key in (name, *_NAMES["grades"].get(name, ()))]


def _add(scores: dict[str, float], name: str, value: object) -> None:
    # Tools write a score as a number or as a table with its reason.
    if is_mapping(value):
        inside = (value.get(key) for key in _NAMES["values"])
        value = next((each for each in inside if each is not None), None)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return
    # NaN is no score, and a number beyond 1e300 would break sums.
    if is_number(value) and abs(value) < 1e300 and value == value:
        scores[f"{RECORDED}{name[:_LONGEST_NAME]}"] = float(value)
