"""The built-in profiles, by the worked examples that define them; and profiles that cannot be used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey import rank
from answerkey.errors import SettingsError
from answerkey.profiles import builtin_names, decide_verdict, load_profile
from answerkey.types import Case, Response, Score

CASE = Case("c", "What were sales?", expected=("RM 5",))


def verdict(profile, values, route=None, route_score=None):
    scores = {
        name: value if isinstance(value, Score) else Score(value) for name, value in values.items()
    }
    scores["route_score"] = Score(route_score)
    return decide_verdict(load_profile(profile), CASE, Response(answer="x", route=route), scores)


DIMENSIONS = (
    "semantic_relevance",
    "information_completeness",
    "factual_accuracy",
    "presentation_quality",
    "executive_format",
)


def dimensions(*values):
    return dict(zip(DIMENSIONS, values, strict=False))


def test_route_aware_on_a_kpi_route():
    found = verdict("route-aware", dimensions(0.60, 0.65, 0.75, 0.90, 0.85), "sales_kpi", 1.0)
    assert found.quality == pytest.approx(0.7325)
    assert found.score == pytest.approx(0.3 + 0.7 * 0.7325)
    assert (found.status, found.passed) == ("ACCEPTABLE", True)


def test_uniform_on_the_same_route():
    found = verdict("uniform", dimensions(0.40, 0.65, 0.75, 0.90), "sales_kpi", 1.0)
    assert found.quality == pytest.approx(0.655)
    assert found.status == "ACCEPTABLE"  # the KPI pass mark, 0.65, holds under either profile


@pytest.mark.parametrize(
    ("quality", "route", "route_score", "status"),
    [
        (0.80, None, None, "PERFECT"),
        (0.80, "docs", 1.0, "PERFECT"),
        (0.80, "docs", 0.7, "ACCEPTABLE"),
        (0.95, "docs", 0.0, "ACCEPTABLE"),
        (0.70, "docs", 1.0, "ACCEPTABLE"),
        (0.699, "docs", 1.0, "FAILED"),
        (0.75, "hr_kpi", 1.0, "PERFECT"),
        (0.74, "hr_kpi", 1.0, "ACCEPTABLE"),
        (0.65, "hr_kpi", 0.0, "ACCEPTABLE"),
        (0.649, "hr_kpi", 1.0, "FAILED"),
    ],
)
def test_marks_of_route_aware(quality, route, route_score, status):
    found = verdict("route-aware", dict.fromkeys(DIMENSIONS, quality), route, route_score)
    assert found.status == status
    assert found.passed == (status != "FAILED")


RUBRIC = {
    "rubric.accuracy": 4.2,
    "rubric.completeness": 3.8,
    "rubric.citation_quality": 4.5,
    "rubric.coherence": 2.9,
}


def test_rubric_divides_each_criterion_by_its_own_maximum():
    found = verdict("rubric", RUBRIC)
    assert round(found.score, 1) == 83.5
    assert (found.band, found.status) == ("good", "PASSED")
    assert sum(part.points for part in found.parts) == pytest.approx(found.score)


@pytest.mark.parametrize(("share", "band", "passed"), [(0.85, "excellent", True), (0.70, "good", True), (0.69, "needs review", False), (0.5, "needs review", False), (0.49, "failed", False)])  # fmt: skip
def test_bands_of_rubric(share, band, passed):
    found = verdict("rubric", {n: share * (3 if n.endswith("coherence") else 5) for n in RUBRIC})
    assert (found.band, found.passed) == (band, passed)


def test_citations_can_be_switched_off_and_the_rest_renormalised():
    off = {"base": "rubric", "without": ["rubric.citation_quality"]}
    found = verdict(off, {**RUBRIC, "rubric.citation_quality": 0.0})
    assert found.score == pytest.approx((42 + 22.8 + 2.9 / 3 * 10) / 0.9)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rubric.citation", 'did you mean "rubric.citation_quality"'),
        ("foo", "its criteria are rubric.accuracy"),
    ],
)
def test_a_criterion_that_is_not_there_cannot_be_left_out(name, told):
    with pytest.raises(SettingsError, match=told):
        load_profile({"base": "rubric", "without": [name]})


def test_a_criterion_of_one_group_of_routes_can_be_left_out():
    profile = load_profile({"base": "route-aware", "without": ["executive_format"]})
    assert "executive_format" not in {c.metric for c in profile.rules_for("sales_kpi").lines}


@pytest.mark.parametrize(("relevant", "ranking", "passed"), [("a", "xxa", True), ("a", "xxxa", False), ("ab", "axxxx", True), ("ab", "xaxxx", False), ("a", "x", False)])  # fmt: skip
def test_a_ranking_passes_by_its_ndcg(relevant: str, ranking: str, passed: bool) -> None:
    ndcg = rank(
        {"q": list(relevant)},
        {"q": [f"{letter}{n}" if letter == "x" else letter for n, letter in enumerate(ranking)]},
        ["ndcg@5"],
    )
    assert verdict("retrieval", dict(ndcg.mean)).passed == passed


def test_zero_not_applicable_and_broken_are_three_things():
    zero = verdict("rubric", {**RUBRIC, "rubric.citation_quality": 0.0})
    left_out = verdict(
        "rubric", {**RUBRIC, "rubric.citation_quality": Score.not_applicable("no citations wanted")}
    )
    broke = verdict("rubric", {**RUBRIC, "rubric.citation_quality": Score.failed("no reply")})
    assert zero.score == pytest.approx(83.4667 - 9, abs=1e-3)
    assert left_out.score == pytest.approx((42 + 22.8 + 2.9 / 3 * 10) / 0.9)
    assert (broke.status, broke.score, broke.passed) == ("ERROR", None, False)
    assert "no reply" in broke.justification


def test_nothing_that_applies_is_unscored_not_failed():
    found = verdict("rubric", dict.fromkeys(RUBRIC, Score.not_applicable("-")))
    assert (found.status, found.score) == ("UNSCORED", None)


def test_the_readings_of_rag_cosine_are_shortfalls():
    values = {
        "context_relevance": 0.4,
        "context_sufficiency": 0.6,
        "answer_relevance": 0.9,
        "answer_correctness": 0.9,
        "answer_hallucination": 0.5,
    }
    assert verdict("rag-cosine", values).shortfalls == (), "a case that passes has none"
    low = {**values, "answer_correctness": 0.1, "answer_relevance": 0.65}
    found = verdict("rag-cosine", low)
    assert [text.partition(": ")[2] for text in found.shortfalls] == [
        "off-topic retrieval",
        "likely factual issues",
        "significant unsupported claims",
    ]
    # Of a metric where lower is better, 1 is the worst.
    assert found.quality == pytest.approx((0.4 + 0.6 + 0.65 + 0.1 + 0.5) / 5)


def test_a_required_floor_fails_the_case_whatever_the_rest():
    profile = {
        "criteria": [{"metric": "a", "floor": 0.5, "required": True}, {"metric": "b", "weight": 9}],
        "pass": 0.5,
    }
    assert verdict(profile, {"a": 0.4, "b": 1.0}).status == "FAILED"
    assert verdict(profile, {"a": 0.5, "b": 1.0}).status == "PASSED"


OVERLAY = {"base": "route-aware", "on": {"kpi": {"pass": 0.60}}}


def test_an_overlay_of_one_key_in_a_route_group_changes_that_key_and_nothing_else():
    base, own = load_profile("route-aware"), load_profile(OVERLAY)
    assert own.rules == base.rules
    assert own.routes == base.routes
    kpi, plain = own.rules_for("sales_kpi"), base.rules_for("sales_kpi")
    assert (kpi.lines, kpi.pass_mark) == (plain.lines, 0.60)
    assert [(band.name, band.at) for band in kpi.bands] == [
        ("excellent", 0.75),
        ("acceptable", 0.60),
        ("failed", 0.0),
    ]


def test_an_overlay_of_one_weight_keeps_the_other_criteria():
    own = load_profile(
        {
            "base": "uniform",
            "on": {"kpi": {"criteria": [{"metric": "factual_accuracy", "weight": 0.9}]}},
        }
    )
    weights = {c.metric: c.weight for c in own.rules_for("hr_kpi").lines}
    assert weights == dict(zip(DIMENSIONS, (0.25, 0.30, 0.9, 0.15), strict=False))
    assert own.rules == load_profile("uniform").rules


@pytest.mark.parametrize(
    "overlay",
    [
        OVERLAY,
        {"base": "route-aware", "pass": 0.9},
        {"base": "route-aware", "pass": 0.1},
        {"base": "rubric", "pass": 45},
        {"base": "route-aware", "bands": [{"name": "acceptable", "at": 0.5}]},
        {"base": "rubric", "bands": [{"name": "fine", "at": 30, "status": "PASSED"}]},
        {"criteria": [{"metric": "a"}], "bands": [{"name": "top", "at": 0.9, "status": "PERFECT", "needs_route": True}]},
    ],
)  # fmt: skip
@given(
    value=st.floats(0, 1),
    route_score=st.sampled_from([None, 0.0, 0.7, 1.0]),
    mark=st.sampled_from([None, 0.5]),
)
def test_status_passed_and_band_always_agree(overlay, value, route_score, mark):
    profile = load_profile(overlay)
    for route in ("sales_kpi", "docs"):
        rules = profile.rules_for(route)
        scores = {c.metric: Score(value * c.maximum) for c in rules.lines} | {
            "route_score": Score(route_score)
        }
        case = Case("c", "?", ("x",), min_score=mark and mark * profile.scale)
        found = decide_verdict(profile, case, Response(answer="x", route=route), scores)
        band = next(band for band in rules.bands if band.name == found.band)
        assert found.status == band.status
        assert found.passed == (found.status != "FAILED")
        if found.passed:
            assert found.quality >= rules.pass_mark - 1e-9
        elif not mark and not any(
            band.needs_route for band in rules.bands if band.at == rules.pass_mark
        ):
            assert found.quality < rules.pass_mark


def test_only_the_case_s_own_minimum_raises_the_pass_mark_and_no_carried_column():
    scores = dict.fromkeys(DIMENSIONS, Score(0.75))
    profile, response = load_profile("route-aware"), Response(answer="x", route="docs")
    carried = decide_verdict(
        profile, Case("c", "?", ("x",), extra={"min_score": 0.99}), response, scores
    )
    own = decide_verdict(profile, Case("c", "?", ("x",), min_score=0.99), response, scores)
    assert (carried.status, carried.passed) == ("ACCEPTABLE", True)
    assert (own.status, own.passed, own.band) == ("FAILED", False, "failed")
    assert "the case's own min_score" in own.justification


def test_a_base_that_leads_back_to_itself_is_named(write):
    with pytest.raises(SettingsError, match="leads back to itself"):
        load_profile(str(write("mine.toml", f'base = "{write("mine.toml", "")}"')))


def test_a_verdict_names_low_and_strong_criteria():
    found = verdict("route-aware", dimensions(0.9, 0.2, 0.5, 0.9), "docs", 0.0)
    assert "Low: information_completeness 0.20" in found.justification
    assert "Strong: semantic_relevance, presentation_quality" in found.justification


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_quality_is_between_the_lowest_and_the_highest_component(values):
    found = verdict("uniform", dimensions(*values), "docs", 1.0)
    assert min(values) - 1e-9 <= found.quality <= max(values) + 1e-9


def test_content_changes_the_digest_and_the_name_of_a_builtin_does_not_lie():
    digests = {load_profile(name).digest for name in builtin_names()}
    assert len(digests) == len(builtin_names()) == 9
    assert load_profile({"base": "uniform", "pass": 0.71}).digest not in digests
    assert load_profile("uniform").digest == load_profile({"base": "uniform"}).digest


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({}, "no criteria"),
        (
            {"criteria": [{"metric": "a", "weight": -1}]},
            "weight = -1: expected a number of 0 or more",
        ),
        ({"criteria": [{"metric": "a", "weight": 0}]}, "add up to 0"),
        ({"criteria": [{"metric": "a", "wieght": 1}]}, 'did you mean "weight"'),
        ({"criteria": [{"weight": 1}]}, "criterion needs metric"),
        ({"criteria": [{"metric": "a"}], "bnads": []}, 'did you mean "bands"'),
        ({"criteria": [{"metric": "a"}], "words": {"declinez": []}}, 'did you mean "declines"'),
        ({"criteria": [{"metric": "a", "weight": float("nan")}]}, "weight = nan"),
        (
            {"criteria": [{"metric": "a", "better": "up"}]},
            "better = .up.: expected higher or lower",
        ),
        ({"criteria": [{"metric": "a"}], "on": {"kpi": {}}}, "has no routes"),
        ("route-awre", 'did you mean "route-aware"'),
        ("missing.toml", "cannot be read"),
    ],
)
def test_a_profile_that_cannot_be_used_says_why(table, told):
    with pytest.raises(SettingsError, match=told):
        load_profile(table)


def test_profiles_are_listed_and_shown_as_toml(cli, write):
    assert {entry["name"] for entry in cli("profiles", "--json").json} == set(builtin_names())
    text = cli("profiles", "show", "route-aware").out
    assert load_profile(str(write("mine.toml", text))).digest == load_profile("route-aware").digest


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"bands": 5}, "bands = 5: expected a list of tables"),
        ({"bands": []}, "at least one band"),
        (
            {"bands": [{"name": "a", "at": "x", "status": "PASSED"}]},
            'band a at = "x": expected a number',
        ),
        ({"routes": 5}, "routes = 5: expected a table of lists of strings"),
        ({"on": 5}, "on = 5: expected a table of tables"),
        (
            {"on": {"kpi": {"pas": 0.5}}, "routes": {"kpi": ["x"]}},
            r'\[on.kpi\] has no setting "pas"; did you mean "pass"',
        ),
        ({"version": "x"}, 'version = "x": expected a whole number'),
        ({"scale": "x"}, 'scale = "x": expected a number above 0'),
        ({"criteria": [{"metric": 5}]}, "metric = 5: expected text"),
        ({"criteria": [{"metric": "exact_match", "floor": "x"}]}, 'floor = "x": expected a number'),
        ({"criteria": [{"metric": "exact_match", "required": "x"}]}, "expected true or false"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(table, told):
    with pytest.raises(SettingsError, match=told):
        load_profile({"criteria": [{"metric": "exact_match"}], **table})
