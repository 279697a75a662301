"""A comparison of two runs: what changed, the verdict, every figure, and the cases that changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from answerkey.comparison.changed import Changed, find_changes
from answerkey.comparison.noise import Noise, estimate_noise
from answerkey.comparison.pair import Pairs, Side, load_side, pair_cases
from answerkey.comparison.significance import Difference, McNemar, difference, holm, mcnemar
from answerkey.comparison.verdict import ComparisonEvidence, ComparisonVerdict, reach_verdict
from answerkey.display import data_frame, html_table, html_text
from answerkey.errors import SettingsError
from answerkey.metrics.registry import find
from answerkey.types import Better, Json, Status

if TYPE_CHECKING:
    import pandas

_STILL = 1e-6  # relative: a score that moved by less did not move


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case that passes in only one of the runs, or whose overall score changed.

    A score is None if the case has none. `flaky`: its repeats in one of the runs both passed and
    failed, or its score stays within the range of A's. The answers are the first 200 characters.
    `kind_b` and `why_b` say why it fails in B; empty where it does not.
    """

    id: str
    question: str
    status_a: str
    status_b: str
    score_a: float | None
    score_b: float | None
    flaky: bool = False
    answer_a: str = ""
    answer_b: str = ""
    kind_b: str = ""
    why_b: str = ""

    @property
    def diff(self) -> float:
        return (self.score_b or 0.0) - (self.score_a or 0.0)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Run B compared with run A. `sentence` is the verdict in words; differences are B − A.

    `lost` are cases with a verdict in A only, `unscored` those of them that did not end in an error:
    they count as 0 in `overall`. `errors` counts the errors per metric in A and B.
    """

    name_a: str
    name_b: str
    verdict: ComparisonVerdict
    sentence: str
    changed: Changed
    overall: Difference
    quality: Difference
    metrics: dict[str, Difference]
    mcnemar: McNemar
    newly_failing: tuple[CaseChange, ...]
    newly_passing: tuple[CaseChange, ...]
    moves: tuple[CaseChange, ...]
    lost: tuple[str, ...]
    unscored: tuple[str, ...]
    errors: dict[str, tuple[int, int]]
    errors_a: int
    errors_b: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    noise: Noise | None = None
    scale: float | None = None
    repeats: tuple[int, int] = (1, 1)

    @property
    def largest_n(self) -> int:
        """The largest number of cases that some figure compares."""
        return max([self.overall.n, *(figures.n for figures in self.metrics.values())])

    @property
    def improved_cases(self) -> list[CaseChange]:
        """Largest gain first, without flaky cases."""
        gains = [move for move in self.moves if move.diff > 0 and not move.flaky]
        return sorted(gains, key=lambda move: -move.diff)

    @property
    def degraded_cases(self) -> list[CaseChange]:
        """Largest loss first, without flaky cases."""
        losses = [move for move in self.moves if move.diff < 0 and not move.flaky]
        return sorted(losses, key=lambda move: move.diff)

    def to_dicts(self) -> list[Json]:
        """One row per metric, the overall score first."""
        from answerkey.comparison.record import difference_record

        return [
            {"metric": name, **difference_record(figures)}
            for name, figures in self.differences("overall").items()
        ]

    def differences(self, overall: str) -> dict[str, Difference]:
        """The overall score under that name, the quality if a profile gives one, and the metrics."""
        figures = {overall: self.overall}
        if self.quality.n:
            figures["quality"] = self.quality
        return figures | self.metrics

    def to_pandas(self) -> pandas.DataFrame:
        """`to_dicts` as a DataFrame."""
        return data_frame(self.to_dicts())

    def __repr__(self) -> str:
        """The verdict, the metrics and the cases that changed most."""
        means = [
            f"{name} {figures.mean_a:.3f} → {figures.mean_b:.3f} ({_format_signed(figures.diff)})"
            for name, figures in self.metrics.items()
            if figures.diff is not None
        ]
        failing = f"{len(self.newly_failing)} newly fail"
        if self.newly_failing:
            failing += f" ({', '.join(case.id for case in self.newly_failing[:3])})"
        lines = [", ".join(means), f"{failing}, {len(self.newly_passing)} newly pass"]
        return "\n  ".join([self.sentence, *filter(None, lines)])

    def _repr_html_(self) -> str:
        header = ("", "A", "B", "B − A", "95 % interval", "p (Holm)", "won/lost/tied")
        rows = [
            _html_row(name, figures) for name, figures in self.differences("overall score").items()
        ]
        moves = [
            (move.id, move.question[:80], move.score_a, move.score_b)
            for move in (*self.degraded_cases[:5], *self.improved_cases[:5])
        ]
        if moves:
            cases = html_table(moves, ("case", "question", "A", "B"))
        else:
            cases = ""
        return f"<div><b>{html_text(self.sentence)}</b>{html_table(rows, header)}{cases}</div>"


def _html_row(name: str, figures: Difference) -> tuple[object, ...]:
    ends = ""
    if figures.interval:
        ends = f"{figures.interval.low:+.3f} to {figures.interval.high:+.3f}"
    won = f"{figures.wins}/{figures.losses}/{figures.ties}"
    change = _format_signed(figures.diff)
    return (name, figures.mean_a, figures.mean_b, change, ends, figures.p_holm, won)


def _format_signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def compare_runs(a: str | Path, b: str | Path, repeats: Sequence[str | Path] = ()) -> Comparison:
    """Is B better than A? `repeats` are further runs of A's bot, for the noise floor.

    >>> compare_runs("results/old", "results/new").verdict  # doctest: +SKIP
    'better'
    """
    return compare_sides(load_side(a), load_side(b), [load_side(path) for path in repeats])


def compare_sides(a: Side, b: Side, repeats: Sequence[Side] = ()) -> Comparison:
    """As `compare_runs`, from the columns of the runs."""
    pairs = pair_cases(a, b)
    changed = find_changes(pairs)
    scale = a.scale if a.scale == b.scale else None
    overall = difference(*pairs.scores(), span=scale)
    # B is better only if it is so with its errors as 0, too.
    with_errors = difference(*pairs.scores(errors_as_zero=True), span=scale)
    metrics = compare_metrics(pairs)
    if repeats:
        noise = estimate_noise(pairs, repeats)
    else:
        noise = None
    unscored = tuple(pairs.unscored_cases())
    passes = mcnemar(*pairs.passes())
    evidence = ComparisonEvidence(
        changed, overall, with_errors, metrics, passes, len(unscored), noise, scale
    )
    verdict, sentence = reach_verdict(evidence)
    changes = _CaseChanges(pairs, noise)
    return Comparison(
        name_a=a.name,
        name_b=b.name,
        verdict=verdict,
        sentence="; ".join([*changed.unfinished_runs, sentence]),
        changed=changed,
        # The overall score is tested once, before the metrics, so it needs no correction.
        overall=replace(overall, p_holm=overall.p),
        quality=difference(*pairs.both(a.quality, b.quality)),
        metrics=metrics,
        mcnemar=passes,
        newly_failing=tuple(changes.newly_failing),
        newly_passing=tuple(changes.newly_passing),
        moves=tuple(changes.moves),
        lost=tuple(pairs.lost_cases()),
        unscored=unscored,
        errors={name: (a.errors.get(name, 0), b.errors.get(name, 0)) for name in metrics},
        errors_a=a.statuses.count(Status.ERROR),
        errors_b=b.statuses.count(Status.ERROR),
        only_a=tuple(name for name in a.metrics if name not in b.metrics),
        only_b=tuple(name for name in b.metrics if name not in a.metrics),
        noise=noise,
        scale=scale,
        repeats=(a.repeats, b.repeats),
    )


def compare_metrics(pairs: Pairs) -> dict[str, Difference]:
    """The difference in each metric that both runs measured, with Holm's correction."""
    metrics: dict[str, Difference] = {}
    for name in pairs.metrics():
        columns = pairs.both(pairs.a.metrics[name], pairs.b.metrics[name])
        metrics[name] = difference(*columns, better_direction(name), _range_of(name))
    tested = {name: figures.p for name, figures in metrics.items() if figures.p is not None}
    for name, p in zip(tested, holm(list(tested.values())), strict=True):
        metrics[name] = replace(metrics[name], p_holm=p)
    return metrics


