"""Whole runs with a judge, through the command line: exit codes, resuming, and no request too many."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_endpoint import FakeEndpoint, Hang, Request, Reset, Said, error, grades
from tests.support.llama_server import LlamaServer

pytestmark = [pytest.mark.network, pytest.mark.slow]

ANSWERKEY = [sys.executable, "-c", "from answerkey.cli.main import main; main()"]


class Suite:
    """A folder with a suite of recorded answers, and the command line on it."""

    def __init__(
        self, folder: Path, judge: dict[str, Any], count: int, head: str = 'profile = "rubric"'
    ) -> None:
        self.folder = folder
        rows = [
            {
                "id": f"c{n:02}",
                "question": f"What is {n} and 1?",
                "expected": str(n + 1),
                "answer": f"It is {n + 1}.",
            }
            for n in range(count)
        ]
        (folder / "cases.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        settings = "\n".join(f"{key} = {json.dumps(value)}" for key, value in judge.items())
        suite = f'name = "judged"\ncases = ["cases.jsonl"]\n{head}\n[target]\nkind = "recorded"\n[judge]\n{settings}\n'
        (folder / "suite.toml").write_text(suite)

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [*ANSWERKEY, "run", "suite.toml", "--no-charts", *options]
        return subprocess.Popen(
            command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *options: str) -> tuple[int, str]:
        process = self.start(*options)
        out, err = process.communicate(timeout=300)
        return process.returncode, out + err

    def results(self) -> dict[str, dict[str, Any]]:
        (folder,) = (self.folder / "results").iterdir()
        rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
        return {row["id"]: row for row in rows}

    def errors(self) -> set[str]:
        return {
            name
            for name, row in self.results().items()
            if any(s["error"] for s in row["scores"].values())
        }


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Callable[..., tuple[Suite, FakeEndpoint]]]:
    opened: list[FakeEndpoint] = []

    def make(
        answer: Callable[[Request], Any], count: int = 12, **judge: Any
    ) -> tuple[Suite, FakeEndpoint]:
        endpoint = FakeEndpoint(answer).__enter__()
        opened.append(endpoint)
        return Suite(tmp_path, endpoint.settings(**judge), count), endpoint

    yield make
    for endpoint in opened:
        endpoint.__exit__()


def test_a_run_completes_and_a_second_one_asks_nothing(
    suite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    run, endpoint = suite(lambda r: grades(5, 5, 5, 3), api_key_env="MY_KEY")
    code, said = run.run()
    assert code == 0, said
    assert len(endpoint.requests) == 12
    row = run.results()["c03"]
    assert row["scores"]["rubric.coherence"]["value"] == 3
    assert row["verdict"]["score"] == 100
    kept = [path.read_bytes() for path in run.folder.rglob("*") if path.is_file()]
    assert b"secret" not in said.encode() + b"".join(kept)
    (folder,) = (run.folder / "results").iterdir()
    folder.rename(run.folder / "first")
    assert run.run()[0] == 0
    assert len(endpoint.requests) == 12


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (error(401, "bad key"), "401"),
        (error(404, "no such model"), "404"),
        (error(429, "insufficient_quota"), "quota"),
    ],
    ids=["401", "404", "quota"],
)
def test_an_error_that_cannot_get_better_stops_the_run_which_can_be_resumed(
    suite: Any, said: Said, words: str
) -> None:
    run, endpoint = suite(lambda r: said, count=100, concurrency=5)
    code, told = run.run()
    assert code == 3
    assert words in told.splitlines()[-1]
    assert "--resume" in told
    assert len(endpoint.requests) <= 5
    endpoint.answer = lambda r: grades(5, 5, 5, 3)
    code, told = run.run("--resume")
    assert code == 0, told
    assert len(run.results()) == 100
    assert run.errors() == set()


@pytest.mark.parametrize(
    "header",
    [{"retry_after": "1"}, {"retry_after": "Thu, 01 Jan 2026 00:00:00 GMT"}, {}],
    ids=["seconds", "date", "absent"],
)
def test_a_storm_of_refusals_passes(suite: Any, header: dict[str, str]) -> None:
    run, endpoint = suite(
        lambda r: error(429, "slow down", **header) if r.n < 6 else grades(5, 5, 5, 3)
    )
    code, told = run.run()
    assert code == 0, told
    assert "429" in told
    assert len(endpoint.requests) == 6 + 12


@pytest.mark.parametrize(
    "mischief",
    [error(503), Reset(), Said(200, "<html><body>Sign in</body></html>"), Hang()],
    ids=["5xx", "reset", "html", "hang"],
)
def test_one_bad_case_is_an_error_of_its_own_and_is_asked_again(suite: Any, mischief: Any) -> None:
    bad = "What is 7 and 1?"
    # On a busy machine a good reply takes a moment, too; only a hanging one must run into the limit.
    timeout = 3 if isinstance(mischief, Hang) else 30
    run, endpoint = suite(
        lambda r: mischief if bad in r.text else grades(5, 5, 5, 3), timeout=timeout
    )
    code, told = run.run()
    assert code == 3
    assert told.splitlines()[-1].startswith("INCOMPLETE")
    assert run.errors() == {"c07"}
    assert sum(bad in r.text for r in endpoint.requests) <= 4
    endpoint.answer = lambda r: grades(5, 5, 5, 3)
    before = len(endpoint.requests)
    assert run.run("--resume")[0] == 0
    assert run.errors() == set()
    assert len(endpoint.requests) == before + 1


def test_an_endpoint_that_fails_all_the_time_is_no_storm(suite: Any) -> None:
    run, endpoint = suite(lambda r: error(500), count=300)
    code, _ = run.run()
    assert code == 3
    assert len(endpoint.requests) <= (25 + 20) * 4


def _replies(cache: Path) -> int:
    """How many replies the cache has so far."""
    if not (cache / "replies.sqlite").is_file():
        return 0
    with closing(sqlite3.connect(cache / "replies.sqlite")) as database:
        try:
            table = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            ).fetchone()
            return (
                database.execute(f"SELECT count(*) FROM {table[0]}").fetchone()[0] if table else 0
            )
        except sqlite3.OperationalError:  # being written right now
            return 0


@pytest.mark.xdist_group("llama")
def test_a_real_server_killed_in_the_middle(
    llama: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("ANSWERKEY_CACHE", str(cache))
    settings = llama.settings(concurrency=4, max_tokens=100)
    run = Suite(tmp_path, settings, 12, 'metrics = ["judge.relevance"]')
    process = run.start()
    while process.poll() is None and _replies(cache) < 4:
        time.sleep(0.1)
    llama.kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 3, out + err
    lost = run.errors()
    kept = {
        name: row["scores"]["judge.relevance"]
        for name, row in run.results().items()
        if name not in lost
    }
    assert len(run.results()) == 12
    assert 4 <= len(kept) < 12
    assert all(
        "no connection" in row["scores"]["judge.relevance"]["error"]
        for name, row in run.results().items()
        if name in lost
    )
    llama.start()
    code, told = run.run("--resume")
    assert code == 0, told
    scores = {name: row["scores"]["judge.relevance"] for name, row in run.results().items()}
    assert len(scores) == 12
    assert all(
        score["value"] in {0, 0.25, 0.5, 0.75, 1} and not score["error"]
        for score in scores.values()
    )
    assert {name: scores[name] for name in kept} == kept
