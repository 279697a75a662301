"""Python functions as targets: every way people write them, and every way they go wrong."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path
from textwrap import dedent

import pytest

import answerkey
from answerkey.errors import SettingsError
from answerkey.targets.resolve import make_target
from answerkey.types import Question, Response, Target, Turn

ASK = Question("c1", "How old?")
TALK = Question("c2", "And now?", (Turn("How old?", "Nine."),))


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a module beside the suite and makes a target of its `answer`."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    made: list[Target] = []

    def make(source: str, **table: object) -> Target:
        (tmp_path / "mybot.py").write_text(dedent(source))
        made.append(make_target({"kind": "python", "call": "mybot:answer", **table}, tmp_path))
        return made[-1]

    yield make
    for target in made:
        target.close()
    sys.modules.pop("mybot", None)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        ("def answer(question): return f'<{question}>'", "<And now?>"),
        ("def answer(question, history): return f'{question} {history}'", "And now? [{'user': 'How old?', 'answer': 'Nine.'}]"),
        ("def answer(q, turns): return turns[0]['answer']", "Nine."),
        ("def answer(q, temperature=0.5, *, history=()): return history[0]['user']", "How old?"),
        ("def answer(q, temperature=0.5): return str(temperature)", "0.5"),
        ("def answer(*args): return str(len(args))", "1"),
        ("async def answer(q): return q.upper()", "AND NOW?"),
        ("async def answer(q, history): return str(len(history))", "1"),
        ("class Bot:\n    async def __call__(self, q): return 'called ' + q\nanswer = Bot()", "called And now?"),
        ("from functools import partial\nasync def f(p, q): return p + q\nanswer = partial(f, '>')", ">And now?"),
        ("answer = str.upper", "AND NOW?"),
        ("from answerkey import Response\ndef answer(q): return Response(answer='r', route='kpi')", "r"),
        ("def answer(q): return {'output': 'out'}", "out"),
        ("def answer(q): return {'answer': 42}", "42"),
    ],
)  # fmt: skip
def test_every_way_to_write_it(bot, source: str, answer: str) -> None:
    response = bot(source).ask(TALK)
    assert (response.answer, response.error) == (answer, None)
    assert response.seconds is not None


def test_all_fields_of_a_dict(bot) -> None:
    target = bot("""
        def answer(question):
            return {
                "response": "Nine.", "route": " kpi ", "sources": ["a.pdf", {"title": "B"}], "retrieved_pages": [34, " 7 "],
                "contexts": ["one", {"page_content": "two", "metadata": {"page": 3}, "score": 0.5, "id": 9}, {"text": "three", "score": float("nan")}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5}, "cost": 0.25, "mood": "good", "odd": {1, }, "nan": float("nan"),
            }
    """)  # fmt: skip
    got = target.ask(ASK)
    assert (got.answer, got.route, got.sources, got.retrieved) == (
        "Nine.",
        "kpi",
        ("a.pdf", "B"),
        ("34", "7"),
    )
    assert [(p.text, p.id, p.page, p.score) for p in got.passages] == [
        ("one", None, None, None),
        ("two", "9", "3", 0.5),
        ("three", None, None, None),
    ]
    assert (got.prompt_tokens, got.completion_tokens, got.cost) == (10, 5, 0.25)
    assert got.extra == {"mood": "good", "odd": "{1}", "nan": "nan"}


def test_a_retriever_needs_no_answer(bot) -> None:
    got = bot("def answer(q): return {'retrieved': ['d1', 'd2']}").ask(ASK)
    assert (got.answer, got.error, got.retrieved) == (None, None, ("d1", "d2"))


@pytest.mark.parametrize(
    ("source", "error", "kind"),
    [
        ("def answer(q): return None", "returned None", "content"),
        ("def answer(q): return ''", "empty answer", "content"),
        ("def answer(q): return {'answer': ' \\n'}", "empty answer", "content"),
        ("def answer(q): return {'mood': 'fine'}", "no answer", "content"),
        ("def answer(q): return ['a', 'b']", "returned list", "content"),
        ("def answer(q): return {'answer': ['x']}", "expected text", "content"),
        ("def answer(q): return 'x' * 50_000_000", "more than 10 MB", "content"),
        ("def answer(q): return 'half \\ud83d'", "not valid text", "content"),
        ("def answer(q): return {'error': 'quota used up'}", "quota used up", "content"),
        (
            "def answer(q): raise ValueError('bad\\nthing')",
            "raised ValueError: bad thing",
            "content",
        ),
        ("import sys\ndef answer(q): sys.exit(3)", "raised SystemExit", "content"),
        ("async def answer(q): raise SystemExit(3)", "raised SystemExit", "content"),
        (
            "def answer(q): raise ConnectionRefusedError('no')",
            "ConnectionRefusedError: no",
            "infrastructure",
        ),
        ("async def answer(q): raise TimeoutError('mine')", "TimeoutError: mine", "infrastructure"),
        (
            "import time\ndef answer(q): time.sleep(60)",
            "timed out: no answer within 0.2 s",
            "infrastructure",
        ),
        (
            "import asyncio\nasync def answer(q): await asyncio.sleep(60)",
            "timed out",
            "infrastructure",
        ),
    ],
)
def test_each_failure_is_an_error_of_that_question_only(
    bot, source: str, error: str, kind: str
) -> None:
    got = bot(source, timeout=0.2 if "sleep" in source else 20).ask(ASK)
    assert got.answer is None
    assert error in (got.error or "")
    assert got.error_kind == kind
    assert got.error_name in (got.error or "")


def test_a_hang_does_not_stop_the_others(bot) -> None:
    target = bot(
        """
        import asyncio, time
        async def answer(q):
            if q == "block": time.sleep(2.5)   # blocks the whole loop, as careless async code does
            await asyncio.sleep(0)
            return "fine"
        """,
        timeout=0.2,
    )
    assert "timed out" in (target.ask(Question("1", "block")).error or "")
    answers = [target.ask(Question(str(n), "go")).answer for n in range(20)]
    assert "fine" in answers[-1:], "a loop that is stuck is left behind"


def test_inside_a_running_loop(bot) -> None:
    target = bot("async def answer(q): return q")

    async def notebook() -> Response:
        return target.ask(ASK)

    assert asyncio.run(notebook()).answer == "How old?"
    assert asyncio.run(notebook()).answer == "How old?"


def test_a_thread_is_used_again(bot) -> None:
    """A bot's thread-local client is made once."""
    target = bot("import threading\ndef answer(q): return str(threading.get_ident())")
    assert len({target.ask(ASK).answer for _ in range(20)}) <= 2


