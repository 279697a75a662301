"""The command line: a table of commands, each loaded from its own file when it is called."""

from __future__ import annotations

import errno
import gc
import os
import sys
from importlib import import_module

import click

from answerkey import __version__
from answerkey.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, AnswerkeyError, did_you_mean

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
COMMANDS = {
    "demo": "The shipped example end to end, offline: three bots, scored, compared, reported.",
    "init": "Write a suite to start from.",
    "run": "Ask the target every question of a suite, score the answers, write the reports.",
    "score": "Score answers that are already in the files; no suite needed.",
    "rescore": "A new run from the same answers, with another profile, judge or model.",
    "report": "Write the reports of a run again from its journal.",
    "summary": "Print the report of a run, or its figures by a column.",
    "compare": "Is B really better than A? Says what changed, then by how much.",
    "baseline": "Keep a run to compare with.",
    "sweep": "Dense, sparse and hybrid retrieval over every α and K.",
    "diagnose": "Why are the retrieval numbers low?",
    "rank": "Ranking metrics from recorded rankings alone.",
    "calibrate": "How well a metric or judge agrees with human labels.",
    "view": "Look at runs in the browser, on this machine only.",
    "check": "Assess one interaction, given as JSON on standard input.",
    "cases": "Check and list cases.",
    "metrics": "What can be measured.",
    "profiles": "The rulers: list them, or show one.",
    "doctor": "What is installed, what works, and is the judge any good?",
    "completion": "Print the shell completion script.",
}


def command_module(name: str) -> str:
    """The module that holds a command; `run` is a package."""
    return f"answerkey.cli.{'run.command' if name == 'run' else name}"


class Table(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(command_module(cmd_name)).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f'no command "{args[0]}"{did_you_mean(args[0], COMMANDS)}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table alone: help must not load what it lists."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Table, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="answerkey")
def answerkey() -> None:
    """Tells you whether your question-answering bot is good.

    \b
    Example:
      answerkey init mybot && answerkey run mybot/suite.toml
    """


def _drop_output() -> None:
    """What is still to be written goes nowhere: it would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run, and turn a user's mistake into one line and an exit code; a bug keeps its traceback."""
    gc.set_threshold(50_000)  # cases stream by and hold no cycles: looking for some costs a fifth of the time
    try:
        code = answerkey.main(prog_name="answerkey", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        code = EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except AnswerkeyError as error:
        click.echo(f"error: {error}", err=True)
        code = error.exit_code
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        _drop_output()
        code = 0
    except OSError as error:
        if error.errno not in _FULL:
            raise
        where = error.filename or "standard output"
        click.echo(f"error: {where} cannot be written: {error.strerror}; make room, then try again", err=True)
        _drop_output()
        code = EXIT_INCOMPLETE
    sys.exit(code if isinstance(code, int) else 0)
