"""`answerkey prefer`: which of two runs gives the better answers?"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from answerkey.cli.output import json_option, print_json, say, show
from answerkey.cli.scoring_options import judge_model_option, judge_option, judge_settings
from answerkey.comparison.prefer import prefer_runs, preference_text
from answerkey.files import json_text, write_file
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.runs.store import read_manifest


@click.command("prefer")
@click.argument("run_a", type=click.Path(path_type=Path), metavar="A")
@click.argument("run_b", type=click.Path(path_type=Path), metavar="B")
@judge_option
@judge_model_option
@click.option("--cases", type=click.IntRange(min=0), default=20, help="How many cases to list; default 20.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.json", help="Also write the result to this file.")
@json_option
def command(
    run_a: Path, run_b: Path, judge: str | None, judge_model: str | None, cases: int, out: Path | None, as_json: bool
) -> None:
    """Ask the judge for the better answer to each question, in both orders.

    A choice that changes with the order is a tie. The judge is the one of --judge, otherwise that of run B. The win rate is
    B's: a tie counts half. The local judge compares both answers with the expected answer.

    \b
    Example:
      answerkey prefer results/bot_20260102_030405 results/bot_20260103_030405 --judge groq
    """
    settings = judge_settings(judge, judge_model) or read_manifest(run_b).settings.judge or "local"
    with closing(load_judge(settings)) as opened:
        if opened.name != "local":
            say(f"asking {opened.name} about each case in both orders …")
        preference = prefer_runs(run_a, run_b, opened)
    if out:
        write_file(out, json_text(preference.to_json()))
    if as_json:
        print_json(preference.to_json())
    else:
        show(preference_text(preference, cases))
