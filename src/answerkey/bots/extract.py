"""An answer without a language model: the sentences of the passages that are nearest to the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.embed.embedder import Embedder
from answerkey.types import Passage

_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b\d\.)(?<!\b\d\d\.)\s+(?=[^a-z])|\n{2,}")
# Markdown's headings, and short lines without a stop before one that begins a sentence, as PDF text has them.
_HEADING = re.compile(r"^\s*#+ .*$|^(?:\d[\d.]*\s+)?[A-Z][^\n.!?:;,]{0,50}\n(?=[A-Z])", re.MULTILINE)
_ITEMS = 3
_CLOSE = 0.8  # a further sentence must come this near to the best one


@dataclass(frozen=True, slots=True)
class Extract:
    """`text` cites its passages as [n]; `best` is the cosine of the nearest sentence, 0 where there is none."""

    text: str
    best: float


def extract(question: str, passages: Sequence[Passage], embed: Embedder) -> Extract:
    """Up to three sentences, in the order of the passages, each with the number of its passage."""
    found = [(number, text) for number, passage in enumerate(passages, 1) for text in split(passage.text)]
    found = list({text: (number, text) for number, text in reversed(found)}.values())[::-1]
    if not found:
        return Extract("", 0.0)
    vectors = embed.embed([question, *(text for _, text in found)])
    cosines = [float(cosine) for cosine in vectors[1:] @ vectors[0]]
    best = max(cosines)
    order = sorted(range(len(found)), key=lambda n: -cosines[n])[:_ITEMS]
    chosen = sorted(n for n in order if cosines[n] >= _CLOSE * best)
    return Extract(" ".join(_cited(found[n][1], found[n][0]) for n in chosen), best)


def split(text: str) -> list[str]:
    """Sentences, on one line each, without the headings; `RM 0.85` stays whole."""
    parts = _SENTENCE_END.split(_HEADING.sub("\n\n", text))
    return [" ".join(part.split()) for part in parts if re.search(r"\w", part)]


def _cited(sentence: str, number: int) -> str:
    """The mark stands before the stop, so that it belongs to its sentence."""
    stop = sentence[-1] if sentence[-1] in ".!?" else "."
    return f"{sentence.rstrip('.!?')} [{number}]{stop}"
