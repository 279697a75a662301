"""Why are the retrieval numbers low? Findings with evidence, those that matter most first."""

from __future__ import annotations

from answerkey.experiments.evidence import RetrievalEvidence
from answerkey.experiments.findings import Diagnosis
from answerkey.experiments.index_findings import (
    chunks_without_id,
    duplicate_chunks,
    empty_chunks,
    enormous_chunks,
    places_without_id,
    ranked_too_low,
    repeated_pages,
    vocabulary_mismatch,
)
from answerkey.experiments.label_findings import (
    constant_shift,
    id_style,
    missing_pages,
    missing_queries,
    never_retrieved,
    unlabelled_queries,
)

# Causes before effects: findings without a known gain keep this order.
CHECKS = (
    id_style,
    constant_shift,
    missing_pages,
    never_retrieved,
    missing_queries,
    unlabelled_queries,
    places_without_id,
    chunks_without_id,
    repeated_pages,
    duplicate_chunks,
    empty_chunks,
    enormous_chunks,
    vocabulary_mismatch,
)


def diagnose(evidence: RetrievalEvidence) -> Diagnosis:
    """Every check that the evidence allows; the largest gain first."""
    score = evidence.score()
    findings = [finding for check in CHECKS if (finding := check(evidence)) is not None]
    if any(finding.shift is not None for finding in findings):
        # The shift explains why these pages were never retrieved.
        findings = [finding for finding in findings if finding.code != "never_retrieved"]
    findings.sort(key=lambda finding: -finding.gain(score))
    note = ranked_too_low(evidence)
    return Diagnosis(
        queries=len({*evidence.labels, *evidence.rankings}),
        labelled=len(evidence.labelled_queries),
        score=score,
        findings=tuple(findings),
        notes=() if note is None else (note,),
        checked=_checked_parts(evidence),
    )


def _checked_parts(evidence: RetrievalEvidence) -> tuple[str, ...]:
    """The parts that could be checked: a check that was not made has not passed."""
    available = {
        "labels": True,
        "rankings": evidence.rankings,
        "index ids": evidence.index_ids is not None,
        "chunk texts": evidence.texts,
        "question words": evidence.questions and evidence.texts,
    }
    return tuple(name for name, is_available in available.items() if is_available)
