"""The longest texts that metrics read, and the note on a score whose metric read only a part.

Without a limit, an answer of 20 MB held up the `rag` profile for a minute. 100,000 characters are
about 40 pages, more than any answer meant to be read; they take it 1 to 3 s. A passage may be a
whole book.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from answerkey.metrics.registry import Metric
from answerkey.types import Case, Pair, Response, Score

LONGEST_ANSWER = 100_000  # characters, of answers and expected answers
LONGEST_PASSAGE = 1_000_000  # characters, of each passage
# Each text field that is cut, and its name in a reason.
_FIELDS = {"answer": "the answer", "expected": "an expected answer", "contexts": "a passage"}
_COUNTED = "characters"  # the unit of a metric that measures the length itself
Notes = Mapping[str, str]  # by field


def exceeds_limits(case: Case, response: Response) -> bool:
    """Whether a text of the pair is longer than metrics read."""
    texts = (response.answer or "", *case.expected)
    return any(len(text) > LONGEST_ANSWER for text in texts) or any(
        len(passage.text) > LONGEST_PASSAGE for passage in response.passages
    )


def cut_long_texts(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Notes]]:
    """The pairs with long texts cut, and for each pair a note by field that was cut."""
    cut_pairs: list[Pair] = []
    notes: list[Notes] = []
    for case, response in pairs:
        cut_case, case_notes = _cut_expected(case)
        cut_response, response_notes = _cut_response(response)
        cut_pairs.append((cut_case, cut_response))
        notes.append({**case_notes, **response_notes})
    return cut_pairs, notes


def _cut_expected(case: Case) -> tuple[Case, Notes]:
    longest = max(map(len, case.expected), default=0)
    if longest <= LONGEST_ANSWER:
        return case, {}
    expected = tuple(text[:LONGEST_ANSWER] for text in case.expected)
    note = _describe("expected", LONGEST_ANSWER, longest)
    return replace(case, expected=expected), {"expected": note}


def _cut_response(response: Response) -> tuple[Response, Notes]:
    notes: dict[str, str] = {}
    answer = response.answer
    if answer is not None and len(answer) > LONGEST_ANSWER:
        notes["answer"] = _describe("answer", LONGEST_ANSWER, len(answer))
        response = replace(response, answer=answer[:LONGEST_ANSWER])
    longest = max((len(passage.text) for passage in response.passages), default=0)
    if longest > LONGEST_PASSAGE:
        notes["contexts"] = _describe("contexts", LONGEST_PASSAGE, longest)
        passages = tuple(
            replace(passage, text=passage.text[:LONGEST_PASSAGE]) for passage in response.passages
        )
        response = replace(response, passages=passages)
    return response, notes


def _describe(field: str, limit: int, length: int) -> str:
    return f"only the first {limit:,} of {length:,} characters of {_FIELDS[field]} were read"


def is_limited(metric: Metric) -> bool:
    """Whether the metric reads cut texts: one of ours that does not measure the length itself."""
    # A user's metric gets the whole text: its limits are not ours to set.
    return metric.module.startswith("answerkey.") and metric.facts.unit != _COUNTED


def add_notes(metric: Metric, scores: Sequence[Score], notes: Sequence[Notes]) -> list[Score]:
    """The scores with a note where a text that the metric reads was cut."""
    fields = {*metric.facts.needs, *metric.facts.uses}.intersection(_FIELDS)
    noted: list[Score] = []
    for score, by_field in zip(scores, notes, strict=True):
        said = [note for field, note in by_field.items() if field in fields]
        # An error or "not applicable" has a reason of its own.
        if said and score.value is not None:
            reasons = [score.reason, *said] if score.reason else said
            score = msgspec.structs.replace(score, reason="; ".join(reasons))
        noted.append(score)
    return noted
