"""Laws of every kind of target: many threads at once, each gets its own answer; nothing raises; closing is safe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.support.loopback import Bot

from answerkey.targets.resolve import BOTS, KINDS, make_target
from answerkey.types import Question, Response, Turn

pytestmark = pytest.mark.network

FUNCTIONS = """
import asyncio, random, time
from answerkey import Response

def plain(question, history):
    time.sleep(random.random() / 100)
    return f"{question} after {len(history)}"

async def later(question, history):
    await asyncio.sleep(random.random() / 100)
    return {"answer": f"{question} after {len(history)}"}

class Maker:
    def ask(self, question):
        return Response(answer=f"{question.text} after {len(question.history)}")

def make(settings, folder):
    return Maker()
"""
PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "answer": f"{asked['question']} after {len(asked['history'])}"}), flush=True)
"""


NUMBERS, EVENTS = count(), dict[int, str]()


def serve(body: Any) -> Any:
    """A JSON endpoint, a chat endpoint and a Gradio app in one."""
    if isinstance(body, str):
        text = EVENTS[int(body.rpartition("/")[2])]
        return 200, "text/event-stream", f"event: complete\ndata: {json.dumps([text])}\n\n".encode()
    if "messages" in body:
        text = f"{body['messages'][-1]['content']} after {len(body['messages']) // 2}"
        return {"choices": [{"message": {"content": text}}]}
    if "data" in body:
        number = next(NUMBERS)
        EVENTS[number] = f"{body['data'][0]} after {len(body['data'][1])}"
        return {"event_id": str(number)}
    return {"answer": f"{body['question']} after {len(body.get('history', []))}"}


@pytest.fixture(
    params=["plain", "later", "made", "http", "chat", "gradio", "command", "three programs"]
)
def target(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "lawful_bot.py").write_text(FUNCTIONS)
    (tmp_path / "program.py").write_text(PROGRAM)
    with Bot(serve) as bot:
        run = [sys.executable, "-S", "program.py"]
        table: dict[str, Any] = {
            "plain": {"call": "lawful_bot:plain"},
            "later": {"call": "lawful_bot:later"},
            "made": {"make": "lawful_bot:make"},
            "http": {"url": bot.url},
            "chat": {"openai": bot.url, "model": "m"},
            "gradio": {"gradio": bot.url, "data": ["{question}", "{history}"]},
            "command": {"run": run},
            "three programs": {"run": run, "processes": 3},
        }[request.param]
        made = make_target(table, tmp_path)
        yield made
        made.close()
        made.close()


def test_each_question_gets_its_own_answer(target: Any) -> None:
    questions = [
        Question(f"c{n}", f"question {n}", (Turn("hello", "hi"),) * (n % 3)) for n in range(60)
    ]
    with ThreadPoolExecutor(12) as pool:
        responses: list[Response] = list(pool.map(target.ask, questions))
    assert [r.error for r in responses] == [None] * 60
    assert [r.answer for r in responses] == [f"question {n} after {n % 3}" for n in range(60)]
    assert all(r.seconds is not None and r.seconds > 0 for r in responses)


@pytest.mark.parametrize(
    "text",
    [
        "{question} {id} ${HOME} %s",
        '"quoted" \\ back',
        "línea\nnueva\ttab",
        "😀 مرحبا \u202e",
        "x" * 100_000,
    ],
)
def test_the_question_arrives_as_it_was_asked(target: Any, text: str) -> None:
    got = target.ask(Question("c", text))
    assert (got.answer, got.error) == (f"{text} after 0", None)


def test_every_kind_is_covered() -> None:
    assert set(KINDS) - set(BOTS) == {"recorded", "python", "http", "command"}
