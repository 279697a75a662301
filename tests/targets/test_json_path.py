"""Paths into JSON and filled templates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.errors import SettingsError
from answerkey.targets.json_path import json_path
from answerkey.targets.templates import fill
from answerkey.types import Question

DATA = {
    "a": {"b": [1, {"c": "x"}, {"c": None}, {"c": "y"}]},
    "a b": {"k-1": 2},
    "0": "zero",
    "": "none",
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", DATA), ("", DATA), ("$.a.b[0]", 1), ("a.b[1].c", "x"), ("$.a.b[-1].c", "y"), ("$.a.b[9]", None), ("$.a.b[-9]", None),
        ("$.a.b[*].c", ["x", "y"]), ("$.a.*[0]", [1]), ("$['a b'].k-1", 2), ('$["a b"]["k-1"]', 2), ("$.0", "zero"), ("$['']", "none"),
        ("$.none[*]", []), ("$.a.b.c", None), ("$.a.b[1].c[0]", None), ("$.a.b[2].c", None),
    ],
)  # fmt: skip
def test_find(path: str, found: Any) -> None:
    assert json_path(path, "answer").find(DATA) == found


@pytest.mark.parametrize("path", ["$.a[", "$..a", "$.a[?(@.x)]", "$.a[1:2]", "$.a b", "$['a"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(SettingsError, match="not a path"):
        json_path(path, "answer")


@given(st.text(), st.text())
def test_a_question_goes_in_as_it_is(text: str, case_id: str) -> None:
    """Braces in a question are text, never places to fill."""
    got = fill({"q": ["{question}"], "both": "{id}: {question}", "n": 3}, Question(case_id, text))
    assert got == {"q": [text], "both": f"{case_id}: {text}", "n": 3}
