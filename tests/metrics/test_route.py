"""The route-aware dimensions, by the rules that define them."""

import numpy as np
import pytest

from answerkey.metrics.plan import make_plan
from answerkey.profiles import load_profile
from answerkey.types import AnswerCriteria, Case, Response

PROFILE = load_profile("route-aware")
GIVEN = {"words": PROFILE.words, "routes": PROFILE.routes}
EXECUTIVE = (
    "**Performance Context:** RM 1.2M … **Benchmarking:** vs 6-month avg (+12%) … **Insights:** …"
)


class FixedCosine:
    """An embedder whose cosine between question and answer is given."""

    def __init__(self, cosine):
        self.cosine = cosine

    def embed(self, texts):
        other = [self.cosine, (1 - self.cosine**2) ** 0.5]
        return np.array(
            [[1.0, 0.0] if n % 2 == 0 else other for n in range(len(texts))], dtype=np.float32
        )


def value(
    metric,
    answer,
    route=None,
    question="What were the sales in May?",
    embed=None,
    expected=(),
    settings=None,
    **criteria,
):
    case = Case("c", question, expected=expected, criteria=AnswerCriteria(**criteria))
    given = GIVEN | ({"embed": embed} if embed else {})
    (scores,) = make_plan([metric], given, {metric: settings or {}}).score(
        [(case, Response(answer=answer, route=route))]
    )
    assert scores[metric].error is None
    return scores[metric].value


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("RM 12", "cosine 0.20"),
        ("RM 12, the trend is up", "cosine 0.20, 0.30 with bonus for trend"),
        (
            "RM 12 vs 10, growth " + "x" * 300,
            "cosine 0.20, 0.45 with bonus for benchmark and trend and length",
        ),
    ],
)
def test_the_reason_names_only_the_bonuses_that_were_given(answer, told):
    (scores,) = make_plan(["semantic_relevance"], GIVEN | {"embed": FixedCosine(0.2)}, {}).score(
        [(Case("c", "What were the sales in May?"), Response(answer=answer, route="sales_kpi"))]
    )
    assert scores["semantic_relevance"].reason == told


def test_executive_format_of_the_worked_example():
    assert value("executive_format", EXECUTIVE, "sales_kpi") == pytest.approx(0.75)
    assert value("executive_format", EXECUTIVE + " growth", "sales_kpi") == pytest.approx(1.0)
    assert value("executive_format", EXECUTIVE, "rag_docs") is None  # not applicable
    assert value("executive_format", "There were 12 of them", "hr_kpi") == pytest.approx(0.20)
    assert value("executive_format", "alarm 12", "hr_kpi") == pytest.approx(
        0.20
    )  # "rm" in a word is no currency


@pytest.mark.parametrize(
    ("cosine", "answer", "route", "expected"),
    [
        (0.80, "x", None, 0.80),
        (0.40, "x", None, 0.40),
        (0.10, "x", None, 0.30),
        (0.40, "above the average", "sales_kpi", 0.50),
        (0.40, "above the average, a growth", "sales_kpi", 0.60),
        (0.40, "above the average, a growth " + "." * 300, "sales_kpi", 0.65),
        (0.95, "average growth", "sales_kpi", 1.0),
        (0.40, "average growth", "rag_docs", 0.40),
        (0.40, " ", None, 0.30),  # a blank answer means nothing: its cosine is 0
    ],
)
def test_semantic_relevance_by_meaning(cosine, answer, route, expected):
    found = value("semantic_relevance", answer, route, embed=FixedCosine(cosine))
    assert found == pytest.approx(expected, abs=1e-6)


def test_uniform_gives_no_bonus():
    found = value(
        "semantic_relevance",
        "average growth",
        "sales_kpi",
        embed=FixedCosine(0.4),
        settings={"bonus": False},
    )
    assert found == pytest.approx(0.4, abs=1e-6)


def test_asking_back_and_declining_count_where_they_are_wanted():
    assert (
        value("semantic_relevance", "Which month do you mean?", clarification_expected=True) == 0.9
    )
    assert value("semantic_relevance", "Sorry, that is not available.", out_of_scope=True) == 0.8
    assert (
        value("semantic_relevance", "Which month?") == 0.3
    )  # not wanted here: no word of the question


def test_semantic_relevance_by_words_where_there_is_no_model():
    assert value("semantic_relevance", "Sales in May were high") == 1.0
    assert value("semantic_relevance", "Sales were high") == 0.5
    assert value("semantic_relevance", "Sales were high", must_contain=("high",)) == pytest.approx(
        0.7
    )
    assert value("semantic_relevance", "nothing") == 0.3
    assert value("semantic_relevance", "x", question="What is it?") == 0.5


@pytest.mark.parametrize(
    ("answer", "criteria", "expected"),
    [
        ("x" * 60, {}, 0.5),
        ("x" * 40, {}, 0.35),
        ("x" * 201, {}, 0.55),
        ("red " + "x" * 60, {"must_contain": ("Red", "blue")}, 0.5),
        ("red blue " + "x" * 60, {"must_contain": ("red", "blue")}, 0.9),
        ("green " + "x" * 60, {"must_contain_any": ("green", "grey")}, 0.75),
        ("a b c d e " + "x" * 60, {"acceptable_if_includes": ("a", "b", "c", "d", "e")}, 0.7),
        (
            "a b red " + "x" * 201,
            {"must_contain": ("red",), "acceptable_if_includes": ("a", "b")},
            1.0,
        ),
    ],
)
def test_information_completeness(answer, criteria, expected):
    assert value("information_completeness", answer, **criteria) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "route", "criteria", "expected"),
    [
        ("no figure", "rag_docs", {}, 0.75),
        ("no figure", "visual", {}, 0.75),
        ("no figure", "sales_kpi", {}, 0.5),
        ("no figure", None, {"numerical_range": (1, 2)}, 0.5),
        ("RM 99,852.83", None, {"numerical_range": (99_000, 100_000)}, 0.95),
        ("RM 99,852.83", None, {"numerical_range": (1, 2)}, 0.4),
        ("about 1.2M", None, {"expected_value": 1_230_000}, 0.95),
        ("about 1.1M", None, {"expected_value": 1_230_000}, 0.5),
        ("some 12", None, {}, 0.75),
    ],
)
def test_factual_accuracy(answer, route, criteria, expected):
    assert value("factual_accuracy", answer, route, **criteria) == expected


def test_factual_accuracy_takes_the_number_of_the_expected_answer():
    assert value("factual_accuracy", "RM 1,210", expected=("RM 1,200 in all",)) == 0.95
    assert value("factual_accuracy", "RM 1,400", expected=("RM 1,200 in all",)) == 0.5


@pytest.mark.parametrize(
    ("answer", "criteria", "expected"),
    [
        ("A plain sentence of a good length.", {}, 0.8),
        ("A plain sentence\nof a good length.", {}, 0.9),
        ("First: 1. this and 2. that, as a list.", {}, 0.9),
        ("This is fake data, and it was made up.", {}, 0.4),
        ("I guess it may be so, I would say so.", {"must_not_contain": ("guess", "may")}, 0.5),
        ("Short.", {}, 0.48),
    ],
)
def test_presentation_quality(answer, criteria, expected):
    assert value("presentation_quality", answer, **criteria) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("route", "expected"), [("docs", 1.0), ("rag", 0.7), ("other", 0.0), (None, 0.0)]
)
def test_route_score(route, expected):
    case = Case("c", "q", expected_route="docs", acceptable_routes=("rag",))
    (scores,) = make_plan(["route_score"], {}).score([(case, Response(answer="x", route=route))])
    assert scores["route_score"].value == expected
