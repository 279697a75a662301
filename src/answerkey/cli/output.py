"""Printing: JSON for programs, text for people, and never a bot's control characters."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from answerkey.text import printable

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value on standard output.")


def print_json(value: Any) -> None:
    """Print strict JSON; NaN raises, because it would be a bug."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


def say(text: str = "") -> None:
    """Print a message on standard error; standard output is for data."""
    click.echo(printable(text), err=True)


def show(text: str = "") -> None:
    """Print text on standard output, with control characters removed."""
    click.echo(printable(text))


def separate_streams() -> bool:
    """Whether standard output and standard error go to different places."""
    try:
        return not os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return True
