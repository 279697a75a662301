"""Links that lead in circles, folders that may not be read or written, no threads left: one line and the right code."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.adversary.attack import write_suite

import answerkey

BOT = "def answer(question):\n    return 'It is fine.'\n"
HALF = "\\ud800"


def one_line(ended: Any, *codes: int) -> str:
    assert ended.code in codes, ended.err
    assert "Traceback" not in ended.err
    last = ended.err.strip().splitlines()[-1]
    assert last.split(":")[0] in ("INVALID", "INCOMPLETE", "DONE", "PASS"), last
    return last


def test_a_link_that_leads_to_itself(tmp_path: Path, cli: Callable[..., Any]) -> None:
    suite = write_suite(tmp_path, BOT)
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inner").symlink_to(folder)
    (folder / "cases.jsonl").symlink_to("cases.jsonl")
    for command in (
        ("cases", loop), ("cases", folder), ("run", loop), ("run", suite, "--out", loop), ("run", suite, "--out", loop / "x"), ("summary", loop),
        ("score", loop, "--metrics", "token_f1"), ("compare", loop, loop), ("report", loop), ("init", loop), ("diagnose", loop), ("rescore", loop),
        ("score", tmp_path / "cases.jsonl", "--profile", loop), ("rank", "--qrels", loop, "--run", loop), ("baseline", "set", loop),
        ("sweep", loop), ("calibrate", loop, "--metric", "token_f1"),
    ):  # fmt: skip
        one_line(cli(*command), 2, 3)


def test_no_thread_can_be_started(
    tmp_path: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = write_suite(tmp_path, BOT)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert "threads" in one_line(cli("run", suite, "--no-charts"), 3)


@pytest.mark.skipif(
    not hasattr(os, "seteuid") or os.geteuid() != 0,
    reason="only the superuser can become a user without rights",
)
def test_a_folder_that_may_not_be_read_or_written(
    tmp_path: Path, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = Path(answerkey.__file__).parent
    if not all(folder.stat().st_mode & stat.S_IXOTH for folder in (sources, *sources.parents)):
        pytest.skip(f"{sources} is in a private folder: another user cannot load the program")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & stat.S_ISVTX:
            folder.chmod(folder.stat().st_mode | 0o055)
    suite, hidden = write_suite(tmp_path / "suite", BOT), tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "cases.jsonl").write_text(json.dumps({"id": "1", "question": "q"}))
    monkeypatch.setenv("ANSWERKEY_CACHE", str(hidden / "cache"))
    assert cli("run", suite, "--no-charts", "--quiet").code == 0
    run = next(tmp_path.glob("suite/results/*/run.json")).parent
    commands = {
        ("cases", hidden / "cases.jsonl"): {2, 3}, ("cases", hidden): {2, 3}, ("run", hidden / "suite.toml"): {2, 3}, ("summary", run): {0},
        ("run", suite, "--no-charts"): {3}, ("report", run, "--no-charts"): {3}, ("rescore", run, "--no-charts", "--out", hidden): {3},
        ("run", run, "--resume"): {0, 2, 3}, ("init", hidden / "x"): {2, 3}, ("compare", run, run, "--out", hidden / "c"): {3},
    }  # fmt: skip
    for command in commands:
        cli(*command)  # imports what it needs, while that may be read
    hidden.chmod(0)
    os.seteuid(65534)
    try:
        ended = {command: cli(*command) for command in commands}
    finally:
        os.seteuid(0)
        hidden.chmod(0o700)
    for command, codes in commands.items():
        assert one_line(ended[command], *codes), command


def test_half_characters_leave_valid_files_and_outputs(
    tmp_path: Path, cli: Callable[..., Any]
) -> None:
    row = (
        f'{{"id": "a{HALF}", "question": "Q{HALF}?", "expected": "{HALF}x", "answer": "y{HALF}", "contexts": ["{HALF}"], "route": "{HALF}", '
        f'"type": "{HALF}", "relevant": {{"{HALF}": 1}}, "retrieved": ["{HALF}"], "tags": ["{HALF}"], "x_own": {{"{HALF}": "{HALF}"}}}}\n'
    )
    (tmp_path / "cases.jsonl").write_text(row + row.replace("a\\", "b\\"))
    labels = f'{{"q{HALF}": {{"d{HALF}": 1}}}}'
    for name in ("q.json", "r.json"):
        (tmp_path / name).write_text(labels)
    one_line(cli("run", _judged(tmp_path), "--no-charts"), 0, 1, 3)
    run = next(tmp_path.glob("results/*/run.json")).parent
    for command in (
        ("cases", tmp_path / "cases.jsonl", "--json"), ("summary", run, "--json"), ("compare", run, run, "--json", "--out", tmp_path / "cmp"),
        ("diagnose", run, "--json"), ("diagnose", "--qrels", tmp_path / "q.json", "--run", tmp_path / "r.json", "--json"),
        ("rank", "--qrels", tmp_path / "q.json", "--run", tmp_path / "r.json", "--json"), ("report", run, "--json"),
    ):  # fmt: skip
        ended = cli(*command)
        assert ended.code in (0, 1), (command, ended.err)
        assert ended.json is not None
    checked = cli(
        "check",
        "--json",
        stdin=f'{{"question": "{HALF}", "answer": "{HALF} y", "contexts": ["{HALF}"], "run_id": "{HALF}"}}',
    )
    assert checked.code in (0, 1), checked.err
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.suffix in (
            ".json",
            ".jsonl",
            ".txt",
            ".md",
            ".csv",
            ".html",
            ".xml",
        ):
            path.read_bytes().decode("utf-8")


def _judged(folder: Path) -> Path:
    """A suite of recorded answers with a judge of the user's own, whose reasons are half characters."""
    (folder / "judging.py").write_text(
        'def judge(prompt):\n    return \'{"score": 4, "reason": "r\\ud800", "accuracy": 3}\'\n'
    )
    suite = 'cases = ["cases.jsonl"]\nmetrics = ["token_f1", "rubric.accuracy"]\njudge = "judging:judge"\n'
    (folder / "suite.toml").write_text(suite)
    return folder / "suite.toml"
