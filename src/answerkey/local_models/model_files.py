"""A packaged model on disk, checked against its hashes and read without the onnx package."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from answerkey.errors import StorageError

if TYPE_CHECKING:
    import numpy as np


# Data of the package `embed`; the packaged entailment model uses the same tokenizer.
MINILM_FOLDER = Path(__file__).parent.parent / "embed" / "data" / "all-MiniLM-L6-v2"


class TensorPlace(msgspec.Struct, frozen=True):
    """The place of a tensor in a file of weights."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int

    @property
    def span(self) -> slice:
        return slice(self.offset, self.offset + self.length)


class ModelFacts(msgspec.Struct, frozen=True):
    """The facts of a packaged model, from the JSON file beside it; `sha256` has the hash of each of its files."""

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

    def verified_path(self, name: str) -> Path:
        """The path of one file whose content is what the model was published with."""
        path = self.folder / name
        actual = file_hash(path)
        expected = self.facts.sha256[name]
        if actual is None:
            raise _damage_error(path, "is missing")
        if actual != expected:
            raise _damage_error(path, f"has sha256 {actual[:12]}…, expected {expected[:12]}…")
        return path

    def digest(self, *names: str) -> str:
        """One hash for the model made of these files."""
        hashes = "".join(self.facts.sha256[name] for name in sorted(names))
        return hashlib.sha256(hashes.encode()).hexdigest()

    def tensors(self) -> dict[str, np.ndarray]:
        """Every tensor of the weights, mapped from disk."""
        import numpy as np

        whole = np.memmap(self.verified_path("weights.bin"), dtype=np.uint8, mode="r")
        return {
            part.name: whole[part.span].view(part.dtype).reshape(part.shape)
            for part in self.facts.weights
        }


def open_model(folder: Path = MINILM_FOLDER, card: str = "model.json") -> ModelFiles:
    path = folder / card
    try:
        return ModelFiles(folder, msgspec.json.decode(path.read_bytes(), type=ModelFacts))
    except FileNotFoundError:
        raise _damage_error(path, "is missing") from None
    except ValueError:
        raise _damage_error(path, "is not JSON") from None


def file_hash(path: Path) -> str | None:
    """sha256 of the content; None where there is no readable file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _damage_error(path: Path, what: str) -> StorageError:
    return StorageError(f"a packaged model is damaged: {path} {what}; install answerkey again")
