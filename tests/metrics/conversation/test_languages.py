"""The language of a message, and of a conversation whose first message is unclear."""

from __future__ import annotations

import pytest

from answerkey.metrics.conversation.languages import detect_message_language
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Response, Turn


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where is my order and when will it arrive?", "en"),
        ("Wann kommt die Bestellung bei mir an?", "de"),
        ("Où se trouve la pharmacie la plus proche?", "fr"),
        ("¿Dónde puedo recoger el paquete que me enviaron?", "es"),
        ("Где мой заказ?", "cyrillic"),
        ("OK", None),
        ("4711", None),
    ],
)
def test_a_language_is_known_by_its_function_words(text: str, language: str | None) -> None:
    assert detect_message_language(text) == language


def test_an_unclear_first_message_is_in_the_language_of_the_next() -> None:
    turns = (
        Turn("My order hasn't arrived.", "Ihre Bestellung ist noch nicht da, weil sie fehlt."),
        Turn("So when will it be here?", "It will be there on Thursday."),
    )
    pair = (Case("c", turns[0].user), Response(turns[-1].answer, turns=turns))
    assert make_plan(["language_kept"], {}).score([pair])[0]["language_kept"].value == 0.5
