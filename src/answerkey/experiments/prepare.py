"""From a suite to what an experiment needs: its settings, its cases, its index."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from answerkey.cases import load_cases
from answerkey.embed import load_embedder
from answerkey.errors import InputError, SettingsError
from answerkey.retrieval.index import Index, open_index
from answerkey.retrieval.settings import RetrievalSettings
from answerkey.runs.suite import Suite
from answerkey.types import Case


@dataclass(frozen=True, slots=True)
class Prepared:
    settings: RetrievalSettings
    cases: list[Case]
    index: Index


def prepare(suite: Suite, step: Callable[[str], None] = lambda _: None) -> Prepared:
    """Everything loaded and checked; the index comes from the cache where nothing changed."""
    if not suite.retrieval:
        raise SettingsError('the suite has no [retrieval] table: give documents = "docs" there')
    settings = RetrievalSettings.from_table(suite.retrieval, suite.folder)
    cases = list(load_cases(suite.cases, suite.folder))
    if not cases:
        raise InputError("the suite has no case")
    if settings.reranker or settings.rewriter:
        beside = str(suite.folder.resolve())
        if beside not in sys.path:
            sys.path.insert(0, beside)
    embedding = dict(suite.embedding)
    embed = load_embedder(embedding.pop("model", "all-MiniLM-L6-v2"), **embedding)
    step("reading and indexing the documents (kept in the cache for the next time)")
    return Prepared(settings, cases, open_index(settings, embed, step))
