"""`answerkey metrics`: every metric with its range, direction and inputs."""

from __future__ import annotations

import click

from answerkey.cli.output import json_option, print_json, show
from answerkey.metrics.registry import Metric, all_metrics, load_modules
from answerkey.types import Json


@click.command("metrics")
@click.option(
    "--module", "modules", multiple=True, help="Also list the metrics of this Python module; may be repeated."
)
@json_option
def command(modules: tuple[str, ...], as_json: bool) -> None:
    """List every metric with its range, direction, inputs and result on empty input.

    \b
    Example:
      answerkey metrics
      answerkey metrics --module my_metrics --json
    """
    load_modules(modules)
    listed = [metric_listing(metric) for metric in all_metrics()]
    if as_json:
        print_json(listed)
        return
    family = ""
    for entry in listed:
        if entry["family"] != family:
            family = entry["family"]
            show(f"\n{family}")
        low, high = ("-" if end is None else f"{end:g}" for end in entry["range"])
        needs = ", ".join([*entry["needs"], *entry["tools"]])
        show(f"  {entry['name']:<26} {low}..{high:<5} {entry['better']:<8} {entry['summary']}")
        show(f"  {'':<26} needs {needs or 'nothing'}; when empty: {entry['empty'] or 'not applicable'}")


def metric_listing(metric: Metric) -> Json:
    facts = metric.facts
    return {
        "name": facts.name,
        "family": metric.family,
        "summary": facts.summary,
        "range": [facts.low, facts.high],
        "better": facts.better,
        "needs": list(facts.needs),
        "uses": list(facts.uses),
        "tools": sorted(key for key in metric.keywords() if key in {"embed", "judge"}),
        "settings": sorted(
            key for key in metric.keywords() if key not in {"embed", "judge", "words", "routes", "names"}
        ),
        "empty": facts.empty,
        "unit": facts.unit,
        "version": facts.version,
    }
