"""The sentence, the kind and the cause of a failure."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import answerkey as ak
from answerkey.metrics.registry import all_metrics
from answerkey.profiles.explain import LONGEST_WHY, explain_failure
from answerkey.types import AnswerCriteria, Case, Cause, Kind, Outcome, Passage, Response, Score

HERE = Path(__file__).parent
WRITTEN = HERE / "explained_cases.jsonl"
# Written after the rules and never tuned to: the first measurement is the figure of record.
LATER = HERE / "explained_later_cases.jsonl"
# Written after the second set, from other domains and with longer answers.
THIRD = HERE / "explained_third_cases.jsonl"
# Kinds of tool calls and conversations have cases of their own in tests/profiles/test_agent.py.
_KINDS_OF_AGENTS = {
    Kind.WRONG_TOOL,
    Kind.WRONG_ARGUMENT,
    Kind.FORBIDDEN_TOOL,
    Kind.LEAK,
    Kind.ASKED_AGAIN,
}
_NAMES_BOTH = {
    Kind.WRONG_FIGURE,
    Kind.WRONG_NAME,
    Kind.CONTRADICTS,
    Kind.INCOMPLETE,
    Kind.REFUSED,
    Kind.SHOULD_REFUSE,
    Kind.OFF_TOPIC,
    Kind.NO_ANSWER,
}
_LABELS = ("kind", "cause", "paraphrase")
_REGEX = {"criteria": [{"metric": "regex", "floor": 1.0, "required": True}]}


def _profile_of(row: dict[str, Any]) -> str:
    if "expected_route" in row:
        return "route-aware"
    if "criteria" in row:
        return "criteria"
    return "regex" if "regex" in row.get("answer_criteria", {}) else "rag"


def explain_rows(path: Path) -> list[tuple[dict[str, Any], Outcome, tuple[str, str, str]]]:
    """Each row with its outcome, and the why, kind and cause of its failure.

    A row that its profile passes by mistake is explained as if it had failed: this measures the
    explanation, not the verdict.
    """
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    outcomes: dict[str, Outcome] = {}
    for name in dict.fromkeys(map(_profile_of, rows)):
        data = [
            {key: value for key, value in row.items() if key not in _LABELS}
            for row in rows
            if _profile_of(row) == name
        ]
        run = ak.evaluate(data, profile=_REGEX if name == "regex" else name, progress=False)
        outcomes |= {outcome.case.id: outcome for outcome in run}
    explained: list[tuple[dict[str, Any], Outcome, tuple[str, str, str]]] = []
    for row in rows:
        outcome = outcomes[row["id"]]
        verdict = outcome.verdict
        found = (verdict.why, verdict.kind, verdict.cause)
        if not verdict.kind:
            failing = ["answer_agreement" if row.get("expected") else "groundedness"]
            each = explain_failure(outcome.case, outcome.response, outcome.scores, failing)
            found = (each.why, each.kind.value, each.cause.value)
        explained.append((row, outcome, found))
    return explained


def _share_right(path: Path) -> tuple[float, float, float]:
    """The share of right kinds, of right causes where they are clear, and of unclear causes."""
    explained = explain_rows(path)
    kinds = [kind == row["kind"] for row, _, (_, kind, _) in explained]
    clear = [(row, cause) for row, _, (_, _, cause) in explained if cause != Cause.UNCLEAR]
    causes = [cause == row["cause"] for row, cause in clear]
    unclear = (len(explained) - len(clear)) / len(explained)
    return sum(kinds) / len(kinds), sum(causes) / len(causes), unclear


@pytest.mark.slow
def test_kinds_and_causes_of_the_written_cases() -> None:
    kinds, causes, unclear = _share_right(WRITTEN)
    # Measured: 198 of 200, 160 of 160, 20 % unclear.
    assert kinds >= 0.97
    assert causes >= 0.97
    assert unclear <= 0.25


def test_there_are_enough_written_cases_of_each_kind() -> None:
    rows = [json.loads(line) for line in WRITTEN.read_text(encoding="utf-8").splitlines()]
    kinds = Counter(row["kind"] for row in rows)
    assert len(rows) == 200
    assert min(kinds.values()) >= 12
    assert set(kinds) == set(Kind) - _KINDS_OF_AGENTS
    assert sum(row["paraphrase"] for row in rows) == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "least_kinds", "least_causes"),
    [
        # At first sight 95 of 100 and 71 of 72; now 97 of 100 and 71 of 72.
        (LATER, 0.93, 0.96),
        # At first sight 96 of 100 and 67 of 70, then the rules for titles of people, words left out
        # and "before" for "after" came from its errors: 99 of 100 and 70 of 70.
        (THIRD, 0.94, 0.937),
    ],
)
def test_kinds_and_causes_of_cases_written_after_the_rules(
    path: Path, least_kinds: float, least_causes: float
) -> None:
    kinds, causes, unclear = _share_right(path)
    assert kinds >= least_kinds
    assert causes >= least_causes
    assert unclear <= 0.3


@pytest.mark.slow
@pytest.mark.parametrize("path", [WRITTEN, LATER, THIRD])
def test_each_sentence_is_short_and_names_no_metric(path: Path) -> None:
    names = [metric.name for metric in all_metrics() if "_" in metric.name or "." in metric.name]
    for row, outcome, (why, kind, _) in explain_rows(path):
        assert 0 < len(why) <= LONGEST_WHY, row["id"]
        assert not any(name in why for name in names), why
        assert "\n" not in why
        assert outcome.verdict.why in ("", why), row["id"]
        if row.get("expected") and kind in _NAMES_BOTH:
            # Both what was said and what was expected are there, as figures or as quotes.
            assert re.match(r"(Says|Declines:|Gives) .+(expected|but not) .+\.$", why), why


def explain(
    question: str,
    answer: str | None,
    expected: str = "",
    passages: tuple[str, ...] = (),
    failing: tuple[str, ...] = ("answer_agreement",),
    scores: dict[str, Score] | None = None,
    **case: Any,
) -> tuple[str, str, str]:
    case_expected = (expected,) if expected else ()
    each = explain_failure(
        Case("q", question, case_expected, **case),
        Response(answer, passages=tuple(Passage(text) for text in passages)),
        scores or {},
        failing,
    )
    return each.why, each.kind, each.cause


def test_the_sentence_names_both_figures_and_the_passage() -> None:
    passages = ("We are hiring.", "Lunch is at noon.", "You have 25 days of leave.")
    assert explain("How much leave?", "You get 28 days.", "25 days", passages) == (
        "Says 28 days, expected 25 days; passage 3 says 25 days.",
        Kind.WRONG_FIGURE,
        Cause.NOT_USED,
    )


def test_a_wrong_label_is_one_that_the_passages_contradict() -> None:
    supported = {"groundedness": Score(0.9)}
    asked = ("How much leave?", "You get 28 days.", "25 days", ("Leave is 28 days.",))
    why, _, cause = explain(*asked, scores=supported)
    assert cause == Cause.WRONG_LABEL
    assert why == "Says 28 days, expected 25 days; passage 1 says 28 days."
    assert explain(*asked, scores={"groundedness": Score(0.1)})[2] == Cause.NOT_RETRIEVED


def test_an_answer_about_something_else_is_no_contradiction() -> None:
    asked = ("Are you open on Sundays?", "12 Canal Street, beside the station.")
    assert explain(*asked, "No, we are closed then.")[1] == Kind.OTHER
    assert explain(asked[0], "We open at ten.", "No, we are closed then.")[1] == Kind.CONTRADICTS


def test_an_amount_stands_in_place_of_another_amount_not_of_a_year() -> None:
    asked = ("In which state did revenue fall?", "Selangor: RM 3,287,190.27")
    assert explain(*asked, "Perak; its revenue decreased on 2024.")[1] != Kind.WRONG_FIGURE


def test_another_way_is_not_a_part_of_the_expected_one() -> None:
    asked = ("Where is my parcel?", "Use the store finder on our website: type your town.")
    assert explain(*asked, "Open My orders on the website and choose Track.")[1] == Kind.OTHER


def test_an_answer_in_place_of_a_question_that_clarifies() -> None:
    criteria = AnswerCriteria(clarification_expected=True)
    why, _, _ = explain("How are we doing?", "Revenue: RM 12.", criteria=criteria)
    assert why == 'Says "Revenue: RM 12", expected a question that clarifies.'


def test_labels_of_documents_come_before_the_words_of_passages() -> None:
    asked = ("How much leave?", "I don't know.", "25 days", ("Leave is 25 days.",))
    assert explain(*asked, relevant={})[2] == Cause.NOT_IN_DOCUMENTS
    assert explain(*asked, relevant={"p9": 1.0})[2] == Cause.NOT_USED, "the ids are not known"


def test_long_texts_are_cut_and_stay_on_one_line() -> None:
    why, kind, _ = explain("Why?", "word \n" * 500, "other " * 500)
    assert len(why) <= LONGEST_WHY
    assert "\n" not in why
    assert kind == Kind.OTHER


@pytest.mark.parametrize("answer", [None, "", "  ", "n/a", "…"])
def test_no_answer(answer: str | None) -> None:
    why, kind, _ = explain("When?", answer, "9 to 5")
    assert (why, kind) == ('Gives no answer, expected "9 to 5".', Kind.NO_ANSWER)


def test_a_wrong_ranking_names_the_first_places() -> None:
    case = Case("q", "Where?", relevant={"p7": 1.0})
    response = Response(None, retrieved=("p1", "p2"))
    each = explain_failure(case, response, {"ndcg@5": Score(0.0)}, ("ndcg@5",))
    assert each.why == "Finds 0 of 1 relevant; ranks p1, p2 first, expected p7."
    assert each.cause == Cause.NOT_RETRIEVED


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_SENTENCES = st.lists(
    _ANYTHING
    | st.fixed_dictionaries(
        {"flag": _ANYTHING},
        optional={
            "text": _ANYTHING,
            "probability": _ANYTHING,
            "contradicted": _ANYTHING,
            "passage": _ANYTHING | st.integers(-2, 3),
        },
    ),
    max_size=4,
)
_CHECKS = st.lists(
    _ANYTHING
    | st.fixed_dictionaries(
        {"met": st.just(False) | _ANYTHING},
        optional={"ask": _ANYTHING, "name": _ANYTHING, "kind": _ANYTHING},
    ),
    max_size=4,
)
_DETAILS = st.fixed_dictionaries(
    {}, optional={"sentences": _ANYTHING | _SENTENCES, "criteria": _ANYTHING | _CHECKS}
)


@given(
    details=_DETAILS,
    failing=st.sets(
        st.sampled_from(["groundedness", "criteria", "answer_agreement", "answer_relevance", "mrr"])
    ),
    expected=st.sampled_from(["", "25 days", "Anna Bell"]),
    passages=st.lists(st.sampled_from(["", "Leave is 25 days.", "Anna Bell"]), max_size=3),
)
def test_no_details_of_a_score_break_the_explanation(
    details: dict[str, Any], failing: set[str], expected: str, passages: list[str]
) -> None:
    """Details come from files and from metrics of the user: any value may stand there."""
    scores = {name: Score(0.0, details=details) for name in ("groundedness", "criteria")}
    why, kind, cause = explain(
        "How much leave?", "28 days", expected, tuple(passages), tuple(failing), scores
    )
    assert 0 < len(why) <= LONGEST_WHY
    assert kind in Kind
    assert cause in Cause


def test_the_number_of_a_passage_counts_blank_passages() -> None:
    why, _, _ = explain("How much leave?", "28 days", "25 days", ("", "Leave is 25 days."))
    assert why == "Says 28 days, expected 25 days; passage 2 says 25 days."
