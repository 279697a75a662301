"""`answerkey demo` and `init`: the shipped example, and a suite to start from."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from answerkey.cli.output import done, end, json_option, print_json, say, show
from answerkey.cli.run.loop import interactive
from answerkey.comparison.comparison import compare_runs
from answerkey.demo import FOLDER
from answerkey.display import rate_text
from answerkey.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, Ending, InputError, StorageError
from answerkey.reports.comparison_files import write_comparison
from answerkey.reports.write import write_reports
from answerkey.runs.execute import execute_suite
from answerkey.runs.store import new_folder
from answerkey.runs.suite import load_suite

BOTS = {
    "faq": "a FAQ bot that returns the answer to the most similar known question",
    "docs": "a document bot: hybrid search in a PDF, answers with citations",
    "kpi-v1": "a KPI bot, version 1: figures of the latest month only",
    "kpi-v2": "the KPI bot, version 2: any period, tolerant spelling, executive reports",
}

_WORLD_FILES = (".toml", ".csv", ".md", ".json", ".pdf")


@dataclass(frozen=True, slots=True)
class DemoRun:
    """The figures of one run that the demo prints."""

    folder: str
    passed: int
    cases: int
    pass_rate: float | None
    ci95: tuple[float, float] | None


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/demo"),
    help="Folder for the example's files, runs and reports; default results/demo.",
)
@json_option
def demo_command(out: Path, as_json: bool) -> None:
    """Score three bots of an invented retail chain, offline.

    Two versions of one bot are compared, and its retrieval is tuned. Some answers are wrong on
    purpose, so that there are failures to look at.

    \b
    Example:
      answerkey demo --out /tmp/demo && answerkey view /tmp/demo
    """
    # Its matrices are small: threads that wait for the next one would only use processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began = time.monotonic()
    # With --json, standard output is for the JSON alone.
    announce = say if as_json else show
    world = _copy_world(out)
    runs: dict[str, DemoRun] = {}
    for name, about in BOTS.items():
        say(f"\n{name}: {about}")
        run = _run_bot(world / f"{name}.toml", out)
        rate = rate_text(run.pass_rate, run.ci95)
        announce(f"{name:<8} {run.passed} of {run.cases} passed, {rate}")
        runs[name] = run
    say("\nIs kpi-v2 (B) better than kpi-v1 (A)?")
    comparison = compare_runs(runs["kpi-v1"].folder, runs["kpi-v2"].folder)
    write_comparison(comparison, out / "comparison")
    announce(f"compare  {comparison.sentence}")
    say("\nWhich retrieval method finds the right page of the PDF?")
    sweep = _sweep(world / "retrieval.toml", out)
    announce(f"sweep    {sweep['sentence']}")
    seconds = round(time.monotonic() - began, 1)
    announce(_next_steps(out, runs, sweep["folder"], seconds))
    if as_json:
        print_json(
            {
                "out": str(out),
                "runs": {name: asdict(run) for name, run in runs.items()},
                "comparison": {
                    "folder": str(out / "comparison"),
                    "verdict": comparison.verdict,
                    "sentence": comparison.sentence,
                },
                "sweep": sweep,
                "seconds": seconds,
            }
        )
    done(f"{len(runs)} runs, a comparison and a retrieval sweep in {out}")


def _next_steps(out: Path, runs: dict[str, DemoRun], sweep: str, seconds: float) -> str:
    """Files to read and commands to try."""
    # `make demo` installs into a folder that the shell does not search.
    activate = ""
    if not shutil.which("answerkey"):
        activate = f" (after `. {Path(sys.executable).parent / 'activate'}`)"
    return f"""
done in {seconds} s; everything is in {out}. Read next:
  {runs["faq"].folder}/failures.txt   what the FAQ bot got wrong, worst first
  {runs["kpi-v2"].folder}/report.html   the whole run; open it in a browser
  {out / "comparison"}/comparison.html   version 2 against version 1, case by case
  {sweep}   every retrieval setting, with charts
Try next{activate}:
  answerkey view {out}                  browse everything
  answerkey run {out}/world/faq.toml    fix an answer in world/faq.csv, run again, compare
  answerkey init mybot                  a suite for your own bot"""


def _copy_world(out: Path) -> Path:
    """Copy the example to the user's folder; files that the user changed are kept."""
    world = out / "world"
    try:
        for source in sorted(path for path in FOLDER.rglob("*") if path.suffix in _WORLD_FILES):
            # The starter is for `answerkey init`; the example does not use it.
            if "starter" in source.parts:
                continue
            place = world / source.relative_to(FOLDER)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                shutil.copyfile(source, place)
            elif place.read_bytes() != source.read_bytes():
                say(f"keeping your changes to {place}")
    except OSError as error:
        raise StorageError(
            f"{out}: cannot be written: {error.strerror}; choose another folder with --out"
        ) from None
    return world


def _run_bot(suite_path: Path, out: Path) -> DemoRun:
    # Absolute, because paths of a suite are relative to the suite and --out is not.
    suite = load_suite(suite_path, {"run.out": str(out.resolve())})
    with interactive(quiet=False) as (watch, stop):
        finished = execute_suite(suite, watch=watch, stop=stop)
    if finished.interrupted or finished.partial:
        code = EXIT_INTERRUPTED if finished.interrupted else EXIT_INCOMPLETE
        ending = Ending(code, f"the demo could not be completed: {finished.partial}")
        raise click.exceptions.Exit(end(ending))
    summary = write_reports(finished.folder)
    totals = summary.figures.totals
    return DemoRun(
        folder=str(out / finished.folder.name),
        passed=totals.passed,
        cases=totals.cases,
        pass_rate=summary.pass_rate,
        ci95=summary.figures.pass_rate_ci95,
    )


def _sweep(suite: Path, out: Path) -> dict[str, str]:
    from answerkey.experiments.choice import draw_conclusions
    from answerkey.experiments.sweep import prepare_sweep, run_sweep
    from answerkey.reports.sweep_report import write_sweep

    loaded = load_suite(suite)
    sweep = run_sweep(prepare_sweep(loaded))
    conclusion = draw_conclusions(sweep)
    folder = new_folder(out, f"{loaded.name}_sweep")
    write_sweep(sweep, conclusion, folder)
    return {"folder": str(folder), "sentence": conclusion.best.sentence}


_STARTER_FILES = ("suite.toml", "cases.md", "bot.py")


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
def init_command(folder: Path) -> None:
    """Write a commented suite, its cases and a small bot to FOLDER (default the current folder).

    The suite runs immediately. There are no prompts, and no file is overwritten.

    \b
    Example:
      answerkey init mybot && answerkey run mybot/suite.toml
    """
    present = [name for name in _STARTER_FILES if (folder / name).exists()]
    if present:
        raise InputError(
            f"{folder} already contains {', '.join(present)}; "
            "choose another folder: answerkey init mybot"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _STARTER_FILES:
            text = (FOLDER / "starter" / name).read_text(encoding="utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror}; choose another folder"
        ) from None
    say(f"wrote {', '.join(str(folder / name) for name in _STARTER_FILES)}")
    done(f"run it with `answerkey run {shlex.quote(str(folder / 'suite.toml'))}`")