def test_never_more_at_once_than_the_limit(bot) -> None:
    target = bot(
        """
        import threading, time
        now = most = 0
        lock = threading.Lock()
        def answer(q):
            global now, most
            with lock: now += 1; most = max(most, now)
            time.sleep(0.01)
            with lock: now -= 1
            return str(most)
        """,
        concurrency=2,
    )
    responses: list[Response] = []
    threads = [
        threading.Thread(target=lambda: responses.append(target.ask(ASK))) for _ in range(10)
    ]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = time.perf_counter() - start
    assert max(int(r.answer or 99) for r in responses) == 2
    # Two at a time, so the times add up to no more than twice the whole; with the waiting in them, to more.
    assert sum(r.seconds or 0 for r in responses) <= 2 * whole


def test_retries_only_when_asked_for_and_only_of_infrastructure(bot) -> None:
    source = """
        calls = []
        def answer(q):
            calls.append(q)
            if q == "content": raise ValueError("no")
            if len(calls) < 3: raise ConnectionError("down")
            return str(len(calls))
    """
    assert bot(source).ask(ASK).error == "ConnectionError: down"
    sys.modules.pop("mybot")
    patient = bot(source, retries=2, retry_wait=0.001)
    assert patient.ask(Question("x", "content")).error == "raised ValueError: no"
    assert len(sys.modules["mybot"].calls) == 1
    sys.modules["mybot"].calls.clear()
    got = patient.ask(ASK)
    assert (got.answer, got.extra["tries"]) == ("3", 3)


