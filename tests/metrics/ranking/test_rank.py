"""Ranking metrics: the worked example, the reference, and the laws."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import answerkey
from answerkey.errors import SettingsError
from answerkey.metrics.plan import make_plan
from answerkey.metrics.ranking.rank import score_rankings
from answerkey.retrieval.rankings import as_rankings, as_relevance_labels
from answerkey.types import Case, Passage, Response

KS = (1, 3, 5, 10)
ALL = [
    f"{base}@{k}"
    for base in ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg", "map")
    for k in KS
] + [
    "mrr",
    "map",
]
REFERENCE = {
    **{f"precision@{k}": f"P_{k}" for k in KS},
    **{f"recall@{k}": f"recall_{k}" for k in KS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in KS},
    **{f"map@{k}": f"map_cut_{k}" for k in KS},
    **{f"hit_rate@{k}": f"success_{k}" for k in KS},
    "mrr": "recip_rank",
    "map": "map",
}

ids = st.sampled_from([f"d{n}" for n in range(12)] + ["1", "10", "101", "é", "z z"])
grades = st.dictionaries(ids, st.integers(0, 3), max_size=8)
scores = st.dictionaries(
    ids, st.sampled_from([0.0, 0.5, 0.5000001, 1.0, -2.0, 1e-9, 7.25]), min_size=1, max_size=12
)
queries = st.sampled_from(["q1", "q2", "q3", "q4", "q5"])


def test_the_worked_example() -> None:
    result = score_rankings(
        {"q": ["34", "78", "35", "102", "45"]},
        {"q": {"34": 1, "35": 1}},
        [f"{m}@5" for m in ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg")],
    )
    assert [round(value, 4) for value in result.queries["q"].values()] == [
        0.4,
        1.0,
        0.5714,
        1.0,
        1.0,
        0.9197,
    ]


@pytest.mark.parametrize("wrong", ["340", "134", "3", "4", "34a"])
def test_a_page_is_compared_whole(wrong: str) -> None:
    pairs = [
        (Case("a", "?", relevant={"34": 1.0}), Response(retrieved=(wrong,))),
        (Case("b", "?", relevant={"34": 1.0}), Response(retrieved=(" 34",))),
    ]
    table = make_plan(["hit_rate@5"], {}).score(pairs)
    assert [row["hit_rate@5"].value for row in table] == [0.0, 1.0]


@settings(max_examples=250, deadline=None)
@given(
    run=st.dictionaries(queries, scores, min_size=1),
    labels=st.dictionaries(queries, grades, min_size=1),
)
def test_equal_to_trec_eval(
    run: dict[str, dict[str, float]], labels: dict[str, dict[str, int]]
) -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(labels, set(REFERENCE.values()))
    reference = evaluator.evaluate(run)
    result = score_rankings(run, labels, ALL)
    for query, theirs in reference.items():
        for ours, name in REFERENCE.items():
            assert math.isclose(result.queries[query][ours], theirs[name], abs_tol=1e-9), (
                query,
                ours,
            )
    for query in result.missing:
        assert query not in run
        assert set(result.queries[query].values()) == {0.0}


named = st.sampled_from(
    ["a", "b", "c d", " a", "34", "m.pdf#34", "m:34", "n#35", "N/A", "none", "", "page", "doc"]
)


@settings(max_examples=250, deadline=None)
@given(
    run=st.dictionaries(
        queries, st.dictionaries(named, st.floats(-2, 2) | st.just("0,5"), max_size=9), min_size=1
    ),
    labels=st.dictionaries(
        queries, st.dictionaries(named, st.integers(0, 2) | st.just("2"), max_size=5), min_size=1
    ),
)
def test_dicts_that_need_no_reading_give_what_reading_gives(
    run: dict[str, dict[str, object]], labels: dict[str, dict[str, object]]
) -> None:
    read = score_rankings(as_rankings(run), as_relevance_labels(labels), ALL)
    taken = answerkey.rank(labels, run, ALL)
    assert (taken.queries, taken.mean, taken.missing) == (read.queries, read.mean, read.missing)


@settings(max_examples=150, deadline=None)
@given(
    run=st.dictionaries(queries, st.lists(ids, max_size=20), min_size=1),
    labels=st.dictionaries(queries, grades, min_size=1),
)
def test_laws_for_rankings_with_repeats(
    run: dict[str, list[str]], labels: dict[str, dict[str, int]]
) -> None:
    result = score_rankings(run, labels, ALL)
    collapsed = score_rankings(
        {query: list(dict.fromkeys(found)) for query, found in run.items()}, labels, ALL
    )
    assert (result.queries, result.mean) == (collapsed.queries, collapsed.mean)
    for values in result.queries.values():
        assert all(0.0 <= value <= 1.0 + 1e-12 for value in values.values())
        assert all(values[f"recall@{a}"] <= values[f"recall@{b}"] for a, b in pairwise(KS))
    labelled = [query for query in result.queries if query not in result.unlabelled]
    for name, mean in result.mean.items():
        if not labelled:
            assert mean is None
        else:
            assert mean == pytest.approx(
                sum(result.queries[query][name] for query in labelled) / len(labelled)
            )


@settings(max_examples=100, deadline=None)
@given(
    ranking=st.lists(ids, max_size=20),
    relevant=st.sets(ids, min_size=1, max_size=6),
    k=st.sampled_from(KS),
)
def test_chunk_unit_is_the_plain_script(ranking: list[str], relevant: set[str], k: int) -> None:
    hits = [name in relevant for name in ranking[:k]]
    precision, recall = sum(hits) / k, len(relevant & set(ranking[:k])) / len(relevant)
    f1 = 2 * precision * recall / (precision + recall) if hits.count(True) else 0.0
    dcg = sum(hit / math.log2(n + 2) for n, hit in enumerate(hits))
    ideal = sum(1 / math.log2(n + 2) for n in range(min(len(relevant), k)))
    result = score_rankings(
        {"q": ranking},
        {"q": dict.fromkeys(relevant, 1)},
        [f"precision@{k}", f"recall@{k}", f"f1@{k}", f"ndcg@{k}"],
        "chunk",
    )
    assert list(result.queries["q"].values()) == pytest.approx([precision, recall, f1, dcg / ideal])
    assert (f"ndcg@{k}" in result.above_one) == (dcg / ideal > 1 + 1e-9)


def test_chunk_unit_says_when_a_score_is_above_one() -> None:
    passages = tuple(Passage(page="7", id=str(n)) for n in range(3))
    pair = (Case("a", "?", relevant={"7": 1.0}), Response(passages=passages))
    names = ["recall@5", "ndcg@5"]
    chunk = make_plan(names, {}, {name: {"unit": "chunk"} for name in names}).score([pair])[0]
    page = make_plan(names, {}).score([pair])[0]
    assert (chunk["recall@5"].value, page["recall@5"].value, page["ndcg@5"].value) == (
        1.0,
        1.0,
        1.0,
    )
    assert chunk["ndcg@5"].value == pytest.approx(1 + 1 / math.log2(3) + 1 / 2)
    assert "above 1" in chunk["ndcg@5"].reason


def test_unlabelled_cases_do_not_apply() -> None:
    pairs = [
        (Case("a", "?", relevant={"7": 0.0}), Response(retrieved=("7",))),
        (Case("b", "?"), Response(retrieved=("7",))),
    ]
    table = make_plan(["ndcg@5", "map"], {}).score(pairs)
    assert all(
        score.value is None and score.error is None for row in table for score in row.values()
    )
    assert "unlabelled" in table[0]["map"].reason


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ndgc@5", 'did you mean "ndcg@5"'),
        ("recall", "cut-off"),
        ("recall@0", "1 or more"),
        ("recall@-3", "1 or more"),
    ],
)
def test_bad_names(name: str, hint: str) -> None:
    with pytest.raises(SettingsError, match=hint):
        score_rankings({"q": ["1"]}, {"q": {"1": 1}}, [name])
