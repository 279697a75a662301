"""Lines of JSON: whatever a bot may have said is written as valid JSON and comes back."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from answerkey.runs.records import decode, encode, encode_sorted

_TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates too
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_a_record_comes_back_from_its_line(record: dict[str, object]) -> None:
    line = encode(record)
    assert b"\n" not in line
    assert decode(line) == record
    assert json.loads(line.decode("utf-8", "surrogatepass")) == record


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_the_order_of_keys_does_not_change_the_sorted_line(record: dict[str, object]) -> None:
    assert encode_sorted(record) == encode_sorted(dict(reversed(record.items())))


def test_what_json_has_no_form_for_is_still_a_valid_line() -> None:
    record = {"nan": math.nan, "numpy": np.float64(0.5), "big": 2**70, 3: {"a"}, "pair": (1, 2)}
    assert decode(encode({"nan": math.nan, "numpy": np.float64(0.5)})) == {"nan": None, "numpy": 0.5}
    assert json.loads(encode({key: record[key] for key in ("big", 3, "pair")})) == {
        "big": 2**70,
        "3": "{'a'}",
        "pair": [1, 2],
    }


def test_nan_is_null_beside_what_the_fast_library_refuses() -> None:
    record = {"a": math.nan, "b": [(math.inf,)], "c": 10**30}
    assert json.loads(encode(record)) == json.loads(encode_sorted(record))
    assert json.loads(encode(record)) == {"a": None, "b": [[None]], "c": 10**30}
