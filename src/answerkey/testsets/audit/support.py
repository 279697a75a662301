"""Does a text support a statement? The only module of test sets that uses the entailment model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from answerkey.entailment.pair_model import PairModel
from answerkey.language.claims import claims
from answerkey.language.sentences import sentence_spans
from answerkey.metrics.entailment.contradiction import contradicts
from answerkey.metrics.entailment.entailed import Asked, Decision, LocalDecider
from answerkey.retrieval.chunks import Chunking, cut_pages
from answerkey.retrieval.corpus import Page
from answerkey.testsets.audit.question_words import SetLanguage

# The decider reads every sentence; a long page has a few that matter.
_WINDOW = Chunking("sentence", 60, 0)
HEADING_LINE = re.compile(r"^\s*#{1,6}\s.*$", re.MULTILINE)
_WINDOWS_READ = 5
_HOLDS_FROM = 0.5
_MOST_CLAIMS = 6  # of an answer: a page of text as expected answer would take minutes


@dataclass(frozen=True, slots=True)
class AnswerSupport:
    """How far texts support an answer.

    `share` is the mean probability of its statements; `weakest` is the statement with the least,
    `least`; `quote` is the evidence nearest to it; `missing` are the statements without support.
    """

    share: float
    least: float
    weakest: str
    quote: str
    contradicted: bool
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SupportQuestion:
    """An answer to a question, and the texts that should support it."""

    question: str
    answer: str
    texts: tuple[str, ...]


def measure_support(
    questions: Sequence[SupportQuestion],
    language: SetLanguage,
    pair_model: PairModel | None = None,
) -> list[AnswerSupport]:
    """The support of each answer, decided in one batch; by the packaged entailment model by default."""
    checks: list[Asked] = []
    for one in questions:
        # A name or a figure alone is no claim, but it is what must be supported.
        statements = claims(one.answer)[:_MOST_CLAIMS] or (one.answer,)
        texts = tuple(crop_text(text, one.answer, language) for text in one.texts)
        checks.append(Asked(one.question, texts, statements))
    results = LocalDecider(pair_model).decide(checks)
    return [
        _summarise(check.statements, result.decisions)
        for check, result in zip(checks, results, strict=True)
    ]


def _summarise(statements: Sequence[str], decisions: Sequence[Decision]) -> AnswerSupport:
    pairs = list(zip(statements, decisions, strict=True))
    weakest, decision = min(pairs, key=lambda pair: pair[1].supported)
    return AnswerSupport(
        share=sum(one.supported for _, one in pairs) / len(pairs),
        least=decision.supported,
        weakest=weakest,
        quote=decision.quote,
        contradicted=any(one.contradicted and one.supported < _HOLDS_FROM for _, one in pairs),
        missing=tuple(statement for statement, one in pairs if one.supported < _HOLDS_FROM),
    )


def crop_text(text: str, answer: str, language: SetLanguage) -> str:
    """The windows of a page that share most words with the answer, in their order."""
    windows = cut_pages([Page("", text, "")], _WINDOW)
    if len(windows) <= _WINDOWS_READ:
        return text
    content = language.content(answer)
    shares = [len(content & language.content(window.text)) for window in windows]
    best = sorted(range(len(windows)), key=lambda n: -shares[n])[:_WINDOWS_READ]
    # In the order of the page, as a sentence may refer to the one before it.
    return "\n".join(windows[n].text for n in sorted(best))


def nearest_window(text: str, answer: str, language: SetLanguage) -> str:
    """The part of a page that shares most words with the answer; "" for an empty page."""
    windows = cut_pages([Page("", _without_headings(text), "")], _WINDOW)
    return _nearest([window.text for window in windows], answer, language)


def nearest_sentence(text: str, answer: str, language: SetLanguage) -> str:
    """The sentence of a page that shares most words with the answer; "" for an empty page."""
    body = _without_headings(text)
    sentences = [body[start:end] for start, end in sentence_spans(body)]
    return _nearest(sentences, answer, language)


def _without_headings(text: str) -> str:
    # A heading repeats the words of the question and is no evidence.
    return HEADING_LINE.sub("", text).strip() or text


def _nearest(parts: Sequence[str], answer: str, language: SetLanguage) -> str:
    content = language.content(answer)
    best = max(parts, key=lambda part: len(content & language.content(part)), default="")
    return " ".join(best.split())


def states_opposite(first: str, second: str) -> bool:
    """Whether two statements or questions are about the same and say the opposite, by rules.

    >>> states_opposite("Aspirin raises the risk.", "Aspirin lowers the risk.")
    True
    """
    # Each direction sees other words: those of its first text must be in the second.
    return contradicts(first, second) or contradicts(second, first)
