"""Language models: any OpenAI-compatible endpoint, and a scripted fake for tests.

    chat = load_chat({"preset": "ollama", "model": "llama3.2"})
    chat.complete([{"role": "user", "content": "Hello"}]).text

`load_chat` opens no connection; the first `complete` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.llm.chat import CallFailed, Chat, Message, Reply

__all__ = ["CallFailed", "Chat", "Message", "Reply", "load_chat"]


def load_chat(settings: Mapping[str, object] | str) -> Chat:
    """A chat client from a settings table, or from the name of a preset."""
    from answerkey.config.tables import ChatTable
    from answerkey.llm.chat_settings import read_chat
    from answerkey.llm.endpoint import Endpoint

    return Endpoint(read_chat(settings, ChatTable, "[target.llm]"))
