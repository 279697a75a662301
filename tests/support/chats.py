"""Chat clients that ask a fake endpoint and lose no time with waiting."""

from __future__ import annotations

from typing import Any

from tests.support.fake_endpoint import FakeEndpoint

from answerkey.config.tables import ChatTable
from answerkey.llm.chat import CallFailed
from answerkey.llm.chat_settings import read_chat
from answerkey.llm.endpoint import Endpoint
from answerkey.llm.limiter import RetryLimits
from answerkey.llm.threads import in_threads

QUICK = RetryLimits(first_wait=0.01, longest_wait=0.05, between_notices=0)
HELLO = [{"role": "user", "content": "hello"}]


def open_chat(endpoint: FakeEndpoint, **settings: Any) -> Endpoint:
    return endpoint.closing(
        Endpoint(read_chat(endpoint.settings(**settings), ChatTable, "[judge]"), QUICK)
    )


def ask_many(chat: Endpoint, count: int, schema: Any = None) -> list[Any]:
    def one(_: int) -> Any:
        try:
            return chat.complete(HELLO, schema)
        except CallFailed as failure:
            return failure

    return in_threads(one, range(count), chat.settings.concurrency)
