"""`answerkey calibrate`: how well a metric agrees with human labels, or a profile fitted to them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import click
import msgspec
import numpy as np

from answerkey.calibrate.agreement import Aim, ReliabilityBin
from answerkey.calibrate.calibration import (
    Calibration,
    CalibrationOptions,
    LabelColumns,
    Meaning,
    calibrate_metric,
    calibration_json,
    calibration_text,
    middle_of,
)
from answerkey.calibrate.fitted_profile import fit_json, fit_text, fitted_toml
from answerkey.calibrate.labelled_answers import Labelled, measure_labelled, read_labelled
from answerkey.calibrate.profile_fit import fit_profile
from answerkey.cli.output import COUNT, PATH, WholeNumber, done, json_option, print_result, say
from answerkey.cli.scoring_options import (
    add_options,
    judge_model_option,
    judge_option,
    judge_settings,
    module_option,
)
from answerkey.config.declare import TomlTable
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import write_file
from answerkey.metrics.judge.card import is_judged
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.judge.track_record import CalibrationResult, remember
from answerkey.metrics.registry import find
from answerkey.profiles.load import load_profile, with_floor
from answerkey.reports.chart_style import BLUE, GREY, RED, Spec, add_title, layer, number, over
from answerkey.reports.plots import draw_png
from answerkey.runs.store import is_run, read_manifest
from answerkey.runs.suite import Suite, load_suite, suite_of

_SECONDS_BETWEEN_LINES = 5


@click.command("calibrate")
@click.argument("labelled", type=PATH)
@add_options(
    click.option(
        "--metric",
        "metrics",
        multiple=True,
        help="The metric to check; may be repeated.",
    ),
    click.option(
        "--label",
        default="label",
        help="Column with the labels: 0/1, yes/no or a number; default label.",
    ),
    click.option(
        "--group",
        default="group",
        help="Column that groups dependent rows, which are resampled together; default group.",
    ),
    click.option(
        "--positive",
        type=click.Choice(["good", "bad"]),
        help="What label 1 means; by default guessed and reported.",
    ),
    click.option(
        "--label-cut",
        type=float,
        metavar="X",
        help="Labels above X are positive; default 0.5 for 0/1 labels, otherwise mid-range.",
    ),
    click.option(
        "--best",
        "aim",
        type=click.Choice(["balanced", "accuracy", "kappa"]),
        default="balanced",
        help="What the best threshold maximises; default balanced (accuracy).",
    ),
    click.option(
        "--repeats",
        type=WholeNumber(1, 100),
        default=1,
        help="Number of measurements, to see a judge's noise; default 1.",
    ),
    click.option("--limit", type=COUNT, metavar="N", help="Only the first N rows."),
    click.option("--model", help="Embedding model."),
    judge_option,
    judge_model_option,
    click.option(
        "--suite", type=PATH, metavar="SUITE", help="A suite with a judge and [[criteria]]."
    ),
    module_option,
    click.option(
        "--plot", type=PATH, metavar="FILE.png", help="Write the reliability chart to this file."
    ),
    click.option(
        "--write-threshold",
        "threshold_profile",
        type=PATH,
        metavar="PROFILE.toml",
        help="Write the best threshold into this profile as the metric's floor.",
    ),
    click.option(
        "--profile",
        metavar="NAME",
        help="Instead of --metric: fit the weights and pass marks of this profile to the labels.",
    ),
    click.option(
        "--write",
        type=PATH,
        metavar="FITTED.toml",
        help="With --profile: write the fitted profile to this file.",
    ),
)
@json_option
def calibrate_command(
    labelled: Path,
    metrics: tuple[str, ...],
    plot: Path | None,
    threshold_profile: Path | None,
    profile: str | None,
    write: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare a metric with human labels: a case file with a label column, or a run with labels.jsonl.

    AUROC above 0.5 means that the metric ranks good answers above bad ones. Give --positive good if label 1 marks a
    good answer, or --positive bad if it marks a bad one; without it, the meaning that fits the metric's direction is
    assumed and reported as a guess. The result of answer length alone is always shown for comparison.

    With --profile, the weights and pass marks of that profile are fitted to the labels (label 1 is a good answer), and
    the fit is tested on rows that were left out of it. 50 labels are needed, with 10 good and 10 bad answers. Floors
    stay as they are. --write writes the fitted profile, if it is better on the rows left out.

    \b
    Example:
      answerkey calibrate labelled.jsonl --metric answer_hallucination --positive bad
      answerkey calibrate results/bot_20260102_030405 --metric rubric.accuracy --plot reliability.png
      answerkey calibrate labelled.jsonl --profile rag --write fitted.toml
    """
    if bool(profile) == bool(metrics):
        raise click.UsageError("give --metric to check a metric, or --profile to fit a profile")
    if (plot or threshold_profile) and len(metrics) != 1:
        raise click.UsageError("--plot and --write-threshold need exactly one --metric")
    if write and not profile:
        raise click.UsageError("--write needs --profile")
    measurement = _Measurement(labelled, **options)
    if profile:
        _fit_profile(profile, measurement, write, as_json=as_json)
        return
    calibrations = _calibrate_metrics(list(dict.fromkeys(metrics)), measurement)
    first = calibrations[0]
    rows = {calibration.metric: calibration_json(calibration) for calibration in calibrations}
    text = "\n".join(map(calibration_text, calibrations)).rstrip("\n")
    print_result(rows[first.metric] if len(rows) == 1 else {"metrics": rows}, text, as_json)
    if plot:
        write_file(plot, draw_png(reliability_chart(first)), durable=False)
        say(f"reliability chart: {plot}")
    if threshold_profile:
        floor = write_threshold(threshold_profile, first)
        say(f"{threshold_profile}: floor of {first.metric} set to {floor:g}")


