"""Finding passages: documents to chunks, BM25, dense and hybrid search, and existing vector stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from answerkey.types import Passage

if TYPE_CHECKING:
    from answerkey.embed.embedder import Embedder
    from answerkey.retrieval.settings import RetrievalSettings


class Retriever(Protocol):
    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        """For each question its best `k` passages, best first."""
        ...


def open_retriever(settings: RetrievalSettings | Mapping[str, Any], embed: Embedder) -> Retriever:
    """A hybrid retriever over what the settings (or the `[retrieval]` table) name; indexes come from the cache."""
    from answerkey.retrieval.retriever import HybridRetriever
    from answerkey.retrieval.search_index import open_index
    from answerkey.retrieval.settings import RetrievalSettings

    if isinstance(settings, Mapping):
        settings = RetrievalSettings.from_table(settings, Path())
    return HybridRetriever(open_index(settings, embed), settings)
