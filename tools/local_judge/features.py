"""The features of every row, by the same functions that the metric uses.

Features by meaning take most of the time, so they are kept in a folder; features by words are computed anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.local_judge.data import Row

from answerkey.metrics.grounding import sentence_features as module
from answerkey.metrics.grounding.sentence_features import SENTENCES_COMPARED, read_answers

ROWS_A_WRITE = 64
Sentences = list[dict[str, Any]]


def sentence_features(rows: Sequence[Row], embed: Any, kept: Path | None) -> list[Sentences]:
    """For each row its sentences: `start`, `end` and `features`; by words alone where `kept` is None."""
    by_words = [
        [{"start": s.piece.start, "end": s.piece.end, "features": dict(s.features)} for s in answer.sentences]
        for answer in read_answers([row.pair for row in rows])
    ]
    if kept is None:
        return by_words
    by_meaning = _kept_features(rows, embed, kept)
    for sentences, meanings in zip(by_words, by_meaning, strict=True):
        for sentence, meaning in zip(sentences, meanings, strict=True):
            sentence["features"] |= meaning
    return by_words


def _kept_features(rows: Sequence[Row], embed: Any, kept: Path) -> list[list[dict[str, float]]]:
    kept.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, list[dict[str, float]]] = {}
    if kept.exists():
        with kept.open(encoding="utf-8") as lines:
            for line in lines:
                known |= json.loads(line)
    missing = [row for row in rows if row_digest(row) not in known]
    with kept.open("a", encoding="utf-8") as out:
        for start in range(0, len(missing), ROWS_A_WRITE):
            part = missing[start : start + ROWS_A_WRITE]
            read = read_answers([row.pair for row in part], embed)
            new = {
                row_digest(row): [meaning_of(dict(s.features)) for s in answer.sentences]
                for row, answer in zip(part, read, strict=True)
            }
            out.write(json.dumps(new) + "\n")
            known |= new
    return [known[row_digest(row)] for row in rows]


def meaning_of(features: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 5) for name, value in features.items() if name.startswith(("soft_", "cosine_"))}


def row_digest(row: Row) -> str:
    source = Path(module.__file__).read_text(encoding="utf-8")
    text = json.dumps([row.question, row.contexts, row.answer, SENTENCES_COMPARED, source])
    return hashlib.sha256(text.encode()).hexdigest()[:20]
