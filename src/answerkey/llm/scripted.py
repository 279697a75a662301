"""The fake language model, for your own tests: it says what its script says and needs no network.

chat = ScriptedChat(['{"score": 1, "reason": "right"}'])          # the last line is repeated
chat = ScriptedChat(lambda messages: "no" if "Mars" in messages[-1]["content"] else "yes")
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from answerkey.cache import digest
from answerkey.llm.chat import Message, Reply, Schema

Line = str | Reply | Exception
Script = Sequence[Line] | Callable[[Sequence[Message]], Line]


class ScriptedChat:
    """Replies from a list, in order, or from a function of the messages; an exception in it is raised.

    What it was asked is kept in `asked`. Tokens are unknown unless the script gives a `Reply` that states them.
    """

    def __init__(
        self,
        script: Script,
        model: str = "scripted",
        max_tokens: int | None = None,
        window: int | None = None,
    ) -> None:
        if not callable(script) and not script:
            raise ValueError("an empty script: give at least one reply")
        self._script = script
        self._model = model
        self._lock = threading.Lock()
        self.max_tokens = max_tokens
        self.window = window
        self.limits: list[int | None] = []
        self.asked: list[list[Message]] = []
        self.schemas: list[Schema | None] = []

    @property
    def model(self) -> str:
        return self._model

    def complete(
        self,
        messages: Sequence[Message],
        schema: Schema | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        with self._lock:
            self.limits.append(max_tokens or self.max_tokens)
            turn = len(self.asked)
            self.asked.append(list(messages))
            self.schemas.append(schema)
        if callable(self._script):
            line = self._script(messages)
        else:
            line = self._script[min(turn, len(self._script) - 1)]
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Reply):
            return line
        return Reply(line, model=self._model)

    def fingerprint(self) -> str:
        return digest("scripted", self._model)

    def close(self) -> None:
        pass
