"""`answerkey rank`: ranking metrics from recorded rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from answerkey.cli.output import FILE, PATH, done, json_option, print_json, say, show
from answerkey.cli.scoring_options import split_names
from answerkey.comparison.significance import Difference, difference
from answerkey.reports.tables import align_columns
from answerkey.retrieval.page_ids import ID_STYLES
from answerkey.retrieval.recorded_figures import LongTable, read_figures, read_long_table

if TYPE_CHECKING:
    from answerkey.config.retrieval_tables import IdStyle
    from answerkey.metrics.ranking.rank import Ranked
    from answerkey.retrieval.rankings import Labels, RecordedRuns
    from answerkey.retrieval.recorded_figures import RecordedFigures

Differences = dict[str, dict[str, Difference]]  # configuration → metric → difference from the best
_DEFAULT = "precision@5,recall@5,f1@5,mrr,hit_rate@5,ndcg@5,map"
_LISTED = 10


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
@click.option(
    "--ids",
    type=click.Choice(ID_STYLES),
    default="auto",
    help="How labels name pages (default auto); page: only the number counts, manual.pdf#34 is 34.",
)
@click.option("--out", type=PATH, help="Write tables and the charts into a new folder below this.")
@json_option
def rank_command(
    qrels: Path | None,
    run_file: Path,
    metrics: str,
    unit: str,
    ids: IdStyle,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compute ranking metrics from files of labels and rankings; no suite needed.

    \b
    Example:
      answerkey rank --qrels labels.json --run rankings.csv --metrics ndcg@10,recall@5

    A file with a column `config_name` gives one result per configuration, and a comparison with the
    best of them. Tables of figures per configuration, α or K are shown as they were recorded.
    """
    from answerkey.metrics.ranking.rank import score_rankings
    from answerkey.retrieval.rankings import read_relevance_labels, read_runs

    # A CSV without a second file of labels may be a table of figures instead of rankings.
    if (
        qrels is None
        and run_file.suffix.lower() == ".csv"
        and _show_table_file(run_file, out, as_json=as_json)
    ):
        return
    names = split_names(metrics)
    labels = read_relevance_labels(qrels or run_file)
    runs = read_runs(run_file)
    results = {
        name: score_rankings(run.rankings, labels, names, unit, ids=ids)
        for name, run in runs.configurations.items()
    }
    _say_warnings(results, labels, runs)
    if out is not None:
        _write_experiment(run_file, runs, labels, unit, ids, out)
    if len(results) > 1:
        _print_configurations(results, names, runs.types, as_json=as_json)
        return
    result = next(iter(results.values()))
    if as_json:
        print_json(_result_json(result, runs.types))
        return
    _show_result(result, names, runs.types)


def _say_warnings(results: Mapping[str, Ranked], labels: Labels, runs: RecordedRuns) -> None:
    # If every mean is 0, the ids of labels and rankings probably differ in form.
    if not any(mean for result in results.values() for mean in result.mean.values()):
        _warn_of_different_ids(labels, runs)
    for name in dict.fromkeys(name for result in results.values() for name in result.above_one):
        reason = "because several chunks of one page are counted; use --unit page"
        say(f"warning: {name} is above 1 for some queries, {reason}")


def _warn_of_different_ids(labels: Labels, runs: RecordedRuns) -> None:
    from answerkey.experiments.label_check import check_labels

    rankings = [
        ranking for run in runs.configurations.values() for ranking in run.rankings.values()
    ]
    retrieved = list(dict.fromkeys(page for ranking in rankings for page in ranking))
    check = check_labels(labels, retrieved)
    if check.ids is not None:
        say(f"warning: no label is a retrieved id; with --ids {check.ids} they match")
        return
    problem = check.none_found("the rankings")
    if problem:
        say(f"warning: {problem}")


