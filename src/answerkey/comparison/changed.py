"""What differs between two runs: the bot, the scoring, or the cases. It is reported before any number.

The bot is compared by its answers, the scoring by the fingerprints of both runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from answerkey.coerce.values import is_mapping
from answerkey.comparison.pair import Pairs
from answerkey.errors import SettingsError
from answerkey.runs.records import SCORING

_LONGEST_VALUE = 60
_NAMES = {"metrics": "metric versions", "embedding": "embedding model"}


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
    settings: tuple[str, ...] = ()
    partial_a: str = ""
    partial_b: str = ""

    @property
    def unfinished(self) -> list[str]:
        """One clause per run that ended before its last case."""
        sides = {"A": self.partial_a, "B": self.partial_b}
        return [
            f"{name} is a partial run ({partial})" for name, partial in sides.items() if partial
        ]

    @property
    def cases(self) -> bool:
        return bool(self.added or self.removed or self.edited)

    @property
    def answers(self) -> bool:
        return self.identical < self.shared

    @property
    def bot(self) -> bool:
        """Whether the bot behaved differently: other answers, or the same answers from another route or passages."""
        return self.answers or self.other_evidence > 0

    @property
    def scoring(self) -> tuple[str, ...]:
        """The parts of the scoring that differ; another profile includes its metrics."""
        named = [part for part in SCORING if part in self.parts]
        if "profile" in named and "metrics" in named:
            named.remove("metrics")
        return tuple(_NAMES.get(part, part) for part in named)

    def flags(self) -> dict[str, bool]:
        """What changed, by the names in the fingerprint."""
        known = {part: part in self.parts for part in (*SCORING, "settings")}
        return {
            "cases": self.cases,
            "answers": self.answers,
            "evidence": self.other_evidence > 0,
            **known,
        }

    def sentences(self) -> list[str]:
        """One line per change, or one that says that nothing changed."""
        lines = self.unfinished
        if self.cases:
            added = "not reached in A" if self.partial_a else "added"
            removed = "not reached in B" if self.partial_b else "removed"
            counts = {added: self.added, removed: self.removed, "edited": self.edited}
            listed = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids)
            lines.append(
                f"cases: {listed}; {self.shared} are the same in both runs and are compared"
            )
        if self.answers:
            near = (
                f", {self.near_identical} differ only in case or punctuation"
                if self.near_identical
                else ""
            )
            lines.append(
                f"answers: {self.identical} of {self.shared} identical{near}, {self.different} changed"
            )
        if self.other_evidence:
            lines.append(
                f"route, sources or passages: differ in {self.other_evidence} of {self.shared} cases"
            )
        lines += [f"{part}: changed" for part in self.scoring]
        if self.settings:
            lines.append(f"settings: {', '.join(self.settings)}")
        elif "settings" in self.parts:
            lines.append("settings: changed")
        return lines or ["nothing: same cases, same answers, same scoring"]


def what_changed(pairs: Pairs) -> Changed:
    """Compare the answers by their hashes and the rest by fingerprint."""
    a, b = pairs.a, pairs.b
    # Of the parts of the fingerprint that differ, those that affect what both runs measured.
    parts = [
        part
        for part in (*SCORING, "settings")
        if a.fingerprint.get(part, "") != b.fingerprint.get(part, "")
    ]
    takes = {"embedding": "embed", "judge": "judge"}
    needed = {keyword for name in pairs.metrics() for keyword in _keywords(name)}
    parts = [part for part in parts if part not in takes or takes[part] in needed]
    if set(a.metrics) != set(b.metrics) and "metrics" in parts and "profile" not in parts:
        parts.remove("metrics")
    identical = near = evidence = 0
    for i, j in pairs.rows():
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
        parts=tuple(parts),
        settings=tuple(_changed_settings(a.settings, b.settings)),
        partial_a=a.partial,
        partial_b=b.partial,
    )


def _changed_settings(old: object, new: object, name: str = "") -> Iterator[str]:
    """The settings that differ, by dotted name with both values: `target.url: "a" → "b"`."""
    if is_mapping(old) and is_mapping(new):
        for key in dict.fromkeys([*old, *new]):
            yield from _changed_settings(
                old.get(key), new.get(key), f"{name}.{key}" if name else str(key)
            )
    elif old != new:
        yield f"{name}: {_shown(old)} → {_shown(new)}"


def _shown(value: object) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _keywords(name: str) -> frozenset[str]:
    """What a metric needs besides the pair; everything, for a metric that is not installed here."""
    from answerkey.metrics.registry import PROVIDED, find

    try:
        return frozenset(find(name).keywords())
    except SettingsError:
        return PROVIDED
