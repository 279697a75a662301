"""Programs as targets: real child processes, well behaved and not."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from answerkey.errors import SettingsError
from answerkey.targets.resolve import make_target
from answerkey.types import Question, Response, Target, Turn


@pytest.fixture
def program(tmp_path: Path):
    made: list[Target] = []

    def make(body: str, **table: Any) -> Target:
        source = "import json, os, sys, time\nnumber = 0\nfor line in sys.stdin:\n    number += 1\n    ask = json.loads(line)\n"
        source += "    q = ask['question']\n" + "".join(
            f"    {row}\n" for row in dedent(body).strip().splitlines()
        )
        (tmp_path / "bot.py").write_text(source)
        made.append(make_target({"run": [sys.executable, "-S", "-u", "bot.py"], **table}, tmp_path))
        return made[-1]

    yield make
    for target in made:
        target.close()


def ask(target: Target, text: str, case_id: str = "c") -> Response:
    return target.ask(Question(case_id, text))


def test_one_line_in_one_line_out(program) -> None:
    target = program("""
        print(json.dumps({"id": ask["id"], "answer": f"{number}: {q}", "route": "kpi", "history": ask["history"]}))
    """)
    got = target.ask(Question("c1", "ü\\n?", (Turn("How old?", "Nine."),)))
    assert (got.answer, got.route, got.error) == ("1: ü\\n?", "kpi", None)
    assert got.extra["history"] == [{"user": "How old?", "answer": "Nine."}]
    assert got.seconds is not None
    assert ask(target, "again").answer == "2: again", "one process serves them all"
    large = "x" * 300_000
    assert ask(target, large).answer == f"3: {large}"


def test_paths_and_plain_text(program) -> None:
    assert ask(program('print(json.dumps({"out": [q]}))', answer="$.out[0]"), "hi").answer == "hi"
    assert ask(program("print(json.dumps(q))"), "hi").answer == "hi"


def test_started_again_when_it_dies(program) -> None:
    target = program("""
        if q == "die": print("out of memory", file=sys.stderr); sys.exit(7)
        if q == "kill": os.kill(os.getpid(), 9)
        print(json.dumps({"answer": f"{number}"}), flush=True)
        if q == "after": sys.exit(0)
    """)
    assert ask(target, "go").answer == "1"
    died = ask(target, "die")
    assert died.error == "the program ended: exit code 7: out of memory"
    assert died.error_kind == "infrastructure"
    assert ask(target, "go").answer == "1"
    assert ask(target, "kill").error == "the program ended: killed by SIGKILL"
    assert ask(target, "after").answer == "1"
    target.close()
    assert ask(target, "go").answer == "1"


def test_a_process_that_ended_by_itself_costs_no_question(program) -> None:
    target = program('print(json.dumps({"answer": str(os.getpid())}), flush=True)\nsys.exit(0)')
    for _ in range(3):
        response = ask(target, "go")
        assert response.error is None
        pid = int(response.answer or 0)
        while os.path.exists(f"/proc/{pid}") and " Z " not in Path(f"/proc/{pid}/stat").read_text():
            pass


@pytest.mark.parametrize(
    ("body", "error", "kind"),
    [
        ("time.sleep(60)", "timed out: no answer within 1 s", "infrastructure"),
        ("print('thinking...')", 'the reply is not JSON: "thinking..."', "content"),
        (
            "sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()",
            "not valid UTF-8",
            "content",
        ),
        ("print(json.dumps('x' * 50_000_000))", "too large", "content"),
        ("print('null')", "returned None", "content"),
        ("print('\"\"')", "empty answer", "content"),
        (
            "print(json.dumps({'id': 'other', 'answer': 'x'}))",
            "a reply to another question",
            "content",
        ),
        ("print(json.dumps({'error': 'no idea'}))", "no idea", "content"),
    ],
)
def test_each_failure_is_one_questions_own(program, body: str, error: str, kind: str) -> None:
    bad = "\n".join(
        [
            "if q == 'bad':",
            *(f"    {row}" for row in body.splitlines()),
            "else: print(json.dumps('fine'))",
        ]
    )
    target = program(bad, timeout=1 if "sleep" in body else 20)
    assert ask(target, "good").answer == "fine"
    got = ask(target, "bad")
    assert error in (got.error or "")
    assert (got.answer, got.error_kind) == (None, kind)
    assert ask(target, "good").answer == "fine"


def test_a_line_nobody_asked_for_never_becomes_the_next_answer(program) -> None:
    target = program("""
        print(json.dumps({"answer": q}), flush=True)
        if q == "talkative": print(json.dumps({"answer": "by the way"}), flush=True); open("done", "w").close()
    """)
    assert ask(target, "talkative").answer == "talkative"
    folder = Path(target._target._all[0]._folder)  # type: ignore[attr-defined]
    while not (folder / "done").exists() or target._target._all[0]._lines.empty():  # type: ignore[attr-defined]
        pass
    got = ask(target, "next")
    assert (got.answer, got.error_name) == (None, "the program is out of step")
    assert ask(target, "next").answer == "next"


def test_several_processes_at_once(program) -> None:
    target = program('time.sleep(0.05)\nprint(json.dumps(f"{os.getpid()}"))', processes=3)
    got: list[Response] = []
    threads = [threading.Thread(target=lambda: got.append(ask(target, "go"))) for _ in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({response.answer for response in got}) == 3
    target.close()
    for response in got:
        with pytest.raises(ProcessLookupError):
            os.kill(int(response.answer or 0), 0)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"run": []}, "expected a command"),
        ({"run": ["./nobot"]}, "no such program"),
        ({"run": ["./plain"]}, "not executable"),
        ({"run": "no-such-program-at-all --fast"}, "no such program"),
        ({"run": ["true"], "processes": 0}, "1 or more"),
        ({"run": ["true"], "process": 1}, 'did you mean "processes"'),
        ({}, "expected a command"),
    ],
)
def test_wrong_settings(tmp_path: Path, table: dict[str, Any], message: str) -> None:
    (tmp_path / "plain").write_text("")
    with pytest.raises(SettingsError) as caught:
        make_target({"kind": "command", **table}, tmp_path)
    assert message in str(caught.value)
