"""Finds where a failure comes from, as far as labels of documents and passages show it."""

from __future__ import annotations

from answerkey.language.sentences import content_stems
from answerkey.profiles.explain.failed_answer import HAS_FACTS, FailedAnswer
from answerkey.profiles.explain.sentence import Failure
from answerkey.profiles.explain.statements import find_passage
from answerkey.profiles.explain.wording import has_opposite, own_words, share_of_words
from answerkey.types import Cause, Kind

# Passages and labels say nothing about where these failures come from.
_KINDS_WITHOUT_CAUSE = frozenset(
    {
        Kind.WRONG_ROUTE,
        Kind.BAD_FORMAT,
        Kind.WRONG_TOOL,
        Kind.WRONG_ARGUMENT,
        Kind.FORBIDDEN_TOOL,
        Kind.LEAK,
        Kind.ASKED_AGAIN,
    }
)
# Share of the words of the question from which the passages are about it.
_ABOUT_QUESTION = 0.5
# Probability from which the passages support the answer, as in the reports of groundedness.
_SUPPORTED = 0.5


def find_cause(failed: FailedAnswer, failure: Failure) -> Cause:
    if failure.kind in _KINDS_WITHOUT_CAUSE:
        return Cause.UNCLEAR
    from_labels = _find_cause_by_labels(failed)
    if from_labels is not None:
        return from_labels
    if not failed.passages:
        return Cause.UNCLEAR
    if not failed.case.expected or failure.kind is Kind.SHOULD_REFUSE:
        return _find_cause_without_expected(failed, failure)
    if _is_label_wrong(failed, failure):
        return Cause.WRONG_LABEL
    if not _have_missing_fact(failed, failure):
        return Cause.NOT_RETRIEVED
    if failure.kind is Kind.UNSUPPORTED:
        return Cause.INVENTED
    return Cause.NOT_USED


def _have_missing_fact(failed: FailedAnswer, failure: Failure) -> bool:
    """Whether the passages have the fact that the answer lacks."""
    if failure.expected is not None:
        return find_passage(failure.expected, failed.passages) is not None
    all_passages = "\n".join(failed.passages)
    if failure.omitted:
        return share_of_words(content_stems(failure.omitted), all_passages) >= HAS_FACTS
    return failed.has_expected_facts(all_passages)


def _find_cause_by_labels(failed: FailedAnswer) -> Cause | None:
    """Labels of relevant documents say where the answer is, or that it is nowhere."""
    labels = failed.case.relevant
    if labels is None:
        return None
    relevant = {name for name, grade in labels.items() if grade > 0}
    # Labels that are all 0 say that no document has the answer.
    if not relevant:
        return Cause.NOT_IN_DOCUMENTS
    retrieved = failed.retrieved_ids()
    # A bot that reports no ids shows nothing about its retrieval.
    if retrieved and relevant.isdisjoint(retrieved):
        return Cause.NOT_RETRIEVED
    return None


def _find_cause_without_expected(failed: FailedAnswer, failure: Failure) -> Cause:
    if failure.kind is Kind.UNSUPPORTED:
        return Cause.INVENTED
    if failure.kind is Kind.SHOULD_REFUSE:
        facts = own_words(failed.answer, failed.case.question)
        # The passages have the answer, so the label may be wrong as well as the bot.
        if share_of_words(facts, "\n".join(failed.passages)) >= HAS_FACTS:
            return Cause.UNCLEAR
        return Cause.INVENTED
    if failure.kind is Kind.CONTRADICTS:
        return Cause.NOT_USED
    return Cause.UNCLEAR


def _is_label_wrong(failed: FailedAnswer, failure: Failure) -> bool:
    """The passages support the answer and contradict the expected one."""
    if not _is_supported(failed):
        return False
    if failure.stated is not None and failure.expected is not None:
        has_stated = find_passage(failure.stated, failed.passages) is not None
        return has_stated and find_passage(failure.expected, failed.passages) is None
    if failure.kind is not Kind.CONTRADICTS:
        return False
    passages = "\n".join(failed.passages)
    if share_of_words(content_stems(failed.case.question), passages) < _ABOUT_QUESTION:
        return False
    # Support alone is too little: the small model takes "a visa is needed" for supported by "need
    # no visa for stays of up to 90 days". The words of the label are in such a passage, too.
    if failed.has_expected_facts(passages) and has_opposite(passages, failed.answer):
        return False
    share_of_answer = share_of_words(own_words(failed.answer, failed.case.question), passages)
    share_of_expected = share_of_words(own_words(failed.expected, failed.case.question), passages)
    return share_of_answer >= share_of_expected


def _is_supported(failed: FailedAnswer) -> bool:
    """Whether the passages support every sentence of the answer, as far as it was measured."""
    for name in ("groundedness", "groundedness:words", "entailment"):
        score = failed.scores.get(name)
        if score is not None and score.value is not None:
            return score.value >= _SUPPORTED
    return False
