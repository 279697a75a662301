"""BM25 on public collections with human labels; the dense figures are in benchmarks/retrieval.py, as embedding takes minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.cases import load_cases
from answerkey.metrics.ranking.rank import rank
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.corpus import read_corpus


@pytest.mark.slow
@pytest.mark.parametrize(("name", "documents", "least"), [("cranfield", 1400, 0.36), ("scifact", 5183, 0.62)])
def test_bm25_reaches_its_known_figure(shared_data: Path, name: str, documents: int, least: float) -> None:
    pages = sorted(read_corpus(shared_data / name / "corpus.jsonl"), key=lambda page: page.id, reverse=True)
    assert len(pages) == documents
    cases = list(load_cases([shared_data / name / "dev.jsonl"]))
    found = build_bm25([page.text for page in pages], Formula()).search([case.question for case in cases], 100)
    run = {case.id: [pages[n].id for n in row if n >= 0] for case, row in zip(cases, found.chunk.tolist(), strict=True)}
    result = rank(run, {case.id: dict(case.relevant or {}) for case in cases}, ["ndcg@10"])
    assert (result.mean["ndcg@10"] or 0.0) >= least
    assert result.missing == []
