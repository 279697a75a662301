"""The adversary's list: every item has a test, and the table says which one."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import answerkey as ak
from answerkey.comparison.significance import difference, mcnemar
from answerkey.corrected_rate import ppi_rate
from answerkey.errors import InputError

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]
TESTS = Path(__file__).parents[1]
# Item of the list to the file and the test that holds it; "here" is this file.
ITEMS = {
    "D1": ("cli/run/test_run_loop.py", ""),
    "D2": ("adversary/test_findings.py", "test_another_tolerance_is_not_a_better_bot"),
    "D3": ("here", "test_accepted_changes_leave_one_ruler"),
    "D4": ("here", "test_two_labels_do_not_make_a_rate_certain"),
    "D5": ("viewer/test_home_page.py", "test_a_run_with_a_single_conversation_is_listed"),
    "D6": ("here", "test_four_equal_gains_are_no_proof"),
    "D7": ("test_coverage.py", ""),
    "D8": ("adversary/test_findings.py", "test_a_bot_that_stops_answering_is_not_better"),
    "D9": ("adversary/test_run_folder_code.py", ""),
    "D10": ("test_net.py", "test_a_proxy_without_a_scheme_is_taken_as_curl_takes_it"),
    "D11": ("adversary/test_inert.py", "test_notices_and_errors_of_case_files_are_inert"),
    "D12": ("adversary/test_findings.py", "test_check_refuses_deep_json"),
    "D13": ("adversary/test_findings.py", "test_yaml_with_absurd_numbers_ends_with_one_line"),
    "D14": ("here", "test_a_run_with_empty_parts_is_reported_without_a_traceback"),
    "D15": ("here", "test_a_budget_holds_when_many_questions_are_asked_at_once"),
    "D16": ("adversary/test_findings.py", "test_ten_equal_cases_are_no_evidence"),
    "D17": ("metrics/test_found_by_trying.py", "test_junk_does_not_agree_with_a_short_answer"),
    "D18": ("here", "test_the_p_of_many_preferences_is_the_exact_one"),
    "D19": ("adversary/test_findings.py", "test_a_forged_verdict_that_the_judge_quotes_does_not_count"),
    "L1": ("adversary/test_interrupts.py", "test_an_interrupt_while_modules_load"),
    "L2": ("adversary/test_findings.py", "test_a_pipe_in_a_run_folder_is_refused"),
    "L3": ("comparison/test_significance.py", "test_mcnemar_by_cluster"),
    "L4": ("adversary/test_findings.py", "test_a_run_of_a_wrong_clock_does_not_date_the_later_ones"),
    "L5": ("adversary/test_findings.py", "test_a_gate_that_can_never_hold_is_refused"),
    "L6": ("viewer/test_label_page.py", "test_an_address_does_not_set_the_name"),
    "L7": ("adversary/test_long_texts.py", ""),
    "L8": ("here", "test_rank_refuses_absurd_grades_and_takes_a_missing_ranking"),
}  # fmt: skip


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_its_test(item: str) -> None:
    file, name = ITEMS[item]
    path = Path(__file__) if file == "here" else TESTS / file
    functions = {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert functions
    assert not name or name in functions


def test_accepted_changes_leave_one_ruler(cli: Cli, write: Write, tmp_path: Path) -> None:
    """D3: after a stop, another tolerance scores every case again, not only the new ones."""
    rows = [{"id": f"c{n}", "question": f"Units in {n}?", "expected": str(1000 + n)} for n in range(20)]  # fmt: skip
    write("r.json", rows)
    write("ruler_bot.py", "import re\ndef f(q):\n    return f\"{1020 + int(re.findall('[0-9]+', q)[-1])} units\"\n")  # fmt: skip
    suite = (
        'name = "s"\ncases = ["r.json"]\nmetrics = ["number_close"]\n[target]\ncall = "ruler_bot:f"\n'
        '[run]\nout = "o"\n[settings.number_close]\ntolerance = {}\n'
    )
    path = write("s.toml", suite.format(0.001))
    assert cli("run", path, "-q", "--no-charts", "--limit", "10").code == 0
    write("s.toml", suite.format(0.05))
    ended = cli("run", path, "-q", "--no-charts", "--resume", "--accept-changes", "--limit", "20")
    assert ended.code == 0, ended.err
    (results,) = (tmp_path / "o").glob("*/results.jsonl")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert {row["id"] for row in rows} == {f"c{n}" for n in range(20)}
    # 2 % too much is wrong under the first tolerance and right under the second.
    assert [row["scores"]["number_close"]["value"] for row in rows] == [1.0] * 20


def test_two_labels_do_not_make_a_rate_certain() -> None:
    """D4: two labels that agree gave a corrected rate of 100 % (100 % to 100 %)."""
    rate = ppi_rate([1, 1], [True] * 2, [True] * 90 + [False] * 8)
    assert rate is None or rate.high - rate.low > 0.3
    few = ppi_rate([1, 1, 1, 0], [True] * 4, [True] * 96)
    assert few is not None
    assert 0 <= few.low <= few.rate <= few.high <= 1


def test_four_equal_gains_are_no_proof() -> None:
    """D6: 4 gains and no loss in 50 cases have an exact p of 0.125."""
    before = np.zeros(50)
    after = before.copy()
    after[:4] = 1
    found = difference(before, after)
    assert mcnemar(before, after).p == pytest.approx(0.125)
    assert (found.wilcoxon_p or 0) >= 0.1
    assert not found.sure


def test_a_run_with_empty_parts_is_reported_without_a_traceback(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    """D14: a run that was killed before its first part was written."""
    rows = [{"id": "1", "question": "q", "expected": "a", "answer": "a"}]
    assert cli("score", write("r.json", rows), "--metrics", "exact_match", "--out", tmp_path / "o", "-q", "--no-charts").code == 0  # fmt: skip
    (run,) = (tmp_path / "o").iterdir()
    (run / "parts").mkdir()
    ended = cli("report", run)
    assert ended.code in (0, 2, 3)
    assert "Traceback" not in ended.err


def test_a_budget_holds_when_many_questions_are_asked_at_once(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    """D15: 80 calls were paid where the budget allowed 5."""
    write("r.json", [{"id": str(n), "question": f"q{n}", "expected": "x"} for n in range(80)])
    write("cost_bot.py", "def f(q): return {'answer': 'x', 'cost': 0.11}\n")
    suite = (
        'cases = ["r.json"]\nmetrics = ["exact_match"]\n[target]\ncall = "cost_bot:f"\n'
        '[run]\nout = "o"\nworkers = 20\nmax_cost = 0.5\n'
    )
    ended = cli("run", write("s.toml", suite), "-q", "--no-charts")
    assert ended.code == 3
    (path,) = (tmp_path / "o").glob("*/results.jsonl")
    asked = path.read_text().splitlines()
    # Questions under way when the budget is used up are paid for; no more than one per worker.
    assert len(asked) <= 5 + 20
    assert "the budget of 0.5 is used up: at least " in ended.last_line


def test_the_p_of_many_preferences_is_the_exact_one() -> None:
    """D18: the p of 20,000 preferences took 41 s; it is the two-sided binomial one."""
    from scipy.stats import binomtest

    from answerkey.distributions import sign_test_p

    for wins, losses in ((3, 0), (31, 12), (10_100, 9_900)):
        assert sign_test_p(wins, losses) == pytest.approx(
            binomtest(wins, wins + losses, 0.5).pvalue, rel=1e-6
        )


def test_rank_refuses_absurd_grades_and_takes_a_missing_ranking() -> None:
    """L8: an OverflowError and a TypeError reached the caller."""
    with pytest.raises(InputError, match="more than 100 digits"):
        ak.rank({"q": {"a": 10**400}}, {"q": ["a"]}, ["ndcg@5"])
    nothing: Any = {"q": None}
    assert ak.rank({"q": ["a"]}, nothing, ["ndcg@5"]).mean["ndcg@5"] == 0.0