def test_warm_up_asks_something_else_first(bot) -> None:
    target = bot(
        "calls = []\ndef answer(q):\n    calls.append(q)\n    return q",
        warmup=2,
        warmup_question="Ready?",
    )
    assert [target.ask(ASK).answer, target.ask(ASK).answer] == ["How old?", "How old?"]
    assert sys.modules["mybot"].calls == ["Ready?", "Ready?", "How old?", "How old?"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"call": "nowhere_at_all:f"}, "no module nowhere_at_all"),
        ({"call": "mybot:anser"}, 'did you mean "answer"'),
        ({"call": "mybot"}, 'expected "module:function"'),
        ({"call": 3}, "expected text"),
        ({}, "needs call"),
        ({"call": "mybot:nothing"}, "takes no argument"),
        ({"call": "mybot:many"}, "it needs more than"),
        ({"call": "mybot:number"}, "int cannot be called"),
        ({"call": "broken_bot:f"}, "ZeroDivisionError"),
        ({"call": "needy_bot:f"}, "needs absent_package"),
        ({"call": "mybot:answer", "timout": 3}, 'did you mean "timeout"'),
        ({"call": "mybot:answer", "timeout": 0}, "above 0"),
        ({"call": "mybot:answer", "retries": -1}, "0 or more"),
        ({"call": "mybot:answer", "concurrency": "two"}, "a whole number"),
        ({"make": "mybot:maker"}, "expected an object with ask"),
    ],
)
def test_wrong_settings_are_reported_before_the_first_question(
    tmp_path: Path, monkeypatch, table, message: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mybot", raising=False)
    (tmp_path / "mybot.py").write_text(
        "number = 3\ndef answer(q): return q\ndef nothing(): pass\ndef many(a, b, c): pass\ndef maker(s, f): return 3\n"
    )
    (tmp_path / "broken_bot.py").write_text("1 / 0\n")
    (tmp_path / "needy_bot.py").write_text("import absent_package\n")
    with pytest.raises(SettingsError, match="target") as caught:
        make_target({"kind": "python", **table}, tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_anybodys_own_bot_with_its_own_settings(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "ownbot.py").write_text(dedent("""
        from answerkey import Response
        class Bot:
            def __init__(self, settings, folder): self.settings, self.folder, self.closed = settings, folder, False
            def ask(self, question): return Response(answer=f"{sorted(self.settings)} {question.id}")
            def close(self): made.closed = True
        def make(settings, folder):
            global made
            made = Bot(settings, folder)
            return made
    """))  # fmt: skip
    target = make_target({"make": "ownbot:make", "mood": "good", "timeout": 5}, tmp_path)
    assert target.ask(ASK).answer == "['mood'] c1"
    target.close()
    assert sys.modules["ownbot"].made.closed


def test_two_suites_may_each_have_a_module_of_one_name(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    answers: list[str | None] = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "samebot.py").write_text(f"def answer(q): return '{name}'")
        answers.append(make_target({"call": "samebot:answer"}, folder).ask(ASK).answer)
    assert answers == ["a", "b"]


def test_an_edited_bot_and_what_it_imports_are_read_again(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "cases.jsonl").write_text('{"question": "q"}\n')
    (tmp_path / "my_words.py").write_text("WORD = 'old'\n")
    (tmp_path / "my_metric.py").write_text(
        "from answerkey import metric\n@metric\ndef shout(case, response):\n    return 1.0\n"
    )
    (tmp_path / "edited_bot.py").write_text(
        "import my_words\ndef answer(q):\n    return my_words.WORD\n"
    )
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'cases = ["cases.jsonl"]\nmodules = ["my_metric"]\nmetrics = ["shout"]\n[target]\ncall = "edited_bot:answer"\n'
    )

    def answer() -> str | None:
        return next(
            iter(answerkey.run_suite(suite, out=None, progress=False).outcomes)
        ).response.answer

    assert answer() == "old"
    (tmp_path / "my_words.py").write_text(
        "WORD = 'new'\n"
    )  # of the same size, within the same second
    assert answer() == "new"
    (tmp_path / "edited_bot.py").write_text("def answer(q):\n    return 'edited'\n")
    assert answer() == "edited"
    assert answer() == "edited"
