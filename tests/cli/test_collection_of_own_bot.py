"""`--collection` for a bot of the user's own, and the change that `--resume` names."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.own_files import Cli

BOT = """
import os, signal
from pathlib import Path
STOP = Path(__file__).with_name("stop.txt")

def answer(question, collection="none"):
    if question == "Two?" and STOP.exists():
        os.kill(os.getpid(), signal.SIGINT)
    return collection

def plain(question):
    return "plain"

class Bot:
    def __init__(self, collection):
        self._collection = collection
    def ask(self, question):
        return "made " + self._collection

def make(table, folder):
    return Bot(table["collection"])
"""


def _write(folder: Path, target: str) -> Path:
    (folder / "bot.py").write_text(BOT)
    cases = [{"id": name, "question": f"{name}?"} for name in ("One", "Two", "Three")]
    (folder / "cases.json").write_text(json.dumps(cases))
    suite = folder / "suite.toml"
    suite.write_text(
        f'cases = ["cases.json"]\nmetrics = ["answer_length"]\n[run]\nworkers = 1\n[target]\n{target}\n'
    )
    return suite


def _answers(folder: Path) -> set[str]:
    (path,) = (folder / "results").glob("*/results.jsonl")
    return {json.loads(line)["answer"] for line in path.read_text().splitlines()}


def test_a_function_with_the_parameter_gets_the_collection(cli: Cli, tmp_path: Path) -> None:
    suite = _write(tmp_path, 'call = "bot:answer"')
    assert cli("run", suite, "--collection", "new", "--no-charts").code == 0
    assert _answers(tmp_path) == {"new"}


def test_the_suite_may_name_the_collection(cli: Cli, tmp_path: Path) -> None:
    suite = _write(tmp_path, 'call = "bot:answer"\ncollection = "old"')
    assert cli("run", suite, "--no-charts").code == 0
    assert _answers(tmp_path) == {"old"}


def test_a_factory_gets_the_collection_in_its_table(cli: Cli, tmp_path: Path) -> None:
    suite = _write(tmp_path, 'make = "bot:make"')
    assert cli("run", suite, "--collection", "new", "--no-charts").code == 0
    assert _answers(tmp_path) == {"made new"}


def test_a_function_without_the_parameter_is_refused(cli: Cli, tmp_path: Path) -> None:
    suite = _write(tmp_path, 'call = "bot:plain"')
    shown = cli("run", suite, "--collection", "new", "--no-charts")
    assert shown.code == 2
    assert "add a parameter `collection`" in shown.err


def test_resume_with_another_collection_names_the_change(cli: Cli, tmp_path: Path) -> None:
    suite = _write(tmp_path, 'call = "bot:answer"')
    (tmp_path / "stop.txt").touch()
    assert cli("run", suite, "--collection", "old", "--no-charts").code == 130
    (tmp_path / "stop.txt").unlink()
    shown = cli("run", suite, "--collection", "new", "--resume", "--no-charts")
    assert shown.code == 2
    assert 'target.collection: "old", now "new"' in shown.err
    shown = cli("run", suite, "--resume", "--no-charts")
    assert 'target.collection: "old", now not set' in shown.err
    accepted = cli(
        "run", suite, "--collection", "new", "--resume", "--accept-changes", "--no-charts"
    )
    assert accepted.code == 0, accepted.err
    assert _answers(tmp_path) == {"old", "new"}
