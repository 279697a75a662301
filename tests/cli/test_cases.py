"""`answerkey cases` on traces and logs: sample, conditions, output, personal data; and the way on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import answerkey as ak

Write = Callable[[str, object], Path]


def _span(number: int, **attributes: object) -> dict[str, object]:
    start = 1_700_000_000_000_000_000 + number * 10**10
    return {
        "trace_id": f"t{number:03}",
        "span_id": f"s{number}",
        "start_time": start,
        "end_time": start + 10**9 * (1 + number % 5),
        "attributes": {
            "openinference.span.kind": "CHAIN",
            "input.value": f"Question {number} of ann{number}@example.org, +49 228 1234567?",
            "output.value": "Paris is the capital of France." if number % 4 else "I do not know.",
            "session.id": f"c{number // 3}",
            "feedback": "down" if number % 4 == 0 else "up",
            **attributes,
        },
    }


def _traces(write: Write, count: int = 40) -> Path:
    return write("traces.jsonl", [_span(number) for number in range(count)])


def test_regression_cases_of_a_trace(cli: Callable[..., Any], write: Write, tmp_path: Path) -> None:
    out = tmp_path / "regressions.jsonl"
    shown = cli(
        "cases", _traces(write), "--sample", 5, "--where", "feedback=down", "--where", "latency>=1", "--out", out,
        "--hide", "emails,phones",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    assert shown.last_line == f"DONE: 5 cases written to {out}"
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["answer"] for row in rows] == ["I do not know."] * 5
    assert all("[email]" in row["question"] and "[phone]" in row["question"] for row in rows)
    assert all("@" not in line for line in out.read_text().splitlines())
    again = cli("cases", out, "--json")
    assert [row["id"] for row in again.json] == [row["id"] for row in rows]
    assert [row["extra"]["conversation"] for row in again.json] == [
        row["conversation"] for row in rows
    ]


def test_the_same_seed_draws_the_same_sample(cli: Callable[..., Any], write: Write) -> None:
    traces = _traces(write)
    first = cli("cases", traces, "--sample", 7)
    second = cli("cases", traces, "--sample", 7)
    other = cli("cases", traces, "--sample", 7, "--seed", 1)
    assert first.out == second.out != other.out
    assert len(first.out.splitlines()) == 7


def test_conditions_that_cannot_be_met(
    cli: Callable[..., Any], write: Write, tmp_path: Path
) -> None:
    traces = _traces(write)
    shown = cli("cases", traces, "--where", "feedbak=down")
    assert shown.code == 2
    assert 'no case has the column "feedbak"; did you mean "feedback"?' in shown.last_line
    shown = cli("cases", traces, "--where", "feedback")
    assert shown.code == 2
    assert "expected COLUMN=VALUE" in shown.last_line
    shown = cli("cases", traces, "--hide", "emials")
    assert shown.code == 2
    assert 'did you mean "emails"?' in shown.last_line
    out = tmp_path / "none.jsonl"
    shown = cli("cases", traces, "--where", "question~volcano", "--out", out)
    assert shown.code == 2
    assert not out.exists()


def test_score_of_a_trace_has_clusters_and_a_corrected_rate(
    cli: Callable[..., Any], write: Write, tmp_path: Path
) -> None:
    rows = [_span(number) for number in range(40)]
    shown = cli(
        "score", write("traces.jsonl", rows), "--profile", "rag",
        "--out", tmp_path / "runs", "--no-charts", "--json",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    (run,) = (tmp_path / "runs").glob("score_*")
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len(lines) == 40
    labels = cli("label-next", run, "--json")
    assert labels.code == 0, labels.err
    assert "40" in labels.out


def test_evaluate_reads_a_trace(write: Write) -> None:
    run = ak.evaluate(str(_traces(write, 6)), metrics=["refusal"])
    assert len(list(run)) == 6
