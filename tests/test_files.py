"""Files are whole or absent, and whatever a bot may answer is written as valid JSON and comes back."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.errors import StorageError
from answerkey.files import json_line, read_json, replace_file, write_file

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
    line = json_line(record)
    assert b"\n" not in line
    same = json.loads(
        json.dumps(record)
    )  # the two halves of a pair, side by side, are one character
    assert read_json(line) == same
    assert json.loads(line.decode("utf-8")) == same


@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_the_order_of_keys_does_not_change_the_sorted_line(record: dict[str, object]) -> None:
    assert json_line(record, sort=True) == json_line(dict(reversed(record.items())), sort=True)


def test_what_json_has_no_form_for_is_still_a_valid_line() -> None:
    record = {"nan": math.nan, "numpy": np.float64(0.5), "big": 2**70, 3: {"a"}, "pair": (1, 2)}
    assert read_json(json_line({"nan": math.nan, "numpy": np.float64(0.5)})) == {
        "nan": None,
        "numpy": 0.5,
    }
    assert json.loads(json_line({key: record[key] for key in ("big", 3, "pair")})) == {
        "big": 2**70,
        "3": ["a"],
        "pair": [1, 2],
    }


def test_nan_is_null_beside_what_the_fast_library_refuses() -> None:
    record = {"a": math.nan, "b": [(math.inf,)], "c": 10**30}
    assert json.loads(json_line(record)) == json.loads(json_line(record, sort=True))
    assert json.loads(json_line(record)) == {"a": None, "b": [[None]], "c": 10**30}


def test_a_file_is_replaced_whole_and_a_failure_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    write_file(path, "old \ud800")
    assert path.read_bytes() == rb"old \ud800"
    _fail_halfway(path)
    assert path.read_bytes() == rb"old \ud800"
    with replace_file(path) as file:
        file.write("new\n")
        assert path.read_bytes() == rb"old \ud800"
    assert path.read_bytes() == b"new\n"
    assert [found.name for found in tmp_path.iterdir()] == ["report.txt"]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing/a: cannot be written: No such file"):
        write_file(tmp_path / "missing" / "a", "x")


def _fail_halfway(path: Path) -> None:
    with suppress(RuntimeError), replace_file(path) as file:
        file.write("half")
        raise RuntimeError
