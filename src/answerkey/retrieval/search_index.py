"""What can be searched: the chunks, BM25 over their words, and dense search over their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from answerkey.errors import SettingsError
from answerkey.retrieval.bm25 import AUTO, NONE, Bm25, Formula, build_bm25, detect_language
from answerkey.retrieval.chunk import Chunk, Chunking, chunkings, cut
from answerkey.retrieval.corpus import read_corpus
from answerkey.retrieval.dense import DenseSearch, Exact, embed_chunks
from answerkey.retrieval.fuse import Candidates, pool_candidates
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
    """Chunks stand by page id, descending, so that of equal scores the first wins as in trec_eval.

    Without an embedding model (`model = "none"`), `dense` and `embed` are None and only BM25 finds something.
    """

    chunks: tuple[Chunk, ...]
    sparse: SparseSearch
    dense: DenseSearch | None
    embed: Embedder | None
    source: str
    chunking: str = "as stored"
    dense_search: str = "exact cosine search"

    @cached_property
    def pages(self) -> list[str]:
        """The page ids, each once; `page_of` gives a chunk's number in this list."""
        return list(dict.fromkeys(chunk.page for chunk in self.chunks))

    @cached_property
    def page_of(self) -> Ints:
        numbers = {page: number for number, page in enumerate(self.pages)}
        return np.array([numbers[chunk.page] for chunk in self.chunks], np.int64)

    @property
    def language(self) -> str:
        """Of BM25's stemmer and stop words; "none" where the words stay as they are."""
        return (self.sparse.language if isinstance(self.sparse, Bm25) else "") or NONE

    def candidates(self, questions: Sequence[str], pool: int) -> Candidates:
        """The best chunks of both searches, one search each for all questions."""
        return pool_candidates(self.search_dense(questions, pool), self.sparse.search(questions, pool))

    def search_dense(self, questions: Sequence[str], pool: int) -> Top:
        if self.dense is None or self.embed is None:
            return Top(np.empty((len(questions), 0), np.int64), np.empty((len(questions), 0)))
        return self.dense.search(np.asarray(self.embed.embed(questions), np.float32), pool)


def open_index(
    settings: RetrievalTable, embed: Embedder | None, step: Callable[[str], None] = lambda _: None
) -> SearchIndex:
    """The index that the settings name: built from documents (or the cache), or an existing vector store."""
    if settings.retriever is not None:
        raise SettingsError(
            "[retrieval] retriever is a function, which has no α to vary and no chunks to examine; to measure it, run "
            'a suite with [target] kind = "rag", the same retriever and metrics = ["recall@5", "ndcg@5"]'
        )
    if settings.documents is not None:
        how = Chunking(settings.chunk_by, settings.chunk_size, settings.chunk_overlap)
        return _from_documents(settings, [how], [embed], step)[0]
    sparse: SparseSearch | None = None
    dimension = embed.dimension if embed is not None else None
    if settings.index is not None:
        from answerkey.retrieval.stores.faiss_file import open_faiss

        chunks, dense = open_faiss(settings.index, settings.chunks, dimension)
        source = f"FAISS index {settings.index.name}"
    elif settings.postgres_url is not None:
        from answerkey.retrieval.stores.postgres import open_postgres

        chunks, dense = open_postgres(settings, dimension)
        source = f"Postgres table {settings.postgres_table}"
    else:
        from answerkey.retrieval.stores.qdrant import open_qdrant

        chunks, dense, sparse = open_qdrant(settings, dimension)
        source = f"Qdrant collection {settings.qdrant_collection}"
    if sparse is None:
        texts = [chunk.text for chunk in chunks]
        sparse = build_bm25(texts, _formula(settings, texts))
    return SearchIndex(tuple(chunks), sparse, dense if embed else None, embed, source, dense_search=source)


def open_indexes(
    settings: RetrievalTable, embedders: Sequence[Embedder | None], step: Callable[[str], None] = lambda _: None
) -> list[SearchIndex]:
    """An index for every chunking and model that the settings ask for; each text is embedded once per model."""
    if settings.documents is None:
        return [open_index(settings, embed, step) for embed in embedders]
    return _from_documents(settings, chunkings(settings), embedders, step)


def _from_documents(
    settings: RetrievalTable,
    ways: Sequence[Chunking],
    embedders: Sequence[Embedder | None],
    step: Callable[[str], None],
) -> list[SearchIndex]:
    assert settings.documents is not None
    pages = read_corpus(settings.documents, settings.ids)
    formula = _formula(settings, [page.text for page in pages])
    found: list[SearchIndex] = []
    for how in ways:
        chunks = tuple(in_order(cut(pages, how)))
        texts = [chunk.text for chunk in chunks]
        sparse = build_bm25(texts, formula)
        for embed in embedders:
            dense = Exact(embed_chunks(texts, embed, step)) if embed is not None else None
            found.append(SearchIndex(chunks, sparse, dense, embed, f"documents {settings.documents.name}", how.name))
    return found


def _formula(settings: RetrievalTable, texts: Sequence[str]) -> Formula:
    language = detect_language(texts) if settings.language == AUTO else settings.language
    language = "" if language == NONE else language
    return Formula(settings.bm25, settings.k1, settings.b, language)


def in_order(chunks: Sequence[Chunk]) -> list[Chunk]:
    """By page id, descending; the chunks of one page in their own order."""
    return [chunks[n] for n in order_of([chunk.page for chunk in chunks])]


def order_of(pages: Sequence[str]) -> list[int]:
    return sorted(range(len(pages)), key=lambda n: pages[n], reverse=True)  # stable, so equal pages keep their order
