"""One metric against human labels, with the baselines beside it; as JSON and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import numpy as np

from answerkey.calibrate import agreement as agree
from answerkey.calibrate.agreement import (
    Agreement,
    Aim,
    NumberArray,
    Reliability,
    agreement,
    auroc,
    interval95,
)
from answerkey.calibrate.auroc_interval import auroc_interval
from answerkey.errors import InputError
from answerkey.text import printable
from answerkey.types import Better, Score

Meaning = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class Direction:
    """`sign` is 1 where higher values should go with label 1, else -1."""

    sign: int
    label_means: Meaning | None
    guessed: bool

    @property
    def phrase(self) -> str:
        side = "higher" if self.sign > 0 else "lower"
        return f"{side} values go with label 1"

    @property
    def comparison(self) -> str:
        """The sign between a value and the threshold where label 1 is decided."""
        return ">" if self.sign > 0 else "<"

    def turn_auroc(self, raw_auroc: float | None) -> float | None:
        """The AUROC as if higher values went with label 1."""
        if raw_auroc is None or self.sign > 0:
            return raw_auroc
        return 1 - raw_auroc


def direction_of(better: Better, raw_auroc: float | None, positive: Meaning | None) -> Direction:
    """The direction of the metric: by the meaning of label 1 if it is known, else by what fits.

    `raw_auroc` is the AUROC of the values as they are; below ½, low values go with label 1.
    """
    fitting_sign = 1
    if raw_auroc is not None and raw_auroc < 0.5:
        fitting_sign = -1
    if better == "neither":
        return Direction(fitting_sign, positive, guessed=True)
    sign_if_good = 1 if better == "higher" else -1
    if positive is None:
        meaning: Meaning = "good" if fitting_sign == sign_if_good else "bad"
        return Direction(fitting_sign, meaning, guessed=True)
    sign = sign_if_good if positive == "good" else -sign_if_good
    return Direction(sign, positive, guessed=False)


@dataclass(frozen=True, slots=True)
class RepeatNoise:
    """`sd` is the typical spread of one row's values over the repeats.

    `flips` is the share of rows that are not always on the same side of the threshold; None
    without a threshold.
    """

    repeats: int
    rows: int
    sd: float
    flips: float | None


def judge_noise(
    repeats: Sequence[Sequence[Score]], sign: int, threshold: float | None
) -> RepeatNoise | None:
    """The noise of repeated scores; None for a single pass, or if no row has a value every time."""
    if len(repeats) < 2:
        return None
    complete = [
        row for row in zip(*repeats, strict=True) if all(score.value is not None for score in row)
    ]
    if not complete:
        return None
    values = sign * np.array([[score.value for score in row] for row in complete], dtype=float)
    # Relative to the first pass, so that equal values have no spread at all, not even by rounding.
    spread = values - values[:, :1]
    sd = float(np.sqrt(spread.var(axis=1, ddof=1).mean()))
    flips = None
    if threshold is not None:
        above = values > threshold
        flips = float(np.mean(above.any(axis=1) & ~above.all(axis=1)))
    return RepeatNoise(len(repeats), len(complete), sd, flips)


_ENOUGH = 10
# Fields that the JSON has under the same name.
_SAME = (
    "metric",
    "n",
    "positives",
    "label_cut",
    "auroc",
    "auroc_ci95",
    "groups",
    "spearman",
    "notes",
)


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """Choices of the user: the meaning of label 1, the cut of labels other than 0 and 1, the aim."""

    positive: Meaning | None = None
    label_cut: float | None = None
    aim: Aim = "balanced"


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Labels, groups and answer lengths of the labelled rows, in order."""

    labels: Sequence[float]
    lengths: Sequence[int]
    groups: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Agreement figures are at `threshold`, fitted to all rows; `cross` is the honest estimate for new rows."""

    metric: str
    n: int
    of: int
    errors: int
    positives: int
    label_cut: float
    direction: Direction
    auroc: float | None
    auroc_ci95: list[float] | None
    spearman: float | None
    threshold: float | None
    fitted: Agreement | None
    cross: Agreement | None
    cross_thresholds: list[float]
    length_auroc: float | None
    length_auroc_ci95: list[float] | None
    over_length_ci95: list[float] | None
    reliability: Reliability
    draws: int
    groups: int | None
    noise: RepeatNoise | None = None
    notes: list[str] = field(default_factory=list[str])


def calibrate_metric(
    metric: str,
    better: Better,
    repeats: Sequence[Sequence[Score]],
    rows: LabelColumns,
    options: CalibrationOptions | None = None,
) -> Calibration:
    """Compare a metric with labels.

    `repeats` holds the scores of every row, once for each time they were computed. The first is
    compared with the labels; the others show how much the metric varies.
    """
    options = options or CalibrationOptions()
    scores = repeats[0]
    label_cut = options.label_cut
    if label_cut is None:
        # From all labels, also of rows without a value: the cut must not depend on the metric.
        label_cut = middle_of(rows.labels)
    scored = _select_scored(metric, scores, rows, label_cut)
    positive = scored.positive
    raw_auroc = auroc(scored.values, positive)
    direction = direction_of(better, raw_auroc, options.positive)
    values = direction.sign * scored.values
    baseline = scored.length_baseline()
    intervals = _auroc_intervals(values, baseline, scored)
    threshold = agree.best_threshold(values, positive, options.aim)
    crossed = agree.cross_validate_threshold(values, positive, scored.groups, options.aim)
    calibration = Calibration(
        metric=metric,
        n=len(values),
        of=len(scores),
        errors=sum(score.error is not None for score in scores),
        positives=int(positive.sum()),
        label_cut=label_cut,
        direction=direction,
        auroc=direction.turn_auroc(raw_auroc),
        auroc_ci95=intervals.metric,
        spearman=agree.spearman(scored.values, scored.labels),
        threshold=None if threshold is None else direction.sign * threshold,
        fitted=None if threshold is None else agreement(values > threshold, positive),
        cross=crossed.agreement if crossed else None,
        cross_thresholds=[direction.sign * cut for cut in crossed.thresholds] if crossed else [],
        length_auroc=auroc(baseline, positive),
        length_auroc_ci95=intervals.length,
        over_length_ci95=intervals.over_length,
        reliability=agree.reliability(scored.values, positive, direction.sign),
        draws=agree.draws_for(len(values)),
        groups=len(set(scored.groups)) if scored.groups else None,
        noise=judge_noise(repeats, direction.sign, threshold),
    )
    calibration.notes.extend(_notes(calibration, better))
    return calibration


@dataclass(frozen=True, slots=True)
class _ScoredRows:
    """The labelled rows on which the metric has a value."""

    values: NumberArray
    labels: NumberArray
    lengths: NumberArray
    positive: NumberArray
    groups: list[str] | None

    def length_baseline(self) -> NumberArray:
        """Answer lengths, negative where the short answers are the positive ones."""
        # Good answers may be the long or the short ones; the baseline takes what fits.
        if (auroc(self.lengths, self.positive) or 0.5) >= 0.5:
            return self.lengths
        return -self.lengths


def _select_scored(
    metric: str, scores: Sequence[Score], rows: LabelColumns, label_cut: float
) -> _ScoredRows:
    """The rows with a value. Raises an error, with a reason, if no row has one."""
    scored = [n for n, score in enumerate(scores) if score.value is not None]
    if not scored:
        reason = next((s.error or s.reason for s in scores if s.error or s.reason), "no value")
        raise InputError(f"{metric} has no value on any of {len(scores)} labelled rows: {reason}")
    labels = np.array([rows.labels[n] for n in scored], dtype=float)
    return _ScoredRows(
        values=np.array([scores[n].value for n in scored], dtype=float),
        labels=labels,
        lengths=np.array([rows.lengths[n] for n in scored], dtype=float),
        positive=labels > label_cut,
        groups=[rows.groups[n] for n in scored] if rows.groups else None,
    )


@dataclass(frozen=True, slots=True)
class _AurocIntervals:
    """95 % intervals of the metric, of answer length alone, and of the difference."""

    metric: list[float] | None = None
    length: list[float] | None = None
    over_length: list[float] | None = None


def _auroc_intervals(
    values: NumberArray, baseline: NumberArray, rows: _ScoredRows
) -> _AurocIntervals:
    """All None if the labels are on one side, where no AUROC is defined."""
    if rows.positive.all() or not rows.positive.any():
        return _AurocIntervals()
    # The same draws for both, so that their difference has an interval too.
    metric_draws, length_draws = agree.auroc_draws([values, baseline], rows.positive, rows.groups)
    return _AurocIntervals(
        metric=auroc_interval(values, rows.positive, metric_draws, rows.groups),
        length=interval95(length_draws),
        over_length=interval95(metric_draws - length_draws),
    )


def middle_of(labels: Sequence[float]) -> float:
    """Labels above it are positive: ½ for 0 and 1, else the middle of their range."""
    low = min(labels)
    high = max(labels)
    if low == high:
        return 0.5
    return (low + high) / 2


def _notes(c: Calibration, better: Better) -> list[str]:
    if c.auroc is None:
        return ["all labels are on one side: nothing to tell apart, so no AUROC and no threshold"]
    notes: list[str] = []
    if c.direction.guessed and c.direction.label_means and better != "neither":
        notes.append(
            f"label 1 was taken to mean {c.direction.label_means}, which fits the metric better; "
            "pin it with --positive good or --positive bad"
        )
    fewer = min(c.positives, c.n - c.positives)
    if fewer < _ENOUGH:
        notes.append(f"only {fewer} rows on one side: too few to trust any figure here; label more")
    low, high = c.auroc_ci95 or (0.0, 1.0)
    if high < 0.5:
        notes.append("points the wrong way: below chance, and the interval says so")
    elif low <= 0.5:
        notes.append("not shown to be better than chance: the interval holds 0.5")
    if c.metric != "answer_length" and c.over_length_ci95 is not None:
        notes += _notes_on_length(c.over_length_ci95, c.length_auroc or 0.5)
    return notes


def _notes_on_length(over_length_ci95: Sequence[float], length_auroc: float) -> list[str]:
    """Say so if answer length alone agrees with the labels as well as the metric does."""
    low, high = over_length_ci95
    if low > 0:
        return []
    comparison = "worse than" if high < 0 else "not shown to be better than"
    return [
        f"{comparison} answer length alone (AUROC {length_auroc:.2f}): it may be measuring length"
    ]


def calibration_json(c: Calibration) -> dict[str, object]:
    """`kappa`, `tpr`, `tnr` and `accuracy_at_best` are at `best_threshold` on the rows it was fitted to;
    `cross_validated` holds the same figures on rows left out of the fit."""
    direction = c.direction
    share = c.positives / c.n
    fitted = _agreement_json(c.fitted)
    return {
        **{name: getattr(c, name) for name in _SAME},
        "labelled": c.of,
        "broken": c.errors,
        "label_means": direction.label_means,
        "label_means_guessed": direction.guessed,
        "direction": direction.phrase,
        "auroc_draws": c.draws,
        "best_threshold": c.threshold,
        "decides": f"label 1 where value {direction.comparison} best_threshold",
        "accuracy_at_best": fitted.pop("accuracy"),
        **fitted,
        "cross_validated": {**_agreement_json(c.cross), "thresholds": c.cross_thresholds},
        "baselines": {  # what no metric at all would reach
            "length_only": {
                "auroc": c.length_auroc,
                "auroc_ci95": c.length_auroc_ci95,
                "metric_minus_length_ci95": c.over_length_ci95,
            },
            "always_positive": {
                "accuracy": share,
                "auroc": 0.5,
                "kappa": 0.0,
                "tpr": 1.0,
                "tnr": 0.0,
            },
            "majority": {"accuracy": max(share, 1 - share)},
        },
        "reliability": [
            {**asdict(b), "interval": list(b.interval[:2]) if b.interval else None}
            for b in c.reliability.bins
        ],
        "calibration_error": c.reliability.error,
        "brier": c.reliability.brier,
        "noise": asdict(c.noise) if c.noise else None,
    }


def _agreement_json(a: Agreement | None) -> dict[str, float | None]:
    return {name: getattr(a, name, None) for name in ("accuracy", "kappa", "tpr", "tnr")}


def calibration_text(c: Calibration) -> str:
    """Plain lines; the figures of the JSON, with their denominators."""
    share = c.positives / c.n
    draws = f"{c.draws:,} draws"
    if c.groups:
        draws += f" of {c.groups} groups"
    lines = [
        _heading(c, share),
        "",
        f"  AUROC                 {_figure(c.auroc)}{_interval(c.auroc_ci95)}  ({draws})",
        f"  answer length alone   {_figure(c.length_auroc)}{_interval(c.length_auroc_ci95)}",
        f"  metric − length             {_interval(c.over_length_ci95).strip() or '-'}",
        f"  Spearman              {_figure(c.spearman)}  (value and label as they are)",
        "",
        f"  best threshold        {_figure(c.threshold)}  (label 1 where value {c.direction.comparison} it)",
        f"    on the rows it was fitted to  {_agreement_text(c.fitted)}",
        f"    cross-validated               {_agreement_text(c.cross)}",
        f"    always label 1                accuracy {share:.3f}, TPR 1.000, TNR 0.000, κ 0.000",
        f"    always the more common label  accuracy {max(share, 1 - share):.3f}",
    ]
    error = c.reliability.error
    brier = c.reliability.brier
    if error is not None and brier is not None:
        lines.append(f"  read as a probability: calibration error {error:.3f}, Brier {brier:.3f}")
    if c.noise:
        lines.append(_noise_text(c.noise))
    lines += [f"  note: {note}" for note in c.notes]
    return printable("\n".join(lines) + "\n")


def _heading(c: Calibration, share: float) -> str:
    scored = f"{c.n}/{c.of}"
    if c.errors:
        scored += f", {c.errors} errors"
    sides = f"label 1 in {c.positives} ({share:.1%})"
    if c.direction.label_means:
        verb = ", taken to mean" if c.direction.guessed else " means"
        sides += f"{verb} {c.direction.label_means}"
    return f"{c.metric}: scored {scored}; {sides}; {c.direction.phrase}"


def _noise_text(noise: RepeatNoise) -> str:
    flips = ""
    if noise.flips is not None:
        flips = f"; {noise.flips:.1%} of {noise.rows} rows change sides"
    return f"  noise over {noise.repeats} repeats: standard deviation {noise.sd:.3g} within a row{flips}"


def _agreement_text(a: Agreement | None) -> str:
    if a is None:
        return "-"
    return f"accuracy {a.accuracy:.3f}, TPR {_figure(a.tpr)}, TNR {_figure(a.tnr)}, κ {_figure(a.kappa)}"


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) < 1000:
        return f"{value:.3f}"
    return f"{value:,.0f}"


def _interval(ends: Sequence[float] | None) -> str:
    if not ends:
        return ""
    return f"  95 % {ends[0]:.3f} to {ends[1]:.3f}"
