"""`answerkey init`: a suite to start from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from answerkey.cli.output import done, say
from answerkey.demo import FOLDER
from answerkey.errors import InputError, StorageError

FILES = ("suite.toml", "cases.md", "bot.py")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
def command(folder: Path) -> None:
    """Write a commented suite, its cases and a small bot to FOLDER (default the current folder).

    The suite runs immediately. There are no prompts, and no file is overwritten.

    \b
    Example:
      answerkey init mybot && answerkey run mybot/suite.toml
    """
    present = [name for name in FILES if (folder / name).exists()]
    if present:
        raise InputError(f"{folder} already contains {', '.join(present)}; choose another folder: answerkey init mybot")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).write_text((FOLDER / "starter" / name).read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror}; choose another folder") from None
    say(f"wrote {', '.join(str(folder / name) for name in FILES)}")
    done(f"run it with `answerkey run {shlex.quote(str(folder / 'suite.toml'))}`")
