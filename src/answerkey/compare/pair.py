"""Two runs, case by case: which cases are in both and still the same, and their numbers side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from answerkey.compare.side import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the cases in both, in A's order. An edited case has its id in both but is another measurement."""

    a: Side
    b: Side
    rows_a: NDArray[Any]
    rows_b: NDArray[Any]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows_a)

    def metrics(self) -> list[str]:
        """Names measured in both runs, in A's order."""
        return [name for name in self.a.metrics if name in self.b.metrics]

    def metric(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The values of the cases that have one in both runs."""
        return self._both_present(self.a.metrics[name], self.b.metrics[name])

    def score(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The verdict's overall score of the cases that have one in both runs."""
        return self._both_present(self.a.score, self.b.score)

    def passed(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Pass (1) or fail (0) of the cases with a verdict in both runs."""
        import numpy as np

        a, b = np.asarray(self.a.passed)[self.rows_a], np.asarray(self.b.passed)[self.rows_b]
        known = (a >= 0) & (b >= 0)
        return a[known], b[known]

    def lost(self) -> list[str]:
        """Ids with a verdict in A and none in B: what B broke."""
        return [
            self.a.ids[i]
            for i, j in zip(self.rows_a.tolist(), self.rows_b.tolist(), strict=True)
            if self.a.passed[i] >= 0 and self.b.passed[j] < 0
        ]

    def _both_present(self, a: Any, b: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        left, right = np.asarray(a)[self.rows_a], np.asarray(b)[self.rows_b]
        present = ~(np.isnan(left) | np.isnan(right))
        return left[present], right[present]


def pair(a: Side, b: Side) -> Pairs:
    """Match by case id."""
    import numpy as np

    where = {case_id: row for row, case_id in enumerate(b.ids)}
    rows_a: list[int] = []
    rows_b: list[int] = []
    removed: list[str] = []
    edited: list[str] = []
    for row, case_id in enumerate(a.ids):
        other = where.pop(case_id, None)
        if other is None:
            removed.append(case_id)
        elif a.cases[row] != b.cases[other]:
            edited.append(case_id)
        else:
            rows_a.append(row)
            rows_b.append(other)
    index = np.array(rows_a, dtype=np.intp), np.array(rows_b, dtype=np.intp)
    return Pairs(a, b, *index, tuple(where), tuple(removed), tuple(edited))
