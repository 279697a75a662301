"""An index to search: chunks, BM25 over their words, and their vectors."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from answerkey.cache import digest, kept_file
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import Embedder, embed_passages, embed_queries
from answerkey.errors import SettingsError
from answerkey.retrieval.bm25 import Formula, build_bm25
from answerkey.retrieval.chunks import Chunk, Chunking, chunkings, cut_pages
from answerkey.retrieval.corpus import read_corpus
from answerkey.retrieval.fuse import (
    Candidates,
    Ints,
    Top,
    Vectors,
    merge_blocks,
    pool_candidates,
    select_top,
)
from answerkey.retrieval.search_words import AUTO, NONE, detect_language

Step = Callable[[str], None]  # receives the progress
# The best chunks for the words of questions; a score of 0 is no hit.
SparseSearch = Callable[[Sequence[str], int], Top]
# The best chunks for the vectors of questions, by cosine.
DenseSearch = Callable[[Vectors, int], Top]
# 64 MB of float32.
_SCORES_AT_ONCE = 16_000_000
_TEXTS_AT_ONCE = 512
_REPORT_EVERY = 5.0  # seconds
_NOISE = 5e-7  # error of a cosine in 32 bits, with room to spare


class OpenedStore(NamedTuple):
    """A vector store; `sparse` is None where our BM25 searches the words."""

    name: str
    chunks: Sequence[Chunk]  # ordered by page
    dense: DenseSearch
    sparse: SparseSearch | None


StoreOpener = Callable[[RetrievalTable, int | None], OpenedStore]


@dataclass(frozen=True)
class SearchIndex:
    """Chunks stand by page id, descending, so that ties are decided as in trec_eval.

    Without an embedding model (`model = "none"`), `dense` and `embed` are None and only BM25
    searches.
    """

    chunks: tuple[Chunk, ...]
    sparse: SparseSearch
    dense: DenseSearch | None
    embed: Embedder | None
    source: str
    chunking: str = "as stored"
    dense_search: str = "exact cosine search"
    language: str = NONE  # of BM25's stemmer and stop words

    @cached_property
    def pages(self) -> list[str]:
        """The page ids, each once; a chunk that names no page has an entry "" of its own."""
        pages: dict[str, None] = {}
        without_id = 0
        for chunk in self.chunks:
            if chunk.page:
                pages.setdefault(chunk.page)
            else:
                # Chunks without an id are never merged: each keeps its own place in a ranking.
                without_id += 1
        return [*pages, *[""] * without_id]

    @cached_property
    def page_of(self) -> Ints:
        """For each chunk the number of its page in `pages`."""
        numbers = {page: number for number, page in enumerate(self.pages) if page}
        next_without_id = len(numbers)
        page_of: list[int] = []
        for chunk in self.chunks:
            if chunk.page:
                page_of.append(numbers[chunk.page])
            else:
                page_of.append(next_without_id)
                next_without_id += 1
        return np.array(page_of, np.int64)

    @property
    def stemmer_language(self) -> str:
        if self.language == NONE:
            return ""
        return self.language

    def candidates(self, questions: Sequence[str], pool: int) -> Candidates:
        """The best chunks of both searches, one search each for all questions."""
        return pool_candidates(self.search_dense(questions, pool), self.sparse(questions, pool))

    def search_dense(self, questions: Sequence[str], pool: int) -> Top:
        if self.dense is None or self.embed is None:
            # An empty side, so that BM25 alone decides the ranking.
            return Top(np.empty((len(questions), 0), np.int64), np.empty((len(questions), 0)))
        return self.dense(np.asarray(embed_queries(self.embed, questions), np.float32), pool)


def open_search_index(
    settings: RetrievalTable, embed: Embedder | None, step: Step = lambda _: None
) -> SearchIndex:
    """The index that the settings name: built from documents, or an existing vector store.

    Where the settings list several chunkings, it is the first.
    """
    if settings.retriever is not None:
        raise SettingsError(
            "[retrieval] retriever is a function, which has no α to vary and no chunks to examine; "
            'to measure it, run a suite with [target] kind = "rag", the same retriever and '
            'metrics = ["recall@5", "ndcg@5"]'
        )
    if settings.documents is not None:
        first = chunkings(settings.chunks)[0]
        return _index_documents(settings, [first], [embed], step)[0]
    return _index_store(settings, embed)


def open_search_indexes(
    settings: RetrievalTable, embedders: Sequence[Embedder | None], step: Step
) -> list[SearchIndex]:
    """An index for every chunking and model; each text is embedded once per model."""
    if settings.documents is None:
        return [open_search_index(settings, embed, step) for embed in embedders]
    return _index_documents(settings, chunkings(settings.chunks), embedders, step)


def _index_store(settings: RetrievalTable, embed: Embedder | None) -> SearchIndex:
    open_store = _store_opener(settings)
    store = open_store(settings, None if embed is None else embed.dimension)
    sparse = store.sparse
    language = NONE
    if sparse is None:
        texts = [chunk.text for chunk in store.chunks]
        formula = _bm25_formula(settings, texts)
        sparse = build_bm25(texts, formula).search
        language = formula.language or NONE
    return SearchIndex(
        chunks=tuple(store.chunks),
        sparse=sparse,
        dense=None if embed is None else store.dense,
        embed=embed,
        source=store.name,
        dense_search=store.name,
        language=language,
    )


def _store_opener(settings: RetrievalTable) -> StoreOpener:
    """The function that opens the vector store; its client is imported only now."""
    if settings.store.index:
        from answerkey.retrieval.stores.faiss_file import open_faiss

        return open_faiss
    if settings.store.postgres_url:
        from answerkey.retrieval.stores.postgres import open_postgres

        return open_postgres
    from answerkey.retrieval.stores.qdrant import open_qdrant

    return open_qdrant


def _index_documents(
    settings: RetrievalTable,
    ways: Sequence[Chunking],
    embedders: Sequence[Embedder | None],
    step: Step,
) -> list[SearchIndex]:
    assert settings.documents is not None
    pages = read_corpus(settings.documents, settings.ids)
    # The language is detected on whole pages, so that every chunking has the same stemmer.
    formula = _bm25_formula(settings, [page.text for page in pages])
    indexes: list[SearchIndex] = []
    for how in ways:
        cut = cut_pages(pages, how)
        chunks = tuple(cut[n] for n in order_by_page([chunk.page for chunk in cut]))
        texts = [chunk.text for chunk in chunks]
        sparse = build_bm25(texts, formula).search
        for embed in embedders:
            dense = None
            if embed is not None:
                dense = partial(exact_search, embed_chunks(texts, embed, step))
            indexes.append(
                SearchIndex(
                    chunks=chunks,
                    sparse=sparse,
                    dense=dense,
                    embed=embed,
                    source=f"documents {settings.documents.name}",
                    chunking=how.name,
                    language=formula.language or NONE,
                )
            )
    return indexes


def _bm25_formula(settings: RetrievalTable, texts: Sequence[str]) -> Formula:
    language = settings.language
    if language == AUTO:
        language = detect_language(texts)
    if language == NONE:
        language = ""
    return Formula(settings.bm25, settings.k1, settings.b, language)


def order_by_page(pages: Sequence[str]) -> list[int]:
    """The order by page id, descending; the chunks of one page keep their order."""
    # `reverse=True` keeps equal pages in their order; a reversed list would not.
    return sorted(range(len(pages)), key=lambda n: pages[n], reverse=True)


def exact_search(stored: Vectors, vectors: Vectors, pool: int) -> Top:
    """The nearest of the stored unit vectors, one row per chunk."""
    parts: list[Top] = []
    step = max(1, _SCORES_AT_ONCE // max(len(stored), 1))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        scores = block @ stored.T
        top = select_top(scores, pool + 1)  # one more, to see a tie at the edge
        # The 7th decimal of a product depends on its place in the matrices: scores that close are
        # computed again.
        is_close = (np.diff(top.score, axis=1) > -_NOISE).any(axis=1)
        for row in np.flatnonzero(is_close):
            edge = top.score[row, :pool].min()
            near = np.flatnonzero(scores[row] >= edge - _NOISE)
            exact = (stored[near].astype(np.float64) * block[row]).sum(axis=1)
            order = np.argsort(-exact, kind="stable")[:pool]
            top.chunk[row, :pool] = near[order]
            top.score[row, :pool] = exact[order]
        parts.append(Top(top.chunk[:, :pool], top.score[:, :pool]))
    return merge_blocks(parts, pool)


def embed_chunks(texts: Sequence[str], embed: Embedder, step: Step) -> Vectors:
    """The vectors of the texts, cached by texts and model."""

    def make() -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, _embed_in_parts(texts, embed, step), allow_pickle=False)
        return buffer.getvalue()

    # Raise the number when the vectors of the same texts change.
    key = digest("vectors-2", embed.name, embed.digest, embed.precision, list(texts))
    return np.load(io.BytesIO(kept_file("vectors", key, make)), allow_pickle=False)


def _embed_in_parts(texts: Sequence[str], embed: Embedder, step: Step) -> Vectors:
    """The vectors of the texts; `step` receives the progress every few seconds."""
    vectors = np.empty((len(texts), embed.dimension), np.float32)
    begin = time.monotonic()
    reported = begin
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[start : start + _TEXTS_AT_ONCE]
        vectors[start : start + len(part)] = embed_passages(embed, part)
        done = start + len(part)
        now = time.monotonic()
        if now - reported >= _REPORT_EVERY and done < len(texts):
            reported = now
            left = (now - begin) / done * (len(texts) - done)
            step(f"embedded {done:,} of {len(texts):,} chunks, about {left:.0f} s left")
    return vectors
