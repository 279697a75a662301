"""The report of `generate`: yield, rejections, overlap, duplicates, kinds, uncovered documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from answerkey.llm.usage import CallTotals
from answerkey.percentages import format_percent
from answerkey.testsets.generate.agreement import LEAST_REAL, SettingAgreement
from answerkey.testsets.generate.made_cases import MadeCase
from answerkey.text import format_count, short_label

_LISTED = 5


class Rejection(StrEnum):
    """Why a proposal of the judge, or a written text, did not become a case; in the order of the checks."""

    TOO_GENERAL = "too short, too long or too general"
    OF_SEVERAL_PASSAGES = "the same text for several passages"
    NOT_ASKED_FOR = "beyond the number asked for"
    UNREADABLE = "unreadable reply"
    NO_QUESTION = "no question in the passage"
    QUOTE_NOT_FOUND = "quote not in the document"
    QUOTE_DOES_NOT_SUPPORT = "quote does not support the answer"
    ROUND_TRIP_DIFFERS = "answer from the passage alone differs"
    KNOWN_WITHOUT_PASSAGE = "known without the passage"
    OTHER_PASSAGE_ANSWERS = "another passage gives another answer"
    DUPLICATE = "near duplicate"
    ANSWERABLE = "meant as unanswerable, but answered by a passage"
    CALL_FAILED = "call failed"


@dataclass(frozen=True)
class GenerationReport:
    """Everything that `generate` prints; unknown figures are None."""

    cases: tuple[MadeCase, ...]
    passages: int
    documents: int
    tried: int
    rejected: Mapping[Rejection, int] = field(default_factory=dict[Rejection, int])
    overlap: float | None = None
    real_overlap: float | None = None
    near_duplicates: int = 0
    second_labels: int = 0
    uncovered: tuple[str, ...] = ()
    agreement: SettingAgreement | None = None
    agreement_note: str = ""
    usage: CallTotals | None = None
    judge: str = ""

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def kinds(self) -> dict[str, int]:
        return dict(Counter(case.kind for case in self.cases).most_common())

    @property
    def sentence(self) -> str:
        """The result in one line."""
        made = format_count(len(self.cases), "case")
        if self.judge:
            return (
                f"{made} from {format_count(self.passages, 'passage')}, checked with {self.judge}"
            )
        return (
            f"{made} from {format_count(self.passages, 'passage')}; these are retrieval cases: "
            "their questions are headings and other texts that people wrote about a passage"
        )

    def as_json(self) -> dict[str, object]:
        return {
            "cases": [case.as_row() for case in self.cases],
            "retrieval_only": not self.judge,
            "passages": self.passages,
            "documents": self.documents,
            "tried": self.tried,
            "yield": self.share,
            "rejected": {kind.value: count for kind, count in self.rejected.items()},
            "overlap": self.overlap,
            "real_overlap": self.real_overlap,
            "near_duplicates": self.near_duplicates,
            "second_labels": self.second_labels,
            "kinds": self.kinds,
            "documents_without_case": list(self.uncovered),
            "agreement": asdict(self.agreement) if self.agreement else None,
            "usage": asdict(self.usage) if self.usage else None,
        }

    @property
    def share(self) -> float | None:
        """The yield: the share of what was tried that became a case."""
        if not self.tried:
            return None
        return len(self.cases) / self.tried

    @property
    def text(self) -> str:
        """The report for people."""
        return "\n".join(self._lines())

    def _lines(self) -> Sequence[str]:
        if self.judge:
            lines = [f"yield: {len(self.cases)} of {self.tried} tried"]
        else:
            texts = format_count(self.tried, "text")
            lines = [f"yield: {len(self.cases)} of {texts} that people wrote about a passage"]
        if self.rejected:
            lines.append("left out:")
            lines += [f"  {count} {kind.value}" for kind, count in self.rejected.items()]
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        lines.append(f"kinds: {kinds or '-'}")
        lines.append(f"word overlap of question and passage: {_share_text(self.overlap)}")
        if self.real_overlap is not None:
            lines[-1] += f"; of the real questions {_share_text(self.real_overlap)}"
        lines.append(f"near duplicates left out: {self.near_duplicates}")
        if self.second_labels:
            lines.append(f"second labels added: {self.second_labels}")
        lines.append(self._uncovered_line())
        if self.usage is not None:
            lines.append(_usage_line(self.usage))
        lines.append(self._agreement_line())
        return lines

    def _uncovered_line(self) -> str:
        count = len(self.uncovered)
        line = f"documents without a case: {count} of {self.documents}"
        names = ", ".join(short_label(name) for name in self.uncovered[:_LISTED])
        if not names:
            return line
        if count > _LISTED:
            more = f" and {count - _LISTED} more"
        else:
            more = ""
        return f"{line} ({names}{more})"

    def _agreement_line(self) -> str:
        if self.agreement is None:
            reason = self.agreement_note or f"give --like with {LEAST_REAL} real questions or more"
            return f"agreement with real questions: not measured; {reason}"
        one = self.agreement
        return (
            f"agreement with {one.real} real questions over {one.settings} retrieval settings: "
            f"Kendall's τ {one.tau:.2f}, nDCG lost by choosing with the made cases {one.lost:.3f}"
        )


def _share_text(share: float | None) -> str:
    if share is None:
        return "-"
    return format_percent(share)


def _usage_line(usage: CallTotals) -> str:
    """Calls, tokens and cost; an unknown cost is not 0."""
    if usage.cost is None:
        cost = "unknown"
    else:
        cost = f"{usage.cost:.4f}"
    tokens = "unknown"
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        tokens = f"{usage.prompt_tokens + usage.completion_tokens:,.0f}"
    return (
        f"judge: {usage.calls} calls, {usage.cached} from the cache, {usage.failed_calls} failed; "
        f"tokens {tokens}, cost {cost}"
    )
