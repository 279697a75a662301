"""Printing: JSON for programs, text for people, and never a bot's control characters."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from answerkey.cli.colours import paint_ending
from answerkey.errors import EXIT_OK, Ending
from answerkey.text import printable, printable_json

if TYPE_CHECKING:
    _IntegerType = click.ParamType[int]
    _NumberType = click.ParamType[float]
else:
    # Older versions of click have no generic class.
    _IntegerType = click.ParamType
    _NumberType = click.ParamType


class WholeNumber(_IntegerType):
    """A whole number within limits, which only a wrong value gets to see."""

    name = "integer"

    def __init__(self, lowest: int, highest: int = 1_000_000_000) -> None:
        self.lowest = lowest
        self.highest = highest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(str(value))
        except ValueError:
            number = None
        if number is None or not self.lowest <= number <= self.highest:
            limits = f"from {self.lowest} to {self.highest:,}"
            self.fail(f"found {value}, expected a whole number {limits}", param, ctx)
        return number


class Share(_NumberType):
    """A number from 0 to 1."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(str(value))
        except ValueError:
            number = -1.0
        # NaN is refused, too: no comparison with it is true.
        if not 0 <= number <= 1:
            self.fail(f"found {value}, expected a number from 0 to 1", param, ctx)
        return number


SHARE = Share()
COUNT = WholeNumber(1)
FROM_ZERO = WholeNumber(0)
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
quiet_option = click.option(
    "--quiet", "-q", is_flag=True, help="No progress and no report on the screen."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON value on standard output."
)
collection_option = click.option(
    "--collection",
    metavar="NAME",
    help="The vector-store collection of the target or of [retrieval].",
)


def print_json(value: object) -> None:
    """Print strict JSON; NaN raises, because it would be a bug."""
    # Other encodings may lack a character of an answer; escapes are plain ASCII.
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, allow_nan=False, indent=2)
    _echo(printable_json(text))


def print_result(value: object, text: str, as_json: bool) -> None:
    """The data of a command on standard output: JSON for programs, otherwise text."""
    if as_json:
        print_json(value)
    else:
        show(text)


def say(text: str = "") -> None:
    """Print a message on standard error; standard output is for data."""
    click.echo(printable(text), err=True)


def show(text: str = "") -> None:
    """Print text on standard output, with control characters removed."""
    _echo(printable(text))


def _echo(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:
        # A reader that went away, as `head` does, is not a failure: the command ends as usual.
        drop_output()


def drop_output() -> None:
    """Discard standard output from now on; what is buffered would fail again at exit."""
    # A stream that stands for standard output may have no number.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_ended = False


def end(ending: Ending) -> int:
    """Print the last line of a command, and return its exit code."""
    global _ended
    _ended = True
    click.echo(f"{paint_ending(ending)}: {printable(ending.sentence)}", err=True)
    return ending.code


def end_if_open(code: int, sentence: str) -> None:
    """The last line of a command that printed its data and no ending."""
    global _ended
    if not _ended:
        end(Ending(code, sentence, gated=code != EXIT_OK))
    # Tests and programs may call several commands in one process.
    _ended = False


def done(sentence: str) -> None:
    """The last line of a command that succeeded and has no gates."""
    end(Ending(EXIT_OK, sentence, gated=False))


def separate_streams() -> bool:
    """Whether standard output and standard error go to different places."""
    try:
        return not os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return True
