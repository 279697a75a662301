"""The five checks of a proposed case: quote, support, round trip, memory, other passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from answerkey.language.refusal import refusal
from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.testsets.audit.question_words import SetLanguage
from answerkey.testsets.audit.support import SupportQuestion, measure_support
from answerkey.testsets.generate.made_cases import MadeCase
from answerkey.testsets.generate.model_calls import ModelCalls
from answerkey.testsets.generate.proposals import (
    Proposal,
    QuestionKind,
    answer_from,
    answer_from_memory,
)
from answerkey.testsets.generate.report import Rejection
from answerkey.testsets.generate.source_passages import SourcePassage
from answerkey.text import words
from answerkey.types import Case, Response

FindOthers = Callable[[str, Sequence[SourcePassage]], list[SourcePassage]]
_AGREE_FROM = 0.5
_SUPPORTED_FROM = 0.5


@dataclass(frozen=True)
class Checker:
    """`find_others` gives the passages that search finds for a question, without its own."""

    calls: ModelCalls
    find_others: FindOthers
    language: SetLanguage

    def check(self, proposal: Proposal) -> MadeCase | Rejection:
        """The case, or the first check that it fails; later checks are not paid for."""
        if proposal.kind is QuestionKind.UNANSWERABLE:
            return self._check_unanswerable(proposal)
        pairs = zip(proposal.quotes, proposal.passages, strict=True)
        # The free checks come first; calls to the model follow.
        if not all(has_quote(passage.text, quote) for quote, passage in pairs):
            return Rejection.QUOTE_NOT_FOUND
        if not self._is_supported(proposal):
            return Rejection.QUOTE_DOES_NOT_SUPPORT
        if not self._round_trip_agrees(proposal):
            return Rejection.ROUND_TRIP_DIFFERS
        # A question that the model answers without the passage tests the model, not the search.
        known_answer = answer_from_memory(self.calls, proposal.question)
        if agrees(proposal.question, proposal.answer, known_answer):
            return Rejection.KNOWN_WITHOUT_PASSAGE
        return self._check_other_passages(proposal)

    def _is_supported(self, proposal: Proposal) -> bool:
        """Whether the quotes together support the answer; of several, none may do so alone."""
        parts = [proposal.quotes]
        # A multi-hop question that one quote answers needs only one hop.
        if len(proposal.quotes) > 1:
            parts += [(quote,) for quote in proposal.quotes]
        questions = [
            SupportQuestion(proposal.question, proposal.answer, quotes) for quotes in parts
        ]
        together, *alone = measure_support(questions, self.language)
        if together.share < _SUPPORTED_FROM or together.contradicted:
            return False
        return all(one.least < _SUPPORTED_FROM for one in alone)

    def _round_trip_agrees(self, proposal: Proposal) -> bool:
        passage = _join_passages(proposal.passages)
        answer = answer_from(self.calls, proposal.question, passage)
        return agrees(proposal.question, proposal.answer, answer)

    def _check_other_passages(self, proposal: Proposal) -> MadeCase | Rejection:
        """Another passage with the same answer becomes a second label; with another, a rejection."""
        labels = [passage.id for passage in proposal.passages]
        documents = [passage.document for passage in proposal.passages]
        for passage in self.find_others(proposal.question, proposal.passages):
            answer = answer_from(self.calls, proposal.question, passage)
            # Search finds near passages that do not answer; they are no second label.
            if not answer or refusal(answer) == "full":
                continue
            if not agrees(proposal.question, proposal.answer, answer):
                return Rejection.OTHER_PASSAGE_ANSWERS
            labels.append(passage.id)
            documents.append(passage.document)
        return MadeCase(
            question=proposal.question,
            kind=proposal.kind.value,
            passages=tuple(labels),
            quotes=proposal.quotes,
            answer=proposal.answer,
            documents=tuple(dict.fromkeys(documents)),
        )

    def _check_unanswerable(self, proposal: Proposal) -> MadeCase | Rejection:
        """Confirmed by search and judge: no passage that search finds has an answer."""
        others = self.find_others(proposal.question, ())
        # Its own passage too: the model may have missed the answer in it.
        for passage in (*proposal.passages, *others):
            answer = answer_from(self.calls, proposal.question, passage)
            if answer and refusal(answer) != "full":
                return Rejection.ANSWERABLE
        return MadeCase(
            question=proposal.question,
            kind=proposal.kind.value,
            passages=(),
            answer=proposal.answer,
            documents=tuple(passage.document for passage in proposal.passages),
        )


def _join_passages(passages: Sequence[SourcePassage]) -> SourcePassage:
    text = "\n\n".join(passage.text for passage in passages)
    return SourcePassage(passages[0].id, passages[0].document, text, passages[0].heading)


def has_quote(text: str, quote: str) -> bool:
    """Whether the words of a quote stand in the text, in order and without a gap.

    >>> has_quote("Staff have **28 days**.", "staff have 28 days")
    True
    """
    # By words, because models drop emphasis, change quotation marks and join lines.
    quoted = " ".join(words(quote))
    return bool(quoted) and f" {quoted} " in f" {' '.join(words(text))} "


def agrees(question: str, expected: str, answer: str) -> bool:
    """Whether an answer says the same as the expected one; none and a refusal do not."""
    if not answer or refusal(answer) == "full":
        return False
    score = answer_agreement([(Case("", question, (expected,)), Response(answer))])[0]
    return (score.value or 0.0) >= _AGREE_FROM
