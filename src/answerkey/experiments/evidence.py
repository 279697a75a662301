"""What a diagnosis can look at: labels, rankings, and as much of the index as is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from answerkey.metrics.ranking.rank import rank
from answerkey.retrieval.rankings import clean_id
from answerkey.types import Case

MEASURE_K = 5
MEASURE = f"f1@{MEASURE_K}"
DEEP = 100


@dataclass(frozen=True)
class Evidence:
    """`rankings` keep repeats. `index_ids` holds a page id a chunk, None where the index is unknown; `texts` its text."""

    labels: Mapping[str, Mapping[str, float]]
    rankings: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    index_ids: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    questions: Mapping[str, str] = field(default_factory=dict[str, str])

    def relevant(self, query: str) -> list[str]:
        return [page for page, grade in self.labels[query].items() if grade > 0]

    @property
    def labelled(self) -> list[str]:
        return [query for query in self.labels if self.relevant(query)]

    def score(self) -> float | None:
        """Mean F1@5 over the labelled queries, pages counted once; None where nothing can be scored."""
        if not self.rankings or not self.labelled:
            return None
        return rank({q: self.rankings.get(q, ()) for q in self.labelled}, self.labels, [MEASURE]).mean[
            MEASURE
        ]

    def with_labels(self, labels: Mapping[str, Mapping[str, float]]) -> Evidence:
        return replace(self, labels=labels)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, what shows it, what to do, and the score if it were put right (None: not known)."""

    code: str
    title: str
    evidence: str
    action: str
    score_if_fixed: float | None = None
    items: tuple[str, ...] = ()


def labels_of(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    return {
        case.id: {clean_id(page): grade for page, grade in (case.relevant or {}).items()} for case in cases
    }


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else f"{part} of 0"
