"""Topics of the baseline, and questions that belong to none of them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

import numpy as np
from benchmarks.watch import INTENTS, hold_intents_out

from answerkey.embed import load_embedder
from answerkey.watch.topics import Vectors, find_topics, new_questions


def test_most_intents_that_the_baseline_lacks_are_listed() -> None:
    intents = tomllib.loads(INTENTS.read_text(encoding="utf-8"))
    result = hold_intents_out(intents, repeats=1)
    assert result.topics == 12
    assert result.topics_found >= 10
    assert result.found >= result.new / 2
    assert result.mistaken <= 0.1 * result.familiar


class _Plane:
    """A text is an angle in degrees; near angles are near texts."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split()[0]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def _listed(baseline: list[str], log: list[str]) -> list[str]:
    plane = _Plane()
    topics, _ = find_topics(baseline, plane)
    return [new.question for new in new_questions(topics, log, plane.embed(log), plane)]


def test_one_question_far_away_is_new_and_a_near_one_is_not() -> None:
    baseline = [str(angle) for angle in range(0, 60, 3)]
    assert _listed(baseline, ["170", "31"]) == ["170"]


def test_a_question_asked_many_times_is_no_topic_of_its_own() -> None:
    baseline = [str(angle) for angle in range(0, 60, 3)]
    assert _listed(baseline, ["62.9"] * 6) == []


def test_several_questions_beside_the_baseline_are_a_topic() -> None:
    baseline = [str(angle) for angle in (*range(0, 20, 2), *range(30, 120, 10))]
    log = ["24.5", "24.7", "24.9", "25.1", "25.3", "3", "7", "11"]
    assert set(_listed(baseline, log)) == {"24.5", "24.7", "24.9", "25.1", "25.3"}


def test_questions_of_the_baseline_are_familiar() -> None:
    embedder = load_embedder()
    questions = [f"How do I reset the password of account {number}?" for number in range(30)]
    topics, _ = find_topics(questions, embedder)
    log = questions[::3]
    assert new_questions(topics, log, embedder.embed(log), embedder) == []
