"""A pattern of a case that would run for ever is an error of its score."""

from __future__ import annotations

import pytest

from answerkey.coerce.patterns import find_pattern, pattern_problem
from answerkey.metrics.criteria import regex
from answerkey.types import AnswerCriteria, Case, Response


@pytest.mark.parametrize(
    "pattern", ["(a|aa)+$", "(x+x+)+y", "([a-z]+)*=", r"(\w+\s?)*!", "^(a+)+$"]
)
def test_a_pattern_that_takes_too_long_is_an_error(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerkey.coerce.patterns.PATTERN_SECONDS", 0.05)
    case = Case("1", "q", criteria=AnswerCriteria(regex=pattern))
    score = regex(case, Response(answer="a" * 60 + "x" * 3000 + " b" * 40 + "?"))
    assert score.value == 0.0 or "took more than" in (score.error or "")


def test_one_of_them_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerkey.coerce.patterns.PATTERN_SECONDS", 0.05)
    score = regex(
        Case("1", "q", criteria=AnswerCriteria(regex="(x+x+)+y")), Response(answer="x" * 5000)
    )
    assert "took more than" in (score.error or "")


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("par.s", "It is Paris.", "Paris"),
        (r"^\d+ €$", "total\n12 €\n", "12 €"),
        (r"(?P<n>x)(?P=n)", "axx", "xx"),
        ("[[a]", "a", "a"),
        ("é", "CAFÉ", "É"),
        ("z", "a", None),
        ("", "a", ""),
    ],
)
def test_patterns_work_as_in_python(pattern: str, text: str, found: str | None) -> None:
    assert find_pattern(pattern, text) == found


@pytest.mark.parametrize(
    "pattern", ["(", "a{2,1}", "(?P<n>a)(?P<n>b", "[z-a]", "(" * 5000 + ")" * 5000, "*"]
)
def test_an_invalid_pattern_is_reported(pattern: str) -> None:
    assert pattern_problem(pattern)
    assert "\n" not in pattern_problem(pattern)
