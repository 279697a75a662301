"""Figures of variants: a parent and its children are one unit, whatever their number."""

from __future__ import annotations

from answerkey.robustness.measure import VariantFigures, measure_variants
from answerkey.types import Case, Outcome, Response, Score, Status, Verdict


def _outcome(case: Case, *, passed: bool) -> Outcome:
    status = Status.PASSED if passed else Status.FAILED
    verdict = Verdict(status, score=float(passed), passed=passed)
    return Outcome(case, Response("yes" if passed else "no"), {}, verdict)


def _measure(per_case: int) -> VariantFigures:
    """Twenty cases of which six fail with typos: all their variants do."""
    originals: list[Outcome] = []
    children: list[Outcome] = []
    for n in range(20):
        case = Case(f"q{n}", "Open?", ("yes",))
        originals.append(_outcome(case, passed=True))
        for number in range(per_case):
            extra = {"variant_of": case.id, "variant": "typos"}
            child = Case(f"q{n}~typos-{number}", "Opn?", ("yes",), extra=extra)
            children.append(_outcome(child, passed=n >= 6))
    scores = measure_variants(
        originals, children, lambda pairs: [Score(float(r.answer == "yes")) for _, r in pairs]
    )
    return scores["typos"]


def test_more_variants_of_the_same_cases_do_not_narrow_the_intervals() -> None:
    one = _measure(1)
    five = _measure(5)
    assert five.pairs == 100
    assert five.drop == one.drop == 0.3
    assert one.drop_interval is not None
    assert five.drop_interval is not None
    width = one.drop_interval[1] - one.drop_interval[0]
    assert five.drop_interval[1] - five.drop_interval[0] >= 0.9 * width
    assert one.consistency.interval is not None
    assert five.consistency.interval is not None
    width = one.consistency.interval.high - one.consistency.interval.low
    many = five.consistency.interval.high - five.consistency.interval.low
    assert many >= 0.9 * width


def test_more_variants_of_the_same_cases_do_not_make_a_drop_more_certain() -> None:
    one = _measure(1).passes.p
    five = _measure(5).passes.p
    assert one is not None
    assert five is not None
    assert five >= one
