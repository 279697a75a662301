"""The five embedding metrics as plain functions of texts, as evaluation scripts call them.

`model` is the name of an embedding model, an object with `embed(texts)` or `encode(texts)`, or a
function of a list of strings; it returns a vector per text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from answerkey.embed import load_embedder
from answerkey.embed.embedder import unit_rows
from answerkey.errors import SettingsError
from answerkey.text import split_at_stops

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

DEFAULT_MODEL = "all-MiniLM-L6-v2"
RELEVANT_FROM = 0.5
SUPPORTED_FROM = 0.4
_DECIMALS = 6  # the 7th depends on what else was in the model's batch


def context_relevance(
    question: str, contexts: Sequence[str], *, model: object = DEFAULT_MODEL
) -> float:
    """Mean cosine of the question and each context; 0 without contexts."""
    if not contexts:
        return 0.0
    return _clip(float(_cosines([question], contexts, model).mean()))


def context_sufficiency(
    question: str,
    contexts: Sequence[str],
    threshold: float = RELEVANT_FROM,
    *,
    model: object = DEFAULT_MODEL,
) -> float:
    """Share of the contexts whose cosine with the question reaches the threshold."""
    if not contexts:
        return 0.0
    return float((_cosines([question], contexts, model) >= threshold).mean())


def answer_relevance(
    question: str, answer: str, reference: str | None = None, *, model: object = DEFAULT_MODEL
) -> float:
    """Cosine of the answer and the reference, or the question if there is no reference."""
    return _clip(float(_cosines([answer], [reference or question], model)[0, 0]))


def answer_correctness(answer: str, reference: str, *, model: object = DEFAULT_MODEL) -> float:
    """Cosine of the answer and the reference."""
    return _clip(float(_cosines([answer], [reference], model)[0, 0]))


def answer_hallucination(
    answer: str,
    contexts: Sequence[str],
    threshold: float = SUPPORTED_FROM,
    *,
    model: object = DEFAULT_MODEL,
) -> float:
    """Share of the answer's sentences whose best cosine with any context is below the threshold.

    Lower is better. 0 for an answer without a sentence, 1 without contexts.
    """
    sentences = split_at_stops(answer)
    if not sentences:
        return 0.0
    if not contexts:
        return 1.0
    best = _cosines(sentences, contexts, model).max(axis=1)
    return float((best < threshold).mean())


def _cosines(texts: Sequence[str], others: Sequence[str], model: object) -> Vectors:
    """A row per text, a column per other text; 0 where either is blank."""
    import numpy as np

    everything = [*texts, *others]
    # A blank text has no meaning to embed; its row is set to 0 below.
    vectors = _embed_texts([text if text.strip() else "-" for text in everything], model)
    blank = [row for row, text in enumerate(everything) if not text.strip()]
    vectors = np.array(vectors)
    vectors[blank] = 0.0
    # Vectors are unit rows, so that a product is the cosine.
    sides = vectors[: len(texts)], vectors[len(texts) :]
    return (sides[0] @ sides[1].T).astype("float64").round(_DECIMALS)


def _embed_texts(texts: list[str], model: object) -> Vectors:
    if isinstance(model, str):
        return load_embedder(model).embed(texts)
    # `encode` is the name in sentence-transformers.
    embed = getattr(model, "embed", None) or getattr(model, "encode", None) or model
    if not callable(embed):
        kind = type(model).__name__
        expected = "a name, an object with embed or encode, or a function of a list of strings"
        raise SettingsError(f"model is of type {kind}, expected {expected}")
    rows = cast("Callable[[list[str]], Any]", embed)(texts)
    return unit_rows(rows, len(texts), None, "the embedding model")


def _clip(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)
