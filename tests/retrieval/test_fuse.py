"""BM25 against rank_bm25, dense against faiss, and the laws of fusion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.fuse import (
    Top,
    collapse,
    pool_candidates,
    reciprocal_ranks,
    select_top,
    weighted_sum,
)
from answerkey.retrieval.search_index import exact_search

LETTERS = [f"w{n}" for n in range(8)]
texts = st.lists(
    st.lists(st.sampled_from(LETTERS), max_size=12).map(" ".join), min_size=1, max_size=12
)


@settings(max_examples=80, deadline=None)
@given(
    documents=texts,
    question=st.lists(st.sampled_from([*LETTERS, "unknown"]), max_size=6).map(" ".join),
)
def test_bm25_is_the_formula(documents: list[str], question: str) -> None:
    tokens = [text.split() for text in documents]
    if not any(tokens):
        assert (build_bm25(documents, Formula("robertson")).search([question], 5).chunk < 0).all()
        return
    reference = BM25Okapi(tokens, k1=1.5, b=0.75, epsilon=0).get_scores(question.split()) / 2.5
    found = build_bm25(documents, Formula("robertson")).search([question], len(documents))
    scores = dict(zip(found.chunk[0].tolist(), found.score[0].tolist(), strict=True))
    for n, score in enumerate(reference):
        if score > 1e-12:
            assert scores[n] == pytest.approx(score, abs=1e-9)
        else:
            assert n not in scores


def test_a_second_index_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = build_bm25(["red fox", "blue whale", "grey wolf"], Formula()).search(["fox"], 2)
    monkeypatch.setattr("answerkey.retrieval.bm25._weigh", None)
    again = build_bm25(["red fox", "blue whale", "grey wolf"], Formula()).search(["fox"], 2)
    assert (first.chunk == again.chunk).all()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, -np.inf]), min_size=7, max_size=7),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 9),
)
def test_top_is_the_stable_sort(rows: list[list[float]], pool: int) -> None:
    scores = np.array(rows)
    found = select_top(scores, pool)
    for row, chunks in zip(scores, found.chunk, strict=True):
        expected = [n for n in np.argsort(-row, kind="stable").tolist() if row[n] > -np.inf][:pool]
        assert [n for n in chunks.tolist() if n >= 0] == expected


def test_dense_equals_faiss() -> None:
    import faiss

    random = np.random.default_rng(1)
    vectors = random.standard_normal((500, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = faiss.IndexFlatIP(16)
    index.add(vectors)
    score, row = index.search(vectors[:20], 10)
    found = exact_search(vectors, vectors[:20], 10)
    assert (found.chunk == row).all()
    assert found.score == pytest.approx(score, abs=1e-6)


def tops(chunks: int = 9):
    pairs = st.lists(
        st.tuples(st.integers(0, chunks - 1), st.sampled_from([0.1, 0.2, 0.2, 0.9, 1.5])),
        max_size=6,
        unique_by=lambda pair: pair[0],
    )
    return pairs.map(lambda found: select_top(_row(found, chunks), 6))


def _row(found: list[tuple[int, float]], chunks: int) -> np.ndarray:
    row = np.full((1, chunks), -np.inf)
    for chunk, score in found:
        row[0, chunk] = score
    return row


def plain_fusion(dense: Top, sparse: Top, alpha: float) -> list[int]:
    def scaled(top: Top) -> dict[int, float]:
        pairs = [
            (c, s)
            for c, s in zip(top.chunk[0].tolist(), top.score[0].tolist(), strict=True)
            if c >= 0
        ]
        low, high = min((s for _, s in pairs), default=0), max((s for _, s in pairs), default=0)
        return {c: (s - low) / (high - low) if high > low else 1.0 for c, s in pairs}

    a, b = scaled(dense), scaled(sparse)
    total = {c: alpha * a.get(c, 0.0) + (1 - alpha) * b.get(c, 0.0) for c in {*a, *b}}
    return sorted(total, key=lambda c: (-total[c], c))


@settings(max_examples=150, deadline=None)
@given(dense=tops(), sparse=tops(), alpha=st.sampled_from([0.1, 0.3, 0.5, 0.7]))
def test_fusion_is_the_plain_sum_and_its_ends_are_exact(
    dense: Top, sparse: Top, alpha: float
) -> None:
    sparse_only, hybrid, dense_only = (
        [c for c in row[0].tolist() if c >= 0]
        for row in weighted_sum(pool_candidates(dense, sparse), [0.0, alpha, 1.0])
    )
    assert dense_only == [c for c in dense.chunk[0].tolist() if c >= 0]
    assert sparse_only == [c for c in sparse.chunk[0].tolist() if c >= 0]
    assert hybrid == plain_fusion(dense, sparse, alpha)


def test_reciprocal_ranks() -> None:
    dense = Top(np.array([[4, 2, -1]]), np.array([[0.9, 0.8, -np.inf]]))
    sparse = Top(np.array([[2, 7, 1]]), np.array([[5.0, 4.0, 3.0]]))
    assert [c for c in reciprocal_ranks(pool_candidates(dense, sparse))[0].tolist() if c >= 0] == [
        2,
        4,
        7,
        1,
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-1, 5), min_size=1, max_size=12))
def test_collapse_keeps_the_first_chunk_of_each_page(ranking: list[int]) -> None:
    page_of = np.array([0, 0, 1, 1, 2, 0])
    found = collapse(np.array([ranking]), page_of)[0].tolist()
    expected = list(dict.fromkeys(page_of[chunk] for chunk in ranking if chunk >= 0))
    assert [page for page in found if page >= 0] == expected
    assert sorted(found, key=lambda page: page < 0) == found


def test_of_equal_vectors_the_first_wins_alone_and_in_a_batch() -> None:
    random = np.random.default_rng(0)
    once = random.normal(size=(500, 384)).astype(np.float32)
    once /= np.linalg.norm(once, axis=1, keepdims=True)
    stored, asked = np.vstack([once, once]), once[:64] + once[64:128]
    together = exact_search(stored, asked, 11).chunk
    alone = np.vstack([exact_search(stored, asked[n : n + 1], 11).chunk for n in range(len(asked))])
    assert (together == alone).all()
    assert (together[:, 0:10:2] + 500 == together[:, 1:11:2]).all()
    assert (together[:, 10] < 500).all()  # the edge parts a pair: its first is kept
