"""`answerkey demo`: the shipped example world, end to end and offline."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import click

from answerkey.cli.output import json_option, print_json, say, show
from answerkey.cli.run.loop import interactive
from answerkey.demo import FOLDER
from answerkey.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, StorageError

BOTS = {
    "faq": "a FAQ bot: the row whose question shares most words",
    "docs": "a document bot: hybrid search in a PDF, sentences with citations",
    "kpi-v1": "a KPI bot, first version: the latest month, bare figures",
    "kpi-v2": "the same KPI bot, second version: periods, spelling, executive reports",
}

_WORLD_FILES = (".toml", ".csv", ".md", ".json", ".pdf")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/demo"), show_default=True,
              help="Where the world, the runs and the reports go.")  # fmt: skip
@json_option
@click.pass_context
def command(ctx: click.Context, out: Path, as_json: bool) -> None:
    """Score three bots of an invented retail chain, compare two versions of one, sweep its retrieval. Offline.

    Some answers are wrong on purpose, so that failures are seen.

    \b
    Example:
      answerkey demo --out /tmp/demo && answerkey view /tmp/demo
    """
    began = time.monotonic()
    tell = say if as_json else show
    world = _copy_world(out)
    told: dict[str, Any] = {"out": str(out), "runs": {}}
    for name, about in BOTS.items():
        say(f"\n{name}: {about}")
        told["runs"][name] = _run(ctx, world / f"{name}.toml", out)
        tell(_line(name, told["runs"][name]))
    say("\nis kpi-v2 (B) better than kpi-v1 (A)?")
    told["comparison"] = _compare(told["runs"]["kpi-v1"], told["runs"]["kpi-v2"], out / "comparison")
    tell(f"compare  {told['comparison']['sentence']}")
    say("\nwhich way of searching finds the right page of the PDF?")
    told["sweep"] = _sweep(world / "retrieval.toml", out)
    tell(f"sweep    {told['sweep']['sentence']}")
    told["seconds"] = round(time.monotonic() - began, 1)
    tell(_where_to_look(told))
    if as_json:
        print_json(told)


def _copy_world(out: Path) -> Path:
    """The user's own copy, to read, change and run again; what was changed in it is kept."""
    world = out / "world"
    try:
        for source in sorted(path for path in FOLDER.rglob("*") if path.suffix in _WORLD_FILES):
            place = world / source.relative_to(FOLDER)
            if "starter" in source.parts:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                shutil.copyfile(source, place)
            elif place.read_bytes() != source.read_bytes():
                say(f"kept as you changed it: {place}")
    except OSError as error:
        raise StorageError(
            f"{out}: cannot be written: {error.strerror}; choose another place with --out"
        ) from None
    return world


def _run(ctx: click.Context, suite: Path, out: Path) -> dict[str, Any]:
    from answerkey.reports.write import write_reports
    from answerkey.runs.execute import run_suite
    from answerkey.runs.suite import load_suite

    with interactive(quiet=False) as (watch, stop):
        finished = run_suite(load_suite(suite, {"run.out": str(out.resolve())}), watch=watch, stop=stop)
    if finished.interrupted or finished.partial:
        say(f"the demo could not be completed: {finished.partial}")
        ctx.exit(EXIT_INTERRUPTED if finished.interrupted else EXIT_INCOMPLETE)
    summary = write_reports(finished.folder)
    return {
        "folder": str(out / finished.folder.name),
        "passed": summary["totals"]["passed"],
        "cases": summary["totals"]["cases"],
        "pass_rate": summary["pass_rate"],
        "ci95": summary["pass_rate_ci95"],
    }


def _compare(a: dict[str, Any], b: dict[str, Any], folder: Path) -> dict[str, Any]:
    from answerkey.compare.comparison import compare_runs, comparison_json
    from answerkey.reports.write_comparison import write_comparison

    comparison = compare_runs(a["folder"], b["folder"])
    write_comparison(comparison, folder)
    data = comparison_json(comparison)
    return {"folder": str(folder), "verdict": data["verdict"], "sentence": data["sentence"]}


def _sweep(suite: Path, out: Path) -> dict[str, Any]:
    from answerkey.experiments.sweep import prepare, run_sweep
    from answerkey.experiments.sweep_files import summary, write_files
    from answerkey.reports.charts.sweep import draw_sweep
    from answerkey.runs.store import new_folder
    from answerkey.runs.suite import load_suite

    loaded = load_suite(suite)
    prepared = prepare(loaded)
    sweep = run_sweep(prepared.index, prepared.cases, prepared.settings)
    folder = new_folder(out, f"{loaded.name}_sweep")
    write_files(sweep, folder)
    draw_sweep(sweep, folder / "plots")
    return {"folder": str(folder), "sentence": summary(sweep)["best"]["sentence"]}


def _line(name: str, run: dict[str, Any]) -> str:
    low, high = run["ci95"]
    return f"{name:<8} passed {run['passed']} of {run['cases']}, {run['pass_rate']:.0%} (95 % {low:.0%} to {high:.0%})"


def _where_to_look(told: dict[str, Any]) -> str:
    runs, out = told["runs"], told["out"]
    return "\n".join(
        (
            f"\ndone in {told['seconds']} s; everything is in {out}. Where to look:",
            f"  {runs['faq']['folder']}/failures.txt     what the FAQ bot got wrong, worst first",
            f"  {runs['kpi-v2']['folder']}/report.html   the whole run as a page: open it in a browser",
            f"  {told['comparison']['folder']}/comparison.html   version 2 beside version 1, case by case",
            f"  {told['sweep']['folder']}   every way of searching, with plots",
            f"and next{_how_to_find_us()}:",
            f"  answerkey view {out}                  all of it in the browser",
            f"  answerkey run {out}/world/faq.toml    mend faq.csv, run again, compare",
            "  answerkey init mybot                  a suite for your own bot",
        )
    )


def _how_to_find_us() -> str:
    """`make demo` installs into a folder that the shell does not search."""
    if shutil.which("answerkey"):
        return ""
    return f", after `. {Path(sys.executable).parent / 'activate'}`"
