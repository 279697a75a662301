"""The five embedding metrics, from one batch of vectors for all the pairs of a chunk.

A cosine below 0 is shown as 0 and the reason says so. Blank text has cosine 0 with everything and is not embedded.
`answer_correctness` is a cosine; whether the answer *says* what is expected is `answer_agreement`, in `agreement/`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from answerkey.embed import Embedder, load_embedder
from answerkey.errors import SettingsError
from answerkey.language.refusal import refusal
from answerkey.metrics.cosine_functions import (
    RELEVANT_FROM,
    SUPPORTED_FROM,
    answer_correctness,
    answer_hallucination,
    answer_relevance,
    context_relevance,
    context_sufficiency,
)
from answerkey.metrics.registry import Facts, metric_group
from answerkey.text import format_count, split_at_stops
from answerkey.types import Case, Pair, Passage, Response, Score

if TYPE_CHECKING:
    from answerkey.embed import Vectors

__all__ = [
    "answer_correctness",
    "answer_hallucination",
    "answer_relevance",
    "context_relevance",
    "context_sufficiency",
    "embedding_metrics",
    "evaluate_all",
]
log = logging.getLogger("answerkey.metrics")
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Cosines:
    """Cosines between texts whose vectors are known, and the cosines from which two texts count as near."""

    vectors: Vectors
    row_of: Mapping[str, int]
    relevant_from: float
    supported_from: float
    relevance_to: str = "expected"

    def cosines(self, texts: Sequence[str], others: Sequence[str]) -> Vectors:
        """A row per text, a column per other text; 0 where either is blank (the last vector is all zeros).

        Rounded: the 7th decimal depends on what else was in the model's batch, and must not decide a threshold.
        """
        rows, columns = ([self.row_of.get(text, -1) for text in side] for side in (texts, others))
        return (self.vectors[rows] @ self.vectors[columns].T).astype("float64").round(_DECIMALS)


_of_contexts = partial(
    Facts, family="correctness", uses=("contexts",), empty="not applicable without passages"
)


@metric_group(
    _of_contexts("context_relevance", "Mean cosine of the question and each context."),
    _of_contexts(
        "context_sufficiency", "Share of contexts with a cosine of 0.5 or more to the question."
    ),
    Facts(
        "answer_relevance",
        "Cosine of the answer and the expected answer, or the question where none is expected.",
        family="correctness",
        uses=("answer", "expected"),
        empty="0 for an empty answer; not applicable without one",
    ),
    Facts(
        "answer_correctness",
        "Cosine of the answer and the expected answer; the best of several expected ones.",
        family="correctness",
        uses=("answer", "expected"),
        empty="0 for an empty answer; not applicable without an answer or an expected one",
    ),
    Facts(
        "answer_hallucination",
        "Share of the answer's sentences whose best cosine with any context is below 0.4.",
        family="correctness",
        better="lower",
        uses=("answer", "contexts"),
        empty="0 for an answer with no sentence; not applicable without an answer or passages",
    ),
)
def embedding_metrics(
    pairs: Sequence[Pair],
    *,
    names: Sequence[str],
    embed: Embedder,
    relevant_from: float = RELEVANT_FROM,
    supported_from: float = SUPPORTED_FROM,
    relevance_to: str = "expected",
) -> dict[str, list[Score]]:
    """Context relevance and sufficiency, answer relevance, correctness and hallucination, by cosine.

    With `relevance_to` "question" the answer's relevance is to the question, also where an answer
    is expected.
    """
    import numpy as np

    if relevance_to not in ("expected", "question"):
        raise SettingsError(f'relevance_to is "{relevance_to}", expected "expected" or "question"')
    # Contexts repeat in many cases; each text is embedded once.
    texts = list(
        dict.fromkeys(text for pair in pairs for text in _texts(pair, names) if text.strip())
    )
    # The row of zeros stands for blank texts: index -1 finds it.
    vectors = np.vstack([embed.embed(texts), np.zeros((1, embed.dimension), np.float32)])
    meaning = Cosines(
        vectors,
        {text: row for row, text in enumerate(texts)},
        relevant_from,
        supported_from,
        relevance_to,
    )
    return {name: [_MEASURES[name](*pair, meaning) for pair in pairs] for name in names}


def evaluate_all(
    question: str,
    answer: str | None,
    reference: str | Sequence[str] | None,
    contexts: Sequence[str] | None,
    model_name: str = "all-MiniLM-L6-v2",
    thresholds: tuple[float, float] = (RELEVANT_FROM, SUPPORTED_FROM),
) -> dict[str, float | None]:
    """The five embedding metrics of one answer, by name; None where a metric is not applicable (no reference).

    `thresholds` are the cosines from which a context counts as relevant and a sentence as supported.
    For many answers use a suite or `answerkey score`: they embed all texts in one batch.

    >>> evaluate_all("Where?", "In Paris.", "Paris", ["It is in Paris."])["answer_correctness"]  # doctest: +SKIP
    0.83
    """
    expected = _as_texts(reference)
    passages = _as_texts(contexts)
    pair = (
        Case("evaluate_all", question or "", expected=expected),
        Response(answer=answer or "", passages=tuple(Passage(text or "") for text in passages)),
    )
    scores = embedding_metrics(
        [pair],
        names=tuple(_MEASURES),
        embed=load_embedder(model_name),
        relevant_from=thresholds[0],
        supported_from=thresholds[1],
    )
    values = {name: column[0].value for name, column in scores.items()}
    if not passages:
        # The function is a formula for programs and keeps its values for no contexts; a report
        # shows the metrics, which are not applicable then.
        values["context_relevance"] = 0.0
        values["context_sufficiency"] = 0.0
        values["answer_hallucination"] = float(bool(split_at_stops(answer or "")))
    shown = (
        f"{name}={'not applicable' if value is None else f'{value:.3f}'}"
        for name, value in values.items()
    )
    log.info("evaluate_all: %s", ", ".join(shown))
    return values


def _as_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """One text or several, as a tuple; empty for None."""
    if isinstance(value, str):
        return (value,)
    return tuple(value or ())


def _texts(pair: Pair, names: Sequence[str]) -> Iterator[str]:
    """Every text that the metrics in `names` compare."""
    case, response = pair
    if {"context_relevance", "context_sufficiency", "answer_relevance"}.intersection(names):
        yield case.question
    if {"answer_relevance", "answer_correctness"}.intersection(names):
        yield from (response.answer or "", *case.expected)
    if {"context_relevance", "context_sufficiency", "answer_hallucination"}.intersection(names):
        yield from response.contexts
    if "answer_hallucination" in names:
        yield from split_at_stops(response.answer or "")


def _context_relevance(case: Case, response: Response, meaning: Cosines) -> Score:
    if not response.contexts:
        return Score.not_applicable("no passages")
    mean = meaning.cosines([case.question], response.contexts).mean()
    return _cosine(float(mean), f"mean of {format_count(len(response.contexts), 'context')}")


def _context_sufficiency(case: Case, response: Response, meaning: Cosines) -> Score:
    if not response.contexts:
        return Score.not_applicable("no passages")
    near = int((meaning.cosines([case.question], response.contexts) >= meaning.relevant_from).sum())
    reason = f"{near} of {format_count(len(response.contexts), 'context')} at or above {meaning.relevant_from:g}"
    return Score(near / len(response.contexts), reason)


def _answer_relevance(case: Case, response: Response, meaning: Cosines) -> Score:
    if response.answer is None:
        return Score.not_applicable("no answer")
    to_question = meaning.relevance_to == "question"
    # A refusal is judged by `abstention`; its cosine with the question means nothing.
    if to_question and refusal(response.answer) == "full":
        return Score.not_applicable("the answer declines")
    if to_question:
        expected = ()
    else:
        expected = _not_blank(case.expected)
    best = meaning.cosines([response.answer], expected or (case.question,)).max()
    return _cosine(float(best), f"against {'the expected answer' if expected else 'the question'}")


def _answer_correctness(case: Case, response: Response, meaning: Cosines) -> Score:
    expected = _not_blank(case.expected)
    if response.answer is None or not expected:
        return Score.not_applicable(
            "no answer" if response.answer is None else "no expected answer in the case"
        )
    return _cosine(
        float(meaning.cosines([response.answer], expected).max()), "against the expected answer"
    )


def _answer_hallucination(case: Case, response: Response, meaning: Cosines) -> Score:
    if response.answer is None:
        return Score.not_applicable("no answer")
    parts = split_at_stops(response.answer)
    if not parts:
        return Score(0.0, "no sentence in the answer")
    if not response.contexts:
        return Score.not_applicable("no passages")
    best = meaning.cosines(parts, response.contexts).max(axis=1)
    loose = [
        part for part, cosine in zip(parts, best, strict=True) if cosine < meaning.supported_from
    ]
    count = f"{len(loose)} of {format_count(len(parts), 'sentence')}"
    reason = f"{count} below {meaning.supported_from:g} with every context"
    return Score(len(loose) / len(parts), reason, details={"unsupported": loose} if loose else {})


_MEASURES: dict[str, Callable[[Case, Response, Cosines], Score]] = {
    "context_relevance": _context_relevance,
    "context_sufficiency": _context_sufficiency,
    "answer_relevance": _answer_relevance,
    "answer_correctness": _answer_correctness,
    "answer_hallucination": _answer_hallucination,
}


def _cosine(value: float, reason: str) -> Score:
    """Clipped to 0..1; where that changes more than rounding the reason gives the cosine."""
    value = round(value, _DECIMALS)
    shown = min(max(0.0, value), 1.0)
    if abs(shown - value) < 1e-5:
        return Score(shown, reason)
    return Score(
        shown, f"{reason}; the cosine is {value:.3f}, shown as {shown:g}", details={"cosine": value}
    )


def _not_blank(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())
