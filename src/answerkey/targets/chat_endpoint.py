"""An OpenAI-compatible chat endpoint as a target."""

from __future__ import annotations

import threading

from answerkey.config.target_tables import OpenAiTable
from answerkey.targets.attachments import chat_part
from answerkey.targets.json_path import json_path
from answerkey.targets.respond import FailedExchange, infrastructure_error
from answerkey.targets.templates import chat_messages
from answerkey.targets.wire import Wire
from answerkey.types import Question

CHAT_PATHS = {
    "answer": "$.choices[0].message.content",
    "prompt_tokens": "$.usage.prompt_tokens",
    "completion_tokens": "$.usage.completion_tokens",
    "error": "$.error.message",
}
_FIRST_MODEL = json_path("$.data[0].id", "model")


class ChatExchange:
    """Sends the conversation; `body` of the suite is added to each request."""

    def __init__(self, settings: OpenAiTable, base: str, wire: Wire) -> None:
        self._settings = settings
        self._base = base.removesuffix("/chat/completions")
        self._wire = wire
        self._model = settings.model
        self._choosing = threading.Lock()

    def __call__(self, question: Question) -> object:
        body = {
            "model": self._choose_model(),
            "messages": _messages_with_files(question, self._settings.system),
            **self._settings.body,
        }
        return self._wire.json("POST", f"{self._base}/chat/completions", body=body)

    def _choose_model(self) -> str:
        """The model of the suite, else the first that the endpoint lists."""
        # Asked for once, however many threads ask their first question.
        with self._choosing:
            if not self._model:
                models = self._wire.json("GET", f"{self._base}/models")
                self._model = str(_FIRST_MODEL.find(models) or "")
            if not self._model:
                detail = f"{self._base}/models lists none; put model = … in the suite"
                raise FailedExchange(infrastructure_error("no model", detail))
            return self._model


def _messages_with_files(question: Question, system: str) -> list[dict[str, object]]:
    """The conversation; the files of the question are parts of its last message."""
    messages: list[dict[str, object]] = [dict(each) for each in chat_messages(question, system)]
    if question.files:
        text = {"type": "text", "text": messages[-1]["content"]}
        messages[-1]["content"] = [text, *map(chat_part, question.files)]
    return messages
