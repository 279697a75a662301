"""The findings of a diagnosis and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from answerkey.experiments.evidence import MEASURE
from answerkey.text import format_count

_LISTED = 12


@dataclass(frozen=True, slots=True)
class RetrievalFinding:
    """One fault, its evidence, what to do, and the score if it were fixed (None: not known).

    `shift` is the number to add to page labels, where that is the fix.
    """

    code: str
    title: str
    evidence: str
    action: str
    score_if_fixed: float | None = None
    items: tuple[str, ...] = ()
    shift: int | None = None

    def gain(self, now: float | None) -> float:
        """How much fixing it would add to the score; 0 if that is not known."""
        if self.score_if_fixed is None:
            return 0.0
        return self.score_if_fixed - (now or 0.0)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`notes` are no faults. `score` is the mean nDCG@5 over the labelled queries."""

    queries: int
    labelled: int
    score: float | None
    findings: tuple[RetrievalFinding, ...]
    notes: tuple[RetrievalFinding, ...]
    checked: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """No fault was found, and something relevant was retrieved."""
        # A score of 0 says that something is wrong even if no check finds it; None was not
        # measured.
        return not self.findings and self.labelled > 0 and self.score != 0

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        score = ""
        if self.score is not None:
            score = f"; {MEASURE} is {self.score:.3f} over {self.labelled} queries"
        if self.labelled == 0:
            return "no query has a relevant page: there is nothing to measure"
        if self.healthy:
            return f"healthy: nothing found in {', '.join(self.checked)}{score}"
        if not self.findings:
            return (
                f"not one relevant page is found{score}, and no check says why: "
                "compare the ids of labels and rankings"
            )
        first = self.findings[0]
        gain = first.gain(self.score)
        if gain > 0:
            best = f" (would add {gain:+.3f} to {MEASURE})"
        else:
            best = ""
        return f"{format_count(len(self.findings), 'finding')}{score}. First: {first.title}{best}"

    def as_json(self) -> dict[str, object]:
        return {
            "healthy": self.healthy,
            "sentence": self.sentence,
            "queries": self.queries,
            "labelled": self.labelled,
            "measure": MEASURE,
            "score": self.score,
            "checked": list(self.checked),
            "findings": [asdict(finding) for finding in self.findings],
            "notes": [asdict(note) for note in self.notes],
        }


def share_text(part: int, whole: int) -> str:
    """`3 of 12 (25%)`."""
    if whole:
        return f"{part} of {whole} ({part / whole:.0%})"
    return f"{part} of 0"


def list_some(names: Sequence[str], most: int = _LISTED) -> str:
    """The first names, and how many more there are."""
    if len(names) > most:
        more = f" and {len(names) - most} more"
    else:
        more = ""
    return ", ".join(names[:most]) + more
