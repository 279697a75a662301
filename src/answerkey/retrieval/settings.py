"""The `[retrieval]` table of a suite: what to search, how to cut it, how to rank it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError, did_you_mean
from answerkey.retrieval.chunk import Chunking

ALPHAS = tuple(step / 10 for step in range(11))
KS = (3, 5, 7, 10, 15, 20)
FUSIONS = ("weighted", "rrf")


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Where the passages are: `documents` (file, folder, BEIR folder), `index` (a FAISS file, with `chunks`, a JSONL
    file of its rows), or `qdrant_url` and `qdrant_collection`. `pool`: candidates of each side that are fused."""

    documents: Path | None = None
    ids: str = "auto"
    chunk_by: str = "page"
    chunk_size: int = 200
    chunk_overlap: int = 40
    index: Path | None = None
    chunks: Path | None = None
    qdrant_url: str | None = None
    qdrant_collection: str | None = None
    qdrant_api_key_env: str | None = None
    text_field: str = "text"
    page_field: str = "page"
    alphas: tuple[float, ...] = ALPHAS
    ks: tuple[int, ...] = KS
    alpha: float = 0.5
    pool: int = 100
    fusion: str = "weighted"
    bm25: str = "robertson"
    k1: float = 1.5
    b: float = 0.75
    unit: str = "page"
    reranker: str | None = None
    rewriter: str | None = None

    @staticmethod
    def from_table(table: Mapping[str, Any], base_folder: Path) -> RetrievalSettings:
        """The settings of the table, checked; paths are relative to `base_folder`."""
        known = {field.name: field for field in fields(RetrievalSettings)}
        given: dict[str, Any] = {}
        for key, value in table.items():
            if key not in known:
                hint = did_you_mean(key, known) or f"; it takes {', '.join(known)}"
                raise SettingsError(f'[retrieval] has no setting "{key}"{hint}')
            given[key] = _READERS[str(known[key].type)](key, value)
            if isinstance(given[key], Path):
                given[key] = base_folder / given[key]
        settings = RetrievalSettings(**given)
        settings.check()
        return settings

    @property
    def chunking(self) -> Chunking:
        return Chunking(self.chunk_by, self.chunk_size, self.chunk_overlap)  # pyright: ignore[reportArgumentType]

    def check(self) -> None:
        sources = [self.documents, self.index, self.qdrant_url]
        if sum(source is not None for source in sources) != 1:
            raise SettingsError("[retrieval] needs one of documents, index (with chunks) or qdrant_url")
        if (self.qdrant_url is None) != (self.qdrant_collection is None):
            raise SettingsError("[retrieval] qdrant_url and qdrant_collection go together: give both")
        if self.index is not None and self.chunks is None:
            raise SettingsError(
                "[retrieval] index needs chunks: a JSONL file with the page and text of each row"
            )
        for alpha in (*self.alphas, self.alpha):
            if not 0.0 <= alpha <= 1.0:
                raise SettingsError(f"[retrieval] α = {alpha}: expected 0 (BM25 alone) to 1 (dense alone)")
        for k in self.ks:
            if k < 1:
                raise SettingsError(f"[retrieval] K = {k}: expected 1 or more")
        if not self.alphas or not self.ks:
            raise SettingsError("[retrieval] alphas and ks must each hold at least one value")
        if self.pool < max(self.ks):
            raise SettingsError(
                f"[retrieval] pool = {self.pool}: expected at least the largest K, {max(self.ks)}"
            )
        for name, known in (("fusion", FUSIONS), ("unit", ("page", "chunk"))):
            value = getattr(self, name)
            if value not in known:
                raise SettingsError(
                    f'[retrieval] {name} = "{value}": expected {" or ".join(known)}{did_you_mean(value, known)}'
                )
        self.chunking  # noqa: B018  checks itself


def _text(key: str, value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else _wrong(key, value, "a text")


def _path(key: str, value: Any) -> Path:
    return Path(value) if isinstance(value, (str, Path)) and str(value) else _wrong(key, value, "a path")


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return _wrong(key, value, "a number")
    return float(value)


def _whole(key: str, value: Any) -> int:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool)
        else _wrong(key, value, "a whole number")
    )


def _list_of(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    def read_all(key: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            return _wrong(key, value, "a list")
        return tuple(sorted({read(key, item) for item in value}))  # pyright: ignore[reportUnknownVariableType]

    return read_all


def _wrong(key: str, value: Any, expected: str) -> Any:
    raise SettingsError(f"[retrieval] {key} = {value!r}: expected {expected}")


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "str": _text,
    "str | None": _text,
    "Path | None": _path,
    "int": _whole,
    "float": _number,
    "tuple[float, ...]": _list_of(_number),
    "tuple[int, ...]": _list_of(_whole),
}
