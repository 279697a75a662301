"""The scripted fake of a language model."""

from __future__ import annotations

import pytest

from answerkey.errors import EndpointError
from answerkey.llm.chat import Reply
from answerkey.llm.scripted import ScriptedChat


def test_the_scripted_chat_follows_its_script() -> None:
    chat = ScriptedChat(["one", Reply("two", prompt_tokens=5), EndpointError("gone")])
    assert chat.complete([{"role": "user", "content": "a"}]).text == "one"
    assert chat.complete([]).prompt_tokens == 5
    for _ in range(2):
        with pytest.raises(EndpointError):
            chat.complete([])
    assert [len(messages) for messages in chat.asked] == [1, 0, 0, 0]
    assert (
        ScriptedChat(lambda messages: messages[-1]["content"].upper())
        .complete([{"role": "user", "content": "a"}])
        .text
        == "A"
    )
    with pytest.raises(ValueError, match="empty script"):
        ScriptedChat([])
