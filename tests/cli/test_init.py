"""`answerkey init`: no prompts, a suite that runs immediately, nothing overwritten."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from answerkey.cli.main import command_line
from answerkey.errors import InputError, StorageError
from answerkey.viewer.library import RunLibrary


def test_the_suite_runs_and_the_fix_shows_in_the_comparison(tmp_path: Path) -> None:
    made = CliRunner().invoke(command_line, ["init", str(tmp_path / "mybot")])
    assert made.exit_code == 0
    assert "answerkey run" in made.stderr
    done = CliRunner().invoke(
        command_line, ["run", str(tmp_path / "mybot" / "suite.toml"), "--no-charts"]
    )
    assert done.exit_code == 0, done.output
    (failures,) = (tmp_path / "mybot" / "results").glob("*/failures.txt")
    assert "Do kettles come with a warranty?" in failures.read_text(encoding="utf-8")
    assert RunLibrary(tmp_path).runs() == [failures.parent], "seen from the folder above too"
    bot = tmp_path / "mybot" / "bot.py"
    bot.write_text(
        bot.read_text().replace(
            "question.lower().split()\n", 'question.lower().strip("?").split()\n'
        )
    )
    out = str(tmp_path / "fixed")
    again = [
        sys.executable,
        "-m",
        "answerkey",
        "run",
        tmp_path / "mybot" / "suite.toml",
        "--out",
        out,
    ]
    subprocess.run([*again, "--no-charts"], check=True, capture_output=True)
    (fixed,) = Path(out).iterdir()
    compared = CliRunner().invoke(command_line, ["compare", str(failures.parent), str(fixed)])
    assert compared.stdout.startswith("B is better: 53 % → 100 % passed; over 15 cases")


def test_what_is_commented_out_is_toml_too(tmp_path: Path) -> None:
    CliRunner().invoke(command_line, ["init", str(tmp_path)])
    text = (tmp_path / "suite.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["name"] == "my-bot"
    assert text.count("#") > 15


@pytest.mark.parametrize("name", ["suite.toml", "cases.md", "bot.py"])
def test_no_file_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    result = CliRunner().invoke(command_line, ["init", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(command_line, ["init", str(tmp_path / "file" / "mybot")])
    assert isinstance(result.exception, StorageError)
