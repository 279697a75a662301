"""Colour in a terminal, none in a file, a pipe or with NO_COLOR (https://no-color.org)."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from answerkey.errors import Ending

_COLOUR_OF_ENDING = {
    "PASS": "green",
    "DONE": "green",
    "FAIL": "red",
    "INVALID": "red",
    "BUG": "red",
    "INCOMPLETE": "yellow",
    "INTERRUPTED": "yellow",
}


def takes_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal of a user who has not switched colour off."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(
    text: str, colour: str | None = None, *, bold: bool = False, stream: TextIO | None = None
) -> str:
    """The text in a colour, if the stream (standard output by default) takes one."""
    if not takes_colour(stream or sys.stdout):
        return text
    return click.style(text, fg=colour, bold=bold)


def paint_ending(ending: Ending) -> str:
    """The word of an ending in its colour, for standard error."""
    return paint(ending.word, _COLOUR_OF_ENDING.get(ending.word), bold=True, stream=sys.stderr)
