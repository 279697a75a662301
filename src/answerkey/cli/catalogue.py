"""`answerkey metrics` and `profiles`: what there is to measure and score with."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from itertools import groupby

import click

from answerkey.cli.output import json_option, print_json, show
from answerkey.metrics.registry import PROVIDED, Metric, all_metrics, load_modules
from answerkey.profiles import builtin_names, load_profile
from answerkey.profiles.load import builtin_text, words_text
from answerkey.types import Profile


@click.command("metrics")
@click.option(
    "--module",
    "modules",
    multiple=True,
    help="Also list the metrics of this Python module; may be repeated.",
)
@json_option
def metrics_command(modules: tuple[str, ...], as_json: bool) -> None:
    """List every metric with its range, direction, inputs and result on empty input.

    \b
    Example:
      answerkey metrics
      answerkey metrics --module my_metrics --json
    """
    load_modules(modules)
    if as_json:
        print_json([_metric_json(metric) for metric in all_metrics()])
        return
    for package, members in groupby(all_metrics(), key=lambda metric: metric.package):
        show(f"\n{package}")
        for metric in members:
            _show_metric(metric)


def _show_metric(metric: Metric) -> None:
    facts = metric.facts
    low = "-" if facts.low is None else f"{facts.low:g}"
    high = "-" if facts.high is None else f"{facts.high:g}"
    needs = ", ".join([*facts.needs, *_tools(metric)]) or "nothing"
    empty = facts.empty or "not applicable"
    show(f"  {facts.name:<26} {low}..{high:<5} {facts.better:<8} {facts.summary}")
    show(f"  {'':<26} needs {needs}; when empty: {empty}")


def _tools(metric: Metric) -> list[str]:
    return sorted({"embed", "judge"}.intersection(metric.keywords()))


def _metric_json(metric: Metric) -> dict[str, object]:
    facts = metric.facts
    return {
        "name": facts.name,
        # The key is older than `Facts.family`; programs read the package under it.
        "family": metric.package,
        "range": [facts.low, facts.high],
        **{
            name: getattr(facts, name)
            for name in ("summary", "better", "needs", "uses", "empty", "unit", "version")
        },
        "tools": _tools(metric),
        # The rest of the keywords: models, judge and word lists are not set per metric.
        "settings": sorted(set(metric.keywords()) - PROVIDED),
    }


@click.group("profiles", invoke_without_command=True)
@json_option
@click.pass_context
def profiles_command(ctx: click.Context, as_json: bool) -> None:
    """List the built-in scoring profiles, or print one as TOML to start your own from.

    \b
    Example:
      answerkey profiles
      answerkey profiles show route-aware > my-profile.toml
    """
    if ctx.invoked_subcommand is not None:
        return
    profiles = [load_profile(name) for name in builtin_names()]
    if as_json:
        print_json([_profile_json(profile) for profile in profiles])
        return
    for profile in profiles:
        marks = f"pass {profile.rules.pass_mark:g} of {profile.scale:g}"
        show(f"{profile.name:<14} version {profile.version}  {marks}  {profile.summary}")
        show(f"{'':<14} {', '.join(profile.metrics)}")


def _profile_json(profile: Profile) -> dict[str, object]:
    return {
        "name": profile.name,
        "version": profile.version,
        "summary": profile.summary,
        "digest": profile.digest,
        "scale": profile.scale,
        "route_weight": profile.route_weight,
        "metrics": profile.metrics,
        "pass": profile.rules.pass_mark,
        "bands": [asdict(band) for band in profile.rules.bands],
    }


@profiles_command.command("show")
@click.argument("name")
@click.option(
    "--words",
    is_flag=True,
    help="Also print the default word lists, which a profile can replace under [words].",
)
def show_one(name: str, words: bool) -> None:
    """Print the TOML of a built-in profile.

    \b
    Example:
      answerkey profiles show rubric
    """
    text = builtin_text(name).rstrip()
    if words:
        show(f"{text}\n\n[words]\n{words_text()}".rstrip())
        return
    lists = ", ".join(tomllib.loads(words_text()))
    show(f"{text}\n\n# Word lists that [words] can replace (--words prints them): {lists}")
