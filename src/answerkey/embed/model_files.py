"""A packaged model on disk: checked against its hashes, read without the onnx package, and its 8-bit version.

The 8-bit model has one scale per column and values in −64..64: with fewer steps the sums of 16-bit products cannot
overflow on processors without VNNI, which is what ruins the usual 8-bit model (its cosine to float32 falls to 0.78)."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from answerkey.cache import cache_folder
from answerkey.errors import StorageError

if TYPE_CHECKING:
    import numpy as np


PACKAGED = Path(__file__).parent / "data" / "all-MiniLM-L6-v2"


class TensorPlace(msgspec.Struct, frozen=True):
    """Where a tensor stands in a file of weights."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int

    @property
    def span(self) -> slice:
        return slice(self.offset, self.offset + self.length)


class ModelFacts(msgspec.Struct, frozen=True):
    """What is known of a packaged model, from the JSON file beside it; `sha256` has the hash of each of its files."""

    name: str
    longest: int
    sha256: dict[str, str]
    made_from: dict[str, str]
    dimension: int = 0
    temperature: float = 1.0
    weights: tuple[TensorPlace, ...] = msgspec.field(name="weights.bin", default=())
    int8_weights: tuple[TensorPlace, ...] = msgspec.field(name="weights-int8.bin", default=())


@dataclass(frozen=True, slots=True)
class ModelFiles:
    folder: Path
    facts: ModelFacts

    def checked(self, name: str) -> Path:
        """The path of one file whose content is what the model was published with."""
        path = self.folder / name
        found, expected = file_hash(path), self.facts.sha256[name]
        if found is None:
            raise _damaged(path, "is missing")
        if found != expected:
            raise _damaged(path, f"has sha256 {found[:12]}…, expected {expected[:12]}…")
        return path

    def digest(self, *names: str) -> str:
        """One hash for the model made of these files."""
        hashes = "".join(self.facts.sha256[name] for name in sorted(names))
        return hashlib.sha256(hashes.encode()).hexdigest()

    def tensors(self) -> dict[str, np.ndarray]:
        """Every tensor of the weights, mapped from disk."""
        import numpy as np

        whole = np.memmap(self.checked("weights.bin"), dtype=np.uint8, mode="r")
        return {
            part.name: whole[part.span].view(part.dtype).reshape(part.shape)
            for part in self.facts.weights
        }


def open_model(folder: Path = PACKAGED, card: str = "model.json") -> ModelFiles:
    path = folder / card
    try:
        return ModelFiles(folder, msgspec.json.decode(path.read_bytes(), type=ModelFacts))
    except FileNotFoundError:
        raise _damaged(path, "is missing") from None
    except ValueError:
        raise _damaged(path, "is not JSON") from None


def file_hash(path: Path) -> str | None:
    """sha256 of the content; None where there is no readable file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _damaged(path: Path, what: str) -> StorageError:
    return StorageError(f"a packaged model is damaged: {path} {what}; install answerkey again")


GRAPH, WEIGHTS = "model-int8.onnx", "weights-int8.bin"
STEPS = 64


def int8_graph(files: ModelFiles) -> Path:
    """The path of the 8-bit graph, its weights beside it; made again where they are missing or damaged."""
    folder = (
        cache_folder() / "models" / f"{files.facts.name}-int8-{files.digest(GRAPH, WEIGHTS)[:16]}"
    )
    if all(file_hash(folder / name) == files.facts.sha256[name] for name in (GRAPH, WEIGHTS)):
        return folder / GRAPH
    graph = files.checked(GRAPH)
    try:  # written aside and renamed, so that another process never sees half a file
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            (Path(aside) / WEIGHTS).write_bytes(int8_weights(files))
            shutil.copyfile(graph, Path(aside) / GRAPH)
            for name in (WEIGHTS, GRAPH):
                os.replace(Path(aside) / name, folder / name)
    except OSError as error:
        raise StorageError(
            f"cannot keep the int8 model in {folder}: {error}; set ANSWERKEY_CACHE"
        ) from error
    return folder / GRAPH


def int8_weights(files: ModelFiles) -> bytes:
    """The content of the 8-bit weights file; the same bytes on every machine."""
    tensors = files.tensors()
    parts = files.facts.int8_weights
    blob = bytearray(parts[-1].span.stop)
    for part in parts:
        source, _, kind = part.name.rpartition(".")
        values = (
            quantise(tensors[source])[kind == "scale"]
            if kind in ("int8", "scale")
            else tensors[part.name]
        )
        blob[part.span] = values.tobytes()
    return bytes(blob)


def quantise(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight as int8 in −64..64 and one float32 scale per column."""
    import numpy as np

    full = weight.astype(np.float32)
    largest = np.abs(full).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(STEPS), np.float32(1))
    return np.rint(full / scale).astype(np.int8), scale