def better_direction(name: str) -> Better:
    """Whether higher or lower is better; "higher" for a metric that is not installed here."""
    try:
        return find(name).facts.better
    except SettingsError:
        return "higher"


def _range_of(name: str) -> float | None:
    """The distance between the ends of a metric's scale; None if it has none or is not installed."""
    try:
        facts = find(name).facts
    except SettingsError:
        return None
    if facts.high is None or facts.low is None:
        return None
    return facts.high - facts.low


class _CaseChanges:
    """The cases that newly fail, those that newly pass, and those whose score moved."""

    def __init__(self, pairs: Pairs, noise: Noise | None) -> None:
        self.newly_failing: list[CaseChange] = []
        self.newly_passing: list[CaseChange] = []
        self.moves: list[CaseChange] = []
        self._pairs = pairs
        self._noise = noise
        self._flaky = pairs.a.flaky | pairs.b.flaky
        for row, (i, j) in enumerate(pairs.rows()):
            self._add(row, i, j)

    def _add(self, row: int, i: int, j: int) -> None:
        a = self._pairs.a
        b = self._pairs.b
        before = a.score[i]
        after = b.score[j]
        case = CaseChange(
            id=a.ids[i],
            question=a.questions[i],
            status_a=a.statuses[i],
            status_b=b.statuses[j],
            score_a=None if math.isnan(before) else before,
            score_b=None if math.isnan(after) else after,
            flaky=a.ids[i] in self._flaky,
            answer_a=a.answer_texts[i],
            answer_b=b.answer_texts[j],
            kind_b=b.kinds[j] if b.kinds else "",
            why_b=b.reasons[j] if b.reasons else "",
        )
        # An error, and an answer that cannot be scored, count as failing; without a profile in one
        # of the runs nothing passes or fails.
        has_verdicts = Status.SCORED not in (a.statuses[i], b.statuses[j])
        if has_verdicts and a.passed[i] == 1 and b.passed[j] != 1:
            self.newly_failing.append(case)
        elif has_verdicts and a.passed[i] != 1 and b.passed[j] == 1:
            self.newly_passing.append(case)
        # A missing score is NaN, and every comparison with NaN is false.
        if abs(after - before) > _STILL * max(abs(before), abs(after)):
            is_noise = self._noise is not None and self._noise.covers(row, after)
            self.moves.append(replace(case, flaky=is_noise))
