"""The argument RUN of the commands: a run folder, or a folder of runs or a suite for its newest run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from answerkey.cli.output import say

if TYPE_CHECKING:
    _PathType = click.ParamType[Path]
else:
    _PathType = click.ParamType  # older versions of click have no generic class


class RunFolder(_PathType):
    """Converts to the run folder that the path stands for, and says which one was chosen."""

    name = "run"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return choose_run(Path(value))


def choose_run(path: Path) -> Path:
    """The run folder that a path stands for; if that is another one, it is named."""
    from answerkey.runs.newest import find_run  # help pages do without it

    folder = find_run(path)
    if folder != path:
        say(f"{path}: its newest complete run is {folder.name}")
    return folder


RUN = RunFolder()
