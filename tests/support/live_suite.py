"""A suite on disk for tests of live runs: numbered cases, a word-recall profile, and a bot given by its address."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.results import latest_run

from answerkey.runs.store import read_outcomes
from answerkey.types import Outcome

PROFILE = """
[profile]
name = "words"
version = {version}
pass = {mark}
criteria = [{{ metric = "keyword_recall", weight = 1 }}]
bands = [{{ name = "good", at = 0.5, status = "PASSED" }}, {{ name = "bad", at = 0, status = "FAILED" }}]
"""


class LiveSuite:
    """`write` again to change it; `run` is the newest run's folder."""

    def __init__(self, folder: Path, target: dict[str, Any], count: int = 40) -> None:
        self.folder, self.target, self.count = folder, target, count
        self.mark, self.version, self.more = 0.5, 1, ""
        self.path = folder / "suite.toml"
        self.write()

    def write(self) -> None:
        table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in self.target.items())
        head = 'name = "live"\ncases = ["cases.jsonl"]\nembedding = "none"\n'
        profile = PROFILE.format(version=self.version, mark=self.mark)
        self.path.write_text(f"{head}{profile}\n[target]\n{table}\n{self.more}")
        self.write_cases(case(n) for n in range(self.count))

    def write_cases(self, cases: Iterable[dict[str, Any]]) -> None:
        (self.folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))

    @property
    def run(self) -> Path:
        found = latest_run(self.folder / "results", "live")
        assert found is not None, "there is no run"
        return found

    def outcomes(self) -> dict[str, Outcome]:
        return {outcome.case.id: outcome for outcome in read_outcomes(self.run)}

    def results(self) -> list[dict[str, Any]]:
        """Every line of results.jsonl, but for the times, which differ from run to run."""
        lines = (self.run / "results.jsonl").read_text().splitlines()
        return [{**json.loads(line), "response_time": None} for line in lines]


def case(n: int) -> dict[str, Any]:
    return {"id": f"c{n}", "question": question(n), "expected": f"topic{n} explained"}


def question(n: int) -> str:
    return f"What is topic{n}?"


def right(body: dict[str, Any]) -> dict[str, Any]:
    """The answer of a good bot."""
    topic = body["question"].removeprefix("What is ").removesuffix("?")
    return {"answer": f"Here is {topic} explained.", "sources": ["handbook.pdf"]}
