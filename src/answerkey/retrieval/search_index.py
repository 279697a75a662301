"""What can be searched: the chunks, BM25 over their words, and dense search over their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from answerkey.errors import SettingsError
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.chunk import Chunk, Chunking, cut
from answerkey.retrieval.corpus import read_corpus
from answerkey.retrieval.dense import DenseSearch, Exact, embed_chunks
from answerkey.retrieval.top import Ints, Top

if TYPE_CHECKING:
    from answerkey.config.tables import RetrievalTable
    from answerkey.embed.embedder import Embedder


class SparseSearch(Protocol):
    def search(self, questions: Sequence[str], pool: int) -> Top:
        """The best chunks for the words of each question; a score of 0 is no hit."""
        ...


@dataclass(frozen=True)
class SearchIndex:
    """Chunks stand by page id, descending, so that of equal scores the first wins as in trec_eval."""

    chunks: tuple[Chunk, ...]
    sparse: SparseSearch
    dense: DenseSearch
    embed: Embedder
    source: str

    @cached_property
    def pages(self) -> list[str]:
        """The page ids, each once; `page_of` gives a chunk's number in this list."""
        return list(dict.fromkeys(chunk.page for chunk in self.chunks))

    @cached_property
    def page_of(self) -> Ints:
        numbers = {page: number for number, page in enumerate(self.pages)}
        return np.array([numbers[chunk.page] for chunk in self.chunks], np.int64)

    def embed_questions(self, questions: Sequence[str]) -> Any:
        return np.asarray(self.embed.embed(questions), dtype=np.float32)


def open_index(settings: RetrievalTable, embed: Embedder, step: Callable[[str], None] = lambda _: None) -> SearchIndex:
    """The index that the settings name: built from documents (or the cache), or an existing vector store."""
    sparse: SparseSearch | None = None
    if settings.retriever is not None:
        raise SettingsError(
            "[retrieval] retriever is a function, which has no α to vary and no chunks to examine; to measure it, run "
            'a suite with [target] kind = "rag", the same retriever and metrics = ["recall@5", "ndcg@5"]'
        )
    if settings.index is not None:
        from answerkey.retrieval.stores.faiss_file import open_faiss

        chunks, dense = open_faiss(settings.index, settings.chunks, embed.dimension)
        source = f"FAISS index {settings.index.name}"
    elif settings.postgres_url is not None:
        from answerkey.retrieval.stores.postgres import open_postgres

        chunks, dense = open_postgres(settings, embed.dimension)
        source = f"Postgres table {settings.postgres_table}"
    elif settings.qdrant_collection is not None:
        from answerkey.retrieval.stores.qdrant import open_qdrant

        chunks, dense, sparse = open_qdrant(settings, embed.dimension)
        source = f"Qdrant collection {settings.qdrant_collection}"
    else:
        assert settings.documents is not None, "the table checks this"
        chunks = in_order(
            cut(
                read_corpus(settings.documents, settings.ids),
                Chunking(settings.chunk_by, settings.chunk_size, settings.chunk_overlap),
            )
        )
        dense = Exact(embed_chunks([chunk.text for chunk in chunks], embed, step))
        source = f"documents {settings.documents.name}"
    if sparse is None:
        formula = Formula(settings.bm25, settings.k1, settings.b)
        sparse = build_bm25([chunk.text for chunk in chunks], formula)
    return SearchIndex(tuple(chunks), sparse, dense, embed, source)


def in_order(chunks: Sequence[Chunk]) -> list[Chunk]:
    """By page id, descending; the chunks of one page in their own order."""
    return [chunks[n] for n in order_of([chunk.page for chunk in chunks])]


def order_of(pages: Sequence[str]) -> list[int]:
    return sorted(range(len(pages)), key=lambda n: pages[n], reverse=True)  # stable, so equal pages keep their order
