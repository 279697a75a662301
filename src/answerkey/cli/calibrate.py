"""`answerkey calibrate`: how well a metric or judge agrees with human labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from answerkey.cli.output import json_option, print_json, say, show
from answerkey.cli.scoring_options import judge_option, judge_settings

_OPTIONS = (
    click.option("--metric", "metrics", multiple=True, required=True, help="The metric to check; may be repeated."),
    click.option("--label", default="label", show_default=True, help="The column with the labels: 0/1, yes/no or a number."),
    click.option("--group", default="group", show_default=True, help="Rows of one source, kept together when resampling."),
    click.option("--positive", type=click.Choice(["good", "bad"]), help="What label 1 means; guessed unless told."),
    click.option("--label-cut", type=float, metavar="X", help="Labels above X are positive; ½ for 0/1, else mid-range."),
    click.option("--best", "aim", type=click.Choice(["balanced", "accuracy", "kappa"]), default="balanced", show_default=True,
                 help="What the best threshold makes largest."),
    click.option("--repeats", type=click.IntRange(1, 100), default=1, help="Measure this often, for a judge's noise."),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first N rows."),
    click.option("--model", help="Embedding model."),
    click.option("--judge-model", help="The judge's model, where the preset's is not meant."),
    click.option("--module", "modules", multiple=True, help="A Python module with metrics of your own."),
    click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.png", help="Write the reliability plot here."),
    click.option("--write-threshold", "profile", type=click.Path(path_type=Path), metavar="PROFILE.toml",
                 help="Write the best threshold into this profile as the metric's floor."),
)  # fmt: skip


def _calibrate_options(command: Any) -> Any:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("calibrate")
@click.argument("labelled", type=click.Path(path_type=Path))
@_calibrate_options
@judge_option
@json_option
def command(labelled: Path, as_json: bool, **given: Any) -> None:
    """Compare a metric with human labels: a case file with a label column, or a run with labels.jsonl.

    AUROC above 0.5 means that the metric points the right way. Which way that is depends on what label 1 means:
    say --positive good (1 is a good answer) or --positive bad (1 is a bad one). Without it the meaning that fits
    the metric's own direction is taken and reported as a guess. Answer length alone is always shown beside it.

    \b
    Example:
      answerkey calibrate labelled.jsonl --metric answer_hallucination --positive bad
      answerkey calibrate results/bot_20260102_030405 --metric rubric.accuracy --plot reliability.png
    """
    from answerkey.calibrate.export import calibration_json

    if (given["plot"] or given["profile"]) and len(given["metrics"]) > 1:
        raise click.UsageError("--plot and --write-threshold take one --metric")
    made = _calibrations(labelled, given)
    if as_json:
        rows = {c.metric: calibration_json(c) for c in made}
        print_json(rows[made[0].metric] if len(made) == 1 else {"metrics": rows})
    else:
        from answerkey.reports.calibration import calibration_text

        show("\n".join(calibration_text(c) for c in made).rstrip("\n"))
    if given["plot"]:
        _plot(made[0], given["plot"])
    if given["profile"]:
        from answerkey.calibrate.write_threshold import write_threshold

        floor = write_threshold(given["profile"], made[0])
        say(f"{given['profile']}: floor of {made[0].metric} set to {floor:g}")


def _calibrations(path: Path, given: dict[str, Any]) -> list[Any]:
    from answerkey.calibrate.calibration import Asked, Rows, calibrate_metric
    from answerkey.calibrate.labelled import read_labelled
    from answerkey.calibrate.measure import measure
    from answerkey.metrics.registry import find
    from answerkey.runs.suite import suite_of

    table: dict[str, Any] = {
        "name": "calibrate",
        "cases": [str(path)],
        "metrics": list(dict.fromkeys(given["metrics"])),
    }
    table |= {"modules": list(given["modules"])} | ({"embedding": given["model"]} if given["model"] else {})
    if judge := judge_settings(given["judge"], given["judge_model"]):
        table["judge"] = judge
    labelled = read_labelled(path, given["label"], given["group"], given["limit"])
    if labelled.unlabelled:
        say(f"{labelled.unlabelled} rows have no label and are left out")
    passes = measure(labelled, suite_of(table, Path()), given["repeats"], _progress())
    rows = Rows(
        labelled.labels, [len(response.answer or "") for _, response in labelled.pairs], labelled.groups
    )
    asked = Asked(given["positive"], given["label_cut"], given["aim"])
    return [
        calibrate_metric(name, find(name).facts.better, [columns[name] for columns in passes], rows, asked)
        for name in passes[0]
    ]


def _progress() -> Callable[[int, int], None]:
    """A line on standard error every few seconds, so that a long measurement is seen to move."""
    from time import monotonic

    started = last = monotonic()

    def told(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= 5:
            last = now
            left = (now - started) / done * (total - done)
            say(f"measured {done}/{total}, about {left:.0f} s left")

    return told


def _plot(calibration: Any, path: Path) -> None:
    from answerkey.errors import StorageError
    from answerkey.reports.charts.calibration import reliability_chart
    from answerkey.reports.charts.style import png, svg

    try:
        path.write_bytes(png(svg(reliability_chart(calibration))))
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from None
    say(f"reliability plot: {path}")
