"""Whatever standard output is (another encoding, closed, a pipe that ends), commands end with the right code on one line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from adversary.attack import COMMAND, Attacked, attack, results, write_suite

BOT = "def answer(question):\n    return 'It is ' + question.split()[-1].strip('?') + '. ✓ é 日本 \\u2028 🎉'\n"
ROWS = [
    {"id": "q→1", "question": "Wie heißt 1?", "expected": "It is 1. ✓ é 日本 🎉"},
    {"id": "q2", "question": "What is 日本?", "expected": "It is 日本. ✓ é 🎉"},
]
ENCODINGS = ["cp1252", "ascii", "utf-16"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ran")
    write_suite(folder, BOT, ROWS)
    assert attack("run", folder / "suite.toml", "--no-charts").code == 0
    return next(folder.glob("results/*/run.json")).parent


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_run_passes_under_any_encoding(tmp_path: Path, encoding: str) -> None:
    suite = write_suite(tmp_path, BOT, ROWS)
    ended = attack("run", suite, "--no-charts", env={"PYTHONIOENCODING": encoding})
    assert ended.is_clean(), ended.err[-1500:]
    assert ended.code == 0
    assert [row["id"] for row in results(tmp_path)] == ["q→1", "q2"]


@pytest.mark.parametrize(
    "command",
    [
        ("summary", "RUN"), ("summary", "RUN", "--json"), ("summary", "RUN", "--by", "type"), ("report", "RUN"),
        ("compare", "RUN", "RUN"), ("compare", "RUN", "RUN", "--json"), ("cases", "CASES"), ("cases", "CASES", "--json"),
        ("metrics",), ("profiles",), ("profiles", "show", "rag"), ("score", "CASES", "--no-charts"),
        ("check",), ("--help",), ("run", "--help"), ("completion", "bash"), ("rescore", "RUN", "--no-charts"),
        ("run", "SUITE", "--dry-run"), ("doctor",), ("baseline", "show", "--suite", "SUITE"), ("nothing→",),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["ascii"])
def test_every_command_under_another_encoding(
    ran: Path, command: tuple[str, ...], encoding: str
) -> None:
    suite = ran.parents[1] / "suite.toml"
    names = {"RUN": str(ran), "CASES": str(ran.parents[1] / "cases.jsonl"), "SUITE": str(suite)}
    check = json.dumps({"question": "Wie? ✓", "answer": "日本 🎉"}).encode()
    ended = attack(
        *(names.get(word, word) for word in command),
        env={"PYTHONIOENCODING": encoding},
        stdin=check,
    )
    assert ended.is_clean(), ended.err[-1500:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("summary",), ("summary", "--json"), ("compare",), ("cases",), ("report",)]
)
def test_a_pipe_that_ends_and_a_full_disk_and_closed_output(
    ran: Path, command: tuple[str, ...]
) -> None:
    arguments = [
        command[0],
        *{"compare": [ran, ran], "cases": [ran.parents[1] / "cases.jsonl"]}.get(command[0], [ran]),
    ]
    line = " ".join(map(str, [*COMMAND, *arguments, *command[1:]]))
    for rest, codes in (
        (" | true", {0}),
        (" > /dev/full", {0, 3}),
        (" >&-", {0, 3}),
        (" >&- 2>&-", {0, 3}),
    ):
        shell = f"set -o pipefail; {line}{rest}"
        ended = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60, check=False)
        assert b"Traceback" not in ended.stderr, (rest, ended.stderr[-1500:])
        assert b"Exception ignored" not in ended.stderr, rest
        assert ended.returncode in codes, (rest, ended.stderr)


def test_a_run_with_closed_output_is_a_run(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, BOT, ROWS)
    line = " ".join(map(str, [*COMMAND, "run", suite, "--no-charts"])) + " >&- 2>&-"
    assert subprocess.run(["bash", "-c", line], timeout=60, check=False).returncode == 0
    assert len(results(tmp_path)) == 2


ESCAPE = "\x1b]0;owned\x07\x1b[2J\u202e"


@pytest.mark.parametrize(
    "where", ["id", "key", "metric", "profile", "gate", "module", "option", "case key", "path"]
)
def test_no_escape_reaches_the_terminal(
    here: Callable[..., Attacked], tmp_path: Path, where: str
) -> None:
    quoted = json.dumps(ESCAPE)
    head = {
        "metric": f"metrics = [{quoted}]",
        "module": f"modules = [{quoted}]",
        "key": f"{quoted} = 3",
    }.get(where, "")
    more = {"gate": f"[gate]\nrequire = [{json.dumps(ESCAPE + ' >= 3')}]"}.get(where, "")
    rows = [{"id": ESCAPE, "question": "What is 1?", "expected": "x"}] * (2 if where == "id" else 1)
    if where == "case key":
        rows = [{"id": "a", "question": "q", "expected": "x", "must_contain": {ESCAPE: 1}}]
    suite = write_suite(tmp_path, BOT, rows, head=head, more=more)
    if where == "profile":
        text = suite.read_text().replace('profile = "profile.toml"', f"profile = {quoted}")
        suite.write_text(text)
    arguments = {
        "option": ["--set", f"run.{ESCAPE}=3"],
        "path": ["--resume", tmp_path / ESCAPE],
    }.get(where, [])
    ended = here("run", suite, "--no-charts", *arguments)
    assert ended.is_clean(), ended.err[-1500:]
    for shown in (ended.out, ended.err):
        assert b"\x1b" not in shown
        assert b"\x07" not in shown
        assert "\u202e".encode() not in shown


def test_full_width_signs_start_no_formula_in_a_csv(
    here: Callable[..., Attacked], tmp_path: Path
) -> None:
    rows = [
        {"id": f"{sign}{n}", "question": f"{sign}cmd()", "expected": f"{sign}2"}
        for n, sign in enumerate(("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t=", " ="))
    ]
    suite = write_suite(tmp_path, "def answer(question):\n    return question\n", rows)
    assert here("run", suite, "--no-charts").is_clean()
    import csv

    run = next(tmp_path.glob("results/*/run.json")).parent
    with (run / "results.csv").open(encoding="utf-8-sig", newline="") as file:
        for row in csv.reader(file):
            for cell in row:
                assert (
                    cell.lstrip()[:1] not in set("=+-@＝＋－＠")
                    or cell.replace(".", "").lstrip("-").isdigit()
                ), cell


@pytest.mark.slow
def test_eleven_environments_give_the_same_bytes(tmp_path: Path) -> None:
    environments = [
        {}, {"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "4711"}, {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"},
        {"LANG": "tr_TR.UTF-8"}, {"TZ": "Pacific/Kiritimati"}, {"TZ": "America/St_Johns"}, {"PYTHONOPTIMIZE": "2"},
        {"PYTHONIOENCODING": "cp1252"}, {"PYTHONUTF8": "0", "LC_ALL": "C"},
    ]  # fmt: skip
    write_suite(tmp_path, BOT, [{**row, "answer": row["expected"]} for row in ROWS])
    seen = set()
    for n, env in enumerate(environments):
        out = tmp_path / f"out{n}"
        ended = attack("score", tmp_path / "cases.jsonl", "--profile", tmp_path / "profile.toml", "--out", out,
                       "--no-charts", env=env)  # fmt: skip
        assert ended.is_clean(), (env, ended.err[-800:])
        (path,) = out.rglob("results.jsonl")
        seen.add(path.read_bytes())
    assert len(seen) == 1
