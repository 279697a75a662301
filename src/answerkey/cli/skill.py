"""`answerkey skill`: instructions for coding agents."""

from __future__ import annotations

from pathlib import Path

import click

_SKILL = Path(__file__).parents[1] / "SKILL.md"


@click.command("skill")
def skill_command() -> None:
    """Print instructions for coding agents: what to run, and how to read the result.

    \b
    Example:
      answerkey skill > SKILL.md
    """
    click.echo(_SKILL.read_text(encoding="utf-8"), nl=False)
