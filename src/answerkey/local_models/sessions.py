"""ONNX graphs through onnxruntime, run on batches of encodings of nearly one length."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from answerkey.cores import threads_to_use
from answerkey.errors import SettingsError

if TYPE_CHECKING:
    import onnxruntime

# Enough for a core to be busy, few enough for the activations to stay in its cache.
TOKENS_PER_BATCH = 256
# No model here reads more tokens than this holds, and a hostile text of 100 MB must not be tokenised whole.
CHARACTERS_READ = 100_000
_IDS = ("input_ids", "ids")
_MASK = ("attention_mask", "mask")
_TYPES = ("token_type_ids",)
_POSITIONS = ("position_ids",)


class Encoded(Sized, Protocol):
    """The tokens of a text or of a pair."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def type_ids(self) -> list[int]: ...


class BatchRunner:
    """One output of a graph for each encoding. May be called from several threads.

    The inputs go by the names that exporters use; a graph without token types is not given any.
    """

    def __init__(self, graph: Path, output: str = "", threads: int | None = None) -> None:
        self._session = cast("Any", open_session(graph))  # without types
        self.threads = threads or threads_to_use()
        names: list[str] = [node.name for node in self._session.get_outputs()]
        self._output = output if output in names else names[0]
        self._inputs: dict[str, type[np.signedinteger[Any]]] = {}
        for node in self._session.get_inputs():
            if node.name not in (*_IDS, *_MASK, *_TYPES, *_POSITIONS):
                raise SettingsError(
                    f'{graph} wants an input "{node.name}", which is not one of a text model'
                )
            self._inputs[node.name] = np.int64 if "int64" in node.type else np.int32

    def run(self, encodings: Sequence[Encoded]) -> list[NDArray[np.float32]]:
        """The row of each encoding: numbers of the text, or of each of its tokens."""
        batches = list(batches_by_length(encodings))
        parts = ([encodings[n] for n in batch] for batch in batches)
        rows: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(encodings)
        if self.threads == 1 or len(batches) == 1:
            outputs = map(self._run_batch, parts)
        else:
            with ThreadPoolExecutor(min(self.threads, len(batches) or 1), "model") as pool:
                outputs = pool.map(self._run_batch, parts)  # a batch per core
        for batch, output in zip(batches, outputs, strict=True):
            for n, row in zip(batch, output, strict=True):
                rows[n] = row
        return rows

    def _run_batch(self, encodings: Sequence[Encoded]) -> NDArray[np.float32]:
        inputs = self._pad(encodings)
        return np.asarray(self._session.run([self._output], inputs)[0], np.float32)

    def _pad(self, encodings: Sequence[Encoded]) -> Mapping[str, NDArray[Any]]:
        shape = (len(encodings), max(len(encoding) for encoding in encodings))
        inputs = {name: np.zeros(shape, kind) for name, kind in self._inputs.items()}
        for name, values in inputs.items():
            for row, encoding in enumerate(encodings):
                if name in _IDS:
                    values[row, : len(encoding)] = encoding.ids
                elif name in _MASK:
                    values[row, : len(encoding)] = 1
                elif name in _TYPES:
                    values[row, : len(encoding)] = encoding.type_ids
                else:
                    values[row] = np.arange(shape[1])
        return inputs


def batches_by_length(encodings: Sequence[Sized]) -> Iterator[list[int]]:
    """Numbers of texts of nearly one length, longest first: little padding, and the peak of memory comes first."""
    lengths = [len(encoding) for encoding in encodings]
    batch: list[int] = []
    for n in sorted(range(len(encodings)), key=lambda n: -lengths[n]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > TOKENS_PER_BATCH:
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
    options.log_severity_level = (
        3  # errors only: its warnings about optimisation mean nothing to users
    )
    # The batches are divided among the cores, which then never wait for each other.
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common class for its errors
        reason = str(error).splitlines()[0]
        raise SettingsError(f"onnxruntime cannot load {graph}: {reason}") from error
