"""How conversations end."""

from __future__ import annotations

import pytest

from answerkey.embed import load_embedder
from answerkey.metrics.conversation.resolution import ConversationEnding, find_resolution
from answerkey.types import Turn


@pytest.mark.parametrize(
    ("messages", "ending"),
    [
        (("Open?", "Until 5.", "Thanks", "Bye"), ConversationEnding.CONTENT),
        (("Open?", "Until 5.", "On Sunday?", "No, it is closed on Sundays."), ConversationEnding.ANSWERED),
        (("It is broken", "Restart it.", "nothing happens, the light stays red", "Wait a bit."), ConversationEnding.DISCONTENT),
        (("Is it heated?", "It is lovely.", "OK I'll book somewhere else then.", "Bye!"), ConversationEnding.DISCONTENT),
        (("Results?", "Results are usually available after two days.", "It has been eight days!", "I see. Results are usually available after two days."), ConversationEnding.STUCK),
        (("Is it accessible by wheelchair?", "It shows 120 works.", "And what about the wheelchair?", "Tickets are 9 euros."), ConversationEnding.REPEATED),
        (("Move it", "Which order?", "BX-1187", "I was not able to change the date."), ConversationEnding.REFUSED),
        (("Book a class", "Which one?", "Thai", "And for which date?"), ConversationEnding.OPEN),
    ],
)  # fmt: skip
def test_the_ending_is_named(messages: tuple[str, ...], ending: ConversationEnding) -> None:
    turns = [Turn(*pair) for pair in zip(messages[::2], messages[1::2], strict=True)]
    assert find_resolution(turns, load_embedder()).ending is ending
