"""Why are the retrieval numbers low? Findings with their evidence, those that would matter most first."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from answerkey.experiments import findings
from answerkey.experiments.evidence import MEASURE, RetrievalEvidence, RetrievalFinding
from answerkey.text import counted

CHECKS = (
    findings.constant_shift,
    findings.missing_pages,
    findings.not_run,
    findings.unlabelled,
    findings.places_without_id,
    findings.chunks_without_id,
    findings.repeated_pages,
    findings.duplicate_chunks,
    findings.empty_chunks,
    findings.enormous_chunks,
    findings.vocabulary_mismatch,
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`notes` are no faults. `score` is the mean F1@5 over the labelled queries, pages counted once."""

    queries: int
    labelled: int
    score: float | None
    findings: tuple[RetrievalFinding, ...]
    notes: tuple[RetrievalFinding, ...]
    checked: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Nothing found wrong, and not because nothing relevant was retrieved at all."""
        return not self.findings and self.labelled > 0 and self.score != 0

    def as_json(self) -> dict[str, object]:
        return {
            "healthy": self.healthy, "sentence": sentence(self), "queries": self.queries, "labelled": self.labelled,
            "measure": MEASURE, "score": self.score, "checked": list(self.checked),
            "findings": [asdict(finding) for finding in self.findings], "notes": [asdict(note) for note in self.notes],
        }  # fmt: skip


def diagnose(evidence: RetrievalEvidence) -> Diagnosis:
    """Every check that the evidence allows; the largest gain first."""
    now = evidence.score()
    found = [finding for check in CHECKS if (finding := check(evidence)) is not None]
    found.sort(key=lambda finding: -gain(finding, now))
    note = findings.ranked_too_low(evidence)
    queries = len({*evidence.labels, *evidence.rankings})
    # A check that could not be made is not a check that passed.
    looked = {"labels": True, "rankings": evidence.rankings, "index ids": evidence.index_ids is not None,
              "chunk texts": evidence.texts, "question words": evidence.questions and evidence.texts}  # fmt: skip
    checked = tuple(name for name, there in looked.items() if there)
    return Diagnosis(queries, len(evidence.labelled), now, tuple(found), (note,) if note else (), checked)


def gain(finding: RetrievalFinding, now: float | None) -> float:
    """How much fixing it would add to the score; 0 if that is not known."""
    if finding.score_if_fixed is None:
        return 0.0
    return finding.score_if_fixed - (now or 0.0)


def sentence(diagnosis: Diagnosis) -> str:
    """The verdict in one line."""
    score = "" if diagnosis.score is None else f"; {MEASURE} is {diagnosis.score:.3f} over {diagnosis.labelled} queries"
    if diagnosis.labelled == 0:
        return "no query has a relevant page: there is nothing to measure"
    if diagnosis.healthy:
        return f"healthy: nothing found in {', '.join(diagnosis.checked)}{score}"
    if not diagnosis.findings:
        return f"not one relevant page is found{score}, and no check says why: compare the ids of labels and rankings"
    first = diagnosis.findings[0]
    more = gain(first, diagnosis.score)
    best = f" (would add {more:+.3f} to {MEASURE})" if more > 0 else ""
    return f"{counted(len(diagnosis.findings), 'finding')}{score}. First: {first.title}{best}"
