"""The documents of a test set: sentences of pages, with and without a model."""

from __future__ import annotations

import pytest

from answerkey.embed import load_embedder
from answerkey.retrieval.corpus import Page
from answerkey.testsets.audit import document_set
from answerkey.testsets.audit.document_set import DocumentSet

PAGES = [
    Page("leave", "Every employee has 28 days of leave. The office is open on Monday.", "leave"),
    Page("empty", "", "empty"),
    Page("shop", "We accept cards. Parcels arrive within three days.", "shop"),
]
QUERY = "How many days of leave does an employee have?"


def test_the_best_sentence_of_each_page() -> None:
    documents = DocumentSet(PAGES, load_embedder(), print)
    (cosines,) = documents.nearest_sentences([(QUERY, (0, 1, 2))])
    assert cosines[0] > cosines[2] > 0
    assert cosines[1] == 0.0
    assert documents.nearest_sentences([(QUERY, (1,))]) == [{1: 0.0}]


def test_without_a_model_there_are_no_sentences() -> None:
    assert DocumentSet(PAGES, None, print).nearest_sentences([(QUERY, (0,))]) == [{}]


def test_few_pages_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_set, "_PAGES_KEPT", 1)
    documents = DocumentSet(PAGES, load_embedder(), print)
    first = documents.nearest_sentences([(QUERY, (0, 2))])
    assert len(documents._sentences) == 1
    assert documents.nearest_sentences([(QUERY, (0, 2))]) == first
