"""The failure screen: everything that led to the verdict, and nothing of the bot's that a terminal would obey."""

from __future__ import annotations

from dataclasses import replace

from answerkey.profiles import decide_verdict, load_profile
from answerkey.reports.failure_screen import failure_screen
from answerkey.types import AnswerCriteria, Case, Outcome, Passage, Response, Score, Turn, Verdict

CASE = Case(
    "qa#Q5", "How many days of leave?", ("Eighteen days.", "18"), expected_route="hr", acceptable_routes=("docs",),
    criteria=AnswerCriteria(must_contain=("days",), numerical_range=(18, 20)), history=(Turn("Hello", "Hi."),), source_file="qa.md",
)  # fmt: skip
RESPONSE = Response(
    "Twelve days.", passages=(Passage("Leave is 18 days. " * 40, "leave-1", 0.9, "3"),), route="kpi",
    sources=("handbook.pdf",), seconds=1.234, extra={"trace": "t-1"},
)  # fmt: skip
SCORES = {
    "rubric.accuracy": Score(
        1.0, "the number is wrong", details={"reasoning": "It says twelve, not eighteen."}
    ),
    "rubric.completeness": Score(
        4.0, "all there", details={"reasoning": "It says twelve, not eighteen."}
    ),
    "rubric.citation_quality": Score.not_applicable("switched off"),
    "rubric.coherence": Score(3.0),
    "token_f1": Score.failed("no tokens"),
}
RUBRIC = load_profile("rubric")
OUTCOME = Outcome(CASE, RESPONSE, SCORES, decide_verdict(RUBRIC, CASE, RESPONSE, SCORES))
COMMANDS = [
    (
        "ask just this one again",
        "answerkey run 'my suite.toml' --resume --resume-limit 1 " + "x" * 200,
    )
]


def test_all_that_led_to_the_verdict() -> None:
    text = failure_screen(OUTCOME, RUBRIC, COMMANDS)
    for part in (
        "FAILED: qa#Q5 (qa.md)", "Score 48.89 of 100, failed; the pass mark is 70", "Says Twelve days, expected Eighteen days", "[wrong figure, not used]",
        "user: Hello", "How many days of leave?", "Eighteen days.", "or: 18", "must contain: days", "a number from 18 to 20",
        "route: hr or docs", "Twelve days.", "[route kpi, 1.2 s]", "handbook.pdf", "[1] leave-1, page 3, score 0.9",
        "rubric.accuracy          1 of 5", "the number is wrong", "not applicable", "error: no tokens",
        "profile rubric (version 2): 70 of 100 to pass", "contributed 11.11 of 55.56 points", "left out, not applicable", COMMANDS[0][1],
    ):  # fmt: skip
        assert part in text
    assert text.count("It says twelve") == 1, "the criteria of one call share their reasoning"
    assert max(len(line) for line in text.split("\n") if "xxx" not in line) <= 104


def test_facts_and_criteria_have_their_quotes() -> None:
    """Contradicted and missing facts come first, and so do the criteria that are not met."""
    facts = [
        {"text": "leave is paid", "state": "found", "quote": "You get paid leave"},
        {"text": "leave is 18 days", "state": "contradicted", "quote": "Twelve days."},
        {"text": "ask your manager", "state": "missing", "quote": ""},
    ]
    criteria = [
        {"ask": "Is polite", "met": True, "reason": "", "error": None},
        {
            "ask": "Names the form",
            "met": False,
            "reason": "no form",
            "quote": "Twelve days.",
            "error": None,
        },
    ]
    scores = {
        "fact_recall": Score(1 / 3, details={"facts": facts}),
        "criteria": Score(0.5, details={"criteria": criteria}),
        "tone": Score(1.0, "kind", details={"quote": "Twelve days."}),
    }
    lines = [
        line.strip() for line in failure_screen(replace(OUTCOME, scores=scores), RUBRIC).split("\n")
    ]
    at = lines.index("Expected facts")
    assert lines[at + 1 : at + 4] == [
        'contradicted: leave is 18 days (quote: "Twelve days.")',
        "missing: ask your manager",
        'found: leave is paid (quote: "You get paid leave")',
    ]
    at = lines.index("Criteria")
    assert lines[at + 1 : at + 3] == [
        'not met: Names the form (no form) (quote: "Twelve days.")',
        "met: Is polite",
    ]
    assert 'kind (quote: "Twelve days.")' in lines


def test_an_error_has_its_reason() -> None:
    broken = Response(error="timed out: no answer within 30 s")
    text = failure_screen(
        Outcome(CASE, broken, {}, decide_verdict(RUBRIC, CASE, broken, {})), RUBRIC
    )
    assert text.count("timed out: no answer within 30 s") == 2
    assert "ERROR: qa#Q5" in text
    assert "\nNext" not in text


def test_without_a_profile_and_with_nothing_known() -> None:
    text = failure_screen(
        Outcome(Case("a", "Q?"), Response(answer=""), {}, Verdict("SCORED")), None
    )
    assert "(nothing: the case has no expected answer)" in text
    assert "(empty)" in text


def test_long_text_is_cut_unless_debugging() -> None:
    long = replace(OUTCOME, response=replace(RESPONSE, answer="word " * 3000 + "THE END"))
    assert "THE END" not in failure_screen(long, RUBRIC)
    assert "15,007 characters in total" in failure_screen(long, RUBRIC)
    debug = failure_screen(long, RUBRIC, debug=True)
    assert "THE END" in debug
    assert "trace: t-1" in debug


def test_hostile_text_is_inert_and_cannot_pass_for_ours() -> None:
    nasty = "\x1b[2J\x1b]0;owned\x07\u202e\r\nNext\n  run this:\n    rm -rf ~\x9b31m"
    scores = {"rubric.accuracy": Score(0.0, nasty, details={"reasoning": nasty})}
    verdict = replace(OUTCOME.verdict, justification=nasty, shortfalls=(nasty,))
    case = replace(
        CASE,
        id=f"a{nasty}",
        question=nasty,
        expected=(nasty,),
        source_file=nasty,
        history=(Turn(nasty, nasty),),
    )
    response = Response(
        nasty,
        passages=(Passage(nasty, nasty),),
        route=nasty,
        sources=(nasty,),
        extra={nasty: nasty},
    )
    for debug in (False, True):
        text = failure_screen(
            Outcome(case, response, scores, verdict),
            RUBRIC,
            [("continue", "answerkey run x")],
            debug=debug,
        )
        assert not set(text) & set("\x1b\x07\r\x9b\u202e")
        assert [line for line in text.split("\n") if line.startswith("Next")] == ["Next"]
        assert text.split("\nNext\n")[-1] == "  continue:\n    answerkey run x"
