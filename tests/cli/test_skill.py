"""The instructions for agents name only commands and exit codes that exist."""

from __future__ import annotations

import re

from answerkey.cli.commands import COMMANDS
from answerkey.errors import EXIT_BUG, EXIT_INCOMPLETE, EXIT_INPUT, EXIT_INTERRUPTED


def test_skill_names_existing_commands_and_all_exit_codes(cli):
    shown = cli("skill")
    assert shown.code == 0
    commands = set(re.findall(r"^    answerkey ([a-z-]+)", shown.out, re.MULTILINE))
    assert commands
    assert commands <= set(COMMANDS)
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", shown.out, re.MULTILINE)}
    assert {0, 1, EXIT_INPUT, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_BUG} == codes
