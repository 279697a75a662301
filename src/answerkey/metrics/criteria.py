"""Checks of a case's `answer_criteria`: words, numbers, a pattern; and politeness."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from answerkey.coerce.patterns import PATTERN_SECONDS, find_pattern
from answerkey.language.figure_match import within
from answerkey.language.quantities import Figure, figures
from answerkey.metrics.registry import metric
from answerkey.text import fold, format_count, has_any, numbers
from answerkey.types import Case, Response, Score


@metric("politeness", family="communication", needs=("answer",), empty="0")
def politeness(case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]) -> Score:
    """Half a point for each marker of politeness in the answer, at most 1: 0.5 for `Please wait`."""
    markers = _texts_in(words["polite"], response)
    return Score(min(0.5 * len(markers), 1.0), f"found: {', '.join(markers)}" if markers else "")


@metric(
    "contains",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without must_contain",
)
def contains(case: Case, response: Response) -> Score:
    """Share of the case's must_contain texts that the answer contains: 0.5 for one of two."""
    required = case.criteria.must_contain
    if not required:
        return Score.not_applicable("the case has no must_contain")
    present = _texts_in(required, response)
    # Texts are folded for the search, but shown as the case spells them.
    missing = [text for text in required if text not in present]
    return Score(
        1 - len(missing) / len(required), f"missing: {', '.join(missing)}" if missing else ""
    )


@metric(
    "contains_any",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without must_contain_any",
)
def contains_any(case: Case, response: Response) -> Score:
    """1 when the answer contains at least one of the case's must_contain_any texts, else 0."""
    alternatives = case.criteria.must_contain_any
    if not alternatives:
        return Score.not_applicable("the case has no must_contain_any")
    present = _texts_in(alternatives, response)
    return Score(
        float(bool(present)),
        f"found: {', '.join(present)}" if present else f"none of: {', '.join(alternatives)}",
    )


@metric(
    "not_contains",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without must_not_contain",
)
def not_contains(case: Case, response: Response) -> Score:
    """1 when the answer contains none of the case's must_not_contain texts, else 0."""
    if not case.criteria.must_not_contain:
        return Score.not_applicable("the case has no must_not_contain")
    present = _texts_in(case.criteria.must_not_contain, response)
    return Score(float(not present), f"found: {', '.join(present)}" if present else "")


@metric(
    "number_in_range",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without numerical_range",
)
def number_in_range(case: Case, response: Response, *, decimal: str = ".") -> Score:
    """1 when some number in the answer is in the case's numerical_range: `about 1.2M` for [1e6, 2e6]."""
    if case.criteria.numerical_range is None:
        return Score.not_applicable("the case has no numerical_range")
    low, high = case.criteria.numerical_range
    stated = numbers(response.answer or "", decimal)
    inside = next((number for number in stated if low <= number.value <= high), None)
    none = f"none of {format_count(len(stated), 'number')} is in {low:,.10g} to {high:,.10g}"
    return Score(float(inside is not None), f"{inside.text} is in the range" if inside else none)


@metric(
    "number_close",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without a number to compare with",
    version=2,
)
def number_close(
    case: Case, response: Response, *, tolerance: float = 0.05, decimal: str = "."
) -> Score:
    """1 when a number in the answer is within the tolerance (5 %) of the expected value: `2.9 km` for `3000 m`."""
    targets = _target_numbers(case, decimal)
    if not targets:
        return Score.not_applicable(
            "the case has no expected_value and no number in its expected answer"
        )
    stated = figures(response.answer or "", decimal, spelled=False)
    for figure in stated:
        if any(within(target, figure, tolerance) for target in targets):
            return Score(1.0, f"{figure} is within {tolerance:.0%}")
    reason = f"none of {format_count(len(stated), 'number')} is near {targets[0]}"
    # Only for the reason: the digits are right, and the reader should see why that is not enough.
    has_other_unit = any(
        target.value == figure.value and target.other_unit(figure)
        for target in targets
        for figure in stated
    )
    return Score(0.0, f"{reason}; the unit differs" if has_other_unit else reason)


