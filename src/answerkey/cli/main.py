"""The command line: a table of commands, each imported when it is called."""

from __future__ import annotations

import errno
import gc
import os
import platform
import sys
import traceback
from importlib import import_module
from typing import Any

import click

from answerkey import __version__
from answerkey.cli.output import drop_output, end, end_if_open
from answerkey.errors import (
    EXIT_BUG,
    EXIT_INCOMPLETE,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    AnswerkeyError,
    Ending,
    did_you_mean,
)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NOT_ALLOWED = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ELOOP,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOENT,
)
COMMANDS = {
    "demo": "Run the shipped example offline: three bots, scored, compared, reported.",
    "init": "Write a suite to start from.",
    "run": "Run a suite: ask the target, score the answers, write the reports.",
    "score": "Score answers that are already in files; no suite needed.",
    "rescore": "Score the answers of a run again with another profile, judge or model.",
    "report": "Rewrite the reports of a run.",
    "summary": "Print the report of a run, or its results per route, type, …",
    "compare": "Is run B better than run A? What changed, by how much, and is it real?",
    "prefer": "Ask a judge which of two runs gives the better answers.",
    "baseline": "Set or show the run that others are compared with.",
    "sweep": "Compare dense, sparse and hybrid retrieval for every α and K.",
    "diagnose": "Find out why retrieval scores are low.",
    "verify": "Check that indexed chunks are on the PDF pages they name.",
    "rank": "Compute ranking metrics from files of labels and rankings.",
    "calibrate": "Measure how well a metric or judge agrees with human labels.",
    "label-next": "List the cases whose human labels would help most, and the corrected pass rate.",
    "view": "Browse runs on a local page.",
    "check": "Assess one interaction, read as JSON from standard input.",
    "cases": "Validate and list cases.",
    "metrics": "List the metrics.",
    "profiles": "List the scoring profiles, or show one.",
    "doctor": "Check the installation, and test the judge.",
    "completion": "Print the shell completion script.",
}
_WITHOUT_ENDING = {"completion", "-h", "--help", "--version"}


_MODULES = {  # of commands that are not in a module of their own name
    "init": "demo",
    "run": "run.command",
    "rescore": "score",
    "report": "summary",
    "prefer": "compare",
    "baseline": "compare",
    "sweep": "retrieval",
    "diagnose": "retrieval",
    "verify": "retrieval",
    "label-next": "calibrate",
    "cases": "catalogue",
    "metrics": "catalogue",
    "profiles": "catalogue",
    "completion": "main",
}


def load_command(name: str) -> click.Command:
    """Import a command; `label-next` is the function `label_next_command` of its module."""
    return getattr(
        import_module(f"answerkey.cli.{_MODULES.get(name, name)}"),
        f"{name.replace('-', '_')}_command",
    )


class _ReaderGone(Exception):
    """The reader of our output went away, as `head` does: that is no failure."""


class CommandGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f'no command "{args[0]}"{did_you_mean(args[0], COMMANDS)}', ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None  # click would end with code 1

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the table without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="answerkey")
def answerkey() -> None:
    """Find out whether your question-answering bot is good, where it fails, and whether a change made it better.

    \b
    Example:
      answerkey init mybot && answerkey run mybot/suite.toml
    """


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    Example:
      answerkey completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None, "click has all three"
    click.echo(script(context.find_root().command, {}, "answerkey", "_ANSWERKEY_COMPLETE").source())


def main() -> None:
    """Run a command. A user's mistake becomes one line and an exit code; a bug keeps its traceback and exits with 70."""
    _prepare_streams()
    gc.set_threshold(
        50_000
    )  # cases contain no cycles, and looking for some costs a fifth of the time
    sys.exit(_run())


def _prepare_streams() -> None:
    """Standard streams that take any text: a closed one leads to nowhere, and no encoding is a reason to fail."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the free number, which no file of ours must get
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
        elif number and hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run() -> int:
    try:
        code = answerkey.main(prog_name="answerkey", standalone_mode=False)
        sys.stdout.flush()
        code = code if isinstance(code, int) else EXIT_OK
        if (
            len(sys.argv) > 1
            and sys.argv[1] in COMMANDS
            and not _WITHOUT_ENDING.intersection(sys.argv[1:])
        ):
            end_if_open(
                code,
                f"{sys.argv[1]} {'finished' if code == EXIT_OK else 'found problems, listed above'}",
            )
        return code
    except click.exceptions.Abort:
        return end(Ending(EXIT_INTERRUPTED, "stopped before anything was finished"))
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(
                f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n",
                err=True,
            )
        return end(Ending(EXIT_INPUT, _one_line(error.format_message())))
    except AnswerkeyError as error:
        return end(Ending(error.exit_code, _one_line(str(error)), gated=False))
    except (_ReaderGone, BrokenPipeError):
        drop_output()
        return EXIT_OK
    except (OSError, MemoryError, RuntimeError) as error:
        sentence, code = _of_the_system(error)
        if not sentence:
            return _bug(error)
        code = end(Ending(code, sentence))
        drop_output()
        return code
    except Exception as error:
        return _bug(error)


def _of_the_system(error: OSError | MemoryError | RuntimeError) -> tuple[str, int]:
    """One line and a code for what the machine refuses; "" for what is a bug."""
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer workers or a smaller model", EXIT_INCOMPLETE
    if isinstance(error, RuntimeError):
        if "Symlink loop" in str(error):
            return str(error), EXIT_INPUT
        no_thread = "can't start new thread" in str(error)
        return ("no more threads; use fewer workers" if no_thread else ""), EXIT_INCOMPLETE
    where = error.filename or "standard output"
    if error.errno in _FULL:
        sentence = f"{where} cannot be written: {error.strerror}; free some space, then try again"
        return sentence, EXIT_INCOMPLETE
    if error.filename is None or error.errno not in _NOT_ALLOWED:
        return "", EXIT_INCOMPLETE
    return (
        f"{where}: {error.strerror}",
        EXIT_INCOMPLETE if error.errno == errno.EROFS else EXIT_INPUT,
    )


def _one_line(message: str) -> str:
    return " ".join(message.splitlines())


def _bug(error: Exception) -> int:
    """A mistake of ours: the traceback, and what to report."""
    traceback.print_exception(error)
    what = " ".join(str(error).split())[:200]
    asked = f"please report this with the traceback above (answerkey {__version__}, Python {platform.python_version()})"
    return end(Ending(EXIT_BUG, f"{type(error).__name__}: {what}; {asked}"))
