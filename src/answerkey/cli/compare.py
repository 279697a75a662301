"""`answerkey compare`, `prefer` and `baseline`: is run B better than run A?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from os.path import relpath
from pathlib import Path

import click

from answerkey.cli.output import FROM_ZERO, PATH, done, end, json_option, print_result, say
from answerkey.cli.run_folder import RUN
from answerkey.cli.scoring_options import (
    allow_code_option,
    judge_model_option,
    judge_option,
    judge_settings,
)
from answerkey.comparison.by_group import ComparisonByGroup, compare_by
from answerkey.comparison.comparison import compare_runs
from answerkey.comparison.gate import CompareGate, end_of_comparison, gate_failures
from answerkey.comparison.many import compare_many
from answerkey.comparison.prefer import prefer_runs, preference_text
from answerkey.comparison.record import comparison_json
from answerkey.errors import InputError, SettingsError, StorageError
from answerkey.files import json_text, write_file
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.reports.comparison import comparison_markdown, comparison_text
from answerkey.reports.comparison_files import write_comparison
from answerkey.reports.comparison_groups import groups_text
from answerkey.reports.many import many_text
from answerkey.runs.newest import find_run, find_two_runs
from answerkey.runs.store import is_run, read_manifest
from answerkey.user_code import names_code


@click.command("compare")
# PATH and not RUN: a folder alone stands for its two newest runs, not for one.
@click.argument("run_a", type=PATH, metavar="A")
@click.argument("others", type=RUN, metavar="[B]…", nargs=-1)
@click.option(
    "--repeats",
    multiple=True,
    type=RUN,
    metavar="RUN",
    help="Another run of the same bot as A, to estimate noise; may be repeated.",
)
@click.option(
    "--gate",
    is_flag=True,
    help="Pass only if B is shown to be no worse than A by more than the margin; otherwise exit 1.",
)
@click.option(
    "--margin",
    type=float,
    metavar="X",
    help="With --gate: the largest acceptable drop in the mean overall score; default 5 % of the scale.",
)
@click.option(
    "--max-new-failures",
    type=FROM_ZERO,
    metavar="N",
    help="With --gate: fail if more than N cases pass in A and fail in B.",
)
@click.option(
    "--max-errors",
    type=FROM_ZERO,
    metavar="N",
    help="With --gate: fail if more than N cases of B end in an error; default 0.",
)
@click.option(
    "--cases",
    type=FROM_ZERO,
    default=20,
    help="How many improved and degraded cases to list; default 20.",
)
@click.option(
    "--by",
    metavar="COLUMN",
    help="Also before and after per type, route, tag or any other column of the cases.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Also write comparison.html, .md, .txt, .json and the charts to this folder.",
)
@json_option
@click.pass_context
def compare_command(
    ctx: click.Context,
    run_a: Path,
    others: tuple[Path, ...],
    repeats: tuple[Path, ...],
    gate: bool,
    margin: float | None,
    max_new_failures: int | None,
    max_errors: int | None,
    cases: int,
    by: str | None,
    markdown: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare run B with run A, case by case; with one run, compare it with the baseline.

    Three or more runs give a table: one line per run, with its difference from the best.
    A folder of runs or a suite stands for its newest complete run; alone, for its two newest.

    The result starts with what changed, and with the cases that newly fail and newly pass. The verdict is about the
    overall score and needs the paired t-test and the Wilcoxon test to agree at 0.05. Differences are B − A.

    --gate is a non-inferiority test: it passes if the lower end of the 95 % interval of the difference lies above
    −margin. It fails if B is worse, if there are too few cases to tell, if the runs are not comparable or unfinished,
    if cases of A are missing in B, or if B has errors.

    \b
    Example:
      answerkey compare results
      answerkey compare results/bot_20260102_030405 results/bot_20260103_030405
      answerkey compare results/bot_20260103_030405 --gate --margin 0.02
      answerkey compare results --by type
      answerkey compare results/large_* results/small_* results/tiny_*
    """
    if len(others) > 1:
        if gate or repeats or out or markdown or by:
            raise click.UsageError(
                "--gate, --by, --repeats, --out and --markdown compare two runs; name two", ctx
            )
        print_table([find_run(run_a), *others], as_json)
        return
    limits = {
        "--margin": margin,
        "--max-new-failures": max_new_failures,
        "--max-errors": max_errors,
    }
    for name, value in limits.items():
        if value is not None and not gate:
            raise click.UsageError(f"{name} needs --gate", ctx)
    run_a, run_b = _choose_runs(run_a, others[0] if others else None)
    comparison = compare_runs(run_a, run_b, repeats)
    failures = None
    record = comparison_json(comparison, cases)
    if gate:
        rules = CompareGate(margin, max_new_failures, max_errors or 0)
        failures = gate_failures(comparison, rules)
        record["gate"] = {"passed": not failures, "reasons": failures, "margin": margin}
    ending = end_of_comparison(comparison, failures)
    record["ending"] = ending.line
    describe = comparison_markdown if markdown else comparison_text
    text = describe(comparison, cases).rstrip()
    if by is not None:
        groups = compare_by(run_a, run_b, by)
        record["by_group"] = groups.to_json()
        text += f"\n\n{_groups_table(groups, markdown=markdown)}"
    print_result(record, text.rstrip("\n"), as_json)
    if out:
        write_comparison(comparison, out, cases)
        say(f"wrote comparison.html, .md, .txt, .json and plots/ to {out}")
    end(ending)
    ctx.exit(ending.code)


