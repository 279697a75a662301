"""all-MiniLM-L6-v2 from package data, through onnxruntime, with its tokenizer: no network, no torch."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np

from answerkey.embed import unit_rows
from answerkey.embed.model_files import GRAPH as INT8_GRAPH
from answerkey.embed.model_files import PACKAGED, int8_graph, open_model
from answerkey.embed.model_files import WEIGHTS as INT8_WEIGHTS
from answerkey.errors import SettingsError
from answerkey.processes import threads_to_use

_CHARACTERS = Path(__file__).parent / "data" / "characters.json"
_SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_NO_SPACE = "\x0b\x0c\x1c-\x1f\x85"  # dropped, although Python's `split` takes them for white space
_ODD = re.compile(f"[{_NO_SPACE}]")
_CHUNK = re.compile(rf"(?:\S|[{_NO_SPACE}])+")
_LONGEST_WORD = 100
_LONGEST_KEPT = 40
_MOST_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """The ids of one text, or of a pair, whose second text has the type 1."""

    ids: list[int]
    type_ids: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class WordPiece:
    """Texts and pairs as tokens, at most `longest` of them. May be called from several threads."""

    def __init__(self, path: Path, longest: int) -> None:
        self._vocabulary: dict[str, int] = msgspec.json.decode(path.read_bytes())["model"]["vocab"]
        self._longest = longest
        self._longest_piece = max(map(len, self._vocabulary))
        self._first, self._last, self._unknown = (
            self._vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]")
        )
        classes: dict[str, list[tuple[int, int]]] = msgspec.json.decode(_CHARACTERS.read_bytes())
        self._marks, self._punctuation = (
            {chr(n) for start, end in classes[name] for n in range(start, end + 1)}
            for name in ("marks", "punctuation")
        )
        self._dropped, self._chinese = (
            classes["dropped"],
            classes["chinese"],
        )  # the first has more than 100,000
        self._characters: dict[str, str] = {}
        self._chunks: dict[str, list[int]] = {}

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, between [CLS] and [SEP]."""
        found = (self._ids(text, self._longest - 2) for text in texts)
        return [Tokens([self._first, *ids, self._last], [0] * (len(ids) + 2)) for ids in found]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """The tokens of each pair; the longer text is cut first."""
        limit = self._longest - 3
        made: list[Tokens] = []
        for pair in pairs:
            one, other = (
                self._ids(text, sys.maxsize) for text in pair
            )  # whole: the longer one is cut
            if len(one) + len(other) > limit:
                first, second = _shares(len(one), len(other), limit)
                one, other = one[:first], other[:second]
            ids = [self._first, *one, self._last, *other, self._last]
            made.append(Tokens(ids, [0] * (len(one) + 2) + [1] * (len(other) + 1)))
        return made

    def _ids(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        known = self._chunks
        for chunk in _CHUNK.findall(text) if _ODD.search(text) else text.split():
            found = known.get(chunk)
            ids += self._chunk(chunk, limit) if found is None else found
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _chunk(self, chunk: str, limit: int) -> list[int]:
        """The ids of what stands between two blanks, kept for the next time; of a very long one only the first."""
        ids: list[int] = []
        for number, part in enumerate(_SPECIAL.split(chunk)):
            if number % 2:
                ids.append(self._vocabulary[part])
                continue
            for word in "".join(map(self._character, part)).split():
                ids += self._pieces(word)
                if len(ids) >= limit and len(chunk) > _LONGEST_KEPT:
                    return ids
        if len(chunk) <= _LONGEST_KEPT:
            if len(self._chunks) >= _MOST_KEPT:
                self._chunks.clear()
            self._chunks[chunk] = ids
        return ids

    def _character(self, character: str) -> str:
        """The character in lower case without its marks; blanks around it where it is a word of its own."""
        found = self._characters.get(character)
        if found is None:
            number = ord(character)
            own_word, dropped = (
                any(start <= number <= end for start, end in ranges)
                for ranges in (self._chinese, self._dropped)
            )
            plain = "" if dropped else unicodedata.normalize("NFD", character)
            lower = "".join(one.lower() for one in plain if one not in self._marks)
            apart = "".join(f" {one} " if one in self._punctuation else one for one in lower)
            found = self._characters[character] = f" {apart} " if own_word else apart
        return found

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces of the vocabulary, from the left; a word that has none at some place is unknown."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                found = self._vocabulary.get(prefix + word[start:end])
                if found is not None:
                    ids.append(found)
                    start, prefix = end, "##"
                    break
            else:
                return [self._unknown]
        return ids


def _shares(one: int, other: int, limit: int) -> tuple[int, int]:
    """How much of two texts is kept: all of the shorter one where it takes less than half."""
    short, long = min(one, other), max(one, other)
    long = max(short, limit - short) if short <= limit else short
    if short + long > limit:
        short, long = limit // 2, limit - limit // 2
    return (short, long) if one <= other else (long, short)


if TYPE_CHECKING:
    import onnxruntime

    from answerkey.embed import Vectors

# Enough for a core to be busy, few enough for the activations to stay in its cache.
TOKENS_PER_BATCH = 256
TEXTS_PER_ROUND = 4096
# 256 tokens never come from more than this, and a hostile text of 100 MB must not be tokenised whole.
CHARACTERS_READ = 100_000


class MiniLM:
    """Texts are cut at 256 tokens, as the model's authors set it. May be called from several threads."""

    name = "all-MiniLM-L6-v2"

    def __init__(
        self, int8: bool = False, threads: int | None = None, folder: Path = PACKAGED
    ) -> None:
        files = open_model(folder)
        if int8:
            graph, self.precision = int8_graph(files), "int8"
            self.digest = files.digest(INT8_GRAPH, INT8_WEIGHTS, "tokenizer.json")
        else:
            files.checked("weights.bin")
            graph, self.precision = files.checked("model.onnx"), "fp32"
            self.digest = files.digest("model.onnx", "weights.bin", "tokenizer.json")
        self.dimension = files.facts.dimension
        self._tokenizer = WordPiece(files.checked("tokenizer.json"), files.facts.longest)
        self._session = open_session(graph)
        self._threads = threads or threads_to_use()

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_PER_ROUND):
            part = [tokenizable(text) for text in texts[start : start + TEXTS_PER_ROUND]]
            encodings = self._tokenizer.encode(part)
            batches = list(batches_by_length(encodings))
            with ThreadPoolExecutor(
                min(self._threads, len(batches)) or 1, "embed"
            ) as pool:  # a batch per core
                parts = ([encodings[n] for n in batch] for batch in batches)
                for batch, rows in zip(batches, pool.map(self._run_batch, parts), strict=True):
                    vectors[[start + n for n in batch]] = rows
        return unit_rows(vectors, len(texts), self.dimension, f"the embedding model {self.name}")

    def _run_batch(self, encodings: Sequence[Tokens]) -> Vectors:
        longest = max(len(encoding) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), np.int32)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        return np.asarray(self._session.run(["vectors"], {"ids": ids, "mask": mask})[0], np.float32)


def batches_by_length(encodings: Sequence[Tokens]) -> Iterator[list[int]]:
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
    options.log_severity_level = 3
    # The batches are divided among the cores, which then never wait for each other.
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common class for its errors
        raise SettingsError(
            f"onnxruntime cannot load {graph}: {str(error).splitlines()[0]}"
        ) from error
