"""What can be searched: the chunks, BM25 over their words, and their vectors, by exact cosine or in a vector store."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from answerkey.cache import digest, kept_file
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.embed import Embedder
from answerkey.errors import SettingsError
from answerkey.retrieval.bm25 import AUTO, NONE, Formula, build_bm25, detect_language
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

Step = Callable[[str], None]  # receives the progress
SparseSearch = Callable[
    [Sequence[str], int], Top
]  # the best chunks for the words of questions; a score of 0 is no hit
DenseSearch = Callable[
    [Vectors, int], Top
]  # the best chunks for the vectors of questions, by cosine
# A vector store: its name, its chunks ordered by page, its dense search, and its sparse one if the settings ask for it.
OpenedStore = tuple[str, Sequence[Chunk], DenseSearch, SparseSearch | None]
StoreOpener = Callable[[RetrievalTable, int | None], OpenedStore]
_NUMBERS_AT_ONCE = 16_000_000
_TEXTS_AT_ONCE = 512
_REPORT_EVERY = 5.0  # seconds
_NOISE = 5e-7  # of a cosine in 32 bits, with room to spare


def exact_search(stored: Vectors, vectors: Vectors, pool: int) -> Top:
    """The nearest of the stored unit vectors, one row per chunk. The 7th decimal of a product depends on its place in the
    matrices: scores that close are computed again."""
    parts: list[Top] = []
    step = max(1, _NUMBERS_AT_ONCE // max(len(stored), 1))
    for start in range(0, len(vectors), step):
        asked = vectors[start : start + step]
        scores = asked @ stored.T
        top = select_top(scores, pool + 1)  # one more, to see a tie at the edge
        close = (np.diff(top.score, axis=1) > -_NOISE).any(axis=1)
        for row in np.flatnonzero(close):
            edge = top.score[row, :pool].min()
            near = np.flatnonzero(scores[row] >= edge - _NOISE)
            exact = (stored[near].astype(np.float64) * asked[row]).sum(axis=1)
            order = np.argsort(-exact, kind="stable")[:pool]
            top.chunk[row, :pool], top.score[row, :pool] = near[order], exact[order]
        parts.append(Top(top.chunk[:, :pool], top.score[:, :pool]))
    return merge_blocks(parts, pool)


def embed_chunks(texts: Sequence[str], embed: Embedder, step: Step) -> Vectors:
    """The vectors of the texts, cached per texts and model; `step` receives the progress every few seconds."""

    def make() -> bytes:
        vectors = np.empty((len(texts), embed.dimension), np.float32)
        begin = reported = time.monotonic()
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            part = texts[start : start + _TEXTS_AT_ONCE]
            vectors[start : start + len(part)] = embed.embed(part)
            done, now = start + len(part), time.monotonic()
            if now - reported >= _REPORT_EVERY and done < len(texts):
                reported = now
                left = (now - begin) / done * (len(texts) - done)
                step(f"embedded {done:,} of {len(texts):,} chunks, about {left:.0f} s left")
        buffer = io.BytesIO()
        np.save(buffer, vectors, allow_pickle=False)
        return buffer.getvalue()

    key = digest("vectors-2", embed.name, embed.digest, embed.precision, list(texts))
    return np.load(io.BytesIO(kept_file("vectors", key, make)), allow_pickle=False)


@dataclass(frozen=True)
class SearchIndex:
    """Chunks stand by page id, descending, so that of equal scores the first wins as in trec_eval. Without an embedding
    model (`model = "none"`), `dense` and `embed` are None and only BM25 finds something."""

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
        """The page ids, each once; `page_of` gives a chunk's number in this list."""
        return list(dict.fromkeys(chunk.page for chunk in self.chunks))

    @cached_property
    def page_of(self) -> Ints:
        numbers = {page: number for number, page in enumerate(self.pages)}
        return np.array([numbers[chunk.page] for chunk in self.chunks], np.int64)

    def candidates(self, questions: Sequence[str], pool: int) -> Candidates:
        """The best chunks of both searches, one search each for all questions."""
        return pool_candidates(self.search_dense(questions, pool), self.sparse(questions, pool))

    def search_dense(self, questions: Sequence[str], pool: int) -> Top:
        if self.dense is None or self.embed is None:
            return Top(np.empty((len(questions), 0), np.int64), np.empty((len(questions), 0)))
        return self.dense(np.asarray(self.embed.embed(questions), np.float32), pool)


