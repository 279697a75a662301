"""The packaged model on disk: found, checked against its hashes, and read without the onnx package."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.errors import StorageError

if TYPE_CHECKING:
    import numpy as np

PACKAGED = Path(__file__).parent / "data" / "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    folder: Path
    facts: dict[str, Any]

    def checked(self, name: str) -> Path:
        """The path of one file whose content is what the model was published with."""
        path = self.folder / name
        found, expected = file_hash(path), self.facts["sha256"][name]
        if found is None:
            raise _damaged(path, "is missing")
        if found != expected:
            raise _damaged(path, f"has sha256 {found[:12]}…, expected {expected[:12]}…")
        return path

    def digest(self, *names: str) -> str:
        """One hash for the model made of these files."""
        hashes = "".join(self.facts["sha256"][name] for name in sorted(names))
        return hashlib.sha256(hashes.encode()).hexdigest()

    def tensors(self, name: str) -> dict[str, np.ndarray]:
        """Every tensor of a weights file, mapped from disk."""
        import numpy as np

        path = self.checked(name)
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        return {
            part["name"]: whole[part["offset"] : part["offset"] + part["length"]]
            .view(part["dtype"])
            .reshape(part["shape"])
            for part in self.facts[name]
        }


def open_model(folder: Path = PACKAGED) -> ModelFiles:
    path = folder / "model.json"
    try:
        return ModelFiles(folder, json.loads(path.read_text(encoding="utf-8")))
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
    return StorageError(f"the embedding model is damaged: {path} {what}; install answerkey again")
