"""Which statements of an answer are compared, and by which features."""

from __future__ import annotations

import pytest

from answerkey.embed import load_embedder
from answerkey.metrics.conversation.ending_features import ending_features
from answerkey.metrics.conversation.fitted_weights import load_weights
from answerkey.metrics.conversation.pair_features import contradiction_features
from answerkey.metrics.conversation.statements import pair_statements, split_statements
from answerkey.types import Turn


@pytest.mark.parametrize(
    ("answer", "statements"),
    [
        ("Up to 120 kilos.", ["Up to 120 kilos"]),
        ("I wouldn't do that, it only carries 80 kilos.", ["it only carries 80 kilos"]),
        ("About an hour, but you cannot take a pushchair.", ["About an hour", "you cannot take a pushchair"]),
        ("Unfortunately your policy doesn't cover theft.", ["your policy doesn't cover theft"]),
        ("No problem, you can pay by card.", ["you can pay by card"]),
        ("I have booked it. Anything else?", []),
        ("Your exam is now on Tuesday.", []),
        ("Then you can cancel at the end of the month.", []),
    ],
)  # fmt: skip
def test_an_answer_is_cut_into_statements(answer: str, statements: list[str]) -> None:
    assert split_statements(answer) == statements


def test_words_that_the_user_brings_up_later_are_known() -> None:
    turns = [
        Turn("What does the tour cost?", "The tour costs 15 euros."),
        Turn("And for children?", "Children pay 6 euros."),
    ]
    (pair,) = pair_statements(turns, 1)
    assert pair.earlier == "The tour costs 15 euros"
    assert pair.new_words == {"children"}


def test_every_fitted_weight_has_its_feature() -> None:
    embed = load_embedder()
    turns = [Turn("Is it free?", "It is free for all."), Turn("Sure?", "It costs 5 euros.")]
    (features,) = contradiction_features(list(pair_statements(turns, 1)), embed)
    assert list(features) == list(load_weights("contradiction").weights)
    assert list(ending_features(turns, embed)) == list(load_weights("ending").weights)
