"""Long premises and statements: windows, parts, and one row from all of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.tiny_models import make_tokenizer

from answerkey.entailment.pair_model import probabilities
from answerkey.entailment.windows import WindowEncoder, pool_windows

LONG = "the museum is closed on mondays and the tour takes an hour " * 20


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_windows_cover_the_whole_premise_and_overlap(kind: str) -> None:
    encoder = WindowEncoder(make_tokenizer(kind), 32)
    windows = encoder.windows([(LONG, "a tour")])
    assert len(windows) > 3
    assert all(len(window.encoding) <= 32 for window in windows)
    texts = [window.texts((LONG, "a tour")) for window in windows]
    assert {statement.strip() for _, statement in texts} == {"a tour"}
    assert LONG.startswith(texts[0][0][:20])
    assert LONG.rstrip().endswith(texts[-1][0][-20:].rstrip())
    covered = sum(len(premise) for premise, _ in texts)
    assert covered > len(LONG)


def test_a_long_statement_is_read_in_parts_without_a_gap() -> None:
    encoder = WindowEncoder(make_tokenizer("wordpiece"), 32)
    windows = encoder.windows([("the museum", LONG)])
    parts = {window.part: window.texts(("the museum", LONG))[1] for window in windows}
    assert len(parts) > 1
    assert "".join("".join(parts.values()).split()) == "".join(LONG.split())


def row(supported: float, contradicted: float) -> list[float]:
    return list(np.log([supported, 1 - supported - contradicted, contradicted]))


def test_one_window_that_supports_is_enough_and_each_part_must_be_supported() -> None:
    rows = np.array([row(0.9, 0.01), row(0.1, 0.01), row(0.2, 0.01)], np.float32)
    windows = [(0, 0), (0, 0), (0, 1)]  # two windows of the first part, one of the second
    pooled = probabilities(pool_windows(rows, windows, 1))
    assert pooled[0, 0] == pytest.approx(0.2, abs=1e-5)
    first = probabilities(pool_windows(rows[:2], windows[:2], 1))
    assert first[0, 0] == pytest.approx(0.9, abs=1e-5)


def test_support_and_contradiction_of_different_windows_stay_below_one() -> None:
    rows = np.array([row(0.7, 0.01), row(0.01, 0.9)], np.float32)
    pooled = probabilities(pool_windows(rows, [(0, 0), (0, 0)], 1))
    assert pooled[0, 0] == pytest.approx(0.7, abs=1e-4)
    assert pooled[0, 2] == pytest.approx(0.3, abs=1e-4)
