"""Finds what differs between two runs: the bot, the scoring, or the cases. It is reported first.

The bot is compared by its answers, the scoring by the fingerprints and settings of both runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from answerkey.coerce.values import is_mapping
from answerkey.comparison.pair import Pairs, Side
from answerkey.errors import SettingsError
from answerkey.runs.records import SCORING

_LONGEST_VALUE = 60
_CRITERIA = "criteria"
_METRIC_SETTINGS = "metric_settings"
_NAMES = {
    "metrics": "metric versions",
    "embedding": "embedding model",
    "entailment": "entailment model",
    _METRIC_SETTINGS: "settings of metrics",
    _CRITERIA: "criteria of the suite",
}
# What a metric must take for a part of the fingerprint to matter.
_NEEDED_BY = {"embedding": "embed", "entailment": "pair_model", "judge": "judge"}


@dataclass(frozen=True, slots=True)
class Changed:
    """Counts over the cases in both runs.

    `near_identical` answers differ only in case, spaces and punctuation. `parts` are the parts of
    the setup that differ.
    """

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
    def unfinished_runs(self) -> list[str]:
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
        """Whether the bot behaved differently: other answers, or other routes or passages."""
        return self.answers or self.other_evidence > 0

    @property
    def scoring(self) -> tuple[str, ...]:
        """The parts of the scoring that differ; another profile includes its metrics."""
        return _name_scoring(self.parts)

    def flags(self) -> dict[str, bool]:
        """Whether each part changed, by the names in the fingerprint."""
        return {
            "cases": self.cases,
            "answers": self.answers,
            "evidence": self.other_evidence > 0,
            **{part: part in self.parts for part in (*SCORING, _CRITERIA, "settings")},
        }

    def sentences(self) -> list[str]:
        """One line per change, or one that says that nothing changed."""
        lines = self.unfinished_runs
        if self.cases:
            lines.append(self._cases_sentence())
        if self.answers:
            lines.append(self._answers_sentence())
        if self.other_evidence:
            lines.append(
                "route, sources or passages: "
                f"differ in {self.other_evidence} of {self.shared} cases"
            )
        lines += [f"{part}: changed" for part in self.scoring]
        if self.settings:
            lines.append(f"settings: {', '.join(self.settings)}")
        elif "settings" in self.parts:
            lines.append("settings: changed")
        return lines or ["nothing: same cases, same answers, same scoring"]

    def _cases_sentence(self) -> str:
        if self.partial_a:
            added = "not reached in A"
        else:
            added = "added"
        if self.partial_b:
            removed = "not reached in B"
        else:
            removed = "removed"
        counts = {added: self.added, removed: self.removed, "edited": self.edited}
        listed = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids)
        return f"cases: {listed}; {self.shared} are the same in both runs and are compared"

    def _answers_sentence(self) -> str:
        near = ""
        if self.near_identical:
            near = f", {self.near_identical} differ only in case or punctuation"
        counts = f"{self.identical} of {self.shared} identical{near}, {self.different} changed"
        return f"answers: {counts}"


def _name_scoring(changed_parts: Sequence[str]) -> tuple[str, ...]:
    parts = [part for part in (*SCORING, _CRITERIA) if part in changed_parts]
    if "profile" in parts and "metrics" in parts:
        parts.remove("metrics")
    return tuple(_NAMES.get(part, part) for part in parts)


def find_changed_scoring(pairs: Pairs) -> tuple[str, ...]:
    """The parts of the scoring that differ, as `find_changes(pairs).scoring`, without the answers."""
    return _name_scoring(tuple(_changed_parts(pairs)))


def find_changes(pairs: Pairs) -> Changed:
    """Compare the answers by their hashes and the rest by fingerprint and settings."""
    a = pairs.a
    b = pairs.b
    identical = 0
    near = 0
    evidence = 0
    for i, j in pairs.rows():
        is_same = a.answers[i] == b.answers[j]
        identical += is_same
        near += not is_same and a.wordings[i] == b.wordings[j]
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
        parts=tuple(_changed_parts(pairs)),
        settings=tuple(_changed_settings(a.settings, b.settings)),
        partial_a=a.partial,
        partial_b=b.partial,
    )


def _changed_parts(pairs: Pairs) -> Iterator[str]:
    """The parts of the setup that differ and matter for what both runs measured."""
    a = pairs.a
    b = pairs.b
    for part in (*SCORING, "settings"):
        if part == _METRIC_SETTINGS:
            has_changed = _has_other_settings(a, b)
        else:
            has_changed = a.fingerprint.get(part, "") != b.fingerprint.get(part, "")
        if not has_changed:
            continue
        # Only now: finding the metrics imports their modules, and mostly nothing has changed.
        if part in _NEEDED_BY and not _is_needed(_NEEDED_BY[part], pairs.metrics()):
            continue
        if part == "metrics" and _has_only_more_metrics(a, b):
            continue
        yield part
    if any(b.criteria.get(name, digest) != digest for name, digest in a.criteria.items()):
        yield _CRITERIA


def _is_needed(keyword: str, metrics: Sequence[str]) -> bool:
    """Whether one of the metrics takes this argument, such as the judge."""
    return any(keyword in _keywords(name) for name in metrics)


def _has_other_settings(a: Side, b: Side) -> bool:
    """Whether `[settings]` differ for what both runs measured.

    The settings themselves are compared: runs of earlier versions have no fingerprint of them.
    """
    only_in_one = set(a.metrics) ^ set(b.metrics)
    return _settings_of_metrics(a, only_in_one) != _settings_of_metrics(b, only_in_one)


def _settings_of_metrics(side: Side, without: set[str]) -> Mapping[str, object]:
    settings = side.settings.get("settings")
    if not is_mapping(settings):
        return {}
    return {str(name): value for name, value in settings.items() if name not in without}


def _has_only_more_metrics(a: Side, b: Side) -> bool:
    """Whether the fingerprints of the metrics differ only because one run has more of them."""
    if set(a.metrics) == set(b.metrics):
        return False
    # The fingerprint covers the whole list. Where both are made of the installed versions, the
    # metrics that both have are the same; otherwise nobody can tell.
    return a.has_current_metrics() and b.has_current_metrics()


def _changed_settings(old: object, new: object, name: str = "") -> Iterator[str]:
    """The settings that differ, by dotted name with both values: `target.url: "a" → "b"`."""
    if is_mapping(old) and is_mapping(new):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{name}.{key}" if name else str(key)
            yield from _changed_settings(old.get(key), new.get(key), inner)
    elif old != new:
        yield f"{name}: {_format_value(old)} → {_format_value(new)}"


def _format_value(value: object) -> str:
    if value is None:
        return "none"
    text = json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > _LONGEST_VALUE:
        return f"{text[:_LONGEST_VALUE]}…"
    return text


def _keywords(name: str) -> frozenset[str]:
    """The inputs that a metric needs besides the pair; all of them for a metric that is not installed."""
    from answerkey.metrics.registry import PROVIDED, find

    try:
        return frozenset(find(name).keywords())
    except SettingsError:
        return PROVIDED
