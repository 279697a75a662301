"""Text from files, ids, names and settings reaches the terminal only as inert text, on both streams."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]

# Escape sequences, a C1 control, direction overrides, invisible marks: what can steer a terminal.
HOSTILE = "x\x1b]0;PWNED\x07\x1b[2J\x9b31m\u202eabc\u2066\u200b\ufeff"
STEERING = set("\x1b\x07\x9b\u202e\u2066\u200b\ufeff\x08")
SOURCE = Path(__file__).parents[2] / "src" / "answerkey"
# Modules that may write to a stream, each with what it writes.
WRITERS = {
    "cli/output.py": "say, show and print_json make text inert",
    "cli/main.py": "the completion script and the usage line, both without text of a file",
    "cli/skill.py": "a file of the package",
    "cli/view.py": "the address of the viewer",
    "runs/progress.py": "calls `printable` first",
}


def assert_inert(ended: Any) -> None:
    shown = ended.out + ended.err
    assert not STEERING.intersection(shown), ascii(shown[-1500:])
    assert "Traceback" not in shown
    assert ended.code in (0, 1, 2, 3)


def hostile_files(write: Write) -> dict[str, Path]:
    row = {"id": HOSTILE, "question": HOSTILE, "expected": "a", "answer": HOSTILE, HOSTILE: HOSTILE}
    row |= {"type": HOSTILE, "expected_route": HOSTILE, "route": HOSTILE, "sources": [HOSTILE]}
    row["contexts"] = [{"text": HOSTILE, "id": HOSTILE}]
    columns = ["id", "question", "expected", "answer", HOSTILE]
    cells = ["1", HOSTILE, "a", HOSTILE, "b"]
    yaml = "".join(f"{'- ' if n == 0 else '  '}{json.dumps(name)}: {json.dumps(HOSTILE)}\n"
                   for n, name in enumerate(("id", "question", "answer", HOSTILE)))  # fmt: skip
    return {
        "csv": write("rows.csv", ",".join(columns) + "\n" + ",".join(cells) + "\n"),
        "tsv": write("rows.tsv", "\t".join(columns) + "\n" + "\t".join(cells) + "\n"),
        "jsonl": write("rows.jsonl", [row]),
        "json": write("rows.json", [row, row]),
        "yaml": write("rows.yaml", yaml),
        "markdown": write("rows.md", f"### Q1: {HOSTILE}\n**A2:** {HOSTILE}\n"),
        "conversation": write(
            "talk.yaml",
            f"name: {json.dumps(HOSTILE)}\nconversation:\n"
            f"  - user: {json.dumps(HOSTILE)}\n    {json.dumps(HOSTILE)}: 1\n",
        ),
        "broken": write("broken.json", '[{"question": ' + HOSTILE + "}]"),
    }


FORMATS = ("csv", "tsv", "jsonl", "json", "yaml", "markdown", "conversation", "broken")


@pytest.mark.parametrize("format_name", FORMATS)
def test_notices_and_errors_of_case_files_are_inert(
    cli: Cli, write: Write, format_name: str, tmp_path: Path
) -> None:
    path = hostile_files(write)[format_name]
    assert_inert(cli("cases", path))
    assert_inert(cli("cases", path, "--json"))
    metrics = "token_f1,recall@5,route_score"
    assert_inert(cli("score", path, "--metrics", metrics, "--out", tmp_path / "o", "--no-charts"))


def test_every_output_about_a_hostile_run_is_inert(cli: Cli, write: Write, tmp_path: Path) -> None:
    path = hostile_files(write)["jsonl"]
    for name in ("a", "b"):
        ended = cli(
            "score", path, "--profile", "route-aware", "--out", tmp_path / name, "--no-charts"
        )
        assert_inert(ended)
    runs = [next((tmp_path / name).iterdir()) for name in ("a", "b")]
    for command in (
        ("summary", runs[0]), ("summary", runs[0], "--json"), ("summary", runs[0], "--by", "type"),
        ("report", runs[0]), ("compare", *runs), ("compare", *runs, "--json"), ("compare", *runs, "--gate"),
        ("label-next", runs[0]), ("rescore", runs[0], "--metrics", "token_f1", "--no-charts"),
    ):  # fmt: skip
        assert_inert(cli(*command))


@pytest.mark.parametrize(
    "suite",
    [
        f'cases = ["rows.csv"]\n{json.dumps(HOSTILE)} = 1\n',
        f'cases = ["rows.csv"]\nprofile = {json.dumps(HOSTILE)}\n',
        f'cases = ["rows.csv"]\nmetrics = [{json.dumps(HOSTILE)}]\n',
        f"cases = [{json.dumps(HOSTILE)}]\n",
        f'cases = ["rows.csv"]\nname = {json.dumps(HOSTILE)}\nmetrics = ["token_f1"]\n[target]\nkind = "recorded"\n',
        f'cases = ["rows.csv"]\nmetrics = ["token_f1"]\n[target]\nkind = {json.dumps(HOSTILE)}\n',
        f'cases = ["rows.csv"]\nmetrics = ["token_f1"]\n[target]\nurl = {json.dumps("http://" + HOSTILE)}\n',
        f'cases = ["rows.csv"]\nmetrics = ["token_f1"]\njudge = {json.dumps(HOSTILE)}\n[target]\nkind = "recorded"\n',
        f'cases = ["rows.csv"]\nmetrics = ["token_f1"]\nmodules = [{json.dumps(HOSTILE)}]\n[target]\nkind = "recorded"\n',
        f'cases = ["rows.csv"]\nmetrics = ["token_f1"]\n[target]\nkind = "recorded"\n[gate]\nrequire = [{json.dumps(HOSTILE)}]\n',
        f'cases = ["rows.csv"]\nmetrics = ["token_f1"]\n[target]\nkind = "recorded"\n[settings.token_f1]\n{json.dumps(HOSTILE)} = 1\n',
    ],
    ids=["key", "profile", "metric", "case file", "name", "target", "address", "judge", "module", "gate", "setting"],
)  # fmt: skip
def test_errors_of_suites_are_inert(cli: Cli, write: Write, suite: str) -> None:
    hostile_files(write)
    assert_inert(cli("run", write("s.toml", suite), "--no-charts"))


@pytest.mark.parametrize(
    "command",
    [
        ("run", HOSTILE), ("cases", HOSTILE), ("score", HOSTILE), ("summary", HOSTILE), ("report", HOSTILE),
        ("compare", HOSTILE, HOSTILE), ("profiles", "show", HOSTILE), ("metrics", HOSTILE), (HOSTILE,),
        ("sweep", HOSTILE), ("rank", HOSTILE), ("diagnose", HOSTILE), ("view", HOSTILE), ("run", f"--{HOSTILE}"),
    ],
    ids=lambda command: command[0].partition("\x1b")[0],
)  # fmt: skip
def test_arguments_come_back_inert(cli: Cli, command: tuple[str, ...]) -> None:
    assert_inert(cli(*command))


def test_a_profile_with_hostile_names_is_inert(cli: Cli, write: Write) -> None:
    profile = f"name = {json.dumps(HOSTILE)}\nversion = 1\n[[criteria]]\nmetric = {json.dumps(HOSTILE)}\nweight = 1\n"
    cases = write("c.json", [{"id": "1", "question": "q", "answer": "a", "expected": "a"}])
    assert_inert(cli("score", cases, "--profile", write("p.toml", profile), "--no-charts"))


def test_only_a_few_modules_write_to_a_stream() -> None:
    """A new `print` or `click.echo` elsewhere would bypass the function that makes text inert."""
    writing = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if _writes_to_a_stream(ast.parse(path.read_text(encoding="utf-8")))
        and "demo/world" not in path.as_posix()
    }
    assert writing == set(WRITERS)


def _writes_to_a_stream(module: ast.Module) -> bool:
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in ("print", "click.echo", "click.secho"):
            return True
        if called in ("sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write"):
            return True
    return False
