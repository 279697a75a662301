"""What several commands share: printing data, and never printing a bot's control characters."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from answerkey.text import printable

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON value on standard output.")


def print_json(value: Any) -> None:
    """Strict JSON: a NaN here is a bug and raises."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


def say(text: str = "") -> None:
    """To the person at the terminal: standard error, so that standard output stays data."""
    click.echo(printable(text), err=True)


def show(text: str = "") -> None:
    """To standard output, made safe for a terminal."""
    click.echo(printable(text))


def separate_streams() -> bool:
    """Whether standard output goes elsewhere than standard error, so that a line may be written to both."""
    try:
        return not os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return True
