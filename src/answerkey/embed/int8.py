"""The model with 8-bit weights: made from the packaged one on first use, kept in the cache folder.

One scale a column, values in −64..64: with fewer steps the sums of 16-bit products cannot overflow on
processors without VNNI, which is what ruins the usual 8-bit model (its cosine to float32 falls to 0.78).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from answerkey.embed.cache import cache_folder
from answerkey.embed.model_files import ModelFiles, file_hash
from answerkey.errors import StorageError

if TYPE_CHECKING:
    import numpy as np

GRAPH, WEIGHTS = "model-int8.onnx", "weights-int8.bin"
STEPS = 64


def int8_graph(files: ModelFiles) -> Path:
    """The path of the 8-bit graph, its weights beside it; made again where they are missing or damaged."""
    folder = cache_folder() / "models" / f"{files.facts['name']}-int8-{files.digest(GRAPH, WEIGHTS)[:16]}"
    for name in (GRAPH, WEIGHTS):
        if file_hash(folder / name) != files.facts["sha256"][name]:
            _make(files, folder)
            break
    return folder / GRAPH


def _make(files: ModelFiles, folder: Path) -> None:
    """Written aside and renamed, so that another process never sees half a file."""
    graph = files.checked(GRAPH)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            (Path(aside) / WEIGHTS).write_bytes(int8_weights(files))
            shutil.copyfile(graph, Path(aside) / GRAPH)
            for name in (WEIGHTS, GRAPH):
                os.replace(Path(aside) / name, folder / name)
    except OSError as error:
        raise StorageError(f"cannot keep the int8 model in {folder}: {error}; set ANSWERKEY_CACHE") from error


def int8_weights(files: ModelFiles) -> bytes:
    """The content of the 8-bit weights file; the same bytes on every machine."""
    tensors = files.tensors("weights.bin")
    parts = files.facts[WEIGHTS]
    blob = bytearray(parts[-1]["offset"] + parts[-1]["length"])
    for part in parts:
        source, _, kind = part["name"].rpartition(".")
        if kind in {"int8", "scale"}:
            values = dict(zip(("int8", "scale"), quantise(tensors[source]), strict=True))[kind]
        else:
            values = tensors[part["name"]]
        blob[part["offset"] : part["offset"] + part["length"]] = values.tobytes()
    return bytes(blob)


def quantise(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight as int8 in −64..64 and one float32 scale a column."""
    import numpy as np

    full = weight.astype(np.float32)
    largest = np.abs(full).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(STEPS), np.float32(1))
    return np.rint(full / scale).astype(np.int8), scale
