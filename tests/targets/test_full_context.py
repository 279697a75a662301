"""The bot with all knowledge in one prompt."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.demo import FOLDER
from answerkey.errors import InputError, SettingsError
from answerkey.llm import Reply
from answerkey.llm.scripted import ScriptedChat
from answerkey.targets.full_context import (
    TEMPLATE,
    FullContextBot,
    make_full_context,
    read_knowledge,
    read_prompt,
)
from answerkey.types import Question, Turn


def test_full_context_sends_all_knowledge_and_the_question() -> None:
    knowledge = read_knowledge(FOLDER / "documents")
    chat = ScriptedChat([Reply("98 days.", prompt_tokens=2000, completion_tokens=4)])
    made = FullContextBot(read_prompt(TEMPLATE, knowledge), chat)
    response = made.ask(Question("q", "How long is {knowledge} leave?", (Turn("Hello", "Hi"),)))
    sent = chat.asked[0][-1]["content"]
    assert response.answer == "98 days."
    assert response.prompt_tokens == 2000
    assert "## leave.md" in sent
    assert "Maternity leave is 98 days" in sent
    assert sent.endswith("How long is {knowledge} leave?")
    assert chat.asked[0][0] == {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"knowledge": "documents"}, SettingsError, "needs llm: the language model"),
        ({"llm": "ollama"}, SettingsError, "needs knowledge"),
        ({"knowledge": "handbook", "llm": "llama-cpp"}, InputError, "file in"),
        (
            {"knowledge": "documents", "llm": "llama-cpp", "template": "faq.csv"},
            SettingsError,
            r"expected {question} or \$question once, found 0",
        ),
        ({"knowlege": "documents"}, SettingsError, 'did you mean "knowledge"'),
    ],
)
def test_bad_settings_of_full_context(
    settings: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        make_full_context(settings, FOLDER)


@pytest.mark.parametrize(
    ("template", "knowledge", "prompt"),
    [
        ("$domain_knowledge\n$question", "Open $question daily.", "Open $question daily.\nWhen?"),
        ("{question} ({knowledge})", "K", "When? (K)"),
        ("Say: $question", None, "Say: When?"),
    ],
)
def test_a_prompt_file_has_its_places_filled(
    template: str, knowledge: str | None, prompt: str
) -> None:
    assert read_prompt(template, knowledge).fill("When?") == prompt


@pytest.mark.parametrize(
    ("template", "knowledge", "message"),
    [
        (
            "$domain_knowledge $question",
            None,
            "needs knowledge: the prompt has \\$domain_knowledge",
        ),
        ("$question", "K", "expected {knowledge} or \\$domain_knowledge once, found 0; add it"),
        ("$question {question}", None, "expected {question} or \\$question once, found 2"),
    ],
)
def test_a_prompt_file_with_wrong_places_is_refused(
    template: str, knowledge: str | None, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        read_prompt(template, knowledge)
