"""`answerkey` alone greets; help pages have groups and sections; colour is for terminals only."""

from __future__ import annotations

import io
import sys

import pytest

from answerkey.cli.colours import paint_ending, takes_colour
from answerkey.cli.commands import COMMANDS, GROUPS
from answerkey.cli.help import SectionedCommand
from answerkey.cli.run.command import run_command
from answerkey.errors import Ending


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_answerkey_alone_greets_with_three_commands(cli):
    greeting = cli()
    assert greeting.code == 0
    assert greeting.err == ""
    assert "which answers of a file are bad" in greeting.out
    named = [
        line.split()[1] for line in greeting.out.splitlines() if line.startswith("  answerkey")
    ]
    assert named == ["score", "init", "demo"]
    assert set(named) <= set(COMMANDS)


def test_commands_are_listed_in_groups(cli):
    shown = cli("--help").out
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings[-len(GROUPS) :] == [f"{name}:" for name in GROUPS]
    assert list(GROUPS) == ["Start", "Run", "Look", "Trust", "Retrieval", "Data"]


def test_the_options_of_run_are_in_sections(cli):
    assert isinstance(run_command, SectionedCommand)
    listed = [name for names in run_command.sections.values() for name in names]
    assert len(listed) == len(set(listed))
    shown = cli("run", "--help").out
    for heading in (*run_command.sections, "Output"):
        assert f"\n{heading}:\n" in shown
    for parameter in run_command.params:
        assert shown.count(f"  {parameter.opts[0]} ") <= 2


@pytest.mark.parametrize("name", COMMANDS)
def test_no_help_shows_the_limits_of_numbers(cli, name):
    shown = cli(name, "--help").out
    assert "<=x" not in shown
    assert "INTEGER RANGE" not in shown


def test_a_number_outside_its_limits_is_refused_with_the_limits(cli):
    refused = cli("run", "suite.toml", "--limit", "0")
    assert refused.code == 2
    assert "found 0, expected a whole number from 1" in refused.err
    assert "found many, expected a whole number" in cli("run", "s.toml", "--limit", "many").err


def test_plain_lists_end_without_a_last_line(cli):
    for name in ("metrics", "profiles", "skill"):
        assert "DONE" not in cli(name).err


def test_colour_is_for_terminals_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert not takes_colour(io.StringIO())
    assert takes_colour(Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert "\x1b[32m" in paint_ending(Ending(0, "all gates hold"))
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint_ending(Ending(0, "all gates hold")) == "PASS"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not takes_colour(Terminal())
