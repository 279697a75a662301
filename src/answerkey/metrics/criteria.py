"""Checks of a case's `answer_criteria`: words, numbers, a pattern; and politeness."""

from __future__ import annotations

import math
from collections.abc import Mapping

from answerkey.coerce.patterns import PATTERN_SECONDS, find_pattern
from answerkey.language.figure_match import within
from answerkey.language.quantities import Figure, figures
from answerkey.metrics.registry import metric
from answerkey.text import fold, format_count, numbers
from answerkey.types import Case, Response, Score


@metric("politeness", needs=("answer",), empty="0")
def politeness(case: Case, response: Response, *, words: Mapping[str, tuple[str, ...]]) -> Score:
    """Half a point for each marker of politeness in the answer, at most 1: 0.5 for `Please wait`."""
    found = _found(words["polite"], response)
    return Score(min(0.5 * len(found), 1.0), f"found: {', '.join(found)}" if found else "")


@metric("contains", needs=("answer", "criteria"), empty="not applicable without must_contain")
def contains(case: Case, response: Response) -> Score:
    """Share of the case's must_contain texts that the answer contains: 0.5 for one of two."""
    wanted = case.criteria.must_contain
    if not wanted:
        return Score.not_applicable("the case has no must_contain")
    found = _found(wanted, response)
    missing = [text for text in wanted if text not in found]
    return Score(
        1 - len(missing) / len(wanted), f"missing: {', '.join(missing)}" if missing else ""
    )


@metric(
    "contains_any", needs=("answer", "criteria"), empty="not applicable without must_contain_any"
)
def contains_any(case: Case, response: Response) -> Score:
    """1 when the answer contains at least one of the case's must_contain_any texts, else 0."""
    wanted = case.criteria.must_contain_any
    if not wanted:
        return Score.not_applicable("the case has no must_contain_any")
    found = _found(wanted, response)
    return Score(
        float(bool(found)),
        f"found: {', '.join(found)}" if found else f"none of: {', '.join(wanted)}",
    )


@metric(
    "not_contains", needs=("answer", "criteria"), empty="not applicable without must_not_contain"
)
def not_contains(case: Case, response: Response) -> Score:
    """1 when the answer contains none of the case's must_not_contain texts, else 0."""
    if not case.criteria.must_not_contain:
        return Score.not_applicable("the case has no must_not_contain")
    found = _found(case.criteria.must_not_contain, response)
    return Score(float(not found), f"found: {', '.join(found)}" if found else "")


@metric(
    "number_in_range", needs=("answer", "criteria"), empty="not applicable without numerical_range"
)
def number_in_range(case: Case, response: Response, *, decimal: str = ".") -> Score:
    """1 when some number in the answer is in the case's numerical_range: `about 1.2M` for [1e6, 2e6]."""
    if case.criteria.numerical_range is None:
        return Score.not_applicable("the case has no numerical_range")
    low, high = case.criteria.numerical_range
    given = numbers(response.answer or "", decimal)
    inside = next((number for number in given if low <= number.value <= high), None)
    none = f"none of {format_count(len(given), 'number')} is in {low:,.10g} to {high:,.10g}"
    return Score(float(inside is not None), f"{inside.text} is in the range" if inside else none)


@metric(
    "number_close",
    needs=("answer", "criteria"),
    empty="not applicable without a number to compare with",
    version=2,
)
def number_close(
    case: Case, response: Response, *, tolerance: float = 0.05, decimal: str = "."
) -> Score:
    """1 when a number in the answer is within the tolerance (5 %) of the expected value: `2.9 km` for `3000 m`."""
    value = case.criteria.expected_value
    if value is not None:
        wanted = [Figure(value, 1.0, whole=value == int(value) if math.isfinite(value) else False)]
    else:
        wanted = [
            figure for text in case.expected for figure in figures(text, decimal, spelled=False)
        ]
    if not wanted:
        return Score.not_applicable(
            "the case has no expected_value and no number in its expected answer"
        )
    given = figures(response.answer or "", decimal, spelled=False)
    close = next(
        (figure for figure in given if any(within(want, figure, tolerance) for want in wanted)),
        None,
    )
    if close:
        return Score(1.0, f"{close} is within {tolerance:.0%}")
    unit = any(
        want.value == figure.value and want.other_unit(figure)
        for want in wanted
        for figure in given
    )
    reason = f"none of {format_count(len(given), 'number')} is near {wanted[0]}"
    return Score(0.0, f"{reason}; the unit differs" if unit else reason)


@metric("regex", needs=("answer", "criteria"), empty="not applicable without a pattern")
def regex(case: Case, response: Response, *, pattern: str = "") -> Score:
    """1 when the pattern (the case's own, else the metric's) is found in the answer."""
    wanted = case.criteria.regex or pattern
    if not wanted:
        return Score.not_applicable("no pattern in the case or the settings")
    try:
        found = find_pattern(wanted, response.answer or "")
    except TimeoutError:
        return Score.failed(
            f"the pattern took more than {PATTERN_SECONDS:g} s: simplify {wanted[:80]}"
        )
    return Score(
        float(found is not None),
        f"found: {found[:80]}" if found is not None else f"not found: {wanted}",
    )


def _found(wanted: tuple[str, ...], response: Response) -> list[str]:
    answer = fold(response.answer or "")
    return [text for text in wanted if fold(text) in answer]
