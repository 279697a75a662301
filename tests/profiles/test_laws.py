"""Laws of every built-in profile: a verdict and its words claim only what was measured."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import answerkey as ak
from answerkey.profiles import builtin_names, decide_verdict, load_profile
from answerkey.types import (
    AnswerCriteria,
    Case,
    Evidence,
    Passage,
    Profile,
    ProfileLine,
    Requirement,
    Response,
    Score,
    Status,
)

PROFILES = {name: load_profile(name) for name in builtin_names()}
VALUES = st.none() | st.floats(0, 1)
CASES = st.builds(
    Case,
    id=st.just("q"),
    question=st.sampled_from(["When?", "Is it open?", "How many days?"]),
    expected=st.sampled_from([(), ("25 days",), ("No",)]),
    requirements=st.sampled_from([(), (Requirement("It is polite."),)]),
    criteria=st.sampled_from([AnswerCriteria(), AnswerCriteria(must_contain=("25",))]),
)
RESPONSES = st.builds(
    Response,
    answer=st.sampled_from([None, "", "28 days", "Yes.", "I don't know."]),
    passages=st.sampled_from([(), (Passage("Leave is 25 days."),)]),
    route=st.sampled_from([None, "sales_kpi", "docs"]),
)


@st.composite
def scored(draw: st.DrawFn) -> tuple[Profile, Case, Response, dict[str, Score]]:
    profile = PROFILES[draw(st.sampled_from(sorted(PROFILES)))]
    scores: dict[str, Score] = {}
    for name in profile.metrics:
        value = draw(VALUES)
        maximum = max((line.maximum for line in profile.lines if line.metric == name), default=1.0)
        scores[name] = Score(None if value is None else value * maximum)
    return profile, draw(CASES), draw(RESPONSES), scores


def can_fail(line: ProfileLine, case: Case) -> bool:
    """Whether a bad value of this metric shows that an answer is wrong."""
    if line.evidence == Evidence.LABELLED:
        return bool(case.expected or case.requirements or case.criteria != AnswerCriteria())
    return line.evidence == Evidence.ALWAYS


@given(scored())
@settings(max_examples=500)
def test_nothing_passes_without_a_metric_that_can_fail_it(
    drawn: tuple[Profile, Case, Response, dict[str, Score]],
) -> None:
    profile, case, response, scores = drawn
    lines = profile.rules_for(response.route).lines
    for line in lines:
        if can_fail(line, case):
            scores[line.metric] = Score.not_applicable("its input is missing")
    verdict = decide_verdict(profile, case, response, scores)
    assert not verdict.passed, profile.name
    assert verdict.status in (Status.UNSCORED, Status.FAILED)


@given(scored())
@settings(max_examples=500)
def test_a_reading_is_of_a_metric_that_decided_a_failure(
    drawn: tuple[Profile, Case, Response, dict[str, Score]],
) -> None:
    profile, case, response, scores = drawn
    verdict = decide_verdict(profile, case, response, scores)
    text = " ".join((verdict.why, verdict.justification, *verdict.shortfalls))
    for line in profile.rules_for(response.route).lines:
        if not line.reading or line.reading not in text:
            continue
        value = scores[line.metric].value
        assert value is not None, f"{line.metric} is not applicable, and the reading is shown"
        assert not verdict.passed
        assert line.floor is not None
        assert value > line.floor if line.better == "lower" else value < line.floor


TEXTS = st.sampled_from(
    ["Leave is 25 days.", "You get 28 days.", "Lunch is at noon.", "I don't know."]
)


@pytest.mark.slow
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"question": st.just("How many days?"), "answer": TEXTS},
            optional={
                "expected": st.sampled_from(["25 days", "noon"]),
                "contexts": st.lists(TEXTS, max_size=2),
            },
        ),
        min_size=1,
        max_size=3,
    ),
    name=st.sampled_from(["rag", "rag-cosine"]),
)
@settings(max_examples=15)
def test_no_report_has_a_reading_that_nothing_measured(
    rows: list[dict[str, object]], name: str
) -> None:
    run = ak.evaluate(rows, profile=name, progress=False)
    decisive = {
        line.reading
        for outcome in run
        for line in PROFILES[name].lines
        if line.floor is not None
        and not outcome.verdict.passed
        and (value := outcome.scores[line.metric].value) is not None
        and (value > line.floor if line.better == "lower" else value < line.floor)
    }
    others = {line.reading for line in PROFILES[name].lines if line.reading} - decisive
    with TemporaryDirectory() as folder:
        saved = run.save(Path(folder))
        files = ("report.txt", "failures.txt", "report.md", "results.csv", "junit.xml")
        texts = [
            (saved / file).read_text(encoding="utf-8") for file in files if (saved / file).exists()
        ]
    for reading in others:
        assert not any(reading in text for text in texts), reading
