"""Cards of checked models: written, found, and refused for other weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from answerkey.entailment.model_cards import (
    CardFigure,
    Combination,
    ModelCard,
    card_path,
    find_card,
    write_card,
)
from answerkey.errors import SettingsError

CARD = ModelCard(
    name="org/m",
    revision="r",
    digest="d" * 64,
    rows=100,
    groups=10,
    auroc=CardFigure(0.9, 0.8, 0.95),
    packaged_auroc=0.85,
    calibration_error=0.05,
    pairs_per_second=12.5,
    temperature=1.5,
    combination=Combination(("a", "b"), (2.0, -1.0), 0.5),
)


def test_a_card_comes_back_as_it_was() -> None:
    assert find_card(CARD.digest) is None
    assert write_card(CARD) == card_path(CARD.digest)
    assert find_card(CARD.digest) == CARD


def test_a_card_can_be_kept_with_a_suite(tmp_path: Path) -> None:
    path = write_card(CARD, tmp_path / "cards" / "m.json")
    assert find_card(CARD.digest, path) == CARD
    with pytest.raises(SettingsError, match="with other weights"):
        find_card("e" * 64, path)
    with pytest.raises(SettingsError, match="there is no card"):
        find_card(CARD.digest, tmp_path / "absent.json")
    path.write_text("{")
    with pytest.raises(SettingsError, match="cannot be read"):
        find_card(CARD.digest, path)


def test_the_combination_is_a_logistic_model() -> None:
    assert CARD.combination is not None
    assert CARD.combination.log_odds({"a": 1.0, "b": 3.0}) == pytest.approx(-0.5)
    assert replace(CARD, unsure=(0.2, 0.8)).unsure == (0.2, 0.8)
    assert CARD.unsure == (0.15, 0.85)
