"""A plan: one broken metric or pair never spoils another, and nothing that is not a number passes for one."""

import pytest

from answerkey.metrics import registry
from answerkey.metrics.plan import make_plan
from answerkey.metrics.registry import Facts, metric, metric_group
from answerkey.types import AnswerCriteria, Case, Response, Score

PAIRS = [(Case(name, "q"), Response(answer=name)) for name in ("good", "bad", "fine")]


@pytest.fixture
def registered(monkeypatch):
    """Metrics of this test alone."""
    registry.all_metrics()
    monkeypatch.setattr(registry, "_METRICS", dict(registry._METRICS))


def test_a_batch_that_breaks_on_one_pair_breaks_only_that_pair(registered):
    @metric("lengths", batch=True, needs=("answer",), empty="0")
    def lengths(pairs):
        return [1 / (response.answer != "bad") for _, response in pairs]

    @metric_group(Facts("first", empty="0"), Facts("second", empty="0"))
    def both(pairs, *, names):
        if any(case.id == "bad" for case, _ in pairs):
            raise ValueError("cannot read this one")
        return {name: [0.5] * len(pairs) for name in names}

    for row, name in zip(
        make_plan(["lengths", "first", "second"], {}).score(PAIRS),
        ("good", "bad", "fine"),
        strict=True,
    ):
        if name == "bad":
            assert row["lengths"].error == "ZeroDivisionError: division by zero"
            assert row["first"].error == row["second"].error == "ValueError: cannot read this one"
        else:
            assert (row["lengths"].value, row["first"].value, row["second"].value) == (
                1.0,
                0.5,
                0.5,
            )


@pytest.mark.parametrize(
    "given",
    [
        float("nan"),
        float("inf"),
        "0.5",
        [1],
        1e200,
        10**400,
        Score(10**400),
        Score(-(10**5000)),
        Score("0.5x"),
    ],
)
def test_a_value_that_is_no_number_is_an_error(registered, given):
    @metric("odd", needs=("answer",), empty="0")
    def odd(case, response):
        return given

    (row,) = make_plan(["odd"], {}).score(PAIRS[:1])
    assert row["odd"].value is None
    assert row["odd"].error


@pytest.mark.parametrize(
    ("facts", "given", "error"),
    [
        ({}, 7.0, "odd returned 7, outside its declared range 0.0 to 1.0; declare low and high"),
        ({}, -0.1, "outside its declared range"),
        ({"low": 1, "high": 5}, 5.5, "outside its declared range 1 to 5"),
        ({"high": None}, -1, "outside its declared range 0.0 to any"),
        ({"high": None}, 7.0, None),
        ({"low": None, "high": None}, -7.0, None),
        ({}, 1 + 1e-7, None),
    ],
)
def test_a_value_outside_the_declared_range_is_an_error(registered, facts, given, error):
    metric("odd", needs=("answer",), empty="0", **facts)(lambda case, response: given)
    (row,) = make_plan(["odd"], {}).score(PAIRS[:1])
    assert (row["odd"].value is None) == (error is not None)
    assert error is None or error in row["odd"].error


def test_true_none_and_scores_are_what_they_are(registered):
    for name, given in {"yes": True, "none": None, "score": Score(0.2, "so")}.items():
        metric(name, needs=("answer",), empty="0")(lambda case, response, given=given: given)
    (row,) = make_plan(["yes", "none", "score"], {}).score(PAIRS[:1])
    assert (row["yes"].value, row["none"].applies, row["score"].reason) == (1.0, False, "so")


def test_a_wrong_number_of_scores_is_broken_not_shifted(registered):
    @metric("short", batch=True, needs=("answer",), empty="0")
    def short(pairs):
        return [1.0]

    assert all(row["short"].error for row in make_plan(["short"], {}).score(PAIRS))


def test_an_unknown_setting_of_a_metric_is_named():
    with pytest.raises(registry.SettingsError, match='did you mean "tolerance"'):
        make_plan(["number_close"], {}, {"number_close": {"tolerence": 0.1}})


def test_no_number_is_close_to_one_that_no_float_can_hold():
    case = Case("c", "q", expected=("9" * 400,), criteria=AnswerCriteria())
    (row,) = make_plan(["number_close"], {}).score([(case, Response(answer="it is 5"))])
    assert not row["number_close"].applies
    endless = Case("c", "q", criteria=AnswerCriteria(expected_value=float("inf")))
    (row,) = make_plan(["number_close"], {}).score([(endless, Response(answer="it is 5"))])
    assert row["number_close"].value == 0.0
