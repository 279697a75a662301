"""`answerkey init`: asks nothing, writes a suite that runs at once, overwrites nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from answerkey.cli.main import answerkey
from answerkey.errors import InputError, StorageError
from answerkey.viewer.library import RunLibrary


def test_the_suite_runs_at_once_and_finds_the_wrong_answer(tmp_path: Path) -> None:
    made = CliRunner().invoke(answerkey, ["init", str(tmp_path / "mybot")])
    assert made.exit_code == 0
    assert "answerkey run" in made.stderr
    done = CliRunner().invoke(answerkey, ["run", str(tmp_path / "mybot" / "suite.toml"), "--no-charts"])
    assert done.exit_code == 0, done.output
    (failures,) = (tmp_path / "mybot" / "results").glob("*/failures.txt")
    assert "12 months" in failures.read_text(encoding="utf-8")
    assert RunLibrary(tmp_path).runs() == [failures.parent], "seen from the folder above too"


def test_what_is_commented_out_is_toml_too(tmp_path: Path) -> None:
    CliRunner().invoke(answerkey, ["init", str(tmp_path)])
    text = (tmp_path / "suite.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["name"] == "my-bot"
    assert text.count("#") > 15


@pytest.mark.parametrize("name", ["suite.toml", "cases.md", "bot.py"])
def test_no_file_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    result = CliRunner().invoke(answerkey, ["init", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(answerkey, ["init", str(tmp_path / "file" / "mybot")])
    assert isinstance(result.exception, StorageError)
