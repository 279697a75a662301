"""The sentence about two runs, and everything that could make it wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.support.compare_building import outcome, side, simple

from answerkey.comparison.comparison import compare_sides
from answerkey.comparison.gate import CompareGate, gate_failures
from answerkey.comparison.number_text import format_number
from answerkey.comparison.record import comparison_json
from answerkey.errors import InputError
from answerkey.reports.comparison import notes
from answerkey.types import Passage, Score

LOW = [0.1, 0.2, 0.3, 0.2, 0.4, 0.1, 0.5, 0.2, 0.3, 0.6]
HIGH = [0.5, 0.7, 0.6, 0.8, 0.9, 0.4, 0.9, 0.6, 0.8, 0.9]


def test_same_answers_under_another_profile_are_no_improvement():
    found = compare_sides(simple("old", LOW), simple("new", HIGH, profile="p2", metrics="m2"))
    assert found.verdict == "not comparable"
    assert found.sentence.startswith(
        "the bot did not change: 10 of 10 answers are identical; the profile did"
    )
    assert found.overall.diff == pytest.approx(np.mean(HIGH) - np.mean(LOW))
    assert found.overall.p is not None
    assert gate_failures(found) == [found.sentence]


def test_other_answers_under_another_profile_are_not_comparable():
    found = compare_sides(simple("old", LOW), simple("new", HIGH, answer="no", profile="p2"))
    assert found.verdict == "not comparable"
    assert "rescore" in found.sentence
    assert gate_failures(found)


def test_better_and_worse():
    up = compare_sides(simple("old", LOW), simple("new", HIGH, answer="no"))
    assert (up.verdict, up.mcnemar.only_b) == ("better", 7)
    assert gate_failures(up) == []
    down = compare_sides(simple("old", HIGH), simple("new", LOW, answer="no"))
    assert down.verdict == "worse"
    assert gate_failures(down)
    assert gate_failures(down, CompareGate(margin=0.5)) == []
    assert gate_failures(down, CompareGate(margin=0.01))


def test_a_small_difference_says_what_could_have_been_found():
    found = compare_sides(simple("old", LOW), simple("new", LOW[::-1], answer="no"))
    assert found.verdict == "no detectable difference"
    assert "is detectable with 80 % power" in found.sentence


def test_no_difference_beyond_the_scale_is_promised():
    a, b = simple("a", [20.0, 90.0, 60.0]), simple("b", [80.0, 20.0, 65.0], answer="no")
    unknown_scale = compare_sides(a, b).sentence
    assert "e+" not in unknown_scale
    a.scale = b.scale = 100.0
    found = compare_sides(a, b)
    assert (found.overall.smallest_detectable or 0) > 100
    assert "too few cases to detect any difference" in found.sentence
    assert "80 % power" not in found.sentence
    assert any("none; it would exceed the whole scale" in note for note in notes(found))


@pytest.mark.parametrize(
    ("value", "text"), [(150.2, "150"), (0.09123, "0.0912"), (-6.81e-6, "-0.000007"), (-1e-17, "0")]
)
def test_figures_are_plain(value: float, text: str):
    assert format_number(value) == text


def test_a_partial_run_is_said_first_and_closes_the_gate():
    whole, part = simple("a", LOW), simple("b", LOW[:4], answer="no")
    part.partial = "4 of 10 cases: interrupted"
    found = compare_sides(whole, part)
    assert found.sentence.startswith("B is a partial run (4 of 10 cases: interrupted); ")
    assert found.changed.sentences()[1].startswith("cases: 6 not reached in B; 4 are the same")
    assert comparison_json(found)["partial"] == {"a": None, "b": "4 of 10 cases: interrupted"}
    assert gate_failures(found)[0] == "B is a partial run (4 of 10 cases: interrupted)"
    assert gate_failures(found, CompareGate(margin=0.5))
    back = compare_sides(part, whole)
    assert back.sentence.startswith("A is a partial run (4 of 10 cases: interrupted); ")
    assert gate_failures(back)


def test_the_same_run_twice_did_not_change():
    found = compare_sides(simple("old", LOW), simple("old", LOW))
    assert found.verdict == "no detectable difference"
    assert "10 of 10 answers are identical, and the scoring setup is unchanged" in found.sentence
    assert found.changed.sentences() == ["nothing: same cases, same answers, same scoring"]


def test_same_answers_with_other_scores_are_the_judges_noise():
    found = compare_sides(simple("old", LOW), simple("new", HIGH))
    assert found.verdict == "no detectable difference"
    assert "noise of the metrics or the judge" in found.sentence


def test_the_same_words_from_another_route_are_a_change_of_the_bot():
    a = side("a", [outcome(f"q{n}", s, route="kpi") for n, s in enumerate(LOW)])
    b = side("b", [outcome(f"q{n}", s, route="docs") for n, s in enumerate(HIGH)])
    found = compare_sides(a, b)
    assert found.verdict == "better"
    assert (found.changed.identical, found.changed.other_evidence) == (10, 10)


def test_the_same_words_from_other_passages_are_a_change_of_the_bot():
    a = side("a", [outcome("q", 0.1, passages=(Passage("x"),)), outcome("r", 0.2)])
    b = side("b", [outcome("q", 0.1, passages=(Passage("y"),)), outcome("r", 0.2)])
    assert compare_sides(a, b).changed.bot


def test_added_removed_and_edited_cases_are_left_out_and_said():
    a = side(
        "a", [outcome("same", 0.1), outcome("gone", 0.2), outcome("edited", 0.3, expected=("old",))]
    )
    b = side(
        "b",
        [
            outcome("edited", 0.9, expected=("new",)),
            outcome("fresh", 0.9),
            outcome("same", 0.2, "no"),
        ],
    )
    found = compare_sides(a, b)
    assert (found.changed.added, found.changed.removed, found.changed.edited) == (
        ("fresh",),
        ("gone",),
        ("edited",),
    )
    assert found.overall.n == 1
    assert found.verdict == "no detectable difference"
    assert "one case" in found.sentence


def test_no_case_in_common():
    found = compare_sides(side("a", [outcome("x", 0.5)]), side("b", [outcome("y", 0.5)]))
    assert (found.verdict, found.mcnemar.p) == ("not comparable", None)
    assert gate_failures(found)
    json.dumps(comparison_json(found), allow_nan=False)


def test_errors_on_one_side_are_counted_and_close_the_gate():
    found = compare_sides(
        simple("a", [0.4, 0.5, 0.6, 0.7]), simple("b", [0.4, None, 0.6, 0.8], answer="no")
    )
    assert found.overall.n == 3
    assert found.lost == ("q1",)
    assert comparison_json(found)["broken"] == {"keyword_recall": {"a": 0, "b": 1}}
    assert gate_failures(found)[0] == "1 case of B with an error; with a verdict in A: q1"


def test_near_identical_answers_are_told_from_changed_ones():
    a = side(
        "a",
        [
            outcome("q", 0.5, "It is  Blue."),
            outcome("r", 0.5, "12 months"),
            outcome("s", 0.5, "one"),
        ],
    )
    b = side(
        "b",
        [outcome("q", 0.5, "it is blue"), outcome("r", 0.5, "24 months"), outcome("s", 0.5, "one")],
    )
    changed = compare_sides(a, b).changed
    assert (changed.identical, changed.near_identical, changed.different) == (1, 1, 1)
    assert changed.sentences() == [
        "answers: 1 of 3 identical, 1 differ only in case or punctuation, 1 changed"
    ]


def test_one_more_metric_does_not_make_another_scoring():
    a = side("a", [outcome(f"q{n}", s, "x", {"token_f1": s}) for n, s in enumerate(LOW)])
    more = [
        outcome(f"q{n}", s, "y", {"token_f1": s, "exact_match": 0.0}) for n, s in enumerate(HIGH)
    ]
    found = compare_sides(a, side("b", more, metrics="m2", judge="j2"))
    assert found.verdict == "better"
    assert found.only_b == ("exact_match",)
    same_names = compare_sides(
        a, side("b", [outcome("q0", 0.9, "y", {"token_f1": 0.9})], metrics="m2")
    )
    assert same_names.verdict == "not comparable"


def test_without_a_profile_the_metrics_decide_and_must_agree():
    def run(name: str, f1: list[float], seconds: list[float], answer: str):
        rows = [
            outcome(
                f"q{n}", None, answer, {"token_f1": v, "latency_ms": s, "answer_length": 1000 * v}
            )
            for n, (v, s) in enumerate(zip(f1, seconds, strict=True))
        ]
        return side(name, rows)

    flat = [100.0 + n for n in range(10)]
    assert compare_sides(run("a", LOW, flat, "x"), run("b", HIGH, flat, "y")).verdict == "better"
    assert compare_sides(run("a", HIGH, flat, "x"), run("b", LOW, flat, "y")).verdict == "worse"
    slower = [2 * s for s in flat]
    mixed = compare_sides(run("a", LOW, flat, "x"), run("b", HIGH, slower, "y"))
    assert mixed.verdict == "not comparable"
    assert "token_f1 got better and latency_ms got worse" in mixed.sentence


def test_what_repeats_of_the_same_bot_differ_by_is_no_regression():
    random = np.random.default_rng(0)
    true = random.uniform(0.3, 0.7, 200)
    runs = [
        simple(f"r{n}", list(true + random.normal(0, 0.1, 200)), answer=f"{n}") for n in range(4)
    ]
    worse = simple("b", list(true + random.normal(-0.01, 0.001, 200)), answer="b")
    found = compare_sides(runs[0], worse, runs[1:])
    assert found.noise is not None
    assert found.noise.sd == pytest.approx(0.1, rel=0.1)
    assert found.noise.floor == pytest.approx(1.96 * 0.1 * np.sqrt(2 / 200), rel=0.1)
    assert found.noise.flaky
    assert found.verdict == "no detectable difference"
    flaky = sum(move.flaky for move in found.moves)
    assert flaky > 100
    assert len(found.degraded_cases) + len(found.improved_cases) + flaky == len(found.moves)


def test_a_repeat_under_another_profile_is_refused():
    with pytest.raises(InputError, match="not a repeat"):
        compare_sides(simple("a", LOW), simple("b", HIGH), [simple("r", LOW, profile="p2")])


def test_the_json_has_the_promised_keys_and_no_nan():
    a = side(
        "a",
        [
            outcome(f"q{n}", s, "x", {"m": s, "n": Score.not_applicable("no")})
            for n, s in enumerate(LOW)
        ],
    )
    b = side(
        "b",
        [
            outcome(f"q{n}", s, "y", {"m": s, "n": Score.not_applicable("no")})
            for n, s in enumerate(HIGH)
        ],
    )
    data = json.loads(json.dumps(comparison_json(compare_sides(a, b)), allow_nan=False))
    promised = {
        "verdict",
        "sentence",
        "changed",
        "identical_answers",
        "metrics",
        "mcnemar_p",
        "smallest_detectable",
    }
    assert promised <= data.keys()
    assert {"cases", "answers", "profile", "metrics", "judge", "embedding", "settings"} <= data[
        "changed"
    ].keys()
    row = "mean_a mean_b diff ci95 t p p_holm wilcoxon_p d_pooled d_z wins losses ties"
    assert set(row.split()) <= data["metrics"]["m"].keys()
    assert data["metrics"]["n"]["note"] == "no case has this value in both runs"
    assert data["improved"]["cases"][0]["id"] == "q3"


def test_three_cases_never_pass_the_gate():
    fell = compare_sides(
        simple("a", [99.7, 99.0, 99.9]), simple("b", [20.0, 21.0, 19.0], answer="no")
    )
    assert gate_failures(fell)
    rose = compare_sides(
        simple("a", [20.0, 21.0, 19.0]), simple("b", [99.7, 99.0, 99.9], answer="no")
    )
    assert gate_failures(rose)[0].startswith(
        "too few cases to tell: 3 cases; at least 10 are needed"
    )


def test_too_few_cases_say_how_many_would_be_enough():
    random = np.random.default_rng(3)
    before = random.uniform(0, 1, 30)
    found = compare_sides(
        simple("a", before.tolist()),
        simple("b", (before + random.normal(0, 0.3, 30)).tolist(), answer="no"),
    )
    [reason] = gate_failures(found, CompareGate(margin=0.05))
    assert reason.startswith("too few cases to tell: the score changed by ")
    assert 150 < int(reason.rpartition("about ")[2].split()[0]) < 500
    assert gate_failures(found, CompareGate(margin=0.3)) == []


def test_cases_missing_in_b_are_never_better_and_fail_the_gate():
    found = compare_sides(simple("a", [*LOW, *LOW]), simple("b", [*HIGH, *HIGH][:18], answer="no"))
    assert found.verdict == "not comparable"
    assert found.sentence.startswith(
        "not comparable: 2 cases of A missing in B; 17 % → 89 % passed; over 18 cases"
    )
    assert gate_failures(found)[0] == "2 cases of A missing in B: q18, q19"


def test_half_of_b_in_errors_is_never_better():
    half = [None if n % 2 else score for n, score in enumerate([*HIGH, *HIGH])]
    found = compare_sides(simple("a", [*LOW, *LOW]), simple("b", half, answer="no"))
    assert (found.verdict, found.errors_b) == ("not comparable", 10)
    assert "10 cases with a score in A ended in an error in B" in found.sentence
    assert gate_failures(found)[0].startswith(
        "10 cases of B with an error; with a verdict in A: q1"
    )
    one = [None, *[*HIGH, *HIGH][1:]]
    found = compare_sides(simple("a", [*LOW, *LOW]), simple("b", one, answer="no"))
    assert found.verdict == "better"
    assert gate_failures(found) == ["1 case of B with an error; with a verdict in A: q0"]
    assert gate_failures(found, CompareGate(max_errors=1)) == []


def test_changed_settings_are_named():
    a, b = simple("a", LOW), simple("b", LOW, answer="no", settings="s2")
    a.settings = {"target": {"url": "http://one", "method": "POST"}, "judge": "local"}
    b.settings = {"target": {"url": "http://two", "method": "POST"}, "judge": "local"}
    changed = compare_sides(a, b).changed
    assert changed.settings == ('target.url: "http://one" → "http://two"',)
    assert 'settings: target.url: "http://one" → "http://two"' in changed.sentences()


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "least", "most"), [(0.0, 0.8, 1.0), (0.1, 0.0, 0.05)])
def test_the_gate_passes_an_equal_bot_and_stops_one_worse_by_twice_the_margin(loss, least, most):
    """200 cases whose differences have a standard deviation of 0.2: enough for a margin of 0.05 with 80 % power."""
    random = np.random.default_rng(11)
    passed = 0
    for _ in range(200):
        ability = random.uniform(0.3, 0.7, 200)
        before = ability + random.normal(0, 0.14, 200)
        after = ability - loss + random.normal(0, 0.14, 200)
        found = compare_sides(
            simple("a", before.tolist()), simple("b", after.tolist(), answer="no")
        )
        passed += gate_failures(found, CompareGate(margin=0.05)) == []
    assert least <= passed / 200 <= most
