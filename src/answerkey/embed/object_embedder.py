"""An embedder of the user's: an object with `embed(texts)` or a function from texts to vectors."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from answerkey.config.tables import PYTHON_PREFIX
from answerkey.embed.embedder import unit_rows
from answerkey.errors import SettingsError
from answerkey.user_code import import_user_module

if TYPE_CHECKING:
    from answerkey.embed.embedder import Embedder, Vectors

# Objects given to `evaluate`, by the name under which a suite's table refers to them in this process.
_OBJECTS: dict[str, object] = {}
_OF_THIS_PROCESS = "object"


class ObjectEmbedder:
    """Vectors of any length from an object; `digest` is its own, or the hash of its source file."""

    precision = "unknown"

    def __init__(self, name: str, embedder: Any) -> None:
        self.name = name
        self._function: Callable[[list[str]], object] = getattr(embedder, "embed", embedder)
        if not callable(self._function):
            raise SettingsError(
                f"{name} is a {type(embedder).__name__}; expected a function of texts, or an object with embed(texts)"
            )
        self.digest = str(getattr(embedder, "digest", "") or _source_hash(name, embedder))
        self.dimension = self._embed(["dimension"], None).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embed(list(texts), self.dimension)

    def _embed(self, texts: list[str], dimension: int | None) -> Vectors:
        return unit_rows(self._function(texts), len(texts), dimension, f"the embedder {self.name}")


def _source_hash(name: str, embedder: Any) -> str:
    code = cast("Any", embedder if inspect.isroutine(embedder) else type(embedder))
    content = b""
    with suppress(OSError, TypeError):  # built in a notebook or by C: the name must do
        content = Path(inspect.getsourcefile(code) or "").read_bytes()
    return hashlib.sha256(name.encode() + b"\0" + content).hexdigest()


def register_embedder(embedder: object) -> str:
    """Keep an object for this process; the name that `[embedding] model` takes for it."""
    name = f"{PYTHON_PREFIX}{_OF_THIS_PROCESS}:{type(embedder).__name__}-{id(embedder)}"
    _OBJECTS[name] = embedder
    return name


def load_object_embedder(name: str) -> Embedder:
    """The object behind `python:module:object`, called first where it is a class."""
    if name in _OBJECTS:
        return ObjectEmbedder(type(_OBJECTS[name]).__name__, _OBJECTS[name])
    module, _, attribute = name.removeprefix(PYTHON_PREFIX).partition(":")
    if not module or not attribute:
        raise SettingsError(f'"{name}": expected "python:module:object"')
    embedder = getattr(import_user_module(module, f'[embedding] model "{name}"'), attribute, None)
    if embedder is None:
        raise SettingsError(f'[embedding] model "{name}": {module} has no "{attribute}"')
    if inspect.isclass(embedder):
        embedder = embedder()
    return ObjectEmbedder(name, embedder)
