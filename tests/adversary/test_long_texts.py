"""L7: metrics read a stated part of very long texts, and a late second reply is no answer."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.metrics.length_limits import LONGEST_ANSWER, LONGEST_PASSAGE
from answerkey.types import Case, Response

Write = Callable[[str, object], Path]
ANSWER_NOTE = "only the first 100,000 of 3,000,021 characters of the answer were read"
PASSAGE_NOTE = "only the first 1,000,000 of 3,000,021 characters of a passage were read"
LONG = "Refunds take 30 days." + " word" * 600_000


def evaluate(answer: str, context: str, *metrics: Any) -> dict[str, ak.Score]:
    row = {
        "question": "How long do refunds take?",
        "expected": "Refunds take 30 days.",
        "answer": answer,
        "contexts": [context],
    }
    (outcome,) = ak.evaluate([row], list(metrics), progress=False)
    return dict(outcome.scores)


def test_a_very_long_answer_is_read_to_the_limit_and_the_score_says_so() -> None:
    names = ("token_f1", "groundedness:words", "abstention", "exact_match")
    whole = evaluate(LONG, "Refunds take 30 days.", *names)
    cut = evaluate(LONG[:LONGEST_ANSWER], "Refunds take 30 days.", *names)
    for name in names:
        assert whole[name].value == cut[name].value, name
        assert whole[name].reason.endswith(ANSWER_NOTE), name
        assert "were read" not in cut[name].reason


def test_a_very_long_passage_is_read_to_the_limit() -> None:
    names = ("groundedness:words", "token_f1")
    whole = evaluate("Refunds take 30 days.", LONG, *names)
    cut = evaluate("Refunds take 30 days.", LONG[:LONGEST_PASSAGE], *names)
    assert whole["groundedness:words"].value == cut["groundedness:words"].value
    assert whole["groundedness:words"].reason.endswith(PASSAGE_NOTE)
    # This metric reads no passage, so nothing was cut for it.
    assert "were read" not in whole["token_f1"].reason


def test_the_length_and_a_metric_of_the_user_see_the_whole_answer() -> None:
    def seen(case: Case, response: Response) -> float:
        return float(len(response.answer or ""))

    scores = evaluate(LONG, "x", "answer_length", seen)
    assert scores["answer_length"].value == len(LONG)
    assert scores["answer_length"].reason == ""
    assert scores["seen"].error or scores["seen"].value == len(LONG)


def test_a_verdict_on_a_very_long_answer_is_explained() -> None:
    row = {
        "id": "1",
        "question": "Where?",
        "expected": "In Paris.",
        "answer": "no " * 1_000_000 + "end",
    }
    (outcome,) = ak.evaluate([row], profile="rag", progress=False)
    assert outcome.verdict.passed is False
    assert outcome.verdict.why
    assert outcome.response.answer == row["answer"]  # kept whole in the results


def _reply(text: str) -> bytes:
    body = json.dumps({"answer": text}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class _Twice(socketserver.StreamRequestHandler):
    """Sends each reply twice."""

    def handle(self) -> None:
        length = 0
        with suppress(ConnectionError):
            while line := self.rfile.readline():
                name, _, value = line.decode().partition(":")
                if name.lower() == "content-length":
                    length = int(value)
                if not line.strip():
                    question = json.loads(self.rfile.read(length))["question"]
                    self.wfile.write(_reply(f"answer to {question}") * 2)


@pytest.fixture
def late_server() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Twice) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.network
def test_a_second_reply_is_not_the_answer_to_the_next_question(
    late_server: int, cli: Callable[..., Any], write: Write, tmp_path: Path
) -> None:
    rows = [{"id": str(n), "question": f"q{n}", "expected": f"answer to q{n}"} for n in range(12)]
    write("cases.json", rows)
    suite = (
        'cases = ["cases.json"]\nmetrics = ["exact_match"]\n[run]\nworkers = 1\n'
        f'[target]\nurl = "http://127.0.0.1:{late_server}/"\nanswer = "$.answer"\n'
    )
    ended = cli("run", write("s.toml", suite), "-q", "--no-charts")
    assert ended.code == 0, ended.err
    (path,) = tmp_path.glob("results/*/results.jsonl")
    answers = [json.loads(line)["answer"] for line in path.read_text().splitlines()]
    assert answers == [row["expected"] for row in rows]
