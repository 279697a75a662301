"""An existing FAISS index: a file with a JSONL file of its chunks, or a folder as LangChain saves it."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from answerkey.coerce.decode import parse_json, read_lines, read_text
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place, is_mapping
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import InputError, MissingPackage, SettingsError
from answerkey.retrieval.fuse import Ints, Top, Vectors
from answerkey.retrieval.search_index import OpenedStore
from answerkey.retrieval.stores import stored_chunks
from answerkey.types import Passage

_EXPORT = (
    'export its chunks instead: import json; open("chunks.jsonl", "w").writelines(json.dumps({"text": d.page_content, '
    '**d.metadata}) + "\\n" for i in range(store.index.ntotal) for d in [store.docstore.search('
    'store.index_to_docstore_id[i])]); then set chunks = "chunks.jsonl"'
)


class FaissIndex(Protocol):
    d: int
    ntotal: int
    metric_type: int

    def search(self, x: Vectors, k: int, /) -> tuple[Vectors, Ints]: ...


def open_faiss(settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    """The chunks, ordered by page, and a search over the vectors of the file or folder."""
    path = settings.store.index or Path()
    try:
        import faiss
    except ImportError:
        raise MissingPackage("faiss-cpu", "faiss") from None
    file = path / "index.faiss" if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"no FAISS index at {file}")
    try:
        index = cast("FaissIndex", faiss.read_index(str(file)))
    except RuntimeError:
        raise InputError(f"{file} is not a FAISS index file") from None
    if dimension is not None and index.d != dimension:
        raise SettingsError(
            f"{file} has vectors of {index.d} numbers, the embedding model gives {dimension}: "
            "set [embedding] to the model that made the index"
        )
    passages = (
        _read_chunks(settings.store.chunks)
        if settings.store.chunks
        else _read_docstore(file.with_suffix(".pkl"))
    )
    if len(passages) != index.ntotal:
        raise InputError(
            f"{file} has {index.ntotal} vectors and {len(passages)} chunks: expected as many"
        )
    chunks, places = stored_chunks(passages, range(len(passages)))
    place = np.array(
        [places[number] for number in range(len(passages))], np.int64
    )  # of a row, among the chunks

    def search(vectors: Vectors, pool: int) -> Top:
        asked = np.ascontiguousarray(vectors, dtype=np.float32)
        score, row = index.search(asked, min(pool, index.ntotal))
        # The squared distance of unit vectors is 2 - 2 cos.
        cosine = (1.0 - score / 2.0) if index.metric_type == faiss.METRIC_L2 else score
        chunk = np.where(row >= 0, place[row], -1)
        cosine = np.where(row >= 0, cosine, -np.inf).astype(np.float64)
        order = np.lexsort((chunk, -cosine), axis=1)
        return Top(np.take_along_axis(chunk, order, 1), np.take_along_axis(cosine, order, 1))

    return f"FAISS index {path.name}", chunks, search, None


def _read_chunks(path: Path) -> list[Passage]:
    """The text of each row of the index, and its page or id, in any of the usual shapes; JSONL, or a JSON list."""
    if not path.is_file():
        raise InputError(
            f"no chunks at {path}: give a JSONL file with the text and page of each row of the index"
        )
    if path.suffix.lower() == ".json":
        return list(as_passages(parse_json(read_text(path), path.name), "chunks", Place(path.name)))
    rows = (
        (parse_json(line, f"{path.name}, line {n}", in_line=True), n)
        for n, line in read_lines(path)
    )
    return [passage for row, n in rows for passage in as_passages(row, "text", Place(path.name, n))]


def _read_docstore(path: Path) -> list[Passage]:
    """The documents in the order of the index, from the docstore that LangChain pickles beside it."""
    if not path.is_file():
        raise InputError(
            f"no chunks for this index: {path.name} is not beside it; set chunks to a JSONL file"
        )
    try:
        found = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        store, ids = found
        documents: Mapping[str, object] = store.state["_dict"]
        rows = [documents[ids[number]] for number in range(len(ids))]
    except (pickle.UnpicklingError, EOFError, ImportError, IndexError) as error:
        raise InputError(f"{path}: not read: {error}; {_EXPORT}") from None
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError, MemoryError):
        raise InputError(f"{path}: not a docstore of LangChain; {_EXPORT}") from None
    passages: list[Passage] = []
    for number, row in enumerate(rows, start=1):
        state = row.state if isinstance(row, _Stored) else row
        fields = state.get("__dict__", state) if is_mapping(state) else state
        passages.append(as_passages(fields, "index.pkl", Place(path.name, number, "document"))[0])
    return passages


class _Stored:
    """Stands in for the docstore and its documents: it holds their state and runs none of their code."""

    def __init__(self, *_: object) -> None:
        self.state: object = {}

    def __setstate__(self, state: object) -> None:
        self.state = state


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain containers and the two classes of a docstore, by shape; anything else in the file is refused."""

    _ALLOWED: Mapping[tuple[str, str], object] = {
        **{
            ("builtins", kind.__name__): kind
            for kind in (set, frozenset, dict, list, tuple, object)
        },
        ("collections", "OrderedDict"): OrderedDict,
        ("copyreg", "_reconstructor"): _Stored,
    }

    def find_class(self, module_name: str, global_name: str, /) -> object:
        if global_name in {"Document", "InMemoryDocstore"} and module_name.split(".")[0].startswith(
            "langchain"
        ):
            return _Stored
        if (module_name, global_name) in self._ALLOWED:
            return self._ALLOWED[module_name, global_name]
        raise pickle.UnpicklingError(f"it holds {module_name}.{global_name}, which could run code")

    def persistent_load(self, pid: object) -> object:
        raise pickle.UnpicklingError("it refers to objects outside the file")
