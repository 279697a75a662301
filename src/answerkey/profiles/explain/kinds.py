"""The kind of a failure with its sentence: the first rule that applies."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.language.refusal import refusal
from answerkey.profiles.explain.against_expected import compare_with_expected
from answerkey.profiles.explain.details import read_entries
from answerkey.profiles.explain.failed_answer import (
    FailedAnswer,
    has_no_answer,
    is_error_message,
)
from answerkey.profiles.explain.sentence import Failure, clip, quote
from answerkey.profiles.explain.support import find_wrong_support
from answerkey.profiles.explain.tool_calls import explain_tools
from answerkey.text import words
from answerkey.types import Kind

_FORMAT_CHECKS = frozenset({"regex", "is-json", "contains-json", "starts-with"})
# What an answer lacks that does not meet a criterion of `answer_criteria`.
_KIND_OF_CRITERION = {
    "must_contain": Kind.INCOMPLETE,
    "must_contain_any": Kind.INCOMPLETE,
    "numerical_range": Kind.WRONG_FIGURE,
    "expected_value": Kind.WRONG_FIGURE,
    "regex": Kind.BAD_FORMAT,
}


def find_kind(failed: FailedAnswer) -> Failure:
    """The rules are ordered from the surest to the vaguest."""
    # What was called, and which route was taken, is recorded: no text has to be understood.
    # A refusal comes before the comparison, because it lacks every expected figure and name.
    # Criteria in words come last: their own text says least about the answer.
    return (
        explain_tools(failed.scores, failed.failing)
        or _find_wrong_route(failed)
        or _find_missing_answer(failed)
        or _find_wrong_ranking(failed)
        or _find_bad_format(failed)
        or _find_refusal(failed)
        or _find_unmet_answer_criterion(failed)
        or compare_with_expected(failed)
        or find_wrong_support(failed)
        or _find_unmet_criterion(failed)
        or _describe_other(failed)
    )


def _find_wrong_route(failed: FailedAnswer) -> Failure | None:
    score = failed.scores.get("route_score")
    # An acceptable route, with a score above 0, is not the reason of the failure.
    if score is None or score.value is None or score.value > 0:
        return None
    route = failed.response.route or "none"
    sentence = f"Took the route {route}, expected {failed.case.expected_route}."
    return Failure(Kind.WRONG_ROUTE, sentence)


def _find_missing_answer(failed: FailedAnswer) -> Failure | None:
    # A run of rankings has no answers, so their absence explains nothing.
    if failed.fails_only_ranking():
        return None
    if has_no_answer(failed.answer):
        sentence = "Gives no answer"
    elif is_error_message(failed.case, failed.response):
        sentence = f"Gives an error message: {quote(failed.answer)}"
    else:
        return None
    if failed.case.expected:
        sentence += f", expected {quote(failed.expected)}"
    return Failure(Kind.NO_ANSWER, f"{sentence}{failed.cite_expected()}.")


def _find_wrong_ranking(failed: FailedAnswer) -> Failure | None:
    if not failed.fails_only_ranking():
        return None
    relevant = [name for name, grade in (failed.case.relevant or {}).items() if grade > 0]
    retrieved = failed.retrieved_ids()
    first = ", ".join(retrieved[:3]) or "nothing"
    present = sum(name in retrieved for name in relevant)
    expected = ", ".join(relevant[:3])
    sentence = (
        f"Finds {present} of {len(relevant)} relevant; ranks {first} first, expected {expected}."
    )
    return Failure(Kind.OTHER, sentence)


def _find_bad_format(failed: FailedAnswer) -> Failure | None:
    says = f"Says {quote(failed.answer)}"
    pattern = failed.case.criteria.regex
    score = failed.scores.get("regex")
    if pattern and score is not None and score.value == 0 and "regex" in failed.failing:
        return Failure(Kind.BAD_FORMAT, f"{says}, expected the pattern {clip(pattern)}.")
    for check in _unmet_criteria(failed):
        if str(check.get("kind")) in _FORMAT_CHECKS:
            return Failure(Kind.BAD_FORMAT, f"{says}, expected {_describe_check(check)}.")
    return None


def _unmet_criteria(failed: FailedAnswer) -> list[Mapping[str, object]]:
    """The criteria in words that the answer does not meet, as the metric lists them."""
    if "criteria" not in failed.failing:
        return []
    checks = read_entries(failed.scores.get("criteria"), "criteria")
    return [check for check in checks if check.get("met") is False]


def _find_unmet_criterion(failed: FailedAnswer) -> Failure | None:
    for check in _unmet_criteria(failed):
        sentence = f"Says {quote(failed.answer)}, expected: {_describe_check(check)}."
        return Failure(Kind.OTHER, sentence)
    return None


def _find_unmet_answer_criterion(failed: FailedAnswer) -> Failure | None:
    # A difference from the expected answer says more than a text that is missing.
    if "answer_criteria" not in failed.failing or "answer_agreement" in failed.failing:
        return None
    says = f"Says {quote(failed.answer)}"
    for check in read_entries(failed.scores.get("answer_criteria"), "criteria"):
        if check.get("met") is False:
            if check.get("kind") == "must_not_contain":
                return Failure(Kind.OTHER, f"{says}; {_describe_check(check)}.")
            kind = _KIND_OF_CRITERION.get(str(check.get("kind")), Kind.OTHER)
            return Failure(kind, f"{says}, expected {_describe_check(check)}.")
    return None


def _describe_check(check: Mapping[str, object]) -> str:
    return clip(str(check.get("ask") or check.get("name") or "another criterion"))


def _find_refusal(failed: FailedAnswer) -> Failure | None:
    # An answer that declines a part and answers the rest is no refusal.
    declines = refusal(failed.answer) == "full"
    if _should_decline(failed):
        if declines:
            return None
        return Failure(Kind.SHOULD_REFUSE, f"Says {quote(failed.answer)}, expected a refusal.")
    if not declines:
        return None
    sentence = f"Declines: {quote(failed.answer)}"
    if failed.case.expected:
        sentence += f", expected {quote(failed.expected)}"
    return Failure(Kind.REFUSED, f"{sentence}{failed.cite_expected()}.")


def _should_decline(failed: FailedAnswer) -> bool:
    if failed.case.criteria.out_of_scope:
        return True
    return any(refusal(expected) == "full" for expected in failed.case.expected)


def _describe_other(failed: FailedAnswer) -> Failure:
    sentence = f"Says {quote(failed.answer)}"
    forbidden = _find_forbidden_text(failed)
    if forbidden:
        return Failure(Kind.OTHER, f"{sentence}; must not contain {quote(forbidden)}.")
    if missing := _missing_texts(failed):
        return Failure(Kind.INCOMPLETE, f"{sentence}, but not {quote(', '.join(missing))}.")
    if failed.case.criteria.clarification_expected:
        return Failure(Kind.OTHER, f"{sentence}, expected a question that clarifies.")
    if _says_exactly_the_expected(failed):
        sentence += ", as expected; other requirements of the profile are not met"
    elif failed.case.expected:
        sentence += f", expected {quote(failed.expected)}{failed.cite_expected()}"
    return Failure(Kind.OTHER, f"{sentence}.")


def _says_exactly_the_expected(failed: FailedAnswer) -> bool:
    answer = words(failed.answer)
    return bool(answer) and any(answer == words(text) for text in failed.case.expected)


def _find_forbidden_text(failed: FailedAnswer) -> str:
    answer = failed.answer.casefold()
    for text in failed.case.criteria.must_not_contain:
        if text.casefold() in answer:
            return text
    return ""


def _missing_texts(failed: FailedAnswer) -> list[str]:
    answer = failed.answer.casefold()
    return [text for text in failed.case.criteria.must_contain if text.casefold() not in answer]