def _write_experiment(
    path: Path, runs: RecordedRuns, labels: Labels, unit: str, ids: IdStyle, out: Path
) -> None:
    """Write the files and charts of a sweep for recorded rankings."""
    from answerkey.experiments.choice import draw_conclusions
    from answerkey.experiments.recorded import sweep_of_rankings
    from answerkey.reports.plots import INSTALL
    from answerkey.reports.sweep_report import write_sweep
    from answerkey.runs.store import new_folder

    sweep = sweep_of_rankings(path, runs, labels, unit, ids)
    folder = new_folder(out, f"{path.stem}_rank")
    if not write_sweep(sweep, draw_conclusions(sweep), folder):
        say(f"no plots/*.png: {INSTALL}; `answerkey view {folder}` shows the charts without it")
    say(f"wrote {folder}")


def _show_result(result: Ranked, names: Sequence[str], types: Mapping[str, str]) -> None:
    scored = len(result.labelled_queries)
    width = max(map(len, names), default=0)
    for name, value in result.mean.items():
        show(
            f"{name:<{width}}  {_mean_sd(value, result.sd(name))}  "
            f"scored {scored}/{len(result.ids)}"
        )
    for row in _rows_by_type({"": result}, list(result.mean), types):
        show(row)
    _show_queries("no labels, left out of the means", result.unlabelled)
    _show_queries("missing from the run, counted as 0", result.missing)
    _show_places(result)
    done(f"{scored} of {len(result.ids)} queries scored")


def _result_json(result: Ranked, types: Mapping[str, str]) -> dict[str, object]:
    record: dict[str, object] = {
        "mean": result.mean,
        "sd": {name: result.sd(name) for name in result.mean},
        "queries": result.queries,
        "unlabelled": result.unlabelled,
        "missing": result.missing,
    }
    groups = _queries_by_type(result, types)
    if groups:
        record["by_type"] = {
            kind: {
                "queries": len(queries),
                "mean": {name: float(result.values(name, queries).mean()) for name in result.mean},
                "sd": {name: result.sd(name, queries) for name in result.mean},
            }
            for kind, queries in groups.items()
        }
    if result.without_id:
        record["places_without_id"] = result.without_id
    return record


def _queries_by_type(result: Ranked, types: Mapping[str, str]) -> dict[str, list[str]]:
    """The labelled queries of each type; empty where there are not at least two types."""
    groups: dict[str, list[str]] = {}
    for query in result.labelled_queries:
        groups.setdefault(types.get(query, "no type"), []).append(query)
    if len(groups) > 1:
        return dict(sorted(groups.items()))
    return {}


def _print_configurations(
    results: Mapping[str, Ranked], names: Sequence[str], types: Mapping[str, str], *, as_json: bool
) -> None:
    best = max(results, key=lambda setup: results[setup].mean[names[0]] or 0.0)
    differences = _differences_from(best, results, names)
    if as_json:
        queries = len(results[best].labelled_queries)
        configurations = {setup: _result_json(result, types) for setup, result in results.items()}
        comparison = _comparison_json(best, names[0], queries, differences)
        print_json({"configurations": configurations, "comparison": comparison})
    else:
        _show_configurations(results, best, names[0], differences, types)


def _differences_from(
    best: str, results: Mapping[str, Ranked], names: Sequence[str]
) -> Differences:
    """Tests of every other configuration against the best one, over its labelled queries."""
    queries = results[best].labelled_queries
    return {
        setup: {
            name: difference(results[best].values(name, queries), result.values(name, queries))
            for name in names
        }
        for setup, result in results.items()
        if setup != best
    }


def _show_configurations(
    results: Mapping[str, Ranked],
    best: str,
    name: str,
    differences: Differences,
    types: Mapping[str, str],
) -> None:
    """Print the means, the best configuration by the metric `name`, and the tests against it."""
    metrics = list(results[best].mean)
    rows = [["configuration", *metrics]]
    for setup, result in results.items():
        cells = [_mean_sd(result.mean[metric], result.sd(metric)) for metric in metrics]
        rows.append([setup, *cells])
    show("\n".join(align_columns(rows)))
    show(f"best by {name}: {best} ({len(results[best].labelled_queries)} labelled queries)")
    for setup, tests in differences.items():
        test = tests[name]
        p = "" if test.p is None else f", p = {test.p:.3f}"
        show(f"  {setup}: {test.diff:+.4f}{p}")
    for row in _rows_by_type(results, metrics, types):
        show(row)
    for setup, result in results.items():
        _show_places(result, f"{setup}: ")


