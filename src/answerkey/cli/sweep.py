"""`answerkey sweep`: dense, sparse and hybrid retrieval for every α and K."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from answerkey.cli.output import done, json_option, print_json, say, show

if TYPE_CHECKING:
    from answerkey.experiments.sweep import Sweep


@click.command("sweep")
@click.argument("suite", type=click.Path(path_type=Path))
@click.option("--alphas", metavar="A,B,…", help="Comma-separated, as in 0,0.5,1; default those of the suite.")
@click.option("--ks", metavar="A,B,…", help="Comma-separated, as in 3,5,10; default those of the suite.")
@click.option(
    "--trace",
    "query",
    metavar="QUERY",
    help="Print one query (an id or part of the question) step by step; writes nothing.",
)
@click.option("--collection", metavar="NAME", help="The vector-store collection of [retrieval].")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results; default that of the suite.")
@click.option("--no-plots", is_flag=True, help="Skip the charts.")
@json_option
def command(suite: Path, query: str | None, out: Path | None, no_plots: bool, as_json: bool, **given: Any) -> None:
    """Compare dense, sparse and hybrid retrieval for every α and K.

    \b
    Example:
      answerkey sweep suite.toml --alphas 0,0.5,1 --ks 3,5,10
      answerkey sweep suite.toml --trace Q17
    """
    from answerkey.cli.run.options import with_collection
    from answerkey.experiments.sweep import prepare, run_sweep
    from answerkey.experiments.sweep_files import summary, write_files
    from answerkey.runs.store import new_folder
    from answerkey.runs.suite import load_suite

    numbers = {"alphas": _numbers("alphas", given["alphas"], float), "ks": _numbers("ks", given["ks"], int)}
    loaded = load_suite(suite, {f"retrieval.{key}": value for key, value in numbers.items() if value is not None})
    if given["collection"] is not None:
        loaded = with_collection(loaded, given["collection"])
    prepared = prepare(loaded, say)
    sweep = run_sweep(prepared.index, prepared.cases, prepared.settings, say, timed=query is None)
    for warning in _warnings(sweep):
        say(f"warning: {warning}")
    if query is not None:
        return _trace(sweep, query, as_json=as_json)
    folder = new_folder(out or loaded.folder / loaded.run.out, f"{loaded.name}_sweep")
    write_files(sweep, folder)
    if not no_plots:
        from answerkey.reports.charts.style import INSTALL
        from answerkey.reports.charts.sweep_charts import write_sweep_charts

        if not write_sweep_charts(sweep, folder):
            say(f"no plots/*.png: {INSTALL}; `answerkey view {folder}` shows the charts without it")
    figures = summary(sweep)
    if as_json:
        return print_json({"folder": str(folder), **figures})
    _show(sweep, figures)
    return done(f"wrote {folder}")


def _numbers(name: str, text: str | None, read: type[float] | type[int]) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [read(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(f'"{text}": expected comma-separated numbers', param_hint=f"--{name}") from None


def _warnings(sweep: Sweep) -> list[str]:
    found: list[str] = []
    unlabelled = len(sweep.cases) - int(sweep.labelled.sum())
    if unlabelled:
        found.append(f"{unlabelled} of {len(sweep.cases)} queries have no relevant pages and are left out of the means")
    if sweep.values.max() > 1.0 + 1e-9:
        found.append('some values are above 1, because several chunks of one page are counted; use unit = "page"')
    return found


def _trace(sweep: Sweep, query: str, *, as_json: bool) -> None:
    from answerkey.experiments.trace import trace, trace_lines

    traced = trace(sweep, query, sweep.best_alpha(), sweep.ks[sweep.standard])
    if as_json:
        print_json(traced)
    else:
        show("\n".join(trace_lines(traced)))


def _show(sweep: Sweep, figures: dict[str, Any]) -> None:
    """The methods at the standard K as a table, then the best method and setting."""
    from answerkey.experiments.grid import METRICS
    from answerkey.reports.charts.sweep_charts import method_rows

    k = sweep.ks[sweep.standard]
    show(f"{f'K = {k}':<26}" + "".join(f"{name:>10}" for name in METRICS) + f"{'ms mean ± sd':>16}{'p95':>8}")
    means = sweep.values[:, sweep.standard][:, sweep.labelled].mean(axis=1)
    for row in sorted(method_rows(sweep), key=lambda row: -means[row, METRICS.index("f1")]):
        name = sweep.variants[row].name
        times = figures["milliseconds"][name]
        taken = f"{times['mean']:>9.1f} ± {times['sd']:<4.1f}{times['p95']:>8.1f}" if times else f"{'-':>16}{'-':>8}"
        show(f"{name:<26}" + "".join(f"{value:>10.4f}" for value in means[row]) + taken)
    show(
        f"\nscored {figures['scored']}/{figures['queries']} queries; "
        f"{figures['searched']['source']}, {figures['searched']['pages']} pages"
    )
    show(f"methods:      {figures['best_method']['sentence']}")
    show(f"every α, K:   {figures['best']['sentence']}")
