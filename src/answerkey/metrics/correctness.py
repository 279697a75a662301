"""`answer_agreement`: does the answer agree with one of the expected answers? Local, with no model service.

The value is the probability, 0 to 1, that a person would call the answer right. It goes by words, spellings, figures,
dates, names, refusals and negations; how far to believe it is in docs/validity.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from answerkey.metrics.agreement import compare
from answerkey.metrics.evidence import language
from answerkey.metrics.registry import metric
from answerkey.metrics.small_model import SmallModel, load_fitted
from answerkey.types import Case, Pair, Response, Score

BEST_OF = ("contains", "recall_new", "partial")  # also given as the best over all expected answers
YES_NO = 2.5  # log-odds for the same or the other of yes and no: set by hand, the fitted data asks no such question
WRONG_COPY = (
    8.0  # log-odds against a near copy of the expected answer that has another figure; set by hand as well
)
_COPY, _SENTENCE = 0.9, math.log1p(6)
LONGEST_ALIAS = 8  # words: a slash in longer parts is one of a sentence, not of a list
UNSURE = (0.35, 0.65)
_NOTE = re.compile(r"\s*\([^()]*\)\s*$")
_ALIASES = re.compile(r"\s+/\s+|\s*\|+\s*|(?<=[^\W\d_]{3})/(?=[A-ZÀ-Þ][^\W\d_]{3})")


@metric(
    "answer_agreement",
    batch=True,
    needs=("answer", "expected"),
    uses=("question",),
    empty="0 for an empty answer",
    version=2,
)
def answer_agreement(pairs: Sequence[Pair]) -> list[Score]:
    """Probability that the answer says the same as one of the expected answers."""
    compared = [_compared(*pair) for pair in pairs]
    rows = [features_of(each) for each in compared if each]
    model = _model()
    matrix = np.array([[row[name] for name in model.features] for row in rows], dtype=np.float32)
    fitted = iter(model.log_odds(matrix) if rows else ())
    given = iter(rows)
    return [
        _score(pair, next(given), float(next(fitted))) if each else Score(0.0, "the answer is empty")
        for pair, each in zip(pairs, compared, strict=True)
    ]


@cache
def _model() -> SmallModel:
    return load_fitted("agreement")


def _compared(case: Case, response: Response) -> list[dict[str, float]]:
    """The features against each expected answer; none for an empty answer."""
    answer = response.answer or ""
    if not any(ch.isalnum() for ch in answer):
        return []
    return [compare(answer, reference, case.question) for reference in references(case.expected)]


def references(expected: Sequence[str]) -> list[str]:
    """The expected answers that differ, and the parts of a single one that lists aliases.

    `USA / United States` and `UK|Britain` are two aliases each; `Mercury (planet)` is expected without its note, too.
    """
    listed = list(expected)
    if len(listed) == 1:
        parts = [part.strip() for part in _ALIASES.split(listed[0])]
        if all(len(part.split()) <= LONGEST_ALIAS for part in parts):
            listed += [part for part in parts if len(part) > 1]
    listed += [bare for text in listed if len(bare := _NOTE.sub("", text)) > 1]
    distinct: dict[str, str] = {}
    for text in listed:
        distinct.setdefault(text.casefold(), text)
    return list(distinct.values())


def features_of(compared: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The features against the nearest expected answer, and the best of a few over all of them."""
    nearest = max(compared, key=_nearness)
    return {**nearest, **{f"best_{name}": max(each[name] for each in compared) for name in BEST_OF}}


def _nearness(f: Mapping[str, float]) -> float:
    words = 2 * f["exact"] + 2 * f["contains"] + f["squashed"] + f["recall_new"] + f["partial"]
    return words + 0.5 * (f["figures_found"] + f["date"])


def _score(pair: Pair, f: Mapping[str, float], fitted: float) -> Score:
    case, response = pair
    total = fitted + (2 * f["yes_no"] - 1) * YES_NO - WRONG_COPY * _wrong_copy(f)
    value = round(1.0 / (1.0 + float(np.exp(-np.clip(total, -30, 30)))), 6)
    notes = _notes(f)
    if UNSURE[0] <= value <= UNSURE[1]:
        notes.append("weak evidence: could go either way")
    if language(f"{response.answer} {case.expected[0]}") not in {"english", "unclear"}:
        notes.append("not English: stems and lists of English words were left out")
    return Score(
        value, "; ".join(notes), details={"features": {name: round(number, 4) for name, number in f.items()}}
    )


def _wrong_copy(f: Mapping[str, float]) -> bool:
    """Nearly the expected words, but not all of its figures: `12 months` for `24 months`."""
    near = (
        f["reference_length"] >= _SENTENCE and f["partial"] >= _COPY and not f["contains"] and not f["exact"]
    )
    return bool(near and f["figures"] and f["figures_found"] < 1 and not f["figures_none"])


def _notes(f: Mapping[str, float]) -> list[str]:
    """What speaks for and against, in words."""
    notes: list[str] = []
    if f["exact"]:
        notes.append("the same as an expected answer")
    elif f["contains"] or f["squashed"]:
        notes.append("contains an expected answer")
    else:
        notes.append(f"{f['recall']:.0%} of the expected words are there")
    if f["figures"]:
        notes.append(
            f"{f['figures_found']:.0%} of the expected figures are there"
            + (", others instead" if f["figures_wrong"] else "")
        )
    if f["date_parts"] and f["date"] != 0.5:
        notes.append("the date agrees" if f["date"] == 1.0 else "the date differs")
    if f["yes_no"] != 0.5:
        notes.append("the same yes or no" if f["yes_no"] else "yes against no")
    if f["declines"]:
        notes.append("the answer declines")
    if f["replaced_name"] == 1.0:
        notes.append("another name stands beside the expected words")
    if f["opposed"]:
        notes.append("says the contrary of an expected word")
    if f["negation_differs"] and not f["exact"]:
        notes.append("only one of the two is negated")
    return notes
