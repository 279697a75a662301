"""`answerkey completion`: the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    Example:
      answerkey completion bash >> ~/.bashrc
    """
    script = get_completion_class(shell)
    assert script is not None, "click has all three"
    click.echo(script(context.find_root().command, {}, "answerkey", "_ANSWERKEY_COMPLETE").source())