def _groups_table(groups: ComparisonByGroup, *, markdown: bool) -> str:
    table = groups_text(groups)
    if markdown:
        # Outside a code block, Markdown would join the lines of the table.
        return f"```\n{table}\n```"
    return table


def print_table(runs: Sequence[Path], as_json: bool) -> None:
    """One line per run, best first."""
    table = compare_many(runs)
    print_result(table.to_json(), many_text(table), as_json)
    done(table.sentence)


def _choose_runs(run_a: Path, run_b: Path | None) -> tuple[Path, Path]:
    """A and B; a single run is compared with the baseline, a folder gives its two newest runs."""
    if run_b is not None:
        return find_run(run_a), run_b
    if is_run(run_a):
        baseline, _ = find_baseline(Path(), run_a.parent)
        say(f"comparing with the baseline {baseline}")
        return baseline, run_a
    older, newer = find_two_runs(run_a)
    say(f"comparing the two newest runs of one suite: A {older.name}, B {newer.name}")
    return older, newer


@click.command("prefer")
@click.argument("run_a", type=RUN, metavar="A")
@click.argument("run_b", type=RUN, metavar="B")
@judge_option
@judge_model_option
@allow_code_option
@click.option("--cases", type=FROM_ZERO, default=20, help="How many cases to list; default 20.")
@click.option("--out", type=PATH, metavar="FILE.json", help="Also write the result to this file.")
@json_option
def prefer_command(
    run_a: Path,
    run_b: Path,
    judge: str | None,
    judge_model: str | None,
    allow_code: bool,
    cases: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask the judge for the better answer to each question, in both orders.

    A choice that changes with the order is a tie. The judge is the one of --judge, otherwise that of run B. The win rate is
    B's: a tie counts half. The local judge compares both answers with the expected answer.

    \b
    Example:
      answerkey prefer results/bot_20260102_030405 results/bot_20260103_030405 --judge groq
    """
    settings = judge_settings(judge, judge_model)
    if settings is None:
        settings = read_manifest(run_b).settings.judge or "local"
        if names_code(settings) and not allow_code:
            raise SettingsError(
                f"{run_b}: run.json names Python code (judge {settings}), and a run folder may "
                "come from somebody else; add --allow-code if you trust it"
            )
    with closing(load_judge(settings)) as opened:
        if opened.name != "local":
            say(f"asking {opened.name} about each case in both orders …")
        preference = prefer_runs(run_a, run_b, opened)
    if out:
        write_file(out, json_text(preference.to_json()))
    print_result(preference.to_json(), preference_text(preference, cases), as_json)


_folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    help="Folder whose .answerkey/baseline.json records the baseline; default the current folder.",
)


@click.group("baseline")
def baseline_command() -> None:
    """Set the run that `answerkey compare RUN` compares with.

    \b
    Example:
      answerkey baseline set results/bot_20260102_030405
      answerkey compare results/bot_20260103_030405 --gate
    """


@baseline_command.command("set")
@click.argument("run", type=RUN)
@_folder_option
def set_command(run: Path, folder: Path) -> None:
    """Make RUN the baseline.

    \b
    Example:
      answerkey baseline set results/bot_20260102_030405
    """
    manifest = read_manifest(run)
    path = folder / WHERE
    if manifest.damage:
        raise StorageError(f"{run}: {manifest.partial}; resume it first, or choose another run")
    kept = Baseline(relpath(run, folder), manifest.name, manifest.created, manifest.fingerprint)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from None
    done(f"{run} is now the baseline (recorded in {path})")


@baseline_command.command("show")
@_folder_option
@json_option
def show_command(folder: Path, as_json: bool) -> None:
    """Print which run is the baseline.

    \b
    Example:
      answerkey baseline show --json
    """
    path, kept = find_baseline(folder)
    there = is_run(path)
    record = {"run": str(path), "name": kept.name, "created": kept.created, "exists": there}
    gone = "" if there else "; the folder no longer exists"
    print_result(record, f"{path}  {kept.name}, created {kept.created}{gone}", as_json)


WHERE = Path(".answerkey") / "baseline.json"


@dataclass(frozen=True, slots=True)
class Baseline:
    """`run` is relative to the folder that contains `.answerkey`, so that a checkout can be moved."""

    run: str
    name: str
    created: str
    fingerprint: Mapping[str, str]


def find_baseline(*folders: Path) -> tuple[Path, Baseline]:
    """The run folder and what was recorded about it, from the first of the folders that has a baseline."""
    for folder in folders:
        path = folder / WHERE
        if not path.is_file():
            continue
        try:
            kept = Baseline(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            fix = "set it again with `answerkey baseline set RUN`"
            raise InputError(f"{path}: not a baseline ({error}); {fix}") from None
        return Path(relpath(folder / kept.run)), kept
    looked = ", ".join(str(folder / WHERE) for folder in folders)
    raise InputError(
        f"no baseline in {looked}; set one with `answerkey baseline set RUN`, or name both runs"
    )
