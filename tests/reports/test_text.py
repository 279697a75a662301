"""report.txt and report.md: the scale of each score, the limits of the bands, families of metrics, and text that mentions nobody."""

from __future__ import annotations

import pytest

from answerkey.metrics import registry
from answerkey.metrics.registry import Facts, Metric, additional_metrics, all_metrics
from answerkey.profiles import decide_verdict, load_profile
from answerkey.reports.markdown import escape_markdown, markdown_report
from answerkey.reports.numbers import metric_maxima
from answerkey.reports.text import family_of, text_report
from answerkey.runs.summary import ProfileInfo, RunInfo, summarise
from answerkey.types import Case, Outcome, Passage, Response, Score, Status, Verdict

RUBRIC = load_profile("rubric")
WITHOUT_A_FAMILY = {
    "asked_again", "contradicts_itself", "language_kept", "resolved", "turns_to_resolution",
    "call_limit", "forbidden_tool", "repeated_calls", "tool_arguments", "tool_calls", "tool_f1", "tool_order", "tool_use",
    "criteria", "criterion.NAME", "leak",
}  # fmt: skip


def report(profile: bool = True) -> str:
    case, response = Case("c", "q?", ("a",)), Response("a", seconds=0.5)
    scores = {
        "rubric.accuracy": Score(4.0), "rubric.completeness": Score(5.0), "rubric.coherence": Score(3.0), "rubric.citation_quality": Score.not_applicable("off"),
        "keyword_recall": Score(0.5), "politeness": Score(1.0), "latency_ms": Score(500.0), "recall@5": Score(1.0), "own": Score(0.2),
    }  # fmt: skip
    outcome = Outcome(case, response, scores, decide_verdict(RUBRIC, case, response, scores))
    run = RunInfo(name="n", profile=ProfileInfo("rubric", 1, "d", RUBRIC.scale))
    return text_report(summarise([outcome], RUBRIC, run), RUBRIC if profile else None)


def test_scores_have_their_scale_and_bands_their_limits() -> None:
    text = report()
    assert "rubric.accuracy          4.00/5" in text
    assert "rubric.coherence         3.00/3" in text
    assert f"/{RUBRIC.scale:g}, scored 1/1" in text.split("mean score", 1)[1].split("\n", 1)[0]
    for band in RUBRIC.rules.bands:
        assert f"{band.name} (≥{band.at:g})" in text
    assert "≥" not in report(profile=False)


def test_metrics_are_grouped_by_family() -> None:
    lines = report().split("\n")
    families = [
        line.strip()
        for line in lines
        if line.startswith("  ") and not line.startswith("   ") and line.strip().isalpha()
    ]
    assert families[:6] == [
        "correctness",
        "communication",
        "operations",
        "retrieval",
        "judged",
        "other",
    ]
    assert metric_maxima(["rubric.accuracy", "own"], None) == {"rubric.accuracy": 5.0, "own": 1}


def test_every_built_in_metric_says_its_family() -> None:
    built_in = [metric for metric in all_metrics() if metric.module.startswith("answerkey.")]
    others = {metric.name for metric in built_in if metric.facts.family == "other"}
    assert others == WITHOUT_A_FAMILY
    assert {metric.facts.family for metric in built_in} == {
        "correctness", "communication", "operations", "retrieval", "judged", "other", "recorded"
    }  # fmt: skip
    for metric in built_in:
        assert family_of(metric.name) == metric.facts.family, metric.name


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("exact_match", "correctness"),
        ("politeness", "communication"),
        ("cost", "operations"),
        ("context_utilisation", "retrieval"),
        ("recall@5", "retrieval"),
        ("judge.safety", "judged"),
        ("criterion.tone", "other"),
        ("recorded.quality", "recorded"),
        # Names that nothing defines, as an old run may have them.
        ("judge.gone", "judged"),
        ("rubric.gone", "judged"),
        ("gone@5", "retrieval"),
        ("recall@0", "retrieval"),
        ("gone", "other"),
        ("", "other"),
    ],
)
def test_family_of_a_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_a_metric_of_the_user_may_have_a_family_of_its_own() -> None:
    own = Metric(Facts("own", family="house rules"), float, "single")
    with additional_metrics([own]):
        text = report()
    assert text.index("\n  judged\n") < text.index("\n  house rules\n    own ")
    assert "\n  other\n" not in text
    assert "\n  other\n    own " in report()


def test_a_package_that_cannot_be_loaded_does_not_cost_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(group: str) -> None:
        raise ImportError(group)

    monkeypatch.setattr(registry, "_loaded", False)
    monkeypatch.setattr(registry, "entry_points", fail)
    assert family_of("gone") == "other"


def outcome(n: int, route: str, **scores: Score) -> Outcome:
    case = Case(f"c{n}", "q?", ("a",), expected_route="sales")
    verdict = Verdict("PASSED", score=0.8, route_score=0.7, band="good", passed=True)
    return Outcome(case, Response("a", route=route), {"recall@5": Score(n / 4), **scores}, verdict)


def markdown_of(outcomes: list[Outcome]) -> str:
    return markdown_report(summarise(outcomes, run=RunInfo(name="n")))


def test_a_metric_is_spelled_as_everywhere_and_text_mentions_nobody():
    text = markdown_of([outcome(1, "docs"), outcome(2, "@team|x")])
    assert "| `recall@5` | 0.375 |" in text
    assert "@team" not in text
    assert escape_markdown("recall@5 fell, ndcg@10.") == "recall@5 fell, ndcg@10."
    for mention in ("@5", "a @b", "you@example.com", "x@5.com", "x@5-b"):
        assert "@\u200b" in escape_markdown(mention)


def test_means_stand_route_beside_route_with_the_confusion_of_routes():
    text = markdown_of([outcome(1, "docs"), outcome(2, "sales"), outcome(4, "sales")])
    assert "| mean of | docs | sales |\n|---|---:|---:|\n| `recall@5` | 0.250 | 0.750 |" in text
    assert (
        "| expected route, taken → | docs | sales |\n|---|---:|---:|\n| `sales` | 1 | 2 |" in text
    )


def _plain(answer: str, *passages: str) -> Outcome:
    case = Case("c", "q?", ("a",), type="t")
    response = Response(answer, tuple(map(Passage, passages)))
    scores = {"context_relevance": Score(0.0), "token_f1": Score(0.25)}
    return Outcome(case, response, scores, Verdict(Status.SCORED))


def test_without_a_profile_types_show_the_means_of_the_metrics() -> None:
    text = text_report(summarise([_plain("a")], None, RunInfo(name="n")), None)
    assert "  t  1 case; context_relevance 0.000, token_f1 0.250" in text


def test_only_a_metric_that_decides_has_words_for_a_poor_mean() -> None:
    outcomes = [_plain("a"), _plain("b", "text")]
    without_profile = text_report(summarise(outcomes, None, RunInfo(name="n")), None)
    assert "context_relevance  0.000, 95 % interval 0.000–0.658, scored 2/2\n" in without_profile
    profile = load_profile("rag-cosine")
    with_profile = text_report(summarise(outcomes, profile, RunInfo(name="n")), profile)
    assert "scored 2/2: off-topic retrieval" in with_profile
