"""Failures grouped by kind and cause, with the pass rate that fixing a group would bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from answerkey.percentages import format_percent
from answerkey.runs.table import RunTable
from answerkey.text import format_count
from answerkey.types import Outcome, Status

_NOT_FAILED = (Status.SCORED, Status.UNSCORED)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """`count` failures of one kind and cause; the cause is empty if nothing is known of it.

    `reachable` is the pass rate if all of them passed: the most that fixing them can bring.
    """

    kind: str
    cause: str
    count: int
    reachable: float | None

    @property
    def title(self) -> str:
        if self.cause:
            return f"{self.kind}, {self.cause}"
        return self.kind


@dataclass(frozen=True, slots=True)
class FailedCase:
    """One failed case with its sentence, for the first lines of a report."""

    id: str
    status: str
    kind: str
    cause: str
    why: str

    @staticmethod
    def of_outcome(outcome: Outcome) -> FailedCase:
        verdict = outcome.verdict
        why = verdict.why or verdict.justification
        return FailedCase(outcome.case.id, verdict.status, verdict.kind, verdict.cause, why)


def group_failures(table: RunTable, pass_rate: float | None) -> list[FailureGroup]:
    """The failed cases of a run in groups, largest first."""
    failures: list[tuple[str, str]] = []
    for row in range(len(table)):
        if not table.passed[row] and table.status[row] not in _NOT_FAILED:
            # A run of an earlier version has no kinds; its reasons say nearly the same.
            kind = table.kind[row] or table.reason[row] or "other"
            failures.append((str(kind), str(table.cause[row] or "")))
    passed = int(table.passed.sum())
    return count_groups(failures, passed, pass_rate)


def count_groups(
    failures: Iterable[tuple[str, str]], passed: int, pass_rate: float | None
) -> list[FailureGroup]:
    """Groups of pairs of kind and cause, largest first, beside `passed` cases that passed.

    >>> count_groups([("refused", "not retrieved")], passed=3, pass_rate=0.75)
    [FailureGroup(kind='refused', cause='not retrieved', count=1, reachable=1.0)]
    """
    counts = Counter(failures)
    decided = passed + counts.total()
    if pass_rate and passed:
        decided = round(passed / pass_rate)
    groups: list[FailureGroup] = []
    for (kind, cause), count in counts.most_common():
        reachable = None
        if pass_rate is not None and decided:
            reachable = min(1.0, (passed + count) / decided)
        groups.append(FailureGroup(kind, cause, count, reachable))
    return groups


def group_lines(groups: Sequence[FailureGroup]) -> list[str]:
    """`7 of 19 failures: wrong figure, not retrieved; fixing them would bring at most 84 % passed`."""
    total = sum(group.count for group in groups)
    lines: list[str] = []
    for group in groups:
        line = f"{group.count} of {format_count(total, 'failure')}: {group.title}"
        if group.reachable is not None:
            reachable = format_percent(group.reachable)
            line += f"; fixing {_them(group.count)} would bring at most {reachable} passed"
        lines.append(line)
    return lines


def _them(count: int) -> str:
    return "it" if count == 1 else "them"
