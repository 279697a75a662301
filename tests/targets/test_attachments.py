"""Images and other files of a case reach every kind of target."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.loopback import Bot
from tests.support.own_files import Cli

from answerkey.targets.attachments import read_files
from answerkey.targets.resolve import make_target
from answerkey.types import Question

PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(20)
PIXEL_URL = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
ASK = Question("c1", "How many cats?", files=("cat.png", "https://example.org/dog.jpg"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cat.png").write_bytes(PIXEL)
    return tmp_path


@pytest.mark.parametrize(
    ("columns", "files"),
    [
        ({"image": "cat.png"}, ("cat.png",)),
        ({"files": ["a.pdf", {"path": "b.pdf"}, {"url": "http://x/c.png"}]}, ("a.pdf", "b.pdf", "http://x/c.png")),
        ({"images": '["a.png", "b.png"]', "image": "a.png"}, ("a.png", "b.png")),
        ({"image_url": {"url": "data:image/png;base64,AA=="}}, ("data:image/png;base64,AA==",)),
        ({"image": "", "files": None, "topic": "cats"}, ()),
    ],
)  # fmt: skip
def test_files_are_read_from_the_usual_columns(columns: Any, files: tuple[str, ...]) -> None:
    assert read_files(columns) == files


def _ask(table: dict[str, Any], folder: Path, question: Question = ASK) -> Any:
    target = make_target(table, folder)
    try:
        return target.ask(question)
    finally:
        target.close()


def test_a_function_takes_files_or_one_image(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "imagebot.py").write_text(
        "def with_files(question, files): return ' '.join(files)\n"
        "def with_image(question, *, image=None): return str(image)\n"
        "def without(question): return question\n"
    )
    cat = str((folder / "cat.png").resolve())
    answers = {
        name: _ask({"call": f"imagebot:{name}"}, folder).answer
        for name in ("with_files", "with_image", "without")
    }
    assert answers == {
        "with_files": f"{cat} https://example.org/dog.jpg",
        "with_image": cat,
        "without": "How many cats?",
    }
    assert _ask({"call": "imagebot:with_image"}, folder, Question("c", "?")).answer == "None"
    sys.modules.pop("imagebot", None)


def test_a_program_gets_the_files(folder: Path) -> None:
    (folder / "bot.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'answer': ' '.join(json.loads(line)['files'])}), flush=True)\n"
    )
    answer = _ask({"run": [sys.executable, "-S", "bot.py"]}, folder).answer
    assert answer == f"{(folder / 'cat.png').resolve()} https://example.org/dog.jpg"


@pytest.mark.network
def test_an_endpoint_gets_the_places_filled(folder: Path) -> None:
    body = {"q": "{question}", "path": "{image}", "data": "{image_data}", "all": "{files}"}
    with Bot() as bot:
        _ask({"url": bot.url, "body": body}, folder)
        _ask({"url": bot.url, "body": body}, folder, Question("c", "Hi"))
        cat = str((folder / "cat.png").resolve())
        assert bot.requests[0]["body"] == {
            "q": "How many cats?",
            "path": cat,
            "data": PIXEL_URL,
            "all": [cat, "https://example.org/dog.jpg"],
        }
        assert bot.requests[1]["body"] == {"q": "Hi", "path": None, "data": None, "all": []}


@pytest.mark.network
def test_a_chat_endpoint_gets_images_as_parts_of_the_message(folder: Path) -> None:
    reply = {"choices": [{"message": {"content": "Two."}}]}
    with Bot(lambda body: reply) as bot:
        assert _ask({"openai": bot.url, "model": "m"}, folder).answer == "Two."
        assert bot.requests[0]["body"]["messages"][-1]["content"] == [
            {"type": "text", "text": "How many cats?"},
            {"type": "image_url", "image_url": {"url": PIXEL_URL}},
            {"type": "image_url", "image_url": {"url": "https://example.org/dog.jpg"}},
        ]


@pytest.mark.network
def test_a_gradio_app_gets_null_images_and_patterns(folder: Path) -> None:
    output = ["ignored", "Route: [docs]\nAnswer: Two cats."]
    stream = f"event: complete\ndata: {json.dumps(output)}\n\n".encode()

    def reply(body: Any) -> Any:
        if bot.requests[-1]["path"].endswith("/predict"):
            return {"event_id": "e1"}
        return 200, "text/event-stream", stream

    table = {
        "data": '[null, "{question}", "{image}"]',  # TOML has no null
        "answer": r"$[1] re:Answer: (.*)",
        "route": r"$[1] re:Route: \[(\w+)\]",
    }
    with Bot(reply) as bot:
        response = _ask({"gradio": bot.url, **table}, folder)
        file = {"url": PIXEL_URL, "meta": {"_type": "gradio.FileData"}}
        assert bot.requests[0]["body"] == {"data": [None, "How many cats?", file]}
        assert (response.answer, response.route) == ("Two cats.", "docs")
        response = _ask({"gradio": bot.url, **table, "answer": "$[1] re:Result: (.*)"}, folder)
        assert 'nothing at "$[1] re:Result: (.*)"' in (response.error or "")


@pytest.mark.network
def test_a_file_that_is_missing_is_an_error_that_names_it(folder: Path) -> None:
    with Bot() as bot:
        question = Question("c", "Hi", files=("missing.png",))
        response = _ask({"openai": bot.url, "model": "m"}, folder, question)
    assert response.error == "the file cannot be read: missing.png: No such file or directory"


def test_the_image_column_of_a_case_reaches_the_bot(cli: Cli, folder: Path) -> None:
    (folder / "bot.py").write_text("def answer(question, image): return image[-7:]\n")
    cases = [{"id": "q1", "question": "What is it?", "image": "cat.png", "expected": "cat.png"}]
    (folder / "cases.json").write_text(json.dumps(cases))
    suite = folder / "suite.toml"
    suite.write_text(
        'cases = ["cases.json"]\nmetrics = ["exact_match"]\n[target]\ncall = "bot:answer"\n'
    )
    shown = cli("run", suite, "--json", "--no-charts")
    assert json.loads(shown.out)["average_scores"]["exact_match"]["mean"] == 1.0
    assert "not used by any metric" not in shown.err
