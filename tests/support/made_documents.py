"""A small made world: pages about things, questions about them, and an embedder that needs no model."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

TOPICS = (
    "harbour",
    "engine",
    "violin",
    "glacier",
    "orchard",
    "comet",
    "castle",
    "printer",
    "saddle",
    "turbine",
)
SIDES = ("history", "repair", "price", "colour", "safety", "owner")


class WordEmbedder:
    """A random direction a word, summed: deterministic, and near where words are shared."""

    name, digest, precision, dimension = "words", "made", "fp32", 64

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")
                rows[row] += np.random.default_rng(seed).standard_normal(self.dimension)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.where(
            lengths > 0, rows / np.maximum(lengths, 1e-9), np.eye(1, self.dimension)
        ).astype(np.float32)


def page_texts() -> list[str]:
    """Sixty pages; page n (from 1) is about one side of one topic."""
    picker = random.Random(3)
    filler = [f"filler{n}" for n in range(300)]
    return [
        f"the {side} of the {topic} " + " ".join(picker.sample(filler, 12))
        for topic in TOPICS
        for side in SIDES
    ]


def question_rows() -> list[dict[str, object]]:
    """Thirty questions, each with its page."""
    pairs = [(topic, side) for topic in TOPICS for side in SIDES]
    return [
        {
            "id": f"q{n}",
            "question": f"what is the {side} of the {topic}",
            "relevant": [str(n + 1)],
            "type": side,
        }
        for n, (topic, side) in enumerate(pairs)
        if n % 2 == 0
    ]


def write_suite(
    folder: Path, questions: Sequence[Mapping[str, object]] | None = None, more: str = ""
) -> Path:
    """A suite over one text file with form feeds between its pages."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "book.txt").write_text("\f".join(page_texts()))
    rows = question_rows() if questions is None else questions
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite = folder / "suite.toml"
    suite.write_text(
        f'name = "made"\ncases = ["cases.jsonl"]\n[retrieval]\ndocuments = "docs"\n{more}\n'
    )
    return suite
