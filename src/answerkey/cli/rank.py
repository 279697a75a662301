"""`answerkey rank`: ranking metrics from recorded rankings."""

from __future__ import annotations

from pathlib import Path

import click

from answerkey.cli.output import json_option, print_json, say, show

_DEFAULT = "precision@5,recall@5,f1@5,mrr,hit_rate@5,ndcg@5,map"
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.option("--qrels", type=_FILE, required=True, help="Labels: TREC, CSV (query_id, relevant) or JSON.")
@click.option(
    "--run", "run_file", type=_FILE, required=True, help="Rankings: TREC, CSV (query_id, retrieved) or JSON."
)
@click.option(
    "--metrics", default=_DEFAULT, metavar="A,B,…", help=f"Metrics, comma-separated; default {_DEFAULT}."
)
@click.option("--unit", type=click.Choice(["page", "chunk"]), default="page",
              help="page: count each id once, at its first rank (default); chunk: count every occurrence.")  # fmt: skip
@json_option
def command(qrels: Path, run_file: Path, metrics: str, unit: str, as_json: bool) -> None:
    """Compute ranking metrics from files of labels and rankings; no suite needed.

    \b
    Example:
      answerkey rank --qrels labels.json --run rankings.csv --metrics ndcg@10,recall@5
    """
    from answerkey.metrics.ranking.rank import rank
    from answerkey.retrieval.rankings import read_labels, read_rankings

    names = [name.strip() for name in metrics.split(",") if name.strip()]
    result = rank(read_rankings(run_file), read_labels(qrels), names, unit)
    for name in result.above_one:
        say(
            f"warning: {name} is above 1 for some queries, because several chunks of one page are counted; use --unit page"
        )
    if as_json:
        return print_json(
            {name: getattr(result, name) for name in ("mean", "queries", "unlabelled", "missing")}
        )
    scored = len(result.ids) - len(result.unlabelled)
    width = max(map(len, names), default=0)
    for name, value in result.mean.items():
        show(
            f"{name:<{width}}  {'-' if value is None else f'{value:.4f}'}  scored {scored}/{len(result.ids)}"
        )
    _show_queries("no labels, left out of the means", result.unlabelled)
    return _show_queries("missing from the run, counted as 0", result.missing)


def _show_queries(what: str, queries: list[str]) -> None:
    if queries:
        more = f" and {len(queries) - 10} more" if len(queries) > 10 else ""
        show(f"{what}: {', '.join(queries[:10])}{more}")
