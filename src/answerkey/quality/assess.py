"""Six checks on one live answer, with no model call: what is wrong with it, and how to fix it."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Literal, cast

from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import is_number
from answerkey.errors import InputError
from answerkey.language.refusal import refusal
from answerkey.quality.phrases import FALLBACKS, is_list_question, is_listing
from answerkey.targets.respond import as_response
from answerkey.text import citations, has_any
from answerkey.types import LARGEST, Passage

# A text, a Passage, a dict, a document object of a framework, or a pair (passage, score).
Context = object

log = logging.getLogger("answerkey.quality")


class Check(StrEnum):
    """The checks, in the order of a report."""

    NOT_EMPTY = "not_empty"
    CONTEXTS_EXIST = "contexts_exist"
    CITATIONS_VALID = "citations_valid"
    NO_FALLBACK = "no_fallback"
    RETRIEVAL_SCORES = "retrieval_scores"
    LIST_STRUCTURE = "list_structure"


CHECKS = tuple(check.value for check in Check)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the checks.

    `minimum_score` is on the retriever's scale; it applies to the best passage, or to the mean of all
    passages with `scores = "mean"`.
    """

    minimum_score: float = 0.3
    scores: Literal["best", "mean"] = "best"
    fallbacks: tuple[str, ...] = FALLBACKS


@dataclass(frozen=True, slots=True)
class Finding:
    """A check that failed: what is wrong, and how to fix it."""

    check: str
    message: str
    action: str


@dataclass(frozen=True, slots=True)
class Assessment:
    """`checks` maps each check to True (passed), False (failed) or None (not applicable)."""

    passed: bool
    findings: tuple[Finding, ...]
    checks: Mapping[str, bool | None]
    run_id: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "findings": [asdict(finding) for finding in self.findings]}


def assess_answer(
    question: object,
    answer: object,
    *,
    contexts: Iterable[Context] | None = (),
    retrieval_scores: Iterable[float | None] | None = None,
    run_id: str | None = None,
    limits: Limits | None = None,
) -> Assessment:
    """Run the six checks. Each fault is reported once: a check that an earlier finding makes
    meaningless is not applicable. Without `retrieval_scores` the scores of the contexts are used."""
    check_question(question)
    passages = read_contexts(contexts)
    interaction = _Interaction(
        question=plain_text(question),
        answer=plain_text(answer),
        contexts=sum(1 for passage in passages if passage.text),
        scores=_read_scores(retrieval_scores, passages),
        limits=limits or Limits(),
    )
    findings = tuple(interaction.findings())
    failed = {finding.check for finding in findings}
    skipped = interaction.not_applicable()
    checks: dict[str, bool | None] = {name: name not in failed for name in CHECKS}
    checks.update(dict.fromkeys(skipped - failed))
    _log_result(run_id, checks)
    return Assessment(not findings, findings, checks, run_id)


def check_question(question: object) -> None:
    """Refuse a model in place of the question: scripts call such functions as (llm, question, …)."""
    if callable(question) or hasattr(question, "complete") or hasattr(question, "invoke"):
        kind = type(question).__name__
        raise TypeError(f"the question is of type {kind}; pass question, answer, then model=…")


def _log_result(run_id: str | None, checks: Mapping[str, bool | None]) -> None:
    words = {True: "ok", False: "failed", None: "not applicable"}
    listed = ", ".join(f"{name}={words[passed]}" for name, passed in checks.items())
    if False in checks.values():
        result = "failed"
    else:
        result = "passed"
    log.info("assess_answer %s: %s; %s", run_id or "", result, listed)


