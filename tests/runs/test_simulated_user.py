"""A simulated user holds a conversation with the target, and stops when it should."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from answerkey.config.tables import UserTable
from answerkey.errors import SettingsError
from answerkey.llm.chat import CallFailed, Reply
from answerkey.llm.scripted import ScriptedChat
from answerkey.runs.simulated_user import ENDED, Ended, SimulatedUser, read_user_reply
from answerkey.types import Question, Response, ToolCall, Turn

OPEN = '{"goal": "open", "message": "And on Sunday?"}'
REACHED = '{"goal": "reached", "message": ""}'
MISSED = '{"goal": "missed", "message": ""}'


class Bot:
    """Answers with the number of the turn."""

    def __init__(self, cost: float | None = None, same: bool = False) -> None:
        self.questions: list[Question] = []
        self._cost = cost
        self._same = same

    def ask(self, question: Question) -> Response:
        self.questions.append(question)
        number = 0 if self._same else len(self.questions)
        tools = (ToolCall("hours", {"turn": number}),)
        return Response(f"Answer {number}", seconds=0.5, cost=self._cost, tools=tools)

    def close(self) -> None:
        pass


def _ask(script: Any, bot: Bot | None = None, **settings: Any) -> Response:
    max_cost = settings.pop("max_cost", None)
    user = SimulatedUser(
        bot or Bot(), ScriptedChat(script), UserTable(**settings), {}, max_cost=max_cost
    )
    return user.ask(Question("q1", "When are you open?"))


def test_the_goal_is_reached() -> None:
    response = _ask([OPEN, REACHED], goal="opening hours of the whole week")
    assert response.extra[ENDED] == Ended.REACHED
    assert [(turn.user, turn.answer) for turn in response.turns] == [
        ("When are you open?", "Answer 1"),
        ("And on Sunday?", "Answer 2"),
    ]
    assert response.answer == "Answer 2"
    assert response.seconds == 1.0
    assert response.tools is not None
    assert len(response.tools) == 2


def test_the_bot_sees_the_earlier_turns() -> None:
    bot = Bot()
    _ask([OPEN, REACHED], bot)
    assert bot.questions[1].history[0].answer == "Answer 1"


def test_the_goal_is_missed() -> None:
    assert _ask([MISSED]).extra[ENDED] == Ended.MISSED


def test_a_conversation_has_at_most_max_turns() -> None:
    messages = [f'{{"goal": "open", "message": "Question {n}?"}}' for n in range(20)]
    response = _ask(messages, max_turns=4)
    assert response.extra[ENDED] == Ended.MAX_TURNS
    assert len(response.turns) == 4


def test_the_goal_may_be_reached_in_the_last_turn() -> None:
    assert _ask([OPEN, REACHED], max_turns=2).extra[ENDED] == Ended.REACHED


def test_an_endless_loop_is_stopped() -> None:
    response = _ask([OPEN], Bot(same=True), max_turns=50)
    assert response.extra[ENDED] == Ended.LOOP
    assert len(response.turns) == 3


def test_the_budget_is_respected() -> None:
    messages = [Reply(f'{{"goal": "open", "message": "No {n}"}}', cost=0.01) for n in range(50)]
    response = _ask(messages, Bot(cost=0.01), max_turns=50, max_cost=0.05)
    assert response.extra[ENDED] == Ended.BUDGET
    assert len(response.turns) == 3
    assert response.cost == pytest.approx(0.05)


def test_a_model_that_fails_is_an_error_of_the_infrastructure() -> None:
    response = _ask([CallFailed("timeout")])
    assert response.error_kind == "infrastructure"
    assert response.turns == (Turn("When are you open?", "Answer 1", response.turns[0].tools),)


def test_the_goal_of_a_case_wins() -> None:
    chat = ScriptedChat([REACHED])
    user = SimulatedUser(Bot(), chat, UserTable(goal="all"), {"q1": "the hours of Sunday"})
    user.ask(Question("q1", "Hello"))
    assert "the hours of Sunday" in str(chat.asked[0])


def test_a_bot_cannot_fill_in_the_prompt() -> None:
    class Injecting(Bot):
        def ask(self, question: Question) -> Response:
            return Response("{goal} {persona}")

    chat = ScriptedChat([REACHED])
    SimulatedUser(Injecting(), chat, UserTable(goal="SECRET"), {}).ask(Question("q1", "Hi"))
    assert str(chat.asked[0]).count("SECRET") == 1


@pytest.mark.parametrize(
    ("text", "message", "ended"),
    [
        ('Sure: {"goal": "open", "message": "Hi"}', "Hi", None),
        ("Just a message", "Just a message", None),
        ("", "", Ended.MISSED),
        ('{"goal": "open", "mess', "", Ended.MISSED),
    ],
)
def test_replies_are_read(text: str, message: str, ended: Ended | None) -> None:
    reply = read_user_reply(text)
    assert (reply.message, reply.ended) == (message, ended)


MODEL = """
import json, pathlib, threading
lock = threading.Lock()
calls = pathlib.Path(__file__).with_name("calls.txt")
def reply(prompt):
    with lock, calls.open("a") as file:
        file.write("x")
    done = prompt.count("Bot:") >= 2
    return json.dumps({"goal": "reached" if done else "open", "message": "" if done else "And on Sunday?"})
