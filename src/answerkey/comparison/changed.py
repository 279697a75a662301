"""What differs between two runs: the bot, the ruler, or the cases. Said before any number is.

The bot is judged by its answers themselves, the ruler by the fingerprints of both runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.comparison.pair import Pairs
from answerkey.errors import SettingsError
from answerkey.runs.records import SCORING

_SPOKEN = {"metrics": "metric versions", "embedding": "embedding model"}


@dataclass(frozen=True, slots=True)
class Changed:
    """Counts over the cases in both runs. `near_identical` answers differ only in case, spaces and punctuation."""

    shared: int
    identical: int
    near_identical: int
    different: int
    other_evidence: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]
    parts: tuple[str, ...]
    partial_a: str = ""
    partial_b: str = ""

    @property
    def unfinished(self) -> list[str]:
        """One clause for each run that ended before its last case."""
        told = {"A": self.partial_a, "B": self.partial_b}
        return [f"{name} is a partial run ({partial})" for name, partial in told.items() if partial]

    @property
    def cases(self) -> bool:
        return bool(self.added or self.removed or self.edited)

    @property
    def answers(self) -> bool:
        return self.identical < self.shared

    @property
    def bot(self) -> bool:
        """Whether the bot behaved differently: other answers, or the same from another route or passages."""
        return self.answers or self.other_evidence > 0

    @property
    def ruler(self) -> tuple[str, ...]:
        """The parts of the ruler that differ, in plain words; another profile brings its metrics with it."""
        named = [part for part in SCORING if part in self.parts]
        if "profile" in named and "metrics" in named:
            named.remove("metrics")
        return tuple(_SPOKEN.get(part, part) for part in named)

    def flags(self) -> dict[str, bool]:
        """What changed, by the names of the fingerprint."""
        known = {part: part in self.parts for part in (*SCORING, "settings")}
        return {"cases": self.cases, "answers": self.answers, "evidence": self.other_evidence > 0, **known}

    def sentences(self) -> list[str]:
        """One line for each thing that changed, or one that says nothing did."""
        lines = self.unfinished
        if self.cases:
            added = "not reached in A" if self.partial_a else "added"
            removed = "not reached in B" if self.partial_b else "removed"
            counts = {added: self.added, removed: self.removed, "edited": self.edited}
            told = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids)
            lines.append(f"cases: {told}; {self.shared} are the same in both runs and are compared")
        if self.answers:
            near = (
                f", {self.near_identical} differ only in case or punctuation" if self.near_identical else ""
            )
            lines.append(
                f"answers: {self.identical} of {self.shared} identical{near}, {self.different} changed"
            )
        if self.other_evidence:
            lines.append(
                f"route, sources or passages: differ in {self.other_evidence} of {self.shared} cases"
            )
        lines += [
            f"{part}: changed" for part in (*self.ruler, *(["settings"] if "settings" in self.parts else []))
        ]
        return lines or ["nothing: same cases, same answers, same ruler"]


def what_changed(pairs: Pairs) -> Changed:
    """Compare the texts by their hashes and the rest by fingerprint."""
    a, b = pairs.a, pairs.b
    identical = near = evidence = 0
    for i, j in zip(pairs.rows_a.tolist(), pairs.rows_b.tolist(), strict=True):
        same = a.answers[i] == b.answers[j]
        identical += same
        near += not same and a.wordings[i] == b.wordings[j]
        evidence += a.evidence[i] != b.evidence[j]
    return Changed(
        shared=len(pairs),
        identical=identical,
        near_identical=near,
        different=len(pairs) - identical - near,
        other_evidence=evidence,
        added=pairs.added,
        removed=pairs.removed,
        edited=pairs.edited,
        parts=_differing(pairs),
        partial_a=a.partial,
        partial_b=b.partial,
    )


def _differing(pairs: Pairs) -> tuple[str, ...]:
    """Parts of the fingerprint that differ and had a say in what both runs measured."""
    old, new = pairs.a.fingerprint, pairs.b.fingerprint
    parts = [part for part in (*SCORING, "settings") if old.get(part, "") != new.get(part, "")]
    shared = pairs.metrics()
    takes = {"embedding": "embed", "judge": "judge"}
    for part in [part for part in parts if part in takes]:
        if not any(takes[part] in _keywords(name) for name in shared):
            parts.remove(part)
    one_more_metric = set(pairs.a.metrics) != set(pairs.b.metrics)
    if "metrics" in parts and "profile" not in parts and one_more_metric:
        parts.remove("metrics")
    return tuple(parts)


def _keywords(name: str) -> frozenset[str]:
    """What a metric is given besides the pair; everything, for one that is not installed here."""
    from answerkey.metrics.registry import PROVIDED, find

    try:
        return frozenset(find(name).keywords())
    except SettingsError:
        return PROVIDED
