"""Gates: what they decide, what is refused before anything is asked, and what must not open one."""

import pytest

from answerkey.runs.gates import answer_gates, parse_gates
from answerkey.runs.summary import summarise
from answerkey.types import Case, Outcome, Response, Score, Verdict


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("pass_rate >= 0.3", 1),  # only two of the three cases are scored
        ("pass_rate >= 0.9", 1),
        ("success[books] >= 0.5", 0),
        ("errors == 0", 0),
        ("cases[books] >= 1", 0),
        ("unscored[books] == 0", 0),
        ("failed[books] > 9", 1),
        ("mean[exact_match] >= 50%", 0),
        ("mean[exact_match][books] > 0.5", 1),
        ("response_time.mean < 2.5", 0),
        ("route_accuracy >= 0.76", 1),
        ("exact_match >= 0.5", 0),
        ("exact_match[books] > 0.5", 1),
        ("score.mean >= 0.5", 0),
        ("average_scores.keyword_recall.n == 2", 0),
        ("performance.bands.passed.share > 0.5", 1),
        ("totals.failed == 1", 0),
        ("totals.statuses.FAILED == 1", 0),
        ("score.sd >= 0", 0),
        ("success[docs] >= 1", 0),
        ("totals.nothing == 1", 2),
        ("performance.bands.splendid.share > 0.5", 2),
        ("mean[politeness] >= 0", 2),
        ("mean[exact_mach] >= 0", 2),
        ("success[nothing] >= 0", 2),
        ("mean[exact_match][boks] >= 0", 2),
        ("user_satisfacton >= 0.5", 2),
        ("pass_rate", 2),
    ],
)
def test_gates_decide_the_exit_code(scored, gate, code):
    shown, _ = scored("--gate", gate)
    assert shown.code == code, shown.err
    assert shown.last_line.startswith({0: "PASS: ", 1: "FAIL: ", 2: "INVALID: "}[code])


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("mean[exact_mach] >= 0", 'no metric "exact_mach"; did you mean "exact_match"?'),
        ("success[boks] >= 0", 'no case has type or route "boks"; did you mean "books"?'),
        ("totals.nothing == 1", "this run has no such figure; summary.json"),
    ],
)
def test_a_gate_that_no_run_can_pass_is_refused_before_anything_is_asked(scored, gate, told):
    shown, folder = scored("--gate", gate)
    assert told in shown.err
    assert folder is None, "nothing was begun"


def test_a_pass_rate_over_too_few_scored_cases_passes_no_gate(scored):
    shown, _ = scored("--gate", "pass_rate >= 0.3")
    assert "only 67 % of the cases were scored, fewer than [gate] scored = 0.9" in shown.last_line
    assert "1 of 2 scored cases passed, 1 case UNSCORED" in shown.last_line
    allowed, _ = scored("--gate", "pass_rate >= 0.3", "--gate", "scored_share >= 0.6")
    assert allowed.code == 0, allowed.err


def test_gates_need_what_their_figures_are_made_of(cli, write, tmp_path):
    def told(gate, *more):
        rows = [{"id": "1", "question": "q", "answer": "a", "expected": "a"}]
        shown = cli("score", write("a.jsonl", rows), "--out", tmp_path / "o", "--gate", gate, *more)
        assert shown.code == 2
        return shown.err

    assert "needs a profile" in told("pass_rate >= 0.5", "--metrics", "exact_match")
    assert "needs a profile" in told("score >= 0.5", "--metrics", "exact_match")
    assert "no case has an expected_route" in told("route_accuracy >= 0.5", "--profile", "uniform")


def test_a_live_bot_may_report_routes_of_its_own(cli, write):
    write("bot.py", "def answer(question):\n    return {'answer': 'a', 'route': 'sales'}\n")
    write("cases.jsonl", [{"id": "1", "question": "q", "expected": "a", "type": "easy"}])
    text = 'cases = ["cases.jsonl"]\nmetrics = ["exact_match"]\ntarget = { call = "bot:answer" }\n'
    suite = write("suite.toml", text)
    assert cli("run", suite, "--no-charts", "--gate", "mean[exact_match][sales] >= 1").code == 0
    other = cli("run", suite, "--no-charts", "--gate", "mean[exact_match][foo] >= 1")
    assert other.code == 1
    assert (
        'no case has type or route "foo"; it fails if the target does not report that route'
        in other.err
    )
    near = cli("run", suite, "--dry-run", "--gate", "mean[exact_match][eazy] >= 1")
    assert (near.code, 'did you mean "easy"?' in near.err) == (2, True)
    assert cli("run", suite, "--dry-run", "--gate", "mean[foo] >= 1").code == 2


def test_a_gate_on_a_mean_with_errors_fails():
    good = Outcome(
        Case("1", "q"),
        Response("a"),
        {"chrf": Score(1.0)},
        Verdict("PASSED", 1.0, 1.0, passed=True),
    )
    bad = Outcome(Case("2", "q"), Response("a"), {"chrf": Score.failed("no")}, Verdict("ERROR"))
    gates = [
        "mean[chrf] >= 0.5",
        "average_scores.chrf.mean >= 0.5",
        "mean[score] >= 0.5",
        "score.mean >= 0.5",
    ]
    for answer in answer_gates(parse_gates(gates), summarise([good, bad])):
        assert not answer.passed
        assert "1 with an error" in answer.note


ROUTED = [
    {
        "id": "a",
        "question": "a?",
        "expected": "yes",
        "answer": "yes",
        "type": "sales",
        "route": "docs",
    },
    {
        "id": "b",
        "question": "b?",
        "expected": "yes",
        "answer": "no",
        "type": "hr",
        "route": "sales",
    },
]


@pytest.mark.parametrize(
    ("gate", "code", "said"),
    [
        (
            "success[sales] >= 0.5",
            2,
            '"sales" is a type and a route; write [type:sales] or [route:sales]',
        ),
        ("mean[exact_match][sales] >= 0.5", 2, "[route:sales]"),
        ("success[type:sales] >= 0.5", 0, "type sales"),
        ("success[route:sales] >= 0.5", 1, "route sales"),
        ("mean[exact_match][route:sales] <= 0", 0, "route sales, scored 1/1"),
        ("success[hr] >= 0.5", 1, "type hr"),
        ("success[docs] >= 0.5", 0, "route docs"),
    ],
)
def test_a_gate_says_whether_it_means_the_type_or_the_route(scored, gate, code, said):
    shown, folder = scored("--gate", gate, rows=ROUTED)
    assert shown.code == code, shown.err
    assert said in (shown.last_line if code == 2 else (folder / "report.txt").read_text())