def _comparison_json(
    best: str, metric: str, queries: int, differences: Differences
) -> dict[str, object]:
    from_best = {
        setup: {
            name: {"diff": test.diff, "ci95": test.interval, "p": test.p}
            for name, test in metrics.items()
        }
        for setup, metrics in differences.items()
    }
    return {"best": best, "by": metric, "queries": queries, "difference_from_best": from_best}


def _rows_by_type(
    results: Mapping[str, Ranked], metrics: Sequence[str], types: Mapping[str, str]
) -> list[str]:
    """A table with a row per type and configuration; empty where there is one type."""
    groups = _queries_by_type(next(iter(results.values())), types)
    if not groups:
        return []
    rows = [["by type", "configuration", "queries", *metrics]]
    for kind, queries in groups.items():
        for setup, result in results.items():
            cells = [
                _mean_sd(float(result.values(name, queries).mean()), result.sd(name, queries))
                for name in metrics
            ]
            rows.append([kind, setup or "-", str(len(queries)), *cells])
    return ["", *align_columns(rows)]


def _mean_sd(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "-"
    if sd is None:
        return f"{mean:.4f}"
    return f"{mean:.4f} ± {sd:.4f}"


def _show_table_file(path: Path, out: Path | None, *, as_json: bool) -> bool:
    """Show a file that has figures instead of rankings; False where it has rankings."""
    table = read_long_table(path)
    if table is not None:
        _show_long_table(table, path, out, as_json=as_json)
        return True
    figures = read_figures(path)
    if not figures:
        return False
    if as_json:
        print_json({"recorded": True, "configurations": figures})
    else:
        _show_figures(figures)
    return True


def _show_long_table(table: LongTable, path: Path, out: Path | None, *, as_json: bool) -> None:
    from answerkey.reports.sweep_charts import best_of_long_table

    if out is not None:
        _write_long_table_chart(table, path, out)
    if as_json:
        values = {
            metric: {f"{at:g}": mean for at, mean in points}
            for metric, points in table.values.items()
        }
        print_json({"recorded": True, "parameter": table.parameter, "means": values})
        return
    show("figures as they were recorded; the file has no rankings to measure")
    parameters = sorted({at for points in table.values.values() for at, _ in points})
    rows = [[table.parameter, *table.values]]
    for at in parameters:
        cells = [dict(points).get(at) for points in table.values.values()]
        rows.append([f"{at:g}", *("-" if cell is None else f"{cell:.4f}" for cell in cells)])
    show("\n".join(align_columns(rows)))
    show(best_of_long_table(table))


def _write_long_table_chart(table: LongTable, path: Path, out: Path) -> None:
    from answerkey.files import json_text, write_file
    from answerkey.reports.plots import INSTALL, can_draw, write_plots
    from answerkey.reports.sweep_charts import chart_long_table
    from answerkey.runs.store import new_folder

    folder = new_folder(out, f"{path.stem}_rank")
    name, chart = chart_long_table(table, path.name)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "charts.json", json_text({name: chart}))
    if can_draw():
        write_plots(folder / "plots", {name: chart})
    else:
        say(f"no plots/*.png: {INSTALL}")
    say(f"wrote {folder}")


def _show_figures(figures: RecordedFigures) -> None:
    show("figures as they were recorded; the file has no rankings to measure")
    for statistic, metrics in next(iter(figures.values())).items():
        rows = [[statistic, *(f"{name:>8}" for name in metrics)]]
        for setup, statistics in figures.items():
            values = statistics.get(statistic, {})
            cells = ["-" if name not in values else f"{values[name]:.4f}" for name in metrics]
            rows.append([setup, *cells])
        show("\n".join(align_columns(rows)))


def _show_places(result: Ranked, setup: str = "") -> None:
    if result.without_id:
        share = f"{result.without_id} of {result.places}"
        show(
            f"{setup}{share} retrieved places have no id (N/A or empty); they count as not relevant"
        )


def _show_queries(problem: str, queries: list[str]) -> None:
    if not queries:
        return
    more = ""
    if len(queries) > _LISTED:
        more = f" and {len(queries) - _LISTED} more"
    show(f"{problem}: {', '.join(queries[:_LISTED])}{more}")
