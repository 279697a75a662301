"""A bot over documents: the built-in retriever, and a language model or the passages' own sentences."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from answerkey.bots.extract import extract
from answerkey.bots.prompt import OUT_OF_SCOPE, prompt
from answerkey.embed import load_embedder
from answerkey.embed.base import Embedder
from answerkey.errors import SettingsError
from answerkey.llm import Chat, load_chat
from answerkey.retrieval import Retriever, open_retriever
from answerkey.retrieval.settings import RetrievalSettings
from answerkey.types import Passage, Question, Response

OWN_SETTINGS = ("k", "minimum", "llm", "embedding")


class RagBot:
    """Declines when no sentence comes as near as `minimum` to the question (cosine), without a model to judge that."""

    def __init__(
        self, retriever: Retriever, embed: Embedder, chat: Chat | None, k: int, minimum: float
    ) -> None:
        self._retriever, self._embed, self._chat = retriever, embed, chat
        self._k, self._minimum = k, minimum
        # One at a time: the sentences that one question had embedded are in the cache for the next.
        self._extracting = threading.Lock()

    def ask(self, question: Question) -> Response:
        passages = tuple(self._retriever.search([_with_context(question)], self._k)[0])
        sources = tuple(dict.fromkeys(source for passage in passages if (source := _source(passage))))
        if self._chat is not None:
            reply = self._chat.complete(prompt(question, passages))
            return Response(
                answer=reply.text,
                passages=passages,
                sources=sources,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                cost=reply.cost,
            )
        with self._extracting:
            found = extract(question.text, passages, self._embed)
        answer = found.text if found.text and found.best >= self._minimum else OUT_OF_SCOPE
        return Response(answer=answer, passages=passages, sources=sources, extra={"support": found.best})

    def close(self) -> None:
        if self._chat is not None:
            self._chat.close()


def make(settings: Mapping[str, Any], folder: Path) -> RagBot:
    """`k` passages, `minimum` support, an `llm` table and an `embedding`; the rest is the retriever's."""
    own = {key: settings[key] for key in OWN_SETTINGS if key in settings}
    embedding = own.get("embedding", {})
    table = {"model": embedding} if isinstance(embedding, str) else dict(embedding)
    embed = load_embedder(table.pop("model", "all-MiniLM-L6-v2"), **table)
    rest = {key: value for key, value in settings.items() if key not in (*OWN_SETTINGS, "kind")}
    retriever = open_retriever(RetrievalSettings.from_table(rest, folder), embed)
    chat = load_chat(own["llm"]) if "llm" in own else None
    return RagBot(retriever, embed, chat, _whole(own.get("k", 5)), float(own.get("minimum", 0.35)))


def _with_context(question: Question) -> str:
    """A short follow-up ("and in Sabah?") is searched together with the question before it."""
    if question.history and len(question.text.split()) < 6:
        return f"{question.history[-1].user} {question.text}"
    return question.text


def _source(passage: Passage) -> str:
    place = passage.page or passage.id or ""
    return f"page {place}" if place.isdigit() else place


def _whole(k: Any) -> int:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise SettingsError(f"[target] k = {k!r}: expected a whole number of passages, 1 or more")
    return k
