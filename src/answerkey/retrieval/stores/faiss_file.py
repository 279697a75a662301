"""An existing FAISS index file, with a JSONL file that names the page and text of each of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from answerkey.errors import InputError, MissingPackage, SettingsError
from answerkey.retrieval.chunk import Chunk, Chunking, cut
from answerkey.retrieval.corpus import read_corpus
from answerkey.retrieval.search_index import order_of
from answerkey.retrieval.top import Top


@dataclass(frozen=True, slots=True)
class FaissSearch:
    """`place` gives for each row of the index its place among the chunks."""

    index: Any
    place: Any
    by_distance: bool

    def search(self, vectors: Any, pool: int) -> Top:
        asked = np.ascontiguousarray(vectors, dtype=np.float32)
        score, row = self.index.search(asked, min(pool, self.index.ntotal))
        # The squared distance of unit vectors is 2 - 2 cos.
        cosine = (1.0 - score / 2.0) if self.by_distance else score
        chunk = np.where(row >= 0, self.place[row], -1)
        cosine = np.where(row >= 0, cosine, -np.inf).astype(np.float64)
        order = np.lexsort((chunk, -cosine), axis=1)
        return Top(np.take_along_axis(chunk, order, 1), np.take_along_axis(cosine, order, 1))


def open_faiss(file: Path, rows: Path, dimension: int) -> tuple[list[Chunk], FaissSearch]:
    """The chunks, ordered by page, and a search over the file's vectors."""
    try:
        import faiss
    except ImportError:
        raise MissingPackage("faiss-cpu", "faiss") from None
    if not file.is_file():
        raise InputError(f"no FAISS index at {file}")
    try:
        index: Any = faiss.read_index(str(file))
    except RuntimeError:
        raise InputError(f"{file} is not a FAISS index file") from None
    if index.d != dimension:
        raise SettingsError(
            f"{file} holds vectors of {index.d} numbers, the embedding model gives {dimension}: "
            "set [embedding] to the model that made the index"
        )
    if not rows.is_file():
        raise InputError(
            f"no chunks at {rows}: give a JSONL file with the page and text of each row of the index"
        )
    pages = read_corpus(rows, "auto")
    if len(pages) != index.ntotal:
        raise InputError(
            f"{file} holds {index.ntotal} vectors and {rows} {len(pages)} chunks: expected as many"
        )
    named = [page.number or page.id for page in pages]
    order = order_of(named)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    chunks = cut((replace(pages[n], id=named[n]) for n in order), Chunking("page"))
    return chunks, FaissSearch(index, place, index.metric_type == faiss.METRIC_L2)
