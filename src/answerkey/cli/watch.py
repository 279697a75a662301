"""`answerkey watch`: compare the answers in production logs with a run, from cron."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import msgspec

from answerkey.calibrate.labelled_answers import read_labelled
from answerkey.cases.loader import case_files, read_file, relative_name
from answerkey.cli.output import COUNT, PATH, end, json_option, print_json, say, show
from answerkey.cli.scoring_options import allow_code_option
from answerkey.embed import load_embedder
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, InputError
from answerkey.metrics.judge.judged_metrics import without_cache
from answerkey.runs.execute import run_in_memory
from answerkey.runs.prepare import prepare
from answerkey.runs.rescore import suite_of_run
from answerkey.runs.store import is_run, read_outcomes
from answerkey.runs.suite import Suite
from answerkey.text import format_count
from answerkey.types import Case, Outcome
from answerkey.watch.observe import Look, Watcher, look_at
from answerkey.watch.report import look_text
from answerkey.watch.state import open_state


@click.command("watch")
@click.argument("logs", nargs=-1, required=True)
@click.option("--baseline", type=PATH, required=True, help="The run folder to compare with.")
@click.option(
    "--sample", type=COUNT, default=200, help="New answers to score at each look; default 200."
)
@click.option(
    "--anchor",
    type=PATH,
    help="Labelled answers that are judged at each look, to see the judge change.",
)
@click.option(
    "--state",
    type=PATH,
    default="results/watch",
    help="Folder that remembers earlier looks; default results/watch.",
)
@allow_code_option
@json_option
def watch_command(
    logs: tuple[str, ...],
    baseline: Path,
    sample: int,
    anchor: Path | None,
    state: Path,
    allow_code: bool,
    as_json: bool,
) -> None:
    """Score new answers of traces and logs, and alarm when they are worse than the baseline.

    Exit code 1 is an alarm. The same answer is counted once, however often its log is read. All
    looks together raise a false alarm in at most 5 % of watches.

    \b
    Example:
      answerkey watch logs/*.jsonl --baseline results/bot_20260102_030405
    """
    if not is_run(baseline):
        raise InputError(f"{baseline}: not a run folder; make one with `answerkey score` or `run`")
    suite = suite_of_run(baseline, allow_code=allow_code)
    if suite.judge is not None:
        # A reply from the cache would hide that the judge changed.
        suite = replace(suite, judge=without_cache(suite.judge))
    watcher = Watcher(
        score=partial(_score, suite),
        embedder=load_embedder(),
        baseline_run=baseline.resolve().name,
        read_baseline=lambda: list(read_outcomes(baseline)),
        sample=sample,
    )
    with open_state(state) as opened:
        look = look_at(opened, _read_logs(logs), _read_anchor(anchor), watcher)
    if as_json:
        print_json(msgspec.to_builtins(look))
    else:
        show(look_text(look))
    raise click.exceptions.Exit(end(_ending(look)))


def _ending(look: Look) -> Ending:
    answers = format_count(look.sampled, "new answer")
    if look.alarms:
        more = f" (and {len(look.alarms) - 1} more)" if len(look.alarms) > 1 else ""
        return Ending(EXIT_GATE, f"{look.alarms[0].sentence}{more}; {answers} scored")
    return Ending(
        EXIT_OK,
        f"no change shown; {answers} scored, evidence {look.evidence:.2f} of {look.limit:g}",
    )


def _read_logs(patterns: Sequence[str]) -> Iterator[Case]:
    """The cases of all logs; an empty file is a day without questions."""
    for path in case_files(patterns, Path()):
        if path.is_file() and path.stat().st_size == 0:
            say(f"{path}: empty")
            continue
        yield from read_file(path, relative_name(path, Path()))


def _read_anchor(path: Path | None) -> list[Case]:
    if path is None:
        return []
    labelled = read_labelled(path)
    return [
        replace(case, recorded=response, extra={**case.extra, "label": label})
        for (case, response), label in zip(labelled.pairs, labelled.labels, strict=True)
    ]


def _score(suite: Suite, cases: Sequence[Case]) -> list[Outcome]:
    """Score recorded answers as the baseline was scored, in memory."""
    with closing(prepare(suite, cases=partial(enumerate, cases), new=False)) as prepared:
        store, _ = run_in_memory(prepared)
        return list(store.outcomes())
