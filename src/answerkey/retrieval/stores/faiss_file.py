"""An existing FAISS index: a file with a JSONL file of its chunks, or a folder of LangChain."""

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
from answerkey.retrieval.stores import make_chunks
from answerkey.types import Passage

_EXPORT = (
    'export its chunks instead: import json; open("chunks.jsonl", "w").writelines('
    'json.dumps({"text": d.page_content, **d.metadata}) + "\\n" '
    "for i in range(store.index.ntotal) "
    "for d in [store.docstore.search(store.index_to_docstore_id[i])]); "
    'then set chunks = "chunks.jsonl"'
)


class FaissIndex(Protocol):
    """The part of a FAISS index that we use."""

    d: int
    ntotal: int
    metric_type: int

    def search(self, x: Vectors, k: int, /) -> tuple[Vectors, Ints]: ...


def open_faiss(settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    """The chunks, ordered by page, and a search over the vectors of the file or folder."""
    try:
        import faiss
    except ImportError:
        raise MissingPackage("faiss-cpu", "faiss") from None
    path = settings.store.index or Path()
    if path.is_dir():
        file = path / "index.faiss"
    else:
        file = path
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
    passages = _read_passages(file, settings.store.chunks)
    if len(passages) != index.ntotal:
        raise InputError(
            f"{file} has {index.ntotal} vectors and {len(passages)} chunks: expected as many"
        )
    chunks, places = make_chunks(passages, range(len(passages)), settings.ids)
    chunk_of_row = np.array([places[row] for row in range(len(passages))], np.int64)
    is_distance = index.metric_type == faiss.METRIC_L2

    def search(vectors: Vectors, pool: int) -> Top:
        # FAISS reads the memory of the array directly, as rows of 32-bit floats.
        queries = np.ascontiguousarray(vectors, dtype=np.float32)
        score, row = index.search(queries, min(pool, index.ntotal))
        # The squared distance of unit vectors is 2 - 2 cos.
        if is_distance:
            cosine = 1.0 - score / 2.0
        else:
            cosine = score
        chunk = np.where(row >= 0, chunk_of_row[row], -1)
        cosine = np.where(row >= 0, cosine, -np.inf).astype(np.float64)
        # FAISS knows nothing of pages, so equal scores are put in order again.
        order = np.lexsort((chunk, -cosine), axis=1)
        return Top(np.take_along_axis(chunk, order, 1), np.take_along_axis(cosine, order, 1))

    return OpenedStore(f"FAISS index {path.name}", chunks, search, None)


def _read_passages(index: Path, chunks: Path | None) -> list[Passage]:
    """The text of each row of the index: from the file of chunks, or from LangChain's docstore."""
    if chunks is not None:
        return _read_chunks(chunks)
    return _read_docstore(index.with_suffix(".pkl"))


def _read_chunks(path: Path) -> list[Passage]:
    """Text and page or id of each row, in any of the usual shapes; JSONL, or a JSON list."""
    if not path.is_file():
        raise InputError(
            f"no chunks at {path}: give a JSONL file with the text and page of each row of the "
            "index"
        )
    if path.suffix.lower() == ".json":
        return list(as_passages(parse_json(read_text(path), path.name), "chunks", Place(path.name)))
    passages: list[Passage] = []
    for number, line in read_lines(path):
        row = parse_json(line, f"{path.name}, line {number}", in_line=True)
        passages += as_passages(row, "text", Place(path.name, number))
    return passages


def _read_docstore(path: Path) -> list[Passage]:
    """The documents in the order of the index, from the docstore that LangChain pickles."""
    if not path.is_file():
        raise InputError(
            f"no chunks for this index: {path.name} is not beside it; set chunks to a JSONL file"
        )
    try:
        # LangChain pickles a pair: the docstore, and the document id of each row.
        store, ids = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
        documents: Mapping[str, object] = store.state["_dict"]
        rows = [documents[ids[number]] for number in range(len(ids))]
    except (pickle.UnpicklingError, EOFError, ImportError, IndexError) as error:
        raise InputError(f"{path}: not read: {error}; {_EXPORT}") from None
    # A pickle may hold any shape, so each of these says "no docstore", not "a bug".
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError, MemoryError):
        raise InputError(f"{path}: not a docstore of LangChain; {_EXPORT}") from None
    return [
        as_passages(_fields(row), "index.pkl", Place(path.name, number, "document"))[0]
        for number, row in enumerate(rows, start=1)
    ]


def _fields(row: object) -> object:
    if isinstance(row, _Stored):
        state = row.state
    else:
        state = row
    if not is_mapping(state):
        return state
    return state.get("__dict__", state)  # pydantic keeps its fields there


class _Stored:
    """Stands in for the docstore and its documents: it keeps their state, runs no code of theirs."""

    def __init__(self, *_: object) -> None:
        self.state: object = {}

    def __setstate__(self, state: object) -> None:
        self.state = state


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain containers and the two classes of a docstore; it refuses anything else."""

    _ALLOWED: Mapping[tuple[str, str], object] = {
        **{
            ("builtins", kind.__name__): kind
            for kind in (set, frozenset, dict, list, tuple, object)
        },
        ("collections", "OrderedDict"): OrderedDict,
        # Pickles of protocol 0 and 1 rebuild their objects with this function.
        ("copyreg", "_reconstructor"): _Stored,
    }

    def find_class(self, module_name: str, global_name: str, /) -> object:
        # The classes moved between langchain, langchain_core and langchain_community.
        package = module_name.split(".")[0]
        is_langchain = package.startswith("langchain")
        if is_langchain and global_name in {"Document", "InMemoryDocstore"}:
            return _Stored
        if (module_name, global_name) in self._ALLOWED:
            return self._ALLOWED[module_name, global_name]
        raise pickle.UnpicklingError(f"it holds {module_name}.{global_name}, which could run code")

    def persistent_load(self, pid: object) -> object:
        raise pickle.UnpicklingError("it refers to objects outside the file")
