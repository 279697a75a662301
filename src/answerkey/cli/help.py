"""The help pages: commands in groups, options in sections, a greeting for `answerkey` alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from answerkey.cli.colours import paint
from answerkey.cli.commands import COMMANDS, GROUPS, load_command
from answerkey.errors import did_you_mean

GREETING = """\
answerkey finds out whether your question-answering bot is good, where it fails and why,
and whether a change made it better. It works offline and needs no API key.

  answerkey score answers.csv    which answers of a file are bad, and why
  answerkey init mybot           a suite that asks your bot; then: answerkey run mybot/suite.toml
  answerkey demo                 three example bots, scored and compared in a minute

All commands: answerkey --help"""


class ReaderGone(Exception):
    """The reader of our output went away, as `head` does: that is no failure."""


class CommandGroup(click.Group):
    """All commands. None of them is imported to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            return load_command(cmd_name)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f'no command "{args[0]}"{did_you_mean(args[0], COMMANDS)}', ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None  # click would end with code 1

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            # Every group is as wide as the widest, so that the summaries stand in one column.
            rows = [(name.ljust(widest), summary) for name, summary in commands.items()]
            with formatter.section(paint(heading, bold=True)):
                formatter.write_dl(rows)


class SectionedCommand(click.Command):
    """A command with many options, shown in sections; `sections` has the names of the options."""

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = dict(sections or {})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        }
        for heading, names in self.sections.items():
            with formatter.section(paint(heading, bold=True)):
                formatter.write_dl([records.pop(name) for name in names])
        with formatter.section(paint("Output", bold=True)):
            formatter.write_dl(list(records.values()))
