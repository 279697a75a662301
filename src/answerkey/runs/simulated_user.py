"""A language model that plays the user, so that a bot is tested in whole conversations.

It stands between the run and the target: a case is asked as one conversation, which is stored as
the response. So repeats, resume and budgets work as for any target, and a rescore asks nobody.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from answerkey.config.tables import UserTable
from answerkey.errors import AnswerkeyError, SettingsError
from answerkey.llm.chat import Chat
from answerkey.llm.loose_json import find_objects
from answerkey.llm.usage import total
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.targets.respond import infrastructure_error
from answerkey.text import normalise
from answerkey.types import Question, Response, Target, ToolCall, Turn

_NO_PERSONA = "an ordinary customer"
_SAME_TIMES = 3  # the same message or answer so often in a row is an endless loop
_LONGEST_MESSAGE = 4000
_EPSILON = 1e-9  # five times 0.01 is 0.05
# Columns of the response: the goal, and how the conversation ended.
GOAL = "user_goal"
ENDED = "user_ended"


class Ended(StrEnum):
    """Why the simulated user stopped."""

    REACHED = "goal reached"
    MISSED = "goal missed"
    MAX_TURNS = "max_turns reached"
    LOOP = "endless loop"
    BUDGET = "budget used up"


@dataclass(frozen=True, slots=True)
class UserReply:
    """The next message of the simulated user; `ended` where there is none."""

    message: str
    ended: Ended | None
    cost: float | None


@dataclass(slots=True)
class _Talk:
    """A conversation while it is held."""

    goal: str
    history: tuple[Turn, ...]
    turns: list[Turn] = field(default_factory=list[Turn])
    responses: list[Response] = field(default_factory=list[Response])
    user_costs: list[float | None] = field(default_factory=list[float | None])

    def add(self, message: str, response: Response) -> None:
        self.turns.append(Turn(message, response.answer or "", response.tools or ()))
        self.responses.append(response)

    def is_loop(self) -> bool:
        """Whether the last messages, or the last answers, are all the same."""
        last = self.turns[-_SAME_TIMES:]
        if len(last) < _SAME_TIMES:
            return False
        messages = {normalise(turn.user) for turn in last}
        answers = {normalise(turn.answer) for turn in last}
        return len(messages) == 1 or len(answers) == 1

    def finish(self, ended: Ended | None) -> Response:
        """The conversation as one response."""
        last = self.responses[-1]
        tools = [call for turn in self.turns for call in turn.tools]
        # "Did not report" and "called nothing" differ: None and an empty list.
        reported = any(response.tools is not None for response in self.responses)
        extra: dict[str, object] = {**last.extra, GOAL: self.goal}
        if ended is not None:
            extra[ENDED] = ended.value
        costs = [response.cost for response in self.responses]
        return replace(
            last,
            turns=tuple(self.turns),
            tools=tuple[ToolCall, ...](tools) if reported else None,
            seconds=total(response.seconds for response in self.responses),
            cost=total([*costs, *self.user_costs]),
            prompt_tokens=_sum_counts([response.prompt_tokens for response in self.responses]),
            completion_tokens=_sum_counts(
                [response.completion_tokens for response in self.responses]
            ),
            extra=extra,
        )


def _sum_counts(counts: Sequence[int | None]) -> int | None:
    numbers = [count for count in counts if count is not None]
    return sum(numbers) if numbers else None


class SimulatedUser:
    """A target that holds a conversation with another target. `goals` are those of single cases."""

    def __init__(
        self,
        target: Target,
        chat: Chat,
        settings: UserTable,
        goals: Mapping[str, str],
        max_cost: float | None = None,
    ) -> None:
        self._target = target
        self._chat = chat
        self._settings = settings
        self._goals = goals
        self._max_cost = max_cost
        self._spent = 0.0
        # Several conversations are held at the same time and share one budget.
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Response:
        goal = self._goals.get(question.id) or self._settings.goal or question.text
        talk = _Talk(goal, question.history)
        message = question.text
        while True:
            earlier = (*question.history, *talk.turns)
            # The id stays that of the case, and so do its files.
            response = self._target.ask(replace(question, text=message, history=earlier))
            talk.add(message, response)
            self._add_cost(response.cost)
            # After an error of the bot there is nothing to reply to.
            if response.error is not None:
                return talk.finish(None)
            ended = self._reason_to_stop(talk)
            if ended is not None:
                return talk.finish(ended)
            try:
                reply = self._next_message(talk)
            except AnswerkeyError as error:
                failed = infrastructure_error("the simulated user could not be asked", str(error))
                return replace(failed, turns=tuple(talk.turns))
            talk.user_costs.append(reply.cost)
            self._add_cost(reply.cost)
            if reply.ended is not None:
                return talk.finish(reply.ended)
            message = reply.message

    def close(self) -> None:
        self._target.close()
        self._chat.close()

    def _add_cost(self, cost: float | None) -> None:
        with self._lock:
            self._spent += cost or 0.0

    def _reason_to_stop(self, talk: _Talk) -> Ended | None:
        if talk.is_loop():
            return Ended.LOOP
        # The cost of a call is known only after it, so the limit may be passed by one.
        if self._max_cost is not None and self._spent + _EPSILON >= self._max_cost:
            return Ended.BUDGET
        return None

    def _next_message(self, talk: _Talk) -> UserReply:
        reply = self._chat.complete([{"role": "user", "content": self._prompt(talk)}])
        read = read_user_reply(reply.text)
        # The last answer may reach the goal: the user is asked about it before the limit counts.
        is_last = len(talk.turns) >= self._settings.max_turns
        if is_last and read.ended is None:
            ended = Ended.MAX_TURNS
        else:
            ended = read.ended
        return replace(read, ended=ended, cost=reply.cost)

    def _prompt(self, talk: _Talk) -> str:
        lines: list[str] = []
        for turn in (*talk.history, *talk.turns):
            lines += [f"You: {turn.user}", f"Bot: {turn.answer}"]
        prompt = files("answerkey.runs").joinpath("simulated_user.txt").read_text("utf-8")
        # The conversation comes last: what a bot writes is never filled in again.
        prompt = prompt.replace("{goal}", talk.goal)
        prompt = prompt.replace("{persona}", self._settings.persona or _NO_PERSONA)
        return prompt.replace("{conversation}", "\n".join(lines))


def read_user_reply(text: str) -> UserReply:
    """The message and the state of the goal in a reply; a reply without JSON is the message.

    >>> read_user_reply('{"goal": "open", "message": "And on Sunday?"}').message
    'And on Sunday?'
    """
    objects, _cut_off = find_objects(text)
    for item in objects:
        goal = str(item.value.get("goal", "")).strip().lower()
        message = str(item.value.get("message") or "").strip()[:_LONGEST_MESSAGE]
        if goal == "reached":
            return UserReply("", Ended.REACHED, None)
        if goal == "missed":
            return UserReply("", Ended.MISSED, None)
        if message:
            return UserReply(message, None, None)
    reply = text.strip()[:_LONGEST_MESSAGE]
    # A cut-off JSON object must not be sent to the bot as a message.
    is_broken_json = reply[:1] == "{"
    if not reply or is_broken_json:
        return UserReply("", Ended.MISSED, None)
    return UserReply(reply, None, None)


def simulate_user(
    target: Target,
    settings: UserTable,
    goals: Mapping[str, str],
    judge: object,
    folder: Path,
    *,
    max_cost: float | None = None,
) -> SimulatedUser:
    """The target behind a simulated user, played by the language model of the judge."""
    fix = 'give [judge] a model, such as judge = "ollama"'
    if judge is None:
        raise SettingsError(f"[user] needs a language model to play the user; {fix}")
    if hasattr(judge, "rubric"):
        made = judge
    else:
        made = load_judge(judge, None, folder)
    chat = getattr(made, "chat", None)
    if chat is None:
        raise SettingsError(f"[user]: this judge is no language model; {fix}")
    return SimulatedUser(target, chat, settings, goals, max_cost)
