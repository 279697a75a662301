"""ONNX graphs through onnxruntime, and texts prepared for them in batches of nearly one length."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from answerkey.errors import SettingsError

if TYPE_CHECKING:
    import onnxruntime

# Enough for a core to be busy, few enough for the activations to stay in its cache.
TOKENS_PER_BATCH = 256
# No model here reads more tokens than this holds, and a hostile text of 100 MB must not be tokenised whole.
CHARACTERS_READ = 100_000


def batches_by_length(
    encodings: Sequence[Sized], tokens: int = TOKENS_PER_BATCH
) -> Iterator[list[int]]:
    """Numbers of texts of nearly one length, longest first: little padding, and the peak of memory comes first."""
    lengths = [len(encoding) for encoding in encodings]
    batch: list[int] = []
    for n in sorted(range(len(encodings)), key=lambda n: -lengths[n]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch


def tokenizable(text: str) -> str:
    """Cut, and half of a surrogate pair replaced: the tokenizer takes only text that UTF-8 can hold."""
    text = text[:CHARACTERS_READ]
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def open_session(graph: Path) -> onnxruntime.InferenceSession:
    """onnxruntime without its telemetry: since 1.31 it keeps a device id in the home folder and reports to its maker."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where somebody else has imported it before
    options = cast("Any", onnxruntime.SessionOptions())  # without types
    options.log_severity_level = 3
    # The batches are divided among the cores, which then never wait for each other.
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common class for its errors
        reason = str(error).splitlines()[0]
        raise SettingsError(f"onnxruntime cannot load {graph}: {reason}") from error
