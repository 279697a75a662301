"""`answerkey metrics`: what can be measured, and the facts about each."""

from __future__ import annotations

import click

from answerkey.cli.shared import json_option, print_json, show


@click.command("metrics")
@click.option(
    "--module",
    "modules",
    multiple=True,
    help="Import this module first, so that its own metrics are listed too.",
)
@json_option
def command(modules: tuple[str, ...], as_json: bool) -> None:
    """List every metric: range, direction, what it needs, what it gives on empty input.

    \b
    Example:
      answerkey metrics
      answerkey metrics --module my_metrics --json
    """
    from answerkey.cli.listing import metric_listing
    from answerkey.metrics.registry import all_metrics, load_modules

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
        show(f"  {'':<26} needs {needs or 'nothing'}; when empty: {entry['empty'] or 'does not apply'}")
