"""The columns of a run from SQL are those that its outcomes give."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.viewer_world import HOSTILE, hostile, make_run, outcome, plain

from answerkey.comparison.changed import find_changed_scoring, find_changes
from answerkey.comparison.many import compare_many, rank_sides
from answerkey.comparison.pair import load_side, pair_cases
from answerkey.comparison.table_side import load_table_side, load_table_sides
from answerkey.errors import InputError
from answerkey.types import Case, Outcome, Response, Score, Status, Verdict

_LEFT_OUT = {"answers", "wordings", "evidence", "reasons", "quality", "flaky"}


def _priced(n: int) -> Outcome:
    scores = {"keyword_recall": Score(0.2), "groundedness": Score.failed("judge is down")}
    if n % 2:
        scores["own"] = Score(0.5)
    tokens = 100 + n if n % 3 else None
    response = Response(f"answer {n} " * 60, cost=n / 100, prompt_tokens=tokens, seconds=0.5)
    case = Case(f"p{n}", f"question {n} " * 60, ("a", "b"), extra={"cluster": f"c{n % 4}"})
    return outcome(case, response, scores)


WORLDS = {
    "plain": [plain(n) for n in range(12)],
    "costs, clusters, a metric that some cases lack": [_priced(n) for n in range(9)],
    "hostile texts": [hostile(n) for n in range(len(HOSTILE))],
    "half a surrogate in an id": [
        outcome(Case("a \ud800", "q?"), Response("x"), {"keyword_recall": Score(1.0)})
    ],
    "no answer and an empty one": [
        outcome(Case("a", "q?"), Response(error="HTTP 503"), {}),
        outcome(Case("b", "q?"), Response(""), {"keyword_recall": Score.not_applicable("no")}),
    ],
}


@pytest.mark.parametrize("outcomes", WORLDS.values(), ids=WORLDS)
def test_every_column_is_the_same(outcomes: list[Outcome], tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", outcomes, "run", reports=None)
    expected = load_side(folder)
    side = load_table_side(folder)
    for field in fields(side):
        if field.name in _LEFT_OUT:
            continue
        value = getattr(side, field.name)
        other = getattr(expected, field.name)
        if field.name == "has_current_metrics":
            assert value() == other()
        elif field.name == "metrics":
            assert list(value) == list(other)  # the first one may become the measure
            for name in value:
                np.testing.assert_array_equal(value[name], other[name])
        elif hasattr(value, "typecode"):
            np.testing.assert_array_equal(value, other, err_msg=field.name)
        else:
            assert value == other, field.name


def test_a_table_is_the_same_from_either(tmp_path: Path) -> None:
    folders = []
    for version in (1, 2):
        outcomes = [plain(n, version) for n in range(20)]
        folders.append(make_run(tmp_path / str(version), outcomes, "run", reports=None))
    edited = [plain(n) for n in range(20)]
    edited[3] = replace(edited[3], case=replace(edited[3].case, expected=("other",)))
    folders.append(make_run(tmp_path / "edited", edited, "run", reports=None))
    from_sql = rank_sides([load_table_side(folder) for folder in folders])
    assert from_sql == compare_many(folders)
    assert rank_sides(load_table_sides(folders)) == from_sql
    pairs = pair_cases(load_side(folders[0]), load_side(folders[2]))
    assert pairs.edited == ("case-003",)
    assert find_changed_scoring(pairs) == find_changes(pairs).scoring


def test_more_metrics_are_noticed_without_their_values(tmp_path: Path) -> None:
    def run_with(*metrics: str) -> Path:
        outcomes = [
            outcome(
                Case(f"c{n}", "q?"),
                Response("x"),
                dict.fromkeys(("keyword_recall", "groundedness", *metrics), Score(n / 9)),
            )
            for n in range(9)
        ]
        return make_run(tmp_path / f"run{metrics}", outcomes, "run", reports=None)

    folders = [run_with(), run_with("token_f1")]
    few, more = load_table_sides(folders)
    assert [*few.metrics] == ["keyword_recall", "groundedness"]
    assert [*more.metrics] == [*few.metrics, "token_f1"]
    assert rank_sides([few, more]) == compare_many(folders)


def test_without_a_pass_rate_the_values_of_the_metrics_are_read(tmp_path: Path) -> None:
    unscored = [replace(plain(n), verdict=Verdict(Status.SCORED)) for n in range(9)]
    folders = [
        make_run(tmp_path / name, unscored, "run", profile=None, reports=None)
        for name in ("a", "b")
    ]
    table = rank_sides(load_table_sides(folders))
    assert table.measure == "keyword_recall"
    assert table == compare_many(folders)


def test_a_run_without_a_case_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [], "run", reports=None)
    with pytest.raises(InputError, match="no finished case"):
        load_table_side(folder)
