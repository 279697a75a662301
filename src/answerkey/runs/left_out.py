"""Cases that are not run: those to be checked by hand, and follow-ups that nobody asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from answerkey.coerce.decode import warn_once
from answerkey.text import format_count
from answerkey.types import Case

Numbered = tuple[int, Case]
_YES = ("true", "yes", "1")


def leave_out_manual(cases: Iterable[Numbered], *, answers_in_cases: bool) -> Iterator[Numbered]:
    """The cases without those marked `manual: true`, which are counted in a notice.

    With `answers_in_cases`, later turns of a conversation that have no answer are left out too: an
    earlier tool did not ask them, so that they are neither right nor wrong.
    """
    manual = 0
    unanswered = 0
    for n, case in cases:
        # CSV cells are text: "True", "yes" and "1" all mean it.
        if str(case.extra.get("manual", "")).strip().lower() in _YES:
            manual += 1
        elif answers_in_cases and _is_unanswered_follow_up(case):
            unanswered += 1
        else:
            yield n, case
    if manual:
        count = format_count(manual, "case")
        warn_once(f"left out: {count} marked `manual`, to be checked by hand", ("manual", manual))
    if unanswered:
        count = format_count(unanswered, "follow-up")
        warn_once(f"left out: {count} without an answer", ("follow-ups", unanswered))


def _is_unanswered_follow_up(case: Case) -> bool:
    return bool(case.history) and bool(case.extra.get("conversation")) and case.recorded is None


def limit_per_type(cases: Iterable[Numbered], most: int | None) -> Iterator[Numbered]:
    """The first `most` cases of each type; all of them for None."""
    counts: Counter[str | None] = Counter()
    for n, case in cases:
        counts[case.type] += 1
        if most is None or counts[case.type] <= most:
            yield n, case
