"""The full-context bot: all knowledge in one prompt, to a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from answerkey.config.declare import read_table, require_path
from answerkey.config.target_tables import FullContextTable
from answerkey.errors import InputError, SettingsError
from answerkey.llm import Chat, load_chat
from answerkey.targets.rag import response_of_chat
from answerkey.targets.templates import chat_messages
from answerkey.types import Question, Response

TEMPLATE = """You answer questions for the customers and staff of an organisation. \
Use only the knowledge below.
If it does not hold the answer, say that you do not know. Be brief and exact.

Knowledge:
{knowledge}

Question: {question}"""
# Prompt files of plain scripts use the places of Python's string.Template.
_KNOWLEDGE_PLACES = ("{knowledge}", "$domain_knowledge", "{domain_knowledge}", "$knowledge")
_QUESTION_PLACES = ("{question}", "$question")
_ENDINGS = (".md", ".txt", ".csv", ".json")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text before and after the question, with the knowledge filled in.

    The knowledge goes in once, when the bot is made: a `{question}` inside it must not be taken
    for the place of the question.
    """

    before: str
    after: str

    def fill(self, question: str) -> str:
        return f"{self.before}{question}{self.after}"


class FullContextBot:
    def __init__(self, prompt: Prompt, chat: Chat) -> None:
        self._prompt = prompt
        self._chat = chat

    def ask(self, question: Question) -> Response:
        text = self._prompt.fill(question.text)
        return response_of_chat(self._chat.complete(chat_messages(question, asked=text)))

    def close(self) -> None:
        self._chat.close()


def make_full_context(settings: Mapping[str, object], folder: Path) -> FullContextBot:
    """`knowledge` a file or folder of text, `llm` a table, `template` a file of a prompt."""
    table = read_table(FullContextTable, settings, "[target]", folder, others=["kind"])
    knowledge = None
    if table.knowledge:
        knowledge = read_knowledge(require_path(table.knowledge, "knowledge"))
    template = TEMPLATE
    if table.template:
        template = require_path(table.template, "template").read_text(encoding="utf-8")
    return FullContextBot(read_prompt(template, knowledge), load_chat(table.llm))


def read_prompt(template: str, knowledge: str | None) -> Prompt:
    """The prompt of a template with one place for the question, and one for the knowledge.

    >>> read_prompt("Know: $domain_knowledge. Answer: $question", "Open daily").fill("Open?")
    'Know: Open daily. Answer: Open?'
    """
    question_place = _find_place(template, _QUESTION_PLACES)
    if question_place is None:
        raise SettingsError("[target] template: expected {question} or $question once, found 0")
    knowledge_place = _find_place(template, _KNOWLEDGE_PLACES)
    if knowledge is None and knowledge_place is not None:
        raise SettingsError(f"[target] needs knowledge: the prompt has {knowledge_place}")
    if knowledge is not None and knowledge_place is None:
        places = "{knowledge} or $domain_knowledge"
        fix = "add it, or remove knowledge to ask without it"
        raise SettingsError(f"[target] template: expected {places} once, found 0; {fix}")
    before, after = template.split(question_place, 1)
    if knowledge_place is None:
        return Prompt(before, after)
    text = knowledge or ""
    return Prompt(before.replace(knowledge_place, text), after.replace(knowledge_place, text))


def _find_place(template: str, places: tuple[str, ...]) -> str | None:
    """The one place of a template that has one of these names."""
    counts = {place: template.count(place) for place in places}
    total = sum(counts.values())
    if total > 1:
        names = " or ".join(places[:2])
        raise SettingsError(f"[target] template: expected {names} once, found {total}")
    return next((place for place, count in counts.items() if count), None)


def read_knowledge(path: Path) -> str:
    """One text, each file under its name."""
    files = [path]
    if not path.is_file():
        files = sorted(each for each in path.rglob("*") if each.suffix.lower() in _ENDINGS)
    if not files:
        raise InputError(f"no {', '.join(_ENDINGS)} file in {path}")
    texts = (file.read_text(encoding="utf-8", errors="replace").strip() for file in files)
    return "\n\n".join(f"## {file.name}\n{text}" for file, text in zip(files, texts, strict=True))