class _Interaction:
    """One question with its answer, the number of its contexts, and their retrieval scores."""

    def __init__(
        self,
        question: str,
        answer: str,
        contexts: int,
        scores: Sequence[float],
        limits: Limits,
    ) -> None:
        self.question = question
        self.answer = answer
        self.contexts = contexts
        self.scores = scores
        self.limits = limits
        self.fallback = _find_fallback(answer, limits.fallbacks)
        # A refusal needs no citation and no list.
        self.declines = bool(self.fallback) or refusal(answer) == "full"

    def not_applicable(self) -> set[str]:
        """The checks that this interaction gives no occasion for."""
        checks: set[str] = set()
        if not self.answer:
            checks |= {Check.CITATIONS_VALID, Check.NO_FALLBACK, Check.LIST_STRUCTURE}
        if not self.contexts:
            checks |= {Check.CITATIONS_VALID, Check.RETRIEVAL_SCORES}
        if self.declines:
            checks |= {Check.CITATIONS_VALID, Check.LIST_STRUCTURE}
        if not self.scores:
            checks.add(Check.RETRIEVAL_SCORES)
        if not is_list_question(self.question):
            checks.add(Check.LIST_STRUCTURE)
        return checks

    def findings(self) -> Iterator[Finding]:
        """The checks that fail, in order."""
        skipped = self.not_applicable()
        for check in Check:
            if check.value in skipped:
                continue
            problem = getattr(self, f"_{check.value}")()
            if problem is not None:
                yield Finding(check.value, *problem)

    def _not_empty(self) -> tuple[str, str] | None:
        if re.search(r"\w", self.answer):
            return None
        action = "answer the question, or say that the sources do not hold the answer"
        return "the answer is empty", action

    def _contexts_exist(self) -> tuple[str, str] | None:
        if self.contexts:
            return None
        action = "check the index and the query; without contexts the answer has no source"
        return "no context was retrieved", action

    def _citations_valid(self) -> tuple[str, str] | None:
        cited = set(citations(self.answer))
        if self.contexts == 1:
            marks = "[1]"
        else:
            marks = f"[1] to [{self.contexts}]"
        if not cited:
            return "the answer cites no context", f"mark each statement with its source, {marks}"
        wrong = sorted(number for number in cited if not 1 <= number <= self.contexts)
        if not wrong:
            return None
        listed = ", ".join(f"[{number}]" for number in wrong)
        return f"{listed} points to no context", f"cite only {marks}"

    def _no_fallback(self) -> tuple[str, str] | None:
        if not self.fallback:
            return None
        action = "answer from the contexts, or say what they do not hold"
        return f'the answer is a fallback: "{self.fallback}"', action

    def _retrieval_scores(self) -> tuple[str, str] | None:
        if not all(math.isfinite(score) for score in self.scores):
            action = "check the retriever: its scores must be finite"
            return "a retrieval score is not a number", action
        which = "best"
        score = max(self.scores)
        if self.limits.scores == "mean":
            which = "mean"
            score = sum(self.scores) / len(self.scores)
        minimum = self.limits.minimum_score
        if score >= minimum:
            return None
        action = (
            "widen the search or rewrite the query, or decline: the contexts may be off the topic"
        )
        return f"the {which} retrieval score is {score:.2f}, under {minimum:.2f}", action

    def _list_structure(self) -> tuple[str, str] | None:
        if is_listing(self.answer):
            return None
        action = "put each item on its own line, as a list with - or 1. in front"
        return "the question asks for a list, the answer is running text", action


def _find_fallback(answer: str, phrases: Iterable[str]) -> str:
    for phrase in phrases:
        if has_any(answer, [phrase]):
            return phrase
    return ""


def plain_text(value: object) -> str:
    """The text of a question or an answer, or the `content` of a framework's object; "" if none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    return as_response(value).answer or ""


def read_contexts(contexts: object) -> tuple[Passage, ...]:
    """The passages of a live bot. An unreadable one is left out: a check must not stop the bot."""
    if isinstance(contexts, (str, Mapping)) or not isinstance(contexts, Iterable):
        return _read_context(cast("object", contexts))
    items = cast("Iterable[object]", contexts)
    return tuple(passage for item in items for passage in _read_context(item))


def _read_context(item: object) -> tuple[Passage, ...]:
    try:
        return as_passages(item)
    except InputError:
        return ()


def _read_scores(scores: object, passages: Sequence[Passage]) -> tuple[float, ...]:
    """The retrieval scores as numbers. NaN stays, because a check reports it."""
    if scores is None:
        return tuple(passage.score for passage in passages if passage.score is not None)
    listed = cast("Iterable[object]", scores if isinstance(scores, Iterable) else (scores,))
    # A whole number can be too large for a float, so it is cut before the conversion.
    return tuple(float(max(min(score, LARGEST), -LARGEST)) for score in listed if is_number(score))
