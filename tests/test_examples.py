"""Every example is run as its README says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from answerkey.cli.main import command_line

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SUITES = {"faq-bot": 0, "rag-docs": 0, "kpi-bot": 0, "judged-qa": 0}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command_line, list(arguments))


def module(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def results(out: Path) -> dict[str, dict[str, object]]:
    (path,) = out.glob("*/results.jsonl")
    return {
        line["id"]: line for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }


@pytest.mark.parametrize("example", SUITES)
def test_a_suite_runs(example: str, tmp_path: Path) -> None:
    done = run(
        "run",
        str(EXAMPLES / example / "suite.toml"),
        "--out",
        str(tmp_path),
        "--no-charts",
        "--quiet",
    )
    assert done.exit_code == SUITES[example], done.output
    lines = results(tmp_path)
    assert lines
    assert all(
        score["error"] is None for line in lines.values() for score in line["scores"].values()
    )  # type: ignore[union-attr, attr-defined]


def test_the_wrong_answer_is_found(tmp_path: Path) -> None:
    run(
        "run",
        str(EXAMPLES / "judged-qa" / "suite.toml"),
        "--out",
        str(tmp_path),
        "--no-charts",
        "--quiet",
    )
    status = {case: line["verdict"]["status"] for case, line in results(tmp_path).items()}  # type: ignore[index]
    assert status == {
        "cases#Q1": "PASSED",
        "cases#Q2": "PASSED",
        "cases#Q3": "FAILED",
        "cases#Q4": "PASSED",
    }


def test_two_questions_of_the_faq_fail_as_its_readme_says(tmp_path: Path) -> None:
    run(
        "run",
        str(EXAMPLES / "faq-bot" / "suite.toml"),
        "--out",
        str(tmp_path),
        "--no-charts",
        "--quiet",
    )
    lines = results(tmp_path)
    status = {case: line["verdict"]["status"] for case, line in lines.items()}  # type: ignore[index]
    assert status == {
        "cases#Q1": "PASSED",
        "cases#Q2": "PASSED",
        "cases#Q3": "FAILED",
        "cases#Q4": "FAILED",
    }
    assert str(lines["cases#Q3"]["answer"]).startswith("No match")
    assert "Canal Street" in str(lines["cases#Q4"]["answer"])
    assert not any("yes against no" in json.dumps(lines[case]) for case in ("cases#Q3", "cases#Q4"))


def test_the_documents_are_found_and_the_answers_are_good_as_the_readme_says(
    tmp_path: Path,
) -> None:
    run(
        "run",
        str(EXAMPLES / "rag-docs" / "suite.toml"),
        "--out",
        str(tmp_path),
        "--no-charts",
        "--quiet",
    )
    lines = results(tmp_path).values()
    assert {line["verdict"]["band"] for line in lines} == {"good"}  # type: ignore[index]
    assert {line["scores"]["recall@3"]["value"] for line in lines} == {1.0}  # type: ignore[index]
    words = [line["scores"]["keyword_recall"]["value"] for line in lines]  # type: ignore[index]
    assert round(sum(words) / len(words), 2) == 0.97


def test_stop_on_fail_stops_at_the_wrong_answer(tmp_path: Path) -> None:
    done = run(
        "run",
        str(EXAMPLES / "judged-qa" / "suite.toml"),
        "--out",
        str(tmp_path),
        "--no-charts",
        "--stop-on-fail",
    )
    assert done.exit_code == 1
    assert "90 degrees" in done.output


@pytest.mark.network
def test_a_bot_behind_an_address(tmp_path: Path) -> None:
    bot = module(EXAMPLES / "your-own-http-bot" / "server.py")
    server = ThreadingHTTPServer(("127.0.0.1", 0), bot.Bot)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        suite = str(EXAMPLES / "your-own-http-bot" / "suite.toml")
        url = f'target.url="http://127.0.0.1:{server.server_port}/ask"'
        done = run("run", suite, "--set", url, "--out", str(tmp_path), "--no-charts", "--quiet")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert done.exit_code == 0, done.output
    status = {case: line["verdict"]["status"] for case, line in results(tmp_path).items()}  # type: ignore[index]
    assert status == {"paris": "PASSED", "rome": "PASSED", "oslo": "FAILED"}


@pytest.mark.network
def test_the_live_checks_set_a_header() -> None:
    httpx = pytest.importorskip("httpx2")
    app = module(EXAMPLES / "live-checks" / "app.py").app

    async def ask(question: str) -> tuple[str, dict[str, object]]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://bot") as client:
            reply = await client.get("/ask", params={"q": question})
            return reply.headers["x-answer-quality"], reply.json()

    import asyncio

    quality, reply = asyncio.run(ask("How long can I return goods?"))
    assert quality == "passed"
    assert reply["quality"]["passed"] is True  # type: ignore[index]
    quality, _ = asyncio.run(ask("What is love?"))
    assert quality == "no_fallback"


@pytest.mark.slow
def test_the_pytest_example(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "in-your-tests",
    ]
    done = subprocess.run(
        command, cwd=tmp_path / "examples", capture_output=True, text=True, check=False, timeout=300
    )
    assert "4 passed, 1 xfailed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.filterwarnings("default")  # of Jupyter's own packages
def test_the_notebook_runs() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "notebook" / "answerkey.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [
        "".join(output["data"].get("text/html", output["data"]["text/plain"]))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    ]
    assert any("worst cases" in text for text in shown), (
        "a run is shown as a table with its worst cases"
    )
    assert any("B is better" in text for text in shown)


def test_every_example_is_listed_and_explained() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for folder in (
        path
        for path in EXAMPLES.iterdir()
        if path.is_dir() and not path.name.startswith((".", "_"))
    ):
        assert f"({folder.name})" in listed
        assert (folder / "README.md").is_file()


def test_the_action_uses_commands_that_exist() -> None:
    import yaml

    workflow = yaml.safe_load(
        (EXAMPLES / "github-action" / "answerkey.yml").read_text(encoding="utf-8")
    )
    steps = "\n".join(step.get("run", "") for step in workflow["jobs"]["score"]["steps"])
    for line in (line for line in steps.splitlines() if "answerkey " in line and "pip" not in line):
        words = line.split("answerkey ", 1)[1].split()
        options = [word for word in words if word.startswith("--")]
        helped = run(words[0], "--help").output
        assert all(option in helped for option in options), line
