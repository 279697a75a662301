"""Laws that every metric keeps, in one table: no metric is exempt because somebody forgot it."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.plan import NEEDS, make_plan
from answerkey.metrics.registry import all_metrics, find, provided_for
from answerkey.profiles import load_profile
from answerkey.types import AnswerCriteria, Case, Passage, Response

RULES = load_profile("route-aware")
# `criterion.NAME` stands for the criteria of a suite, which has none here.
NAMES = [m.name.replace("@k", "@3") for m in all_metrics() if m.name != "criterion.NAME"]


class HashEmbedder:
    """Vectors that depend on the text alone; quick, and no meaning is needed for a law."""

    name, digest, precision, dimension = "hash", "0", "test", 8

    def embed(self, texts):
        rows = [np.random.default_rng(abs(hash(text)) % 2**32).normal(size=8) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), 8)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def score(names, pairs):
    metrics = [find(name) for name in names]
    given = {
        "embed": HashEmbedder(),
        "words": RULES.words,
        "routes": RULES.routes,
        "judge": load_judge("local"),
    }
    wanted = provided_for(metrics)
    return make_plan(names, {key: value for key, value in given.items() if key in wanted}).score(
        pairs
    )


TEXT = st.text(max_size=60) | st.sampled_from(
    ["", " ", "RM 1.2M vs 3", "No. Sorry!", "the cat [1] sat [9].", "漢字", "a\nb", "😀"]
)
PAIRS = st.builds(
    lambda question, expected, answer, contexts, relevant, retrieved, route, seconds: (
        Case("c", question or "?", expected=tuple(expected), relevant=relevant, expected_route="docs", criteria=AnswerCriteria(must_contain=("a",), expected_value=3)),
        Response(answer=answer, passages=tuple(Passage(text, id=str(n), page=str(n)) for n, text in enumerate(contexts)), retrieved=retrieved, route=route, seconds=seconds),
    ),
    TEXT,
    st.lists(TEXT, max_size=2),
    st.none() | TEXT,
    st.lists(TEXT, max_size=3),
    st.none() | st.dictionaries(st.sampled_from("0123"), st.sampled_from([0.0, 1.0, 2.0]), max_size=3),
    st.none() | st.lists(st.sampled_from("0123"), max_size=5).map(tuple),
    st.none() | st.sampled_from(["docs", "sales_kpi"]),
    st.none() | st.floats(0, 10),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_every_score_is_a_number_in_range_or_says_why_not(pairs):
    for row in score(NAMES, pairs):
        assert set(row) == set(NAMES)
        for name, found in row.items():
            facts = find(name).facts
            assert found.error is None, f"{name} broke: {found.error}"
            if found.value is None:
                assert found.reason, f"{name} does not apply and does not say why"
                continue
            assert math.isfinite(found.value)
            assert facts.low is None or found.value >= facts.low - 1e-9, name
            assert facts.high is None or found.value <= facts.high + 1e-9, name


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PAIRS, min_size=2, max_size=4))
def test_a_case_scores_the_same_alone_and_in_company(pairs):
    together = score(NAMES, pairs)
    alone = [score(NAMES, [pair])[0] for pair in pairs]
    for one, other in zip(together, alone, strict=True):
        for name in NAMES:
            assert one[name].value == pytest.approx(other[name].value, abs=1e-5), name


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_states_its_facts(name):
    facts = find(name).facts
    assert facts.name == name
    assert facts.summary, "a docstring that says what it measures"
    assert facts.empty, "what it gives on empty input"
    assert set(facts.needs) <= NEEDS
    assert facts.low is None or facts.high is None or facts.low < facts.high


@pytest.mark.parametrize("name", NAMES)
def test_an_error_of_the_target_breaks_every_metric_and_zeroes_none(name):
    (row,) = score([name], [(Case("c", "q", expected=("a",)), Response(error="refused"))])
    assert row[name].value is None
    assert "refused" in row[name].error
