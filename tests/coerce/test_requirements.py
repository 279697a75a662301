"""The column `criteria` and its aliases, in every shape people write it."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.cases.rows import case_of_row
from answerkey.coerce.requirements import as_requirements
from answerkey.coerce.rows import rename_columns
from answerkey.coerce.values import Place
from answerkey.errors import InputError
from answerkey.types import Requirement, Response

PLACE = Place("cases.csv", 2)


def read(value: Any) -> tuple[Requirement, ...]:
    return as_requirements(value, "criteria", PLACE)


@pytest.mark.parametrize("column", ["criteria", "assert", "checks", "rubric", "Criteria"])
def test_the_column_has_aliases(column: str) -> None:
    row, place = next(iter(rename_columns([({"question": "q", column: ["It is polite."]}, PLACE)])))
    assert [each.ask for each in case_of_row(row, place, "1").requirements] == ["It is polite."]


@pytest.mark.parametrize(
    ("value", "asks"),
    [("It is polite.", ["It is polite."]), ('["a b", "c d"]', ["a b", "c d"]), ("['a b', 'c d']", ["a b", "c d"]),
     ("- a b\n- c d", ["a b", "c d"]), ("1. a b\n2) c d", ["a b", "c d"]), ("two\nlines", ["two\nlines"]),
     (["a", {"ask": "b", "kind": "0-5"}], ["a", "b"]), ({"criterion": "a"}, ["a"]), (None, []), ("", []), (0.5, []), ("0.75", []), (True, [])],
)  # fmt: skip
def test_shapes(value: Any, asks: list[str]) -> None:
    assert [each.ask for each in read(value)] == asks


def test_kinds_of_promptfoo() -> None:
    found = read([
        {"type": "llm-rubric", "value": "is polite", "threshold": 0.8}, {"type": "factuality", "value": "30 days"}, {"type": "not-icontains", "value": "sorry"},
        {"type": "contains-any", "value": "a, b"}, {"type": "is-json"}, {"type": "latency", "threshold": 500}, {"type": "not-llm-rubric", "value": "is rude"},
    ])  # fmt: skip
    assert [each.kind for each in found] == [
        "0-5",
        "pass",
        "icontains",
        "contains-any",
        "is-json",
        "latency",
        "pass",
    ]
    assert (found[0].threshold, found[0].ask) == (0.8, "is polite")
    assert "30 days" in found[1].ask
    assert found[2].negated
    assert found[3].value == ("a", "b")
    assert found[6].ask == "This does not hold: is rude"


@pytest.mark.parametrize(
    ("value", "problem"),
    [([3], "a sentence"), ([{}], "a sentence"), ([{"ask": "x", "knd": "pass"}], "kind"), ([{"type": "contian", "value": "x"}], "contains"),
     ([{"type": "regex", "value": "("}], "regular expression"), ([{"type": "contains"}], "text for contains"), ([{"type": "cost"}], "threshold"),
     ([{"ask": "x", "weight": -1}], "0 or more"), ('["a', "list")],
)  # fmt: skip
def test_mistakes_name_the_place(value: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        read(value)
    assert "cases.csv, line 2" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "answer", "met"),
    [("equals", "30 days", "30 days", 1), ("equals", "30 days", "30 days.", 0), ("contains", "Days", "30 days", 0), ("icontains", "Days", "30 days", 1),
     ("contains-all", ["30", "days"], "30 days", 1), ("contains-all", ["30", "weeks"], "30 days", 0), ("icontains-any", ["WEEKS", "DAYS"], "30 days", 1),
     ("starts-with", "30", "30 days", 1), ("regex", r"\d+ days", "30 days", 1), ("not-regex", r"\d+", "30 days", 0), ("is-json", None, '{"a": 1}', 1),
     ("is-json", None, "a", 0), ("contains-json", None, 'see {"a": 1}', 1), ("contains-json", None, "see [1, 2]", 1), ("contains-json", None, "none", 0),
     ("not-contains", "sorry", "30 days", 1), ("levenshtein", "30 day", "30 days", 1), ("levenshtein", "nothing alike", "30 days", 0)],
)  # fmt: skip
def test_checks(kind: str, value: Any, answer: str, met: float) -> None:
    from answerkey.metrics.judge.answer_checks import check

    (requirement,) = read([{"type": kind, "value": value}])
    assert check(requirement, Response(answer)).value == met


def test_a_time_that_is_not_known_is_not_applicable() -> None:
    from answerkey.metrics.judge.answer_checks import check

    (requirement,) = read([{"type": "latency", "threshold": 500}])
    assert not check(requirement, Response("x")).applies
    assert check(requirement, Response("x", seconds=0.4)).value == 1
    assert check(requirement, Response("x", seconds=0.6)).value == 0
