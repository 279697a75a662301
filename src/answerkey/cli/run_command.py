"""`answerkey run`: ask the target every question of a suite, score the answers, write the reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from answerkey.cli.options import judge_option, measuring_options
from answerkey.cli.shared import json_option


@click.command("run")
@click.argument("suite", type=click.Path(path_type=Path))
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the newest run of this suite; what is finished is not asked again.",
)
@click.option(
    "--resume-limit",
    type=click.IntRange(1),
    help="With --resume: at most this many cases, the stopped one first.",
)
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Resume although cases, profile or settings changed; it is recorded.",
)
@click.option(
    "--investigate",
    is_flag=True,
    help="Show the last failure in full, and ask it once more with debug output.",
)
@click.option("--stop-on-fail", is_flag=False, flag_value="pass", metavar="[N]",
              help="Stop at the first case that fails, or that is under N on the profile's scale.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="Only the first N cases.")
@click.option(
    "--test", "smoke", is_flag=True, help="Only the first case, shown in full: does everything work?"
)
@click.option(
    "--only", metavar="PATTERN", help="Only cases whose id matches, or whose question holds this text."
)
@click.option("--file", metavar="NAME", help="Only cases of this file.")
@click.option(
    "--collection", metavar="NAME", help="Only cases under a folder of this name, or with this tag."
)
@click.option("--metrics", help="Metrics, parted by commas, besides those of the suite.")
@measuring_options
@judge_option
@click.option("--workers", type=click.IntRange(1), help="Questions asked at once (5).")
@click.option("--timeout", type=float, help="Seconds to wait for one answer (30).")
@click.option("--max-cost", type=float, help="Stop when the answers and the judge have cost this much.")
@click.option("--max-minutes", type=float, help="Stop after so many minutes.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where run folders go (results, beside the suite)."
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any setting of the suite: judge.votes=3.",
)
@click.option(
    "--gate", "gates", multiple=True, help='A condition besides those of the suite, as in "errors == 0".'
)
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where it runs."
)
@click.option(
    "--address", help="With --engine ray: the cluster's address; embedded Ray on this machine by default."
)
@click.option("--dry-run", is_flag=True, help="Check everything and say what would be asked; ask nothing.")
@click.option("--debug", is_flag=True, help="Show failing cases in full, with everything the target said.")
@click.option("--quiet", is_flag=True, help="No progress and no report on the screen.")
@json_option
@click.pass_context
def command(ctx: click.Context, suite: Path, **given: Any) -> None:
    """Run a suite. SUITE is its TOML file, or the folder of a run to go on with.

    \b
    Example:
      answerkey run suite.toml
      answerkey run suite.toml --stop-on-fail      # look, mend the bot, then:
      answerkey run suite.toml --resume --resume-limit 1 --stop-on-fail
      answerkey run suite.toml --resume
    """
    from answerkey.cli import running

    ctx.exit(running.run(suite, given))
