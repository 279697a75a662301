"""`rag` gives the verdict that a person would give: small cases, written before the profile was tuned."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from answerkey.embed import load_embedder
from answerkey.metrics.plan import make_plan
from answerkey.profiles import decide_verdict, load_profile
from answerkey.types import AnswerCriteria, Case, Passage, Response


def rows(name):
    return [
        json.loads(line)
        for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    ]


ROWS = rows("rag_cases.jsonl")
UNSEEN = rows(
    "rag_unseen_cases.jsonl"
)  # 88 % were right at first sight; causes found there were fixed afterwards
THIRD = rows(
    "rag_third_cases.jsonl"
)  # three sets of 77, 150 and 91 cases: 83 %, 75 % and 74 % at first sight
LATER = rows(
    "rag_later_cases.jsonl"
)  # sets of 118, 60 and 60 cases: 86 %, 88 % and 87 % at first sight
# By people who knew neither code nor rules: 73 %, 80 % and 77 % at first sight. Nothing is fitted on them; the causes of errors in
# the odd cases of the eleventh set were fixed where they were faults of a rule.
BLIND, TENTH, ELEVENTH = (
    rows(f"rag_{name}_cases.jsonl") for name in ("blind", "tenth", "eleventh")
)
SETS = {
    "cases": ROWS,
    "unseen": UNSEEN,
    "third": THIRD,
    "later": LATER,
    "blind": BLIND,
    "tenth": TENTH,
    "eleventh": ELEVENTH,
}
CHANGED = {"name", "number", "date", "unit", "negation", "direction", "extra_wrong", "range"}


def pair(row):
    expected = (row["expected"],) if "expected" in row else ()
    criteria = AnswerCriteria(out_of_scope=row.get("out_of_scope", False))
    passages = tuple(Passage(text) for text in row.get("contexts", ()))
    return Case(row["id"], row["question"], expected=expected, criteria=criteria), Response(
        row["answer"], passages
    )


@cache
def right(profile_name: str, name: str = "cases") -> dict[str, bool]:
    rows = SETS[name]
    profile = load_profile(profile_name)
    pairs = [pair(row) for row in rows]
    provided = {"embed": load_embedder(), "words": profile.words, "routes": profile.routes}
    scores = make_plan(profile.metrics, provided, profile.settings).score(pairs)
    verdicts = [
        decide_verdict(profile, *one, found) for one, found in zip(pairs, scores, strict=True)
    ]
    return {
        row["id"]: found.passed == (row["verdict"] == "pass")
        for row, found in zip(rows, verdicts, strict=True)
    }


def test_the_cases_cover_what_people_trip_over():
    assert len(ROWS) >= 120
    assert len({row["language"] for row in ROWS if "language" in row}) == 9  # and English
    assert Counter(row["verdict"] for row in ROWS).most_common()[-1][1] > 60


def test_rag_gives_the_verdict_of_a_person_in_95_percent_of_the_cases():
    wrong = [name for name, ok in right("rag").items() if not ok]
    assert len(wrong) <= 0.05 * len(ROWS), wrong


@pytest.mark.parametrize("later", ["unseen", "third", "later"])
def test_most_of_the_later_cases_get_the_verdict_of_a_person(later):
    # Rules that were made for these cases, and earned nothing on unseen ones, are gone: 94 % were right with them.
    wrong = [name for name, ok in right("rag", later).items() if not ok]
    assert len(wrong) <= 0.13 * len(SETS[later]), wrong


@pytest.mark.parametrize("blind", ["blind", "tenth", "eleventh"])
def test_seven_in_ten_of_the_cases_that_nothing_was_fitted_on_get_the_verdict_of_a_person(blind):
    wrong = [name for name, ok in right("rag", blind).items() if not ok]
    assert len(wrong) <= 0.3 * len(SETS[blind]), wrong


def test_a_changed_fact_fails():
    changed = [row["id"] for row in ROWS if row["kind"] in CHANGED and row["verdict"] == "fail"]
    wrong = [name for name in changed if not right("rag")[name]]
    assert len(wrong) <= 0.05 * len(changed), wrong


def test_the_cosines_alone_do_not():
    assert sum(right("rag-cosine").values()) < 0.6 * len(ROWS)
