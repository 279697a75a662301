"""Frames around a right answer change no verdict; wrong additions to it are found.

Frames are greetings, closings, headings, sources, Markdown and citations. The worlds and the
additions were written before the rules for them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from answerkey.embed import load_embedder
from answerkey.metrics.plan import make_plan
from answerkey.profiles import decide_verdict, load_profile
from answerkey.types import Case, Passage, Response

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parent / "framed_answers.json").read_text(encoding="utf-8")
)
WORLDS = {world["id"]: world for world in DATA["worlds"]}
FRAMED = [(name, frame) for name in WORLDS for frame in DATA["frames"]]
ADDED = [(name, text) for name, texts in DATA["additions"].items() for text in texts]


@cache
def judged(templates: tuple[tuple[str, str], ...]) -> dict[tuple[str, str], tuple[bool, bool]]:
    """Whether the answer passes `rag`, and whether `groundedness` flags one of its sentences."""
    profile = load_profile("rag")
    pairs = []
    for name, template in templates:
        world = WORLDS[name]
        case = Case(name, world["question"], expected=(world["expected"],))
        answer = template.format(world["answer"])
        pairs.append((case, Response(answer, (Passage(world["passage"]),))))
    provided = {"embed": load_embedder(), "words": profile.words, "routes": profile.routes}
    scores = make_plan(profile.metrics, provided, profile.settings).score(pairs)
    verdicts = [
        decide_verdict(profile, *pair, score) for pair, score in zip(pairs, scores, strict=True)
    ]
    return {
        template: (
            verdict.passed,
            any(one["flag"] for one in score["groundedness"].details.get("sentences", ())),
        )
        for template, verdict, score in zip(templates, verdicts, scores, strict=True)
    }


def test_there_are_enough_of_both() -> None:
    assert len(set(DATA["frames"])) >= 60
    assert len(ADDED) >= 60


@pytest.mark.parametrize("name", WORLDS)
def test_the_bare_answer_passes(name: str) -> None:
    assert judged(((name, "{}"),))[name, "{}"] == (True, False)


def test_no_frame_changes_a_verdict() -> None:
    results = judged(tuple(FRAMED))
    failed = [template for template, (passed, _) in results.items() if not passed]
    assert failed == []


def test_no_frame_is_an_unsupported_sentence() -> None:
    results = judged(tuple(FRAMED))
    assert [template for template, (_, flagged) in results.items() if flagged] == []


def test_nine_in_ten_wrong_additions_are_found() -> None:
    results = judged(tuple(ADDED))
    missed = [name for name, (passed, flagged) in results.items() if passed and not flagged]
    assert len(missed) <= 0.1 * len(ADDED), missed
