"""A changed scoring setup is never called an improvement."""

from __future__ import annotations

from tests.support.compare_building import outcome, side, simple

from answerkey.comparison.comparison import compare_sides
from answerkey.comparison.gate import gate_failures
from answerkey.comparison.pair import Side

LOW = [0.1 + 0.01 * n for n in range(40)]
HIGH = [0.6 + 0.01 * n for n in range(40)]


def test_other_settings_of_a_metric_are_another_scoring():
    a = simple("a", LOW)
    b = simple("b", HIGH, answer="no")
    a.settings = {"settings": {"number_close": {"tolerance": 0.001}}}
    b.settings = {"settings": {"number_close": {"tolerance": 0.05}}}
    found = compare_sides(a, b)
    assert found.verdict == "not comparable"
    assert "the settings of metrics" in found.sentence
    assert "settings of metrics: changed" in found.changed.sentences()
    assert found.changed.flags()["metric_settings"]
    assert gate_failures(found)


def two_metrics(name: str, scores: list[float], answer: str, **fingerprint: str) -> Side:
    rows = [
        outcome(f"q{n}", s, answer, {"token_f1": s, "exact_match": s}) for n, s in enumerate(scores)
    ]
    return side(name, rows, **fingerprint)


def test_settings_of_a_metric_that_only_one_run_has_do_not_matter():
    rows = [outcome(f"q{n}", s, "x", {"token_f1": s}) for n, s in enumerate(LOW)]
    a = side("a", rows)
    b = two_metrics("b", HIGH, "y", metrics="m2")
    b.settings = {"settings": {"exact_match": {"strip": True}}}
    assert compare_sides(a, b).verdict == "better"


def test_a_criterion_with_another_text_is_another_scoring():
    a = two_metrics("a", LOW, "x")
    b = two_metrics("b", HIGH, "y", metrics="m2")
    b.metrics["criterion.more"] = b.metrics["token_f1"]
    a.criteria = {"good": "digest of: it is a poem"}
    b.criteria = {"good": "digest of: it names days", "more": "new"}
    found = compare_sides(a, b)
    assert found.verdict == "not comparable"
    assert "criteria of the suite" in found.sentence


def test_more_metrics_of_another_version_are_another_scoring():
    rows = [outcome(f"q{n}", s, "x", {"token_f1": s}) for n, s in enumerate(LOW)]
    a = side("a", rows)
    b = two_metrics("b", HIGH, "y", metrics="m2")
    a.has_current_metrics = lambda: False
    assert compare_sides(a, b).verdict == "not comparable"
