"""`answerkey sweep`: dense, sparse and hybrid retrieval for every α and K."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from answerkey.cli.output import collection_option, done, json_option, print_json, say, show
from answerkey.config.declare import TomlTable
from answerkey.errors import SettingsError
from answerkey.reports.charts.style import INSTALL
from answerkey.runs.store import new_folder
from answerkey.runs.suite import load_suite

if TYPE_CHECKING:
    from answerkey.experiments.choice import Conclusions
    from answerkey.experiments.sweep import Sweep


@click.command("sweep")
@click.argument("suite", type=click.Path(path_type=Path))
@click.option("--alphas", metavar="A,B,…", help="Exactly these α, comma-separated; default those of the suite.")
@click.option("--ks", metavar="A,B,…", help="Exactly these K, comma-separated; default those of the suite.")
@click.option("--named", is_flag=True, help="With --alphas or --ks: also the five named settings at K = 5.")
@click.option("--rrf", is_flag=True, help="With --alphas or --ks: also reciprocal rank fusion.")
@click.option("--select", metavar="METRIC", help="Metric that chooses, as ndcg@5 or f1; default nDCG at the largest K.")
@click.option("--alpha", type=float, help="α of the top-K analysis and of --trace; default the best one.")
@click.option("--k", type=int, help="K of --trace; default that of the best setting.")
@click.option(
    "--trace",
    "query",
    metavar="QUERY",
    help="Print one query (an id or part of the question) step by step; writes nothing.",
)
@collection_option
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results; default that of the suite.")
@click.option("--no-charts", "--no-plots", "no_plots", is_flag=True, help="Skip the charts.")
@json_option
def command(
    suite: Path, query: str | None, k: int | None, out: Path | None, no_plots: bool, as_json: bool, **given: Any
) -> None:
    """Compare dense, sparse and hybrid retrieval for every α and K.

    \b
    Example:
      answerkey sweep suite.toml --alphas 0,0.5,1 --ks 3,5,10
      answerkey sweep suite.toml --trace Q17

    Without α and K, the standard tests: five named methods and α from 0 to 1 at K = 5, then K from 3 to 20 at the best α.
    """
    from answerkey.experiments.choice import conclude
    from answerkey.experiments.sweep import prepare, run_sweep
    from answerkey.experiments.sweep_files import summary
    from answerkey.reports.sweep_report import sweep_text, write_sweep

    loaded = load_suite(suite, _settings(given), given["collection"])
    prepared = prepare(loaded, say)
    sweep = run_sweep(prepared, say, timed=query is None)
    for warning in _warnings(sweep):
        say(f"warning: {warning}")
    found = conclude(sweep)
    if query is not None:
        return _trace(sweep, found, query, k, as_json=as_json)
    folder = new_folder(out or loaded.folder / loaded.run.out, f"{loaded.name}_sweep")
    if not write_sweep(sweep, found, folder, plots=not no_plots):
        say(f"no plots/*.png: {INSTALL}; `answerkey view {folder}` shows the charts without it")
    if as_json:
        return print_json({"folder": str(folder), **summary(sweep, found)})
    show(sweep_text(sweep, found))
    return done(f"wrote {folder}")


def _settings(given: TomlTable) -> TomlTable:
    """The options as settings of the suite."""
    named = {
        "alphas": _numbers("alphas", given["alphas"], float), "ks": _numbers("ks", given["ks"], int),
        "named": given["named"] or None, "rrf": given["rrf"] or None, "select": given["select"],
        "topk_alpha": given["alpha"],
    }  # fmt: skip
    return {f"retrieval.{key}": value for key, value in named.items() if value is not None}


def _numbers(name: str, text: str | None, read: type[float] | type[int]) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [read(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(f'"{text}": expected comma-separated numbers', param_hint=f"--{name}") from None


def _warnings(sweep: Sweep) -> list[str]:
    found = list(sweep.check.warnings)
    unlabelled = len(sweep.cases) - int(sweep.labelled.sum())
    if unlabelled:
        found.append(f"{unlabelled} of {len(sweep.cases)} queries have no relevant pages and are left out of the means")
    if sweep.values.max() > 1.0 + 1e-9:
        found.append('some values are above 1, because several chunks of one page are counted; use unit = "page"')
    return found


def _trace(sweep: Sweep, found: Conclusions, query: str, k: int | None, *, as_json: bool) -> None:
    """The best setting, or the α and K that were given."""
    from answerkey.experiments.trace import trace

    row, column = found.best.winner
    if sweep.plan.topk_alpha is not None:
        row = sweep.topk[found.setup]
    if k is not None:
        if k not in sweep.ks:
            raise SettingsError(f"--k {k}: expected one of {', '.join(map(str, sweep.ks))}; add others with --ks")
        column = sweep.ks.index(k)
    traced = trace(sweep, query, (row, column))
    if as_json:
        print_json(traced.as_json())
    else:
        show("\n".join(traced.lines()))
