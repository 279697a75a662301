"""The findings of an audit: one kind per rule, and the result as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from answerkey.display import data_frame, html_table
from answerkey.text import format_count

REPORTED_FROM = 0.5  # a finding that is more likely wrong than right is not shown


class FindingKind(StrEnum):
    """One rule per kind; docs/how-to/test-sets.md has an example of each."""

    UNSUPPORTED = "unsupported"
    BETTER_PASSAGE = "better passage"
    LABEL_ADDS_NOTHING = "label adds nothing"
    LABEL_MISSING = "label not in documents"
    EMPTY_PASSAGE = "empty passage"
    CONTRADICTED = "contradicted"
    ANSWER_MISSING = "answer not in documents"
    QUOTE_MISSING = "quote not in documents"
    TWO_ANSWERS = "two answers"
    NEAR_DUPLICATE = "near duplicate"
    NAMES_NOTHING = "names nothing"
    GIVES_ANSWER_AWAY = "gives answer away"
    NEEDLESS_REFUSAL = "needless refusal"

    @property
    def rule(self) -> str:
        """When this finding is reported, in one sentence."""
        return RULES[self]


RULES: Mapping[FindingKind, str] = {
    FindingKind.UNSUPPORTED: (
        "The labelled passages together do not support the expected answer, and another passage "
        "fits the question and the answer clearly better."
    ),
    FindingKind.BETTER_PASSAGE: (
        "The labelled passages support part of the expected answer; a passage without a label "
        "supports the rest."
    ),
    FindingKind.LABEL_ADDS_NOTHING: (
        "One of several labels contains nothing of the expected answer; the other labels do."
    ),
    FindingKind.LABEL_MISSING: "A label names a passage, page or document that is not there.",
    FindingKind.EMPTY_PASSAGE: "A labelled passage is empty, or is only a heading.",
    FindingKind.CONTRADICTED: "The labelled passages state something else than the answer.",
    FindingKind.ANSWER_MISSING: "Neither the labelled passages nor any other contain the answer.",
    FindingKind.QUOTE_MISSING: "A quote of the case is not in the documents any more.",
    FindingKind.TWO_ANSWERS: "Two cases ask the same question and expect different answers.",
    FindingKind.NEAR_DUPLICATE: "Two cases ask the same in other words; they count twice.",
    FindingKind.NAMES_NOTHING: (
        "The question refers to something that it does not name, and there is no history."
    ),
    FindingKind.GIVES_ANSWER_AWAY: "A question contains the expected answer of a case.",
    FindingKind.NEEDLESS_REFUSAL: (
        "The expected answer is a refusal, but the documents have the answer."
    ),
}


# A repeated question counts twice and a superfluous label lowers recall, but neither turns a right
# answer into a wrong one. The weights only order the list.
_LESS_HARM: Mapping[FindingKind, float] = {
    FindingKind.EMPTY_PASSAGE: 0.8,
    FindingKind.BETTER_PASSAGE: 0.8,
    FindingKind.NAMES_NOTHING: 0.8,
    FindingKind.LABEL_ADDS_NOTHING: 0.6,
    FindingKind.GIVES_ANSWER_AWAY: 0.5,
    FindingKind.NEAR_DUPLICATE: 0.5,
}


@dataclass(frozen=True, slots=True)
class CaseFinding:
    """One problem of one case.

    `probability` is the chance that the finding is right. `related` are the ids of other cases
    that it is about, `cluster` a name for cases that ask the same, `label` the label at fault, and
    `better_label` the label to use instead.
    """

    id: str
    kind: FindingKind
    probability: float
    evidence: str
    fix: str
    related: tuple[str, ...] = ()
    cluster: str = ""
    label: str = ""
    better_label: str = ""

    def as_json(self) -> dict[str, object]:
        return {
            "id": self.id,
            "finding": self.kind.value,
            "probability": round(self.probability, 4),
            "evidence": self.evidence,
            "fix": self.fix,
        }


@dataclass(frozen=True)
class Audit:
    """The result of `audit`: findings, worst first, without the accepted ones.

    `checked` names what was looked at, `skipped` what could not be, with the reason.
    `label_errors` has, for every case with a label, the probability that its labels are wrong.
    `every_finding` has the accepted ones as well.
    """

    findings: tuple[CaseFinding, ...]
    cases: int
    passages: int = 0
    accepted: int = 0
    checked: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    label_errors: Mapping[str, float] = field(default_factory=dict[str, float])
    every_finding: tuple[CaseFinding, ...] = ()

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def counts(self) -> dict[FindingKind, int]:
        """The number of findings of each kind that occurs, most frequent first."""
        return dict(Counter(finding.kind for finding in self.findings).most_common())

    @property
    def sentence(self) -> str:
        """The result in one line."""
        cases = format_count(self.cases, "case")
        if not self.findings:
            text = f"no finding in {cases}"
        else:
            number = len({finding.id for finding in self.findings})
            kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
            text = f"{format_count(len(self.findings), 'finding')} in {number} of {cases}: {kinds}"
        missing = self.counts.get(FindingKind.ANSWER_MISSING, 0)
        if missing == 1:
            text += "; 1 expected answer is no longer in the documents"
        elif missing:
            text += f"; {missing} expected answers are no longer in the documents"
        if self.accepted:
            text += f"; {self.accepted} accepted earlier"
        return text

    def as_json(self) -> list[dict[str, object]]:
        return [finding.as_json() for finding in self.findings]

    def to_pandas(self) -> object:
        """The findings as a pandas DataFrame."""
        return data_frame(self.as_json())

    def _repr_html_(self) -> str:
        rows = [list(finding.as_json().values()) for finding in self.findings]
        return html_table(rows, ("id", "finding", "probability", "evidence", "fix"))


def order_findings(findings: Sequence[CaseFinding]) -> tuple[CaseFinding, ...]:
    """The worst first: probability times the harm of the kind."""
    return tuple(sorted(findings, key=lambda finding: -finding.probability * _harm(finding.kind)))


def _harm(kind: FindingKind) -> float:
    """1 where a right bot would be marked wrong; less where only the weight of a case is off."""
    return _LESS_HARM.get(kind, 1.0)