def _target_numbers(case: Case, decimal: str) -> list[Figure]:
    """The case's expected value, else the numbers of its expected answers."""
    value = case.criteria.expected_value
    if value is not None:
        # `int` raises on infinity.
        is_whole = math.isfinite(value) and value == int(value)
        return [Figure(value, 1.0, whole=is_whole)]
    # Spelled-out numbers are left out: the "one" of "no one" is no expected value.
    return [figure for text in case.expected for figure in figures(text, decimal, spelled=False)]


@metric(
    "regex",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without a pattern",
)
def regex(case: Case, response: Response, *, pattern: str = "") -> Score:
    """1 when the pattern (the case's own, else the metric's) is found in the answer."""
    expression = case.criteria.regex or pattern
    if not expression:
        return Score.not_applicable("no pattern in the case or the settings")
    try:
        match = find_pattern(expression, response.answer or "")
    # A user's pattern may backtrack for hours; an error of one case must not hang the run.
    except TimeoutError:
        return Score.failed(
            f"the pattern took more than {PATTERN_SECONDS:g} s: simplify {expression[:80]}"
        )
    return Score(
        float(match is not None),
        f"found: {match[:80]}" if match is not None else f"not found: {expression}",
    )


@metric(
    "answer_criteria",
    family="correctness",
    needs=("answer", "criteria"),
    empty="not applicable without answer_criteria",
)
def answer_criteria(
    case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]
) -> Score:
    """Share of the case's answer_criteria that the answer meets: 0.5 for one of two."""
    checks = list(_checks(case, response, words))
    if not checks:
        return Score.not_applicable("the case has no answer_criteria that can be checked")
    details = {
        "criteria": [{"kind": kind, "ask": ask, "met": met} for kind, ask, met in checks],
    }
    missed = [ask for _, ask, met in checks if not met]
    reason = f"not met: {'; '.join(missed)}" if missed else f"all {len(checks)} met"
    return Score(1 - len(missed) / len(checks), reason, details=details)


def _checks(
    case: Case, response: Response, words: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str, bool]]:
    """Each criterion of the case as its name, what it asks for, and whether it is met."""
    criteria = case.criteria
    answer = response.answer or ""
    for text in criteria.must_contain:
        yield "must_contain", f'"{text}"', bool(_texts_in((text,), response))
    if criteria.must_contain_any:
        ask = " or ".join(f'"{text}"' for text in criteria.must_contain_any)
        yield "must_contain_any", ask, _is_met(contains_any(case, response))
    for text in criteria.must_not_contain:
        yield "must_not_contain", f'must not contain "{text}"', not _texts_in((text,), response)
    if criteria.numerical_range is not None:
        low, high = criteria.numerical_range
        ask = f"a number from {low:,.10g} to {high:,.10g}"
        yield "numerical_range", ask, _is_met(number_in_range(case, response))
    if criteria.expected_value is not None:
        ask = f"{criteria.expected_value:,.10g}"
        yield "expected_value", ask, _is_met(number_close(case, response))
    if criteria.regex is not None:
        ask = f"the pattern {criteria.regex}"
        yield "regex", ask, _is_met(regex(case, response))
    if criteria.clarification_expected:
        ask = "a question that clarifies"
        yield "clarification_expected", ask, "?" in answer or has_any(answer, words["clarifies"])


def _is_met(score: Score) -> bool:
    # A pattern that takes too long has no value: the criterion is not shown to be met.
    return score.value == 1.0


def _texts_in(texts: tuple[str, ...], response: Response) -> list[str]:
    # Criteria are written by hand, so case, quotes and dashes must not decide.
    answer = fold(response.answer or "")
    return [text for text in texts if fold(text) in answer]
