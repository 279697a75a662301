"""The summary of a run: every mean with its denominator and interval, overall, by type and by route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec
import numpy as np

from answerkey.corrected_rate import CorrectedRate
from answerkey.display import html_table, html_text, rate_text
from answerkey.metrics.judge.card import JudgeCard, JudgeTally, judge_card
from answerkey.runs.disagreements import MOST_LISTED, Disagreement, list_disagreements
from answerkey.runs.failure_groups import FailedCase, FailureGroup, group_failures
from answerkey.runs.figures import Figures, Range, figures_of, readings_of
from answerkey.runs.manifest import AcceptedChange, Manifest, RunSettings
from answerkey.runs.records import SetDigest, add_answer
from answerkey.runs.repeats import Repeats
from answerkey.runs.table import RunTable, TableBuilder
from answerkey.text import format_count
from answerkey.types import Json, Outcome, Profile, Status

NO_ROUTE = "(none)"
_SAME_IN_JSON = (
    "route_confusion",
    "errors",
    "disagreements",
    "gates",
    "failing",
    "failures",
    "failed_cases",
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
    damage: str = ""
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
        return RunInfo(
            name=run.name,
            created=run.created,
            partial=run.partial,
            damage=run.damage,
            selected=run.count,
            profile=about,
            notes=run.notes,
            changes=run.changes,
            settings=run.settings,
            fingerprint=run.fingerprint,
        )


@dataclass(frozen=True, slots=True, repr=False)
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
    failures: tuple[FailureGroup, ...] = ()
    failed_cases: tuple[FailedCase, ...] = ()  # the worst of them
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

    def metric_rows(self) -> list[tuple[str, float | None, str, str]]:
        """A row per metric: name, mean, 95 % interval, scored of all cases."""
        return [
            (
                name,
                figure.mean,
                f"{figure.ci95[0]:.3f}–{figure.ci95[1]:.3f}" if figure.ci95 else "",
                f"{figure.n}/{figure.of}",
            )
            for name, figure in self.figures.average_scores.items()
        ]

    def metrics_html(self) -> str:
        return html_table(self.metric_rows(), ("metric", "mean", "95 % interval", "scored"))

    def _repr_html_(self) -> str:
        rate = rate_text(self.pass_rate, self.figures.pass_rate_ci95)
        return f"<b>pass rate {html_text(rate)}</b>{self.metrics_html()}"

    def __repr__(self) -> str:
        """The pass rate and a table of the metrics."""
        rate = rate_text(self.pass_rate, self.figures.pass_rate_ci95)
        lines = [f"{format_count(self.figures.totals.cases, 'case')}, pass rate {rate}"]
        for name, mean, interval, scored in self.metric_rows():
            shown = "-" if mean is None else f"{mean:.3f}"
            lines.append(f"  {name:<24} {shown:>7}  {interval:<13}  {scored}")
        return "\n".join(lines)

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
        run = msgspec.to_builtins(self.run, enc_hook=str)
        del run["damage"]  # `partial` names it
        return {
            "timestamp": self.timestamp,
            **run,
            **self.figures.to_json(),
            "performance": {"bands": bands, "pass_rate": self.figures.pass_rate},
            "by_type": {name: _group_json(part) for name, part in self.by_type.items()},
            "by_route": {name: _group_json(part) for name, part in self.by_route.items()},
            **{name: msgspec.to_builtins(getattr(self, name)) for name in _SAME_IN_JSON},
        }


class SummaryBuilder:
    """Collects the outcomes of a run in one pass: its table, the hash of its answers, the judge."""

    def __init__(self, profile: Profile | None = None, run: RunInfo | None = None) -> None:
        self._profile = profile
        self._run = run or RunInfo()
        scale = profile.scale if profile else 1.0
        self._builder = TableBuilder(scale=scale, cluster_column=self._run.cluster)
        self._answers = SetDigest()
        self._judge = JudgeTally()

    def add(self, outcome: Outcome, n: int | None = None) -> None:
        """Add the outcome of a case; `n` is its position, by default the next one."""
        self._builder.add(outcome, n)
        for attempt in outcome.attempts or (outcome,):
            self._judge.add(attempt)
            add_answer(self._answers, attempt.case, attempt.response)

    @property
    def table(self) -> RunTable:
        """The table of the outcomes so far."""
        return self._builder.table()

    def summary(self, run: RunInfo | None = None) -> Summary:
        """The summary; `run` replaces what is known about the run besides its outcomes."""
        run = run or self._run
        return _summary_of(self.table, self._profile, run, self._answers, self._judge)


def summarise(
    outcomes: Iterable[Outcome], profile: Profile | None = None, run: RunInfo | None = None
) -> Summary:
    """The summary of some outcomes."""
    builder = SummaryBuilder(profile, run)
    for outcome in outcomes:
        builder.add(outcome)
    return builder.summary()


def _summary_of(
    table: RunTable,
    profile: Profile | None,
    run: RunInfo,
    answers: SetDigest,
    judge: JudgeTally,
) -> Summary:
    """The summary of a table; the fingerprint gains the hash of the answers."""
    repeats = Repeats.of_table(run.settings.run)
    by_type = _figures_by(table, "type", repeats)
    by_route = _figures_by(table, "route", repeats)
    flaky = (table.attempts_passed > 0) & (table.attempts_passed < table.attempts)
    fingerprint = {**run.fingerprint, "answers": answers.text()}
    about = replace(run.profile, satisfaction=_has_satisfaction(profile))
    figures = figures_of(table, repeats, readings_of(profile))
    return Summary(
        run=replace(run, fingerprint=fingerprint, profile=about),
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        figures=figures,
        bands=_bands(table, profile),
        by_type=by_type,
        by_route=by_route,
        route_confusion=_confusion(table) if by_route else {},
        errors=_frequent_errors(table),
        disagreements=tuple(list_disagreements(table)),
        failures=tuple(group_failures(table, figures.pass_rate)) if profile else (),
        flaky=tuple(table.id[flaky].tolist()),
        judge=judge_card(judge, run.fingerprint.get("judge", "")),
    )


def _figures_by(table: RunTable, column: str, repeats: Repeats) -> dict[str, Figures]:
    """The figures of the cases with each value of a column; cases without one are in none."""
    names = {name for name in getattr(table, column) if name is not None}
    return {name: figures_of(table.where(column, name), repeats) for name in sorted(names)}


def _bands(table: RunTable, profile: Profile | None) -> dict[str, int]:
    """The number of cases in each band: those of the profile, then any other."""
    # Only judged cases are in a band; errors and unscored ones have none.
    counts = Counter(table.band[table.judged])
    if profile:
        names = [band.name for band in profile.rules.bands]
    else:
        names = []
    return {name: counts[name] for name in dict.fromkeys([*names, *counts])}


def _has_satisfaction(profile: Profile | None) -> bool:
    """Whether the profile has a band PERFECT or ACCEPTABLE."""
    if profile is None:
        return False
    statuses = {band.status for rules in profile.all_rules for band in rules.bands}
    return bool(statuses & {Status.PERFECT, Status.ACCEPTABLE})


def _confusion(table: RunTable) -> dict[str, dict[str, int]]:
    """How often each expected route was answered by which route."""
    counts: dict[str, Counter[str]] = {}
    for expected, route, answered in zip(
        table.expected_route, table.route, table.answered, strict=True
    ):
        # An error has no route; it is counted as an error and not as a confusion.
        if expected is not None and answered:
            counts.setdefault(expected, Counter())[route or NO_ROUTE] += 1
    return {name: dict(sorted(taken.items())) for name, taken in sorted(counts.items())}


def _frequent_errors(table: RunTable) -> dict[str, int]:
    """The most frequent kinds of errors with their counts, each named by its first message."""
    messages: dict[str, list[str]] = {}
    for row in np.flatnonzero(table.status == Status.ERROR):
        messages.setdefault(table.error_kind[row], []).append(table.error[row])
    # The first message by name, so that shards in any order give the same summary.
    kinds = sorted((-len(texts), min(texts), max(texts)) for texts in messages.values())
    return {
        f"{first}{'' if first == last else ', and similar'}": -times
        for times, first, last in kinds[:MOST_LISTED]
    }


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
