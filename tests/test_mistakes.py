"""Typical mistakes of users: each gives a message that names the problem and the fix.

The first table is for the command line, the second for Python. `words` must be in the message.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import answerkey as ak

Cli = Callable[..., Any]

GOOD = "question,expected,answer\nWhen is lunch?,At noon,At noon\n"
FILES: dict[str, str | bytes] = {
    "cases.csv": GOOD,
    "unanswered.csv": "question,expected\nWhen is lunch?,At noon\n",
    "empty.csv": "",
    "only_header.csv": "question,expected,answer\n",
    "no_question.csv": "frage,answer\nWann?,Um zwölf\n",
    "qestion.csv": "qestion,answer\nWhen?,Noon\n",
    "twice.csv": "id,question,answer\na,When?,Noon\na,Where?,Here\n",
    "open_quote.csv": 'question,answer\n"When?,Noon\nWhere?,Here\n',
    "broken.json": '[{"question": "When?"',
    "number.json": "3",
    "answer_list.jsonl": '{"question": "When?", "answer": ["a", "b"]}\n',
    "bad_utf8.jsonl": b'{"question": "caf\xc3\xa9 \x81?", "answer": "yes"}\n',
    "faq.md": "### Q1: When?\n**A2:** Noon\n",
    "bot.py": "def answer(question):\n    return 'At noon'\n\n\ndef broken(question):\n    return 1 / 0\n",
    "needs.py": "import no_such_package\n\n\ndef answer(question):\n    return 'x'\n",
    "suite.toml": 'cases = ["unanswered.csv"]\nprofile = "rag"\n[target]\ncall = "bot:answer"\n',
    "no_cases.toml": 'profile = "rag"\n',
    "bad.toml": 'cases = ["a.csv"\n',
    "typo_key.toml": 'cases = ["cases.csv"]\nprofil = "rag"\n',
    "typo_target.toml": 'cases = ["cases.csv"]\n[target]\nkind = "htpp"\n',
    "typo_user.toml": 'cases = ["unanswered.csv"]\nprofile = "rag"\n[target]\ncall = "bot:answer"\n[user]\nmax_turn = 3\n',
    "missing_bot.toml": 'cases = ["unanswered.csv"]\nprofile = "rag"\n[target]\ncall = "bott:answer"\n',
    "missing_function.toml": 'cases = ["unanswered.csv"]\nprofile = "rag"\n[target]\ncall = "bot:anser"\n',
    "missing_package.toml": 'cases = ["unanswered.csv"]\nprofile = "rag"\n[target]\ncall = "needs:answer"\n',
    "raises.toml": 'cases = ["unanswered.csv"]\nprofile = "rag"\n[target]\ncall = "bot:broken"\n',
    "gate.toml": 'cases = ["cases.csv"]\nprofile = "rag"\n[gate]\nrequire = ["pas_rate >= 0.5"]\n',
    "workers.toml": 'cases = ["cases.csv"]\nprofile = "rag"\n[run]\nworkers = "many"\n',
    "glob.toml": 'cases = ["qa/*.md"]\nprofile = "rag"\n',
    "profile.toml": 'name = "mine"\n[[criteria]]\nmetric = "token_f2"\n',
    "manual.txt": "Lunch is at noon.\n",
    "answers.csv": "id,answer\nzzz,Noon\n",
}  # fmt: skip

COMMANDS: list[tuple[str, list[str], str]] = [
    ("a command with a typo", ["scor", "cases.csv"], 'did you mean "score"'),
    ("an option with a typo", ["score", "cases.csv", "--profle", "rag"], "--profile"),
    ("a file that is not there", ["score", "case.csv"], "no such file"),
    ("a suite with a typo", ["run", "suit.toml"], 'did you mean "suite.toml"'),
    ("a folder of runs with a typo", ["compare", "foldr"], 'did you mean "folder"'),
    ("a folder without a suite", ["run", "folder"], "suite.toml"),
    ("an empty file", ["score", "empty.csv"], "empty.csv"),
    ("a table without rows", ["score", "only_header.csv"], "no case found"),
    ("no column of questions", ["score", "no_question.csv"], 'rename the column to "question"'),
    ("a column with a typo", ["score", "qestion.csv"], 'did you mean "qestion"'),
    ("an id that is used twice", ["score", "twice.csv"], "used twice"),
    ("a quote that is not closed", ["score", "open_quote.csv"], "line 2"),
    ("JSON that breaks off", ["score", "broken.json"], "broken.json"),
    ("JSON that is a number", ["score", "number.json"], "number.json"),
    ("a list for an answer", ["score", "answer_list.jsonl"], 'column "answer"'),
    ("bytes that are no text", ["score", "bad_utf8.jsonl"], "UTF-8"),
    ("numbers of Q and A that differ", ["cases", "faq.md"], "the number of its question"),
    ("cases without answers", ["score", "unanswered.csv"], 'no column "answer"'),
    ("a case file run without answers", ["run", "unanswered.csv"], "no target to ask"),
    ("a document without questions", ["run", "manual.txt"], "--dataset cases.csv"),
    ("a metric with a typo", ["score", "cases.csv", "--metrics", "token_f2"], 'did you mean "token_f1"'),
    ("a ranking metric without its cut-off", ["score", "cases.csv", "--metrics", "recall"], 'as in "recall@5"'),
    ("a cut-off of 0", ["score", "cases.csv", "--metrics", "recall@0"], "1 or more"),
    ("a profile with a typo", ["score", "cases.csv", "--profile", "ragg"], 'did you mean "rag"'),
    ("a profile file that is not there", ["score", "cases.csv", "--profile", "mine.toml"], "mine.toml"),
    ("a profile with an unknown metric", ["score", "cases.csv", "--profile", "profile.toml"], 'did you mean "token_f1"'),
    ("a judge with a typo", ["score", "cases.csv", "--judge", "opnai"], "openai"),
    ("a model's name as judge", ["score", "cases.csv", "--judge", "gpt4"], "gpt4"),
    ("a judge without its key", ["score", "cases.csv", "--judge", "openai"], "OPENAI_API_KEY"),
    ("a judge that nothing asks", ["score", "cases.csv", "--metrics", "token_f1", "--judge", "ollama", "--judge-model", "x"], "no metric of this run asks a judge"),
    ("a judged metric without a judge", ["score", "cases.csv", "--metrics", "rubric.accuracy"], "--judge local"),
    ("a threshold the wrong way round", ["score", "cases.csv", "--metrics", "cost>=0.1"], "lower is better"),
    ("numbers and a profile", ["score", "cases.csv", "--metrics", "token_f1>=0.5", "--profile", "rag"], "profile of their own"),
    ("a criterion that the profile lacks", ["score", "cases.csv", "--profile", "rag", "--without", "tone"], "there is no criterion"),
    ("a module that is not there", ["score", "cases.csv", "--metrics", "token_f1", "--module", "mine"], "no module mine"),
    ("a suite without cases", ["run", "no_cases.toml"], "names no cases"),
    ("TOML that breaks off", ["run", "bad.toml"], "bad.toml"),
    ("a key with a typo", ["run", "typo_key.toml"], 'did you mean "profile"'),
    ("a setting of the simulated user with a typo", ["run", "typo_user.toml"], '[user] has no setting "max_turn"; did you mean "max_turns"'),
    ("a kind of target with a typo", ["run", "typo_target.toml"], 'did you mean "http"'),
    ("a bot module that is not there", ["run", "missing_bot.toml"], "no module bott"),
    ("a bot function with a typo", ["run", "missing_function.toml"], 'did you mean "answer"'),
    ("a bot that needs a package", ["run", "missing_package.toml"], "no_such_package"),
    ("a bot that raises", ["run", "raises.toml"], "return 1 / 0"),
    ("a gate with a typo", ["run", "gate.toml"], "pass_rate"),
    ("a text for a number", ["run", "workers.toml"], "workers"),
    ("a glob that matches nothing", ["run", "glob.toml"], "qa/*.md"),
    ("a case that no pattern matches", ["run", "suite.toml", "--only", "zzz"], "check --only"),
    ("a limit of 0", ["run", "suite.toml", "--limit", "0"], "a whole number from 1"),
    ("a setting without a value", ["run", "suite.toml", "--set", "run.workers"], "name=value"),
    ("a threshold that is no number", ["run", "suite.toml", "--stop-on-fail", "low"], "expected a number"),
    ("a kind of variants with a typo", ["run", "suite.toml", "--variants", "typoss"], "typos"),
    ("a run that is not there", ["report", "results/x"], "no such file or folder"),
    ("a folder without runs", ["summary", "."], "not a run folder"),
    ("a comparison of no runs", ["compare", "nowhere"], "no such file or folder"),
    ("a limit without the gate", ["compare", "a", "--margin", "1"], "--margin needs --gate"),
    ("answers of other cases", ["score", "unanswered.csv", "--answers", "answers.csv"], "no answer recorded"),
    ("a port that is no number", ["view", "--port", "web"], "from 0 to 65,535"),
    ("a shell that nobody knows", ["completion", "tcsh"], "bash"),
    ("metrics of a ranking without rankings", ["rank", "--qrels", "no.txt", "--run", "no.txt"], "no.txt"),
]  # fmt: skip

FRAME = pd.DataFrame({"question": ["When is lunch?"], "expected": ["At noon"], "answer": ["At 12"]})
PYTHON: list[tuple[str, Callable[[], object], str]] = [
    ("a frame without answers", lambda: ak.evaluate(FRAME[["question"]]), "target=my_function"),
    ("an empty list", lambda: ak.evaluate([]), "no case found"),
    ("a number as data", lambda: ak.evaluate(3), "expected a list of dicts"),
    ("columns of different lengths", lambda: ak.evaluate({"question": ["a", "b"], "answer": ["c"]}), "different lengths"),
    ("a path with a typo", lambda: ak.evaluate("case.csv"), "no such file"),
    ("a metric that is a number", lambda: ak.evaluate(FRAME, metrics=[3]), "expected a name or a function"),
    ("metrics that are a number", lambda: ak.evaluate(FRAME, metrics=3), 'as in ["answer_agreement"]'),  # type: ignore[arg-type]
    ("a metric function with a taken name", lambda: ak.evaluate(FRAME, metrics=[_token_f1()]), "rename it"),
    ("a target that is no function", lambda: ak.evaluate(FRAME, target=3), "expected a function of the question"),
    ("no workers", lambda: ak.evaluate(FRAME, target=str, workers=0), "workers"),
    ("failures without a profile", lambda: ak.evaluate(FRAME, ["token_f1"]).failures(), "run.worst(10)"),
    ("a case id with a typo", lambda: ak.evaluate(FRAME, ["token_f1"])["data#11"], 'did you mean "data#1"'),
    ("a run that is not there", lambda: ak.open_run("results/x"), "no such file or folder"),
    ("a judge that is a number", lambda: ak.evaluate(FRAME, judge=3), "expected"),
    ("variants of recorded answers", lambda: ak.evaluate(FRAME, variants=["typos"]), "variants needs a target to ask"),
    ("a simulated user of recorded answers", lambda: ak.evaluate(FRAME, user={"goal": "know"}), "user needs a target to ask"),
    ("repeats of recorded answers", lambda: ak.evaluate(FRAME, repeats=3), "recorded answers are always the same"),
]  # fmt: skip


def _token_f1() -> Callable[..., object]:
    def token_f1(case: ak.Case, response: ak.Response) -> float:
        return 1.0

    return token_f1


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def test_there_are_enough_mistakes() -> None:
    assert len(COMMANDS) + len(PYTHON) >= 65


@pytest.mark.parametrize(
    ("arguments", "words"), [row[1:] for row in COMMANDS], ids=[row[0] for row in COMMANDS]
)
def test_a_mistake_in_the_shell_names_the_fix(
    cli: Cli, project: Path, caplog: pytest.LogCaptureFixture, arguments: list[str], words: str
) -> None:
    shown = cli(*arguments)
    assert shown.code in (2, 3), shown
    assert words in shown.err + caplog.text
    assert "Traceback" not in shown.err
    assert shown.last_line.startswith(("INVALID: ", "INCOMPLETE: "))


@pytest.mark.parametrize(
    ("act", "words"), [row[1:] for row in PYTHON], ids=[row[0] for row in PYTHON]
)
def test_a_mistake_in_python_names_the_fix(
    project: Path, act: Callable[[], object], words: str
) -> None:
    with pytest.raises(ak.AnswerkeyError) as raised:
        act()
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_port_that_is_taken_is_named(cli: Cli, project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        shown = cli("view", project, "--port", taken.getsockname()[1])
    assert shown.code in (2, 3)
    assert "--port" in shown.err
