"""`answerkey rank`: ranking metrics from recorded rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from answerkey.cli.output import done, json_option, print_json, say, show
from answerkey.comparison.significance import difference
from answerkey.intervals import Interval
from answerkey.retrieval.rankings import read_figures

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray
    from answerkey.metrics.ranking.rank import Ranked
    from answerkey.retrieval.rankings import RecordedFigures

_DEFAULT = "precision@5,recall@5,f1@5,mrr,hit_rate@5,ndcg@5,map"
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("rank")
@click.option("--qrels", type=_FILE, help="Labels: TREC, CSV (query_id, relevant) or JSON; default the file of --run.")
@click.option("--run", "run_file", type=_FILE, required=True, help="Rankings: TREC, CSV (query_id, retrieved) or JSON.")
@click.option("--metrics", default=_DEFAULT, metavar="A,B,…", help=f"Metrics, comma-separated; default {_DEFAULT}.")
@click.option("--unit", type=click.Choice(["page", "chunk"]), default="page",
              help="page: count each id once, at its first rank (default); chunk: count every occurrence.")  # fmt: skip
@json_option
def rank_command(qrels: Path | None, run_file: Path, metrics: str, unit: str, as_json: bool) -> None:
    """Compute ranking metrics from files of labels and rankings; no suite needed.

    \b
    Example:
      answerkey rank --qrels labels.json --run rankings.csv --metrics ndcg@10,recall@5

    A file with a column `config_name` gives one result per configuration, and a comparison with the best of them. A table of
    figures per configuration is shown as it was recorded.
    """
    from answerkey.metrics.ranking.rank import rank
    from answerkey.retrieval.rankings import read_configurations, read_labels

    if qrels is None and run_file.suffix.lower() == ".csv" and (figures := read_figures(run_file)):
        return print_json({"recorded": True, "configurations": figures}) if as_json else _show_figures(figures)
    names = [name.strip() for name in metrics.split(",") if name.strip()]
    labels = read_labels(qrels or run_file)
    runs = read_configurations(run_file)
    results = {setup: rank(run, labels, names, unit) for setup, run in runs.items()}
    if not any(mean for result in results.values() for mean in result.mean.values()):
        from answerkey.experiments.label_check import check_labels

        retrieved = dict.fromkeys(one for run in runs.values() for row in run.values() for one in row)
        if problem := check_labels(labels, list(retrieved)).none_found("the rankings"):
            say(f"warning: {problem}")
    for name in dict.fromkeys(name for result in results.values() for name in result.above_one):
        say(
            f"warning: {name} is above 1 for some queries, because several chunks of one page are counted; use --unit page"
        )
    if len(results) > 1:
        compared = _compared(results, names)
        if as_json:
            found = {setup: _as_json(result) for setup, result in results.items()}
            return print_json({"configurations": found, "comparison": asdict(compared)})
        return _show_configurations(results, compared)
    result = next(iter(results.values()))
    if as_json:
        return print_json(_as_json(result))
    scored = len(result.ids) - len(result.unlabelled)
    width = max(map(len, names), default=0)
    for name, value in result.mean.items():
        show(f"{name:<{width}}  {'-' if value is None else f'{value:.4f}'}  scored {scored}/{len(result.ids)}")
    _show_queries("no labels, left out of the means", result.unlabelled)
    _show_queries("missing from the run, counted as 0", result.missing)
    _show_places(result)
    return done(f"{scored} of {len(result.ids)} queries scored")


def _as_json(result: Ranked) -> dict[str, object]:
    found = {name: getattr(result, name) for name in ("mean", "queries", "unlabelled", "missing")}
    return {**found, **({"places_without_id": result.without_id} if result.without_id else {})}


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """How far the mean of a metric is from that of the best configuration."""

    diff: float | None
    ci95: Interval | None
    p: float | None


@dataclass(frozen=True, slots=True)
class ComparedConfigurations:
    """The best configuration by one metric, and the others: configuration → metric → difference."""

    best: str
    by: str
    queries: int
    difference_from_best: dict[str, dict[str, MeanDifference]]


def _compared(results: Mapping[str, Ranked], names: Sequence[str]) -> ComparedConfigurations:
    """The best configuration by the first metric, and how far each other one is from it over the same queries."""
    best = max(results, key=lambda setup: results[setup].mean[names[0]] or 0.0)
    labelled = [query for query in results[best].ids if query not in set(results[best].unlabelled)]

    def from_best(result: Ranked, name: str) -> MeanDifference:
        found = difference(_column(results[best], name, labelled), _column(result, name, labelled))
        return MeanDifference(found.diff, found.interval, found.p)

    others = {setup: result for setup, result in results.items() if setup != best}
    found = {setup: {name: from_best(result, name) for name in names} for setup, result in others.items()}
    return ComparedConfigurations(best, names[0], len(labelled), found)


def _column(result: Ranked, name: str, queries: Sequence[str]) -> NumberArray:
    import numpy as np

    values = dict(zip(result.ids, result.columns[name].tolist(), strict=True))
    return np.array([values.get(query, 0.0) for query in queries])


def _show_configurations(results: Mapping[str, Ranked], compared: ComparedConfigurations) -> None:
    names = list(next(iter(results.values())).mean)
    width = max(len("configuration"), *map(len, results))
    show(f"{'configuration':<{width}}  " + "  ".join(f"{name:>8}" for name in names))
    for setup, result in results.items():
        means = (
            f"{'-' if (mean := result.mean[name]) is None else f'{mean:.4f}':>{max(8, len(name))}}" for name in names
        )
        show(f"{setup:<{width}}  " + "  ".join(means))
    show(f"best by {compared.by}: {compared.best} ({compared.queries} labelled queries)")
    for setup, metrics in compared.difference_from_best.items():
        found = metrics[compared.by]
        p = "" if found.p is None else f", p = {found.p:.3f}"
        show(f"  {setup}: {found.diff:+.4f}{p}")
    for setup, result in results.items():
        _show_places(result, f"{setup}: ")


def _show_figures(figures: RecordedFigures) -> None:
    show("figures as they were recorded; the file has no rankings to measure")
    width = max(map(len, figures))
    first = next(iter(figures.values()))
    for statistic, metrics in first.items():
        show(f"{statistic:<{width}}  " + "  ".join(f"{name:>8}" for name in metrics))
        for setup, found in figures.items():
            values = (found.get(statistic, {}).get(name) for name in metrics)
            shown = ("-" if value is None else f"{value:.4f}" for value in values)
            show(
                f"{setup:<{width}}  " + "  ".join(f"{v:>{max(8, len(n))}}" for v, n in zip(shown, metrics, strict=True))
            )


def _show_places(result: Ranked, setup: str = "") -> None:
    if result.without_id:
        share = f"{result.without_id} of {result.places}"
        show(f"{setup}{share} retrieved places have no id (N/A or empty); they count as not relevant")


def _show_queries(what: str, queries: list[str]) -> None:
    if queries:
        more = f" and {len(queries) - 10} more" if len(queries) > 10 else ""
        show(f"{what}: {', '.join(queries[:10])}{more}")
