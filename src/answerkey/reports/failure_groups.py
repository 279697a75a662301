"""Failures grouped by kind and cause, with the pass rate that fixing a group would bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from answerkey.text import format_count


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """`count` failures of one kind and cause.

    `reachable` is the pass rate if all of them passed, the most that fixing them can bring.
    """

    kind: str
    cause: str
    count: int
    reachable: float | None

    @property
    def title(self) -> str:
        return f"{self.kind}, {self.cause}" if self.cause else self.kind


def group_failures(
    failures: Iterable[tuple[str, str]], passed: int, decided: int
) -> list[FailureGroup]:
    """Groups of failures, largest first. `failures` are pairs of kind and cause.

    `passed` of the `decided` cases passed; an empty kind is called "other".

    >>> group_failures([("refused", "not retrieved")], passed=3, decided=4)
    [FailureGroup(kind='refused', cause='not retrieved', count=1, reachable=1.0)]
    """
    counts = Counter((kind or "other", cause) for kind, cause in failures)
    groups: list[FailureGroup] = []
    for (kind, cause), count in counts.most_common():
        reachable = min(1.0, (passed + count) / decided) if decided else None
        groups.append(FailureGroup(kind, cause, count, reachable))
    return groups


def group_lines(groups: Sequence[FailureGroup]) -> list[str]:
    """`7 of 19: wrong figure, not retrieved; fixing them would bring at most 84 %`."""
    total = sum(group.count for group in groups)
    lines: list[str] = []
    for group in groups:
        line = f"{group.count} of {format_count(total, 'failure')}: {group.title}"
        if group.reachable is not None:
            line += f"; fixing them would bring at most {group.reachable:.0%} passed"
        lines.append(line)
    return lines
