"""The command line: a table of commands, each imported when it is called."""

from __future__ import annotations

import errno
import gc
import os
import platform
import sys
import traceback

import click

from answerkey import __version__
from answerkey.cli.commands import COMMANDS
from answerkey.cli.help import GREETING, CommandGroup, ReaderGone
from answerkey.cli.output import drop_output, end, end_if_open
from answerkey.errors import (
    EXIT_BUG,
    EXIT_INCOMPLETE,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    AnswerkeyError,
    Ending,
)

_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_PATH_IS_UNUSABLE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ELOOP,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOENT,
)
_INTERRUPTED = Ending(EXIT_INTERRUPTED, "stopped before anything was finished")
# Plain lists and texts end without a last line: there is nothing to conclude.
_WITHOUT_ENDING = {"completion", "metrics", "profiles", "skill", "-h", "--help", "--version"}


@click.command(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="answerkey")
@click.pass_context
def command_line(ctx: click.Context) -> None:
    """Find out whether your question-answering bot is good, where it fails, and whether a
    change made it better.

    \b
    Example:
      answerkey init mybot && answerkey run mybot/suite.toml
    """
    if ctx.invoked_subcommand is None:
        click.echo(GREETING)


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
    """Run a command.

    A user's mistake becomes one line and an exit code; a bug keeps its traceback and exits with 70.
    """
    _prepare_streams()
    # Cases contain no cycles, and looking for some takes a fifth of the time.
    gc.set_threshold(50_000)
    sys.exit(_run())


def _prepare_streams() -> None:
    """Make the standard streams take any text, also where one is closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the free number, which no file of ours must get
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
        # A character that the terminal cannot show is replaced, instead of an error.
        elif number and hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _run() -> int:
    try:
        return _run_command()
    except click.exceptions.Abort:
        return end(_INTERRUPTED)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            usage = error.ctx.get_usage()
            click.echo(f"{usage}\nTry '{error.ctx.command_path} --help' for help.\n", err=True)
        return end(Ending(EXIT_INPUT, _one_line(error.format_message())))
    except AnswerkeyError as error:
        return end(Ending(error.exit_code, _one_line(str(error)), gated=False))
    except (ReaderGone, BrokenPipeError):
        drop_output()
        return EXIT_OK
    except (OSError, MemoryError, RuntimeError) as error:
        ending = _ending_of_system_error(error)
        if ending is None:
            return _report_bug(error)
        end(ending)
        # On a full disk, flushing the buffer at exit would fail once more.
        drop_output()
        return ending.code
    except Exception as error:
        return _report_bug(error)


def _run_command() -> int:
    # In its standalone mode click would print errors and exit in its own way.
    result = command_line.main(prog_name="answerkey", standalone_mode=False)
    # A full disk or a closed pipe must show here, while `_run` can still handle it.
    sys.stdout.flush()
    if isinstance(result, int):
        code = result
    else:
        code = EXIT_OK
    arguments = sys.argv[1:]
    if arguments and arguments[0] in COMMANDS and not _WITHOUT_ENDING.intersection(arguments):
        if code == EXIT_OK:
            how = "finished"
        else:
            how = "found problems, listed above"
        end_if_open(code, f"{arguments[0]} {how}")
    return code


def _ending_of_system_error(error: OSError | MemoryError | RuntimeError) -> Ending | None:
    """One line and a code for what the machine refuses; None for a bug."""
    if isinstance(error, MemoryError):
        message = "not enough memory; use fewer workers or a smaller model"
        return Ending(EXIT_INCOMPLETE, message)
    if isinstance(error, RuntimeError):
        return _ending_of_runtime_error(str(error))
    where = error.filename or "standard output"
    if error.errno in _DISK_IS_FULL:
        advice = "free some space, then try again"
        message = f"{where} cannot be written: {error.strerror}; {advice}"
        return Ending(EXIT_INCOMPLETE, message)
    if error.filename is None or error.errno not in _PATH_IS_UNUSABLE:
        return None
    # A read-only disk is no mistake in the arguments.
    if error.errno == errno.EROFS:
        code = EXIT_INCOMPLETE
    else:
        code = EXIT_INPUT
    return Ending(code, f"{where}: {error.strerror}")


def _ending_of_runtime_error(message: str) -> Ending | None:
    # Python raises these two as plain RuntimeError; only the message tells them apart.
    if "Symlink loop" in message:
        return Ending(EXIT_INPUT, message)
    if "can't start new thread" in message:
        return Ending(EXIT_INCOMPLETE, "no more threads; use fewer workers")
    return None


def _one_line(message: str) -> str:
    return " ".join(message.splitlines())


def _report_bug(error: Exception) -> int:
    """A mistake of ours: the traceback, and what to report."""
    if _is_interrupt(error):
        return end(_INTERRUPTED)
    traceback.print_exception(error)
    what = " ".join(str(error).split())[:200]
    versions = f"answerkey {__version__}, Python {platform.python_version()}"
    request = f"please report this with the traceback above ({versions})"
    return end(Ending(EXIT_BUG, f"{type(error).__name__}: {what}; {request}"))


def _is_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C is behind the error: loading a module may wrap it in an error of its own."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
