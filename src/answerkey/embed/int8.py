"""The 8-bit version of the packaged embedding model, made on this machine from its float32 weights.

It has one scale per column and values in −64..64: with fewer steps the sums of 16-bit products cannot
overflow on processors without VNNI, which is what ruins the usual 8-bit model (its cosine to float32 falls to 0.78).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from answerkey.cache import cache_folder
from answerkey.errors import StorageError
from answerkey.local_models.model_files import ModelFiles, file_hash

if TYPE_CHECKING:
    import numpy as np

INT8_GRAPH = "model-int8.onnx"
INT8_WEIGHTS = "weights-int8.bin"
STEPS = 64


def int8_graph(files: ModelFiles) -> Path:
    """The path of the 8-bit graph, its weights beside it; made again where they are missing or damaged."""
    folder = (
        cache_folder()
        / "models"
        / f"{files.facts.name}-int8-{files.digest(INT8_GRAPH, INT8_WEIGHTS)[:16]}"
    )
    if all(
        file_hash(folder / name) == files.facts.sha256[name] for name in (INT8_GRAPH, INT8_WEIGHTS)
    ):
        return folder / INT8_GRAPH
    graph = files.verified_path(INT8_GRAPH)
    try:  # written aside and renamed, so that another process never sees half a file
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            (Path(aside) / INT8_WEIGHTS).write_bytes(int8_weights(files))
            shutil.copyfile(graph, Path(aside) / INT8_GRAPH)
            for name in (INT8_WEIGHTS, INT8_GRAPH):
                os.replace(Path(aside) / name, folder / name)
    except OSError as error:
        raise StorageError(
            f"cannot keep the int8 model in {folder}: {error}; set ANSWERKEY_CACHE"
        ) from error
    return folder / INT8_GRAPH


def int8_weights(files: ModelFiles) -> bytes:
    """The content of the 8-bit weights file; the same bytes on every machine."""
    tensors = files.tensors()
    parts = files.facts.int8_weights
    blob = bytearray(parts[-1].span.stop)
    for part in parts:
        source, _, kind = part.name.rpartition(".")
        if kind == "int8":
            values = quantise(tensors[source])[0]
        elif kind == "scale":
            values = quantise(tensors[source])[1]
        else:
            values = tensors[part.name]
        blob[part.span] = values.tobytes()
    return bytes(blob)


def quantise(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight as int8 in −64..64 and one float32 scale per column."""
    import numpy as np

    full = weight.astype(np.float32)
    largest = np.abs(full).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(STEPS), np.float32(1))
    return np.rint(full / scale).astype(np.int8), scale
