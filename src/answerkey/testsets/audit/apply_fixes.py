"""A corrected copy of the cases: the fixes that a person decided on, applied to labels and clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from answerkey.cases.write import write_cases
from answerkey.testsets.audit.accepted import AuditDecision, Key
from answerkey.testsets.audit.findings import CaseFinding
from answerkey.testsets.audit.findings import FindingKind as Kind
from answerkey.types import Case


@dataclass(frozen=True, slots=True)
class FixedCases:
    """The cases, the number of fixes applied, and the findings that only a person can fix."""

    cases: tuple[Case, ...]
    applied: int
    left: tuple[CaseFinding, ...]

    def write(self, path: Path) -> None:
        """Write the cases as JSON lines; the file that they came from stays as it is."""
        write_cases(path, self.cases)


def apply_fixes(
    cases: Sequence[Case], findings: Iterable[CaseFinding], decisions: Mapping[Key, AuditDecision]
) -> FixedCases:
    """Apply the findings that were decided to be fixed or clustered.

    A wrong label is replaced, a missing one is added, a superfluous one is removed, and cases that
    ask the same get one cluster. A wrong answer or question needs a person.
    """
    by_id = {case.id: case for case in cases}
    applied = 0
    left: list[CaseFinding] = []
    for finding in findings:
        decision = decisions.get((finding.id, finding.kind))
        if decision not in (AuditDecision.FIX, AuditDecision.CLUSTER) or finding.id not in by_id:
            continue
        if finding.kind is Kind.NEAR_DUPLICATE:
            for name in (finding.id, *finding.related):
                if name in by_id:
                    by_id[name] = _with_cluster(by_id[name], finding.cluster)
            applied += 1
            continue
        fixed = _with_labels(by_id[finding.id], finding)
        if fixed is None:
            left.append(finding)
        else:
            by_id[finding.id] = fixed
            applied += 1
    return FixedCases(tuple(by_id[case.id] for case in cases), applied, tuple(left))


def _with_cluster(case: Case, cluster: str) -> Case:
    return replace(case, extra={**case.extra, "cluster": cluster})


def _with_labels(case: Case, finding: CaseFinding) -> Case | None:
    """The case with corrected labels; None where the finding is about something else."""
    labels = dict(case.relevant or {})
    if finding.kind is Kind.UNSUPPORTED and finding.better_label:
        # None of the labels is right, and the new one is as relevant as the best of them.
        return replace(case, relevant={finding.better_label: max(labels.values(), default=1)})
    if finding.kind is Kind.BETTER_PASSAGE and finding.better_label:
        return replace(case, relevant={**labels, finding.better_label: 1})
    # The last label stays: a case without any is not measured at all.
    if finding.kind is Kind.LABEL_ADDS_NOTHING and finding.label in labels and len(labels) > 1:
        del labels[finding.label]
        return replace(case, relevant=labels)
    return None
