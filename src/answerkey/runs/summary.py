"""The summary of a run: every mean with its denominator and interval, overall, by type and by route."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec

from answerkey.corrected_rate import CorrectedRate
from answerkey.metrics.judge.card import JudgeCard, judge_card
from answerkey.runs.figures import Figures, Range, figures_of, readings_of
from answerkey.runs.manifest import AcceptedChange, Manifest, RunSettings
from answerkey.runs.repeats import Repeats
from answerkey.runs.tally import MOST_LISTED, Disagreement, RunTally
from answerkey.types import Json, Outcome, Profile, Status

_SAME_IN_JSON = (
    "route_confusion",
    "errors",
    "disagreements",
    "gates",
    "failing",
    "flaky",
    "judge",
    "corrected",
)


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate: its figure, the figure's interval, and whether it holds. A gate on a missing figure fails."""

    condition: str
    value: float | None
    ci95: Range
    passed: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """The profile of a run by name; without one, the name is None."""

    name: str | None = None
    version: int | None = None
    digest: str | None = None
    scale: float = 1
    satisfaction: bool = False  # whether the profile has the statuses PERFECT or ACCEPTABLE


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is known about a run besides its outcomes, from run.json."""

    name: str = ""
    created: str = ""
    partial: str = ""
    selected: int | None = None
    profile: ProfileInfo = ProfileInfo()
    notes: tuple[str, ...] = ()
    changes: tuple[AcceptedChange, ...] = ()
    settings: RunSettings = field(default_factory=RunSettings)
    fingerprint: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def cluster(self) -> str:
        """The column of clusters that the suite names; empty for the default."""
        return self.settings.statistics.cluster

    @staticmethod
    def of_manifest(run: Manifest) -> RunInfo:
        profile = run.profile or {}
        about = ProfileInfo(
            profile.get("name"), run.profile_version, run.profile_digest, profile.get("scale", 1)
        )
        same = ("name", "created", "partial", "notes", "changes", "settings", "fingerprint")
        return RunInfo(
            selected=run.count, profile=about, **{name: getattr(run, name) for name in same}
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """summary.json, typed. `mean` and `pass_rate` are short ways to the figures of all cases.

    >>> summarise([]).figures.totals.cases
    0
    """

    run: RunInfo
    timestamp: str
    figures: Figures
    bands: dict[str, int]
    by_type: dict[str, Figures]
    by_route: dict[str, Figures]
    route_confusion: dict[str, dict[str, int]]
    errors: dict[str, int]
    disagreements: tuple[Disagreement, ...]
    gates: tuple[GateResult, ...] = ()
    failing: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    judge: JudgeCard | None = None
    corrected: CorrectedRate | None = None  # by human labels

    @property
    def mean(self) -> dict[str, float | None]:
        """The mean of each metric."""
        return {name: figure.mean for name, figure in self.figures.average_scores.items()}

    @property
    def pass_rate(self) -> float | None:
        return self.figures.pass_rate

    @staticmethod
    def of_json(record: Json) -> Summary:
        """The opposite of `to_json`; msgspec.ValidationError for a file of an earlier version that lacks something."""
        bands = {name: band["count"] for name, band in record["performance"]["bands"].items()}
        return msgspec.convert(
            {**record, "run": record, "figures": record, "bands": bands}, Summary
        )

    def to_json(self) -> dict[str, object]:
        count = self.figures.totals.cases
        bands = {
            name: {"count": n, "share": n / count if count else None}
            for name, n in self.bands.items()
        }
        return {
            "timestamp": self.timestamp,
            **msgspec.to_builtins(self.run, enc_hook=str),
            **self.figures.to_json(),
            "performance": {"bands": bands, "pass_rate": self.figures.pass_rate},
            "by_type": {name: _group_json(part) for name, part in self.by_type.items()},
            "by_route": {name: _group_json(part) for name, part in self.by_route.items()},
            **{name: msgspec.to_builtins(getattr(self, name)) for name in _SAME_IN_JSON},
        }


def summarise(
    outcomes: Iterable[Outcome], profile: Profile | None = None, run: RunInfo | None = None
) -> Summary:
    """The summary of some outcomes."""
    run = run or RunInfo()
    tally = RunTally(cluster=run.cluster)
    for outcome in outcomes:
        tally.add(outcome)
    return summary_of(tally, profile, run)


def summary_of(tally: RunTally, profile: Profile | None, run: RunInfo) -> Summary:
    """The summary of a tally; the fingerprint gains the hash of the answers."""
    known = [band.name for band in profile.rules.bands] if profile else []
    bands = {name: tally.all.bands[name] for name in dict.fromkeys([*known, *tally.all.bands])}
    fingerprint = {**run.fingerprint, "answers": tally.answers.text()}
    statuses = (
        {band.status for rules in profile.all_rules for band in rules.bands}
        if profile
        else set[str]()
    )
    about = replace(run.profile, satisfaction=bool(statuses & {Status.PERFECT, Status.ACCEPTABLE}))
    repeats = Repeats.of_table(run.settings.run)
    confusion = {
        name: dict(sorted(taken.items())) for name, taken in sorted(tally.confusion.items())
    }
    return Summary(
        run=replace(run, fingerprint=fingerprint, profile=about),
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        figures=figures_of(tally.all, repeats, readings_of(profile)),
        bands=bands,
        by_type={name: figures_of(part, repeats) for name, part in sorted(tally.by_type.items())},
        by_route={name: figures_of(part, repeats) for name, part in sorted(tally.by_route.items())},
        route_confusion=confusion if tally.by_route else {},
        errors=tally.frequent_errors(),
        disagreements=tuple(tally.disagreements[:MOST_LISTED]),
        flaky=tuple(tally.flaky),
        judge=judge_card(tally.judge, run.fingerprint.get("judge", "")),
    )


def _group_json(part: Figures) -> dict[str, object]:
    """A type or route; its counts stand at the top level too."""
    totals = part.totals
    counts = {
        "count": totals.cases,
        "scored": totals.scored,
        "passed": totals.passed,
        "errors": totals.errors,
    }
    return {**part.to_json(), **counts}
