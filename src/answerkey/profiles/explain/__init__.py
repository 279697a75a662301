"""Why an answer failed: one sentence, one kind and one cause. The only place that writes them.

The rules and examples are in docs/how-to/failures.md. They read the texts of the case with the
tools of `language`, and the structured results of the metrics; never a sentence of a metric.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from answerkey.profiles.explain.causes import find_cause
from answerkey.profiles.explain.failed_answer import SUPPORT_METRICS as SUPPORT_METRICS
from answerkey.profiles.explain.failed_answer import FailedAnswer
from answerkey.profiles.explain.failed_answer import has_no_answer as has_no_answer
from answerkey.profiles.explain.failed_answer import is_error_message as is_error_message
from answerkey.profiles.explain.kinds import find_kind
from answerkey.profiles.explain.sentence import LONGEST_WHY as LONGEST_WHY
from answerkey.profiles.explain.sentence import clip
from answerkey.types import Case, Cause, Kind, Response, Score


@dataclass(frozen=True, slots=True)
class Explanation:
    """`why` is at most 160 characters and names no metric."""

    why: str
    kind: Kind
    cause: Cause


def explain_failure(
    case: Case, response: Response, scores: Mapping[str, Score], failing: Collection[str]
) -> Explanation:
    """Why the answer of a case failed; `failing` are the metrics that failed it."""
    failed = FailedAnswer(case, response, scores, failing)
    failure = find_kind(failed)
    return Explanation(
        clip(failure.sentence, LONGEST_WHY), failure.kind, find_cause(failed, failure)
    )