def open_search_index(
    settings: RetrievalTable, embed: Embedder | None, step: Step = lambda _: None
) -> SearchIndex:
    """The index that the settings name: built from documents (or the cache), or an existing vector store."""
    if settings.retriever is not None:
        raise SettingsError(
            "[retrieval] retriever is a function, which has no α to vary and no chunks to examine; to measure it, run "
            'a suite with [target] kind = "rag", the same retriever and metrics = ["recall@5", "ndcg@5"]'
        )
    if settings.documents is not None:
        first = chunkings(settings.chunks)[0]
        return _from_documents(settings, [first], [embed], step)[0]
    open_store = _store_opener(settings)
    source, chunks, dense, sparse = open_store(
        settings, embed.dimension if embed is not None else None
    )
    language = NONE
    if sparse is None:
        texts = [chunk.text for chunk in chunks]
        formula = _formula(settings, texts)
        sparse, language = build_bm25(texts, formula).search, formula.language or NONE
    dense = dense if embed else None
    return SearchIndex(
        tuple(chunks), sparse, dense, embed, source, dense_search=source, language=language
    )


def _store_opener(settings: RetrievalTable) -> StoreOpener:
    """The function that opens the vector store; its module, and with it the client, is imported only now."""
    if settings.store.index:
        from answerkey.retrieval.stores.faiss_file import open_faiss

        return open_faiss
    if settings.store.postgres_url:
        from answerkey.retrieval.stores.postgres import open_postgres

        return open_postgres
    from answerkey.retrieval.stores.qdrant import open_qdrant

    return open_qdrant


def open_search_indexes(
    settings: RetrievalTable, embedders: Sequence[Embedder | None], step: Step
) -> list[SearchIndex]:
    """An index for every chunking and model that the settings ask for; each text is embedded once per model."""
    if settings.documents is None:
        return [open_search_index(settings, embed, step) for embed in embedders]
    return _from_documents(settings, chunkings(settings.chunks), embedders, step)


def _from_documents(
    settings: RetrievalTable,
    ways: Sequence[Chunking],
    embedders: Sequence[Embedder | None],
    step: Step,
) -> list[SearchIndex]:
    assert settings.documents is not None
    pages = read_corpus(settings.documents, settings.ids)
    formula = _formula(settings, [page.text for page in pages])
    found: list[SearchIndex] = []
    for how in ways:
        chunks = cut_pages(pages, how)
        chunks = tuple(chunks[n] for n in order_of([chunk.page for chunk in chunks]))
        texts = [chunk.text for chunk in chunks]
        sparse, source = build_bm25(texts, formula).search, f"documents {settings.documents.name}"
        for embed in embedders:
            dense = (
                partial(exact_search, embed_chunks(texts, embed, step))
                if embed is not None
                else None
            )
            language = formula.language or NONE
            found.append(
                SearchIndex(chunks, sparse, dense, embed, source, how.name, language=language)
            )
    return found


def _formula(settings: RetrievalTable, texts: Sequence[str]) -> Formula:
    language = detect_language(texts) if settings.language == AUTO else settings.language
    return Formula(settings.bm25, settings.k1, settings.b, "" if language == NONE else language)


def order_of(pages: Sequence[str]) -> list[int]:
    """By page id, descending; the chunks of one page in their own order."""
    return sorted(range(len(pages)), key=lambda n: pages[n], reverse=True)
