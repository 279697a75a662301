"""`answerkey completion`: the script that teaches a shell our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: bash, zsh or fish.

    \b
    Example:
      answerkey completion bash >> ~/.bashrc
    """
    script = get_completion_class(shell)
    assert script is not None, "click has all three"
    click.echo(script(context.find_root().command, {}, "answerkey", "_ANSWERKEY_COMPLETE").source())
