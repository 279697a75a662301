"""Finding passages: documents to chunks, BM25, dense and hybrid search, and existing vector stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from answerkey.types import Passage

if TYPE_CHECKING:
    from answerkey.config.tables import RetrievalTable
    from answerkey.embed.embedder import Embedder


class Retriever(Protocol):
    def search(self, questions: Sequence[str], k: int) -> list[list[Passage]]:
        """For each question its best `k` passages, best first."""
        ...


def open_retriever(
    settings: RetrievalTable | Mapping[str, Any], embed: Embedder | None, folder: Path = Path()
) -> Retriever:
    """A hybrid retriever over what the settings (or the `[retrieval]` table) name, or the function that they name.

    Indexes come from the cache; modules that the settings name stand in `folder`, or are installed.
    """
    from answerkey.config.declare import read_table
    from answerkey.config.tables import RetrievalTable
    from answerkey.retrieval.retriever import HybridRetriever
    from answerkey.retrieval.search_index import open_index
    from answerkey.user_code import import_from

    if isinstance(settings, Mapping):
        settings = read_table(RetrievalTable, settings, "[retrieval]", folder)
    import_from(folder)
    if settings.retriever is not None:
        from answerkey.retrieval.stores.function import FunctionRetriever

        return FunctionRetriever(settings.retriever, folder)
    return HybridRetriever(open_index(settings, embed), settings)
