"""The options that choose some of the cases of `score`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from answerkey.cli.output import COUNT
from answerkey.runs.control import Selection

per_type_option = click.option(
    "--per-type", type=COUNT, metavar="N", help="Only the first N cases of each type."
)
_OPTIONS = (
    click.option("--limit", type=COUNT, metavar="N", help="Only the first N cases."),
    per_type_option,
    click.option(
        "--only",
        metavar="PATTERN",
        help="Only cases whose id matches or whose question contains this text.",
    ),
    click.option(
        "--tag", metavar="NAME", help="Only cases with this tag, or in a folder of this name."
    ),
)


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as one argument `selection`."""

    @wraps(command)
    def call(
        limit: int | None, per_type: int | None, only: str | None, tag: str | None, **rest: Any
    ) -> Any:
        selection = Selection(limit=limit, only=only, collection=tag, per_type=per_type)
        return command(selection=selection, **rest)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call
