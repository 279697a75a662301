"""A bot without retrieval: all domain knowledge in one prompt, and the question, to a language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from answerkey.config.declare import existing, read_table
from answerkey.config.target_tables import FullContextTable
from answerkey.errors import InputError, SettingsError
from answerkey.llm import Chat, load_chat
from answerkey.targets.template import messages
from answerkey.types import Question, Response

TEMPLATE = """You answer questions for the customers and staff of an organisation. Use only the knowledge below.
If it does not hold the answer, say that you do not know. Be brief and exact.

Knowledge:
{knowledge}

Question: {question}"""
_ENDINGS = (".md", ".txt", ".csv", ".json")


class FullContextBot:
    def __init__(self, template: str, knowledge: str, chat: Chat) -> None:
        # The knowledge goes in once; a `{question}` inside it must not be taken for the place of the question.
        before, after = template.split("{question}", 1)
        self._before, self._after = (part.replace("{knowledge}", knowledge) for part in (before, after))
        self._chat = chat

    def ask(self, question: Question) -> Response:
        reply = self._chat.complete(messages(question, asked=f"{self._before}{question.text}{self._after}"))
        return Response(
            answer=reply.text,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cost=reply.cost,
        )

    def close(self) -> None:
        self._chat.close()


def make(settings: Mapping[str, object], folder: Path) -> FullContextBot:
    """`knowledge` a file or folder of text, `llm` a table; `template` a file with {knowledge} and {question}."""
    read = read_table(FullContextTable, settings, "[target]", folder, others=["kind"])
    knowledge = read_knowledge(existing(read.knowledge, "knowledge"))
    template = TEMPLATE
    if read.template:
        template = existing(read.template, "template").read_text(encoding="utf-8")
    for place in ("{knowledge}", "{question}"):
        if template.count(place) != 1:
            raise SettingsError(f"[target] template: expected {place} once, found {template.count(place)}")
    return FullContextBot(template, knowledge, load_chat(read.llm))


def read_knowledge(path: Path) -> str:
    """One text, each file under its name."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS)
    if not files:
        raise InputError(f"no {', '.join(_ENDINGS)} file in {path}")
    return "\n\n".join(
        f"## {file.name}\n{file.read_text(encoding='utf-8', errors='replace').strip()}" for file in files
    )
