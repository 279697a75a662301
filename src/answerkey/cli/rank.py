"""`answerkey rank`: ranking metrics from recorded rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from answerkey.cli.output import FILE, done, json_option, print_json, say, show
from answerkey.cli.scoring_options import split_names
from answerkey.comparison.significance import Difference, difference
from answerkey.reports.tables import align_columns
from answerkey.retrieval.rankings import read_figures

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray
    from answerkey.metrics.ranking.rank import Ranked
    from answerkey.retrieval.rankings import RecordedFigures

Differences = dict[str, dict[str, Difference]]  # configuration → metric → difference from the best
_DEFAULT = "precision@5,recall@5,f1@5,mrr,hit_rate@5,ndcg@5,map"


@click.command("rank")
@click.option(
    "--qrels",
    type=FILE,
    help="Labels: TREC, CSV (query_id, relevant) or JSON; default the file of --run.",
)
@click.option(
    "--run",
    "run_file",
    type=FILE,
    required=True,
    help="Rankings: TREC, CSV (query_id, retrieved) or JSON.",
)
@click.option(
    "--metrics",
    default=_DEFAULT,
    metavar="A,B,…",
    help=f"Metrics, comma-separated; default {_DEFAULT}.",
)
@click.option(
    "--unit",
    type=click.Choice(["page", "chunk"]),
    default="page",
    help="page: count each id once, at its first rank (default); chunk: count every occurrence.",
)
@json_option
def rank_command(
    qrels: Path | None, run_file: Path, metrics: str, unit: str, as_json: bool
) -> None:
    """Compute ranking metrics from files of labels and rankings; no suite needed.

    \b
    Example:
      answerkey rank --qrels labels.json --run rankings.csv --metrics ndcg@10,recall@5

    A file with a column `config_name` gives one result per configuration, and a comparison with the best of them. A table of
    figures per configuration is shown as it was recorded.
    """
    from answerkey.metrics.ranking.rank import score_rankings
    from answerkey.retrieval.rankings import read_configurations, read_relevance_labels

    if qrels is None and run_file.suffix.lower() == ".csv" and (figures := read_figures(run_file)):
        return (
            print_json({"recorded": True, "configurations": figures})
            if as_json
            else _show_figures(figures)
        )
    names = split_names(metrics)
    labels = read_relevance_labels(qrels or run_file)
    runs = read_configurations(run_file)
    results = {setup: score_rankings(run, labels, names, unit) for setup, run in runs.items()}
    if not any(mean for result in results.values() for mean in result.mean.values()):
        from answerkey.experiments.label_check import check_labels

        retrieved = dict.fromkeys(
            one for run in runs.values() for row in run.values() for one in row
        )
        if problem := check_labels(labels, list(retrieved)).none_found("the rankings"):
            say(f"warning: {problem}")
    for name in dict.fromkeys(name for result in results.values() for name in result.above_one):
        reason = "because several chunks of one page are counted; use --unit page"
        say(f"warning: {name} is above 1 for some queries, {reason}")
    if len(results) > 1:
        return _print_configurations(results, names, as_json)
    result = next(iter(results.values()))
    if as_json:
        return print_json(_as_json(result))
    scored = len(result.ids) - len(result.unlabelled)
    width = max(map(len, names), default=0)
    for name, value in result.mean.items():
        show(
            f"{name:<{width}}  {'-' if value is None else f'{value:.4f}'}  scored {scored}/{len(result.ids)}"
        )
    _show_queries("no labels, left out of the means", result.unlabelled)
    _show_queries("missing from the run, counted as 0", result.missing)
    _show_places(result)
    return done(f"{scored} of {len(result.ids)} queries scored")


def _as_json(result: Ranked) -> dict[str, object]:
    found = {name: getattr(result, name) for name in ("mean", "queries", "unlabelled", "missing")}
    return {**found, **({"places_without_id": result.without_id} if result.without_id else {})}


def _column(result: Ranked, name: str, queries: Sequence[str]) -> NumberArray:
    import numpy as np

    values = dict(zip(result.ids, result.columns[name].tolist(), strict=True))
    return np.array([values.get(query, 0.0) for query in queries])


def _print_configurations(
    results: Mapping[str, Ranked], names: Sequence[str], as_json: bool
) -> None:
    best = max(results, key=lambda setup: results[setup].mean[names[0]] or 0.0)
    labelled = [query for query in results[best].ids if query not in set(results[best].unlabelled)]
    differences: Differences = {setup: {} for setup in results if setup != best}
    for setup, metrics in differences.items():
        for name in names:
            ours, theirs = (_column(results[each], name, labelled) for each in (setup, best))
            metrics[name] = difference(theirs, ours)
    if as_json:
        found = {
            setup: {
                name: {"diff": d.diff, "ci95": d.interval, "p": d.p} for name, d in metrics.items()
            }
            for setup, metrics in differences.items()
        }
        compared = {
            "best": best,
            "by": names[0],
            "queries": len(labelled),
            "difference_from_best": found,
        }
        configurations = {setup: _as_json(result) for setup, result in results.items()}
        return print_json({"configurations": configurations, "comparison": compared})
    names = list(next(iter(results.values())).mean)
    _show_table("configuration", names, {setup: result.mean for setup, result in results.items()})
    show(f"best by {names[0]}: {best} ({len(labelled)} labelled queries)")
    for setup, metrics in differences.items():
        found = metrics[names[0]]
        p = "" if found.p is None else f", p = {found.p:.3f}"
        show(f"  {setup}: {found.diff:+.4f}{p}")
    for setup, result in results.items():
        _show_places(result, f"{setup}: ")
    return None


def _show_table(
    title: str, names: Sequence[str], rows: Mapping[str, Mapping[str, float | None]]
) -> None:
    table = [[title, *(f"{name:>8}" for name in names)]]
    for setup, values in rows.items():
        table.append(
            [
                setup,
                *("-" if (value := values.get(name)) is None else f"{value:.4f}" for name in names),
            ]
        )
    show("\n".join(align_columns(table)))


def _show_figures(figures: RecordedFigures) -> None:
    show("figures as they were recorded; the file has no rankings to measure")
    for statistic, metrics in next(iter(figures.values())).items():
        _show_table(
            statistic,
            list(metrics),
            {setup: found.get(statistic, {}) for setup, found in figures.items()},
        )


def _show_places(result: Ranked, setup: str = "") -> None:
    if result.without_id:
        share = f"{result.without_id} of {result.places}"
        show(
            f"{setup}{share} retrieved places have no id (N/A or empty); they count as not relevant"
        )


def _show_queries(what: str, queries: list[str]) -> None:
    if queries:
        more = f" and {len(queries) - 10} more" if len(queries) > 10 else ""
        show(f"{what}: {', '.join(queries[:10])}{more}")
