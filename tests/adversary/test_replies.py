"""One hostile reply is that case's error: the others are scored, and the run can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adversary.attack import CODES, attack, results, write_suite

BOT = """
class Rude(Exception):
    def __str__(self):
        raise RuntimeError("no text")
    __repr__ = __str__

def nested(depth, kind=list):
    value = "x"
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value

def answer(question):
    if question.startswith("Good"):
        return "It is good."
    return %s
"""
HOSTILE = {
    "huge prompt tokens": '{"answer": "It is good.", "prompt_tokens": 10**400}',
    "more digits than Python prints": '{"answer": "It is good.", "prompt_tokens": 10**6000}',
    "huge cost": '{"answer": "It is good.", "cost": 10**400}',
    "infinite cost": '{"answer": "It is good.", "cost": float("inf")}',
    "huge passage score": '{"answer": "It is good.", "passages": [{"text": "t", "score": 10**400}]}',
    "nan passage score": '{"answer": "It is good.", "passages": [{"text": "t", "score": float("nan")}]}',
    "nested reply": '{"answer": "It is good.", "more": nested(600)}',
    "very deeply nested reply": '{"answer": "It is good.", "more": nested(100000)}',
    "nested details": '{"answer": "It is good.", "details": nested(5000, dict)}',
    "nested answer": '{"answer": nested(3000)}',
    "an object that cannot be shown": '{"answer": "It is good.", "more": Rude()}',
    "an answer that cannot be shown": "Rude()",
    "half a character": '{"answer": "It is \\ud800 good.", "route": "\\udfff"}',
    "a key that is no text": '{"answer": "It is good.", ("a", 1): 2, None: 3}',
    "huge seconds": '{"answer": "It is good.", "seconds": 10**400}',
}
RAISING = {
    "an error without a text": "raise Rude()",
    "an error of half characters": 'raise ValueError("\\ud800\\x1b[31m")',
    "a very long error": 'raise ValueError("x" * 10_000_000)',
    "a recursion": "return nested(3) and answer(question)",
}


def check(cli: Callable[..., Any], folder: Path, bot: str) -> None:
    rows = [
        {"id": name, "question": f"{name} one?", "expected": "It is good."}
        for name in ("Good", "Bad", "Good2")
    ]
    suite = write_suite(folder, bot, rows)
    ended = attack("run", suite, "--no-charts")
    assert ended.is_clean(), ended.err[-2000:]
    found = {row["id"]: row for row in results(folder)}
    assert set(found) == {"Good", "Bad", "Good2"}, ended.lines
    for name in ("Good", "Good2"):
        assert found[name]["verdict"]["passed"] is True
    run = next(folder.glob("results/*/run.json")).parent
    for path in run.rglob("*"):
        if path.is_file() and path.suffix != ".sqlite":
            path.read_bytes().decode("utf-8")
    for again in (("run", suite, "--resume"), ("rescore", run, "--no-charts"), ("report", run)):
        ended = cli(*again)
        assert ended.code in CODES
        assert "Traceback" not in ended.err + ended.out


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_reply(cli: Callable[..., Any], tmp_path: Path, name: str) -> None:
    check(cli, tmp_path, BOT % HOSTILE[name])


@pytest.mark.parametrize("name", RAISING)
def test_a_hostile_exception(cli: Callable[..., Any], tmp_path: Path, name: str) -> None:
    check(cli, tmp_path, BOT.replace("return %s", RAISING[name]))


@pytest.mark.parametrize(
    "details",
    ["nested(5000)", "nested(5000, dict)", "Rude()", '"\\ud800"', "10**400", "float('nan')"],
)
def test_hostile_details_of_a_score(tmp_path: Path, details: str) -> None:
    suite = write_suite(
        tmp_path, BOT % '"It is bad."', head='modules = ["extra"]\nmetrics = ["rude"]'
    )
    (tmp_path / "extra.py").write_text(
        BOT % "1" + "from answerkey import Score, metric\n"
        '@metric("rude")\n'
        f"def rude(case, response):\n    return Score(0.5, reason='r', details={{'a': {details}}})\n"
    )
    ended = attack("run", suite, "--no-charts")
    assert ended.is_clean(), ended.err[-2000:]
    assert len(results(tmp_path)) == 2
    run = next(tmp_path.glob("results/*/run.json")).parent
    assert attack("report", run).is_clean()