@dataclass(frozen=True, slots=True)
class _Measurement:
    """The labelled answers, and the options of how to measure them, as they were typed."""

    path: Path
    label: str
    group: str
    positive: Meaning | None
    label_cut: float | None
    aim: Aim
    repeats: int
    limit: int | None
    model: str | None
    judge: str | None
    judge_model: str | None
    suite: Path | None
    modules: tuple[str, ...]

    def make_suite(self, metrics: Sequence[str], profile: str | None = None) -> Suite:
        """A suite that computes these metrics, with the judge and criteria of --suite."""
        suite = None
        folder = Path()
        if self.suite:
            suite = load_suite(self.suite)
            folder = suite.folder
        table: TomlTable = {
            "name": "calibrate",
            "cases": [str(self.path)],
            "metrics": list(metrics),
            "modules": list(self.modules),
        }
        if profile:
            table["profile"] = profile
        if self.model:
            table["embedding"] = self.model
        judge = judge_settings(self.judge, self.judge_model) or (suite and suite.judge)
        if judge:
            table["judge"] = judge
        return replace(suite_of(table, folder), criteria=suite.criteria if suite else ())

    def read_labelled(self) -> Labelled:
        labelled = read_labelled(self.path, self.label, self.group, self.limit)
        if labelled.unlabelled:
            say(f"{labelled.unlabelled} rows have no label and are left out")
        return labelled


def _calibrate_metrics(metrics: list[str], measurement: _Measurement) -> list[Calibration]:
    suite = measurement.make_suite(metrics)
    labelled = measurement.read_labelled()
    passes = measure_labelled(labelled, suite, measurement.repeats, _make_progress())
    lengths = [len(response.answer or "") for _, response in labelled.pairs]
    rows = LabelColumns(labelled.labels, lengths, labelled.groups)
    options = CalibrationOptions(measurement.positive, measurement.label_cut, measurement.aim)
    calibrations: list[Calibration] = []
    for name in passes[0]:
        repeats = [columns[name] for columns in passes]
        better = find(name).facts.better
        calibrations.append(calibrate_metric(name, better, repeats, rows, options))
    _remember(calibrations, measurement.path, suite)
    return calibrations


def _fit_profile(
    name: str, measurement: _Measurement, write: Path | None, *, as_json: bool
) -> None:
    """Fit the weights and pass marks of a profile, and write them if they are better."""
    suite = measurement.make_suite((), name)
    profile = load_profile(name, suite.folder)
    # Only scores are needed here; `fit_profile` decides the verdicts itself.
    suite = replace(suite, metrics=profile.metrics)
    labelled = measurement.read_labelled()
    columns = measure_labelled(labelled, suite, 1, _make_progress())[0]
    scores = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    cut = measurement.label_cut
    if cut is None:
        cut = middle_of(labelled.labels)
    good = np.array(labelled.labels, dtype=float) > cut
    if measurement.positive == "bad":
        good = ~good
    fit = fit_profile(profile, labelled.pairs, scores, good, labelled.groups, measurement.aim)
    print_result(fit_json(fit), fit_text(fit, profile), as_json)
    if write is None:
        return
    if not fit.is_better:
        raise InputError(
            f"{write}: not written, because the fit is not better than {name} on rows left out"
        )
    write_file(write, fitted_toml(fit, name, write.stem, measurement.path.name))
    done(f"wrote {write}; use it with --profile {write}")