def bot(question, history):
    with lock, calls.open("a") as file:
        file.write("b")
    return "Answer %d to %s" % (len(history) + 1, question)
"""
SUITE = """
name = "talks"
cases = ["cases.json"]
metrics = ["resolved", "turns_to_resolution"]
judge = "sim:reply"
[target]
kind = "python"
call = "sim:bot"
[user]
persona = "in a hurry"
max_turns = 5
[run]
repeats = 2
"""


def test_a_suite_with_repeats_is_rescored_without_asking_anybody(cli: Any, write: Any) -> None:
    write("sim.py", MODEL)
    write("cases.json", [{"id": "q1", "question": "Open?", "goal": "hours of the week"}])
    suite = write("suite.toml", SUITE)
    done = cli("run", suite, "--quiet", "--no-charts")
    assert done.code == 0, done.err
    calls = suite.parent / "calls.txt"
    assert calls.read_text().count("b") == 4
    run = next((suite.parent / "results").glob("talks_*"))
    line = json.loads((run / "results.jsonl").read_text())
    assert line["scores"]["resolved"]["value"] == 1.0
    assert [turn["user"] for turn in line["turns"]] == ["Open?", "And on Sunday?"]
    assert len(line["repeats"]) == 2
    before = calls.read_text()
    done = cli("rescore", run, "--metrics", "resolved,tool_calls", "--allow-code", "--no-charts")
    assert done.code == 0, done.err
    assert calls.read_text() == before


# The user of q1 reaches the goal every second time, that of q2 always.
MOODY_MODEL = """
import json, threading
from itertools import count
lock = threading.Lock()
numbers = count()
def reply(prompt):
    with lock:
        reached = "always" in prompt or next(numbers) % 2 == 0
    return json.dumps({"goal": "reached" if reached else "missed", "message": ""})
def bot(question, history):
    return "Answer to %s" % question
"""


def test_repeats_of_conversations_have_an_interval(cli: Any, write: Any) -> None:
    write("sim.py", MOODY_MODEL)
    cases = [
        {"id": "q1", "question": "Open?", "goal": "hours"},
        {"id": "q2", "question": "Where?", "goal": "always"},
        {"id": "q3", "question": "Who?", "goal": "always"},
    ]
    write("cases.json", cases)
    suite = write("suite.toml", SUITE.replace("repeats = 2", "repeats = 4\nworkers = 1"))
    done = cli("run", suite, "--no-charts", "--json", "--quiet")
    assert done.code == 0, done.err
    resolved = json.loads(done.out)["average_scores"]["resolved"]
    assert resolved["mean"] == pytest.approx((0.5 + 1 + 1) / 3)
    low, high = resolved["ci95"]
    assert low < resolved["mean"] < high
    run = next((suite.parent / "results").glob("talks_*"))
    first = json.loads((run / "results.jsonl").read_text().splitlines()[0])
    assert [repeat["scores"]["resolved"] for repeat in first["repeats"]] == [1, 0, 1, 0]


def test_without_a_model_it_is_refused(cli: Any, write: Any) -> None:
    write("sim.py", MODEL)
    write("cases.json", [{"id": "q1", "question": "Open?"}])
    suite = write("suite.toml", SUITE.replace('judge = "sim:reply"', 'judge = "local"'))
    done = cli("run", suite, "--quiet")
    assert done.code == 2
    assert "no language model" in done.err


def test_settings_error_without_a_judge() -> None:
    from answerkey.runs.simulated_user import simulate_user

    with pytest.raises(SettingsError, match="needs a language model"):
        simulate_user(Bot(), UserTable(), {}, None, Path())


def test_threads_share_one_budget() -> None:
    chat = ScriptedChat([Reply(OPEN, cost=1.0)])
    user = SimulatedUser(Bot(cost=0.0), chat, UserTable(max_turns=50), {}, max_cost=2.0)
    threads = [
        threading.Thread(target=user.ask, args=(Question(f"q{n}", f"Hi {n}"),)) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(chat.asked) <= 7