def _remember(calibrations: list[Calibration], labelled: Path, suite: Suite) -> None:
    """Keep what is known about a judge for its card in later reports."""
    judged = [each for each in calibrations if is_judged(each.metric)]
    if not judged:
        return
    fingerprint = _fingerprint_of_judge(labelled, suite)
    if fingerprint != "none":
        results = {
            each.metric: msgspec.convert(calibration_json(each), CalibrationResult)
            for each in judged
        }
        remember(fingerprint, calibration=results)


def _fingerprint_of_judge(labelled: Path, suite: Suite) -> str:
    """The judge that gave the scores; "none" where it is not known."""
    if suite.judge is not None:
        with closing(load_judge(suite.judge, folder=suite.folder)) as judge:
            return judge.fingerprint()
    # The scores of a run may come from its own judge, which its manifest names.
    if is_run(labelled):
        return read_manifest(labelled).fingerprint.get("judge", "none")
    return "none"


def _make_progress() -> Callable[[int, int], None]:
    """A function that prints the progress of a long measurement every few seconds."""
    started = last = monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            left = (now - started) / done * (total - done)
            say(f"measured {done}/{total}, about {left:.0f} s left")

    return report


def write_threshold(path: Path, calibration: Calibration) -> float:
    """Write the best threshold into a profile, to four significant digits, and return it."""
    c = calibration
    if c.threshold is None or c.auroc is None or c.auroc <= 0.5:
        reason = "; ".join(c.notes) or "AUROC is not above 0.5"
        raise InputError(f"{c.metric}: no threshold worth writing was found; {reason}")
    if not path.is_file():
        raise SettingsError(
            f"{path}: no such profile; make one with `answerkey profiles show rag > {path.name}`"
        )
    profile = load_profile(str(path))
    if c.metric not in profile.metrics:
        hint = did_you_mean(c.metric, profile.metrics)
        raise SettingsError(f'{path}: the profile has no criterion "{c.metric}"{hint}')
    floor = float(f"{c.threshold:.4g}")
    edited = with_floor(path.read_text(encoding="utf-8-sig"), c.metric, floor)
    if edited is None:
        raise SettingsError(
            f'{path}: write the criterion "{c.metric}" as a [[criteria]] table of its own first'
        )
    # The file was edited as text: a mistake must show before the user's file is overwritten.
    tomllib.loads(edited)
    write_file(path, edited)
    return floor


def reliability_chart(c: Calibration) -> Spec:
    """Bins with Wilson intervals; for a metric that can be read as a probability, with the diagonal."""
    x = number("value", f"{c.metric} (mean of the bin)", scale={"zero": False})
    y = number("share", "share of label 1", scale={"domain": [0, 1]})
    size = number("n", "answers", scale={"range": [30, 200]})
    layers = [
        layer("rule", {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}, color=BLUE),
        layer("line", {"x": x, "y": y}, color=BLUE),
        layer("point", {"x": x, "y": y, "size": size}),
    ]
    if c.reliability.error is not None:
        # The diagonal falls where low values go with label 1.
        start = 0 if c.direction.sign > 0 else 1
        ends = [{"value": 0, "share": start}, {"value": 1, "share": 1 - start}]
        diagonal = layer("line", {"x": x, "y": y}, color=GREY, strokeDash=[4, 4], strokeWidth=1)
        layers.insert(0, over(ends, diagonal))
    if c.threshold is not None:
        layers.append(layer("rule", {"x": {"datum": c.threshold}}, color=RED))
    auroc = "not defined" if c.auroc is None else f"{c.auroc:.3f}"
    subtitle = (
        f"AUROC {auroc}, {c.n} labelled answers; dashed: a perfect probability; red: best threshold"
    )
    values = [_chart_row(each) for each in c.reliability.bins]
    body = {"height": 320, "data": {"values": values}, "layer": layers}
    return add_title(f"Reliability of {c.metric}", body, subtitle)


def _chart_row(each: ReliabilityBin) -> Spec:
    low = high = each.share
    if each.interval:
        low = each.interval.low
        high = each.interval.high
    return {"value": each.mean_value, "share": each.share, "low": low, "high": high, "n": each.n}
