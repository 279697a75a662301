"""The plugin, used as a user's test-suite uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from answerkey import assert_verdict
from answerkey.metrics.registry import all_metrics

pytest_plugins = ["pytester"]

# pytester forgets the modules that a run inside this process imports, and numpy can't be imported twice.
all_metrics()

CASES = [
    {"id": "good", "question": "How long may goods be returned?", "expected": "30 days", "answer": "30 days",
     "answer_criteria": {"must_contain": ["30 days"]}},
    {"id": "bad", "question": "What does delivery cost?", "expected": "RM 8", "answer": "Bananas.",
     "answer_criteria": {"must_contain": ["RM 8"]}},
]  # fmt: skip
SUITE = """
cases = ["cases.json"]
embedding = "none"
metrics = ["exact_match"]
[profile]
name = "words"
version = 1
pass = 0.5
bands = [{ name = "good", at = 0.5, status = "PASSED" }, { name = "poor", at = 0.0, status = "FAILED" }]
criteria = [{ metric = "keyword_recall" }]
"""
TEST = """
import pytest

@pytest.mark.answerkey_suite("suite.toml")
def test_bot(answerkey, answerkey_case):
    verdict = answerkey.assert_verdict(answerkey_case)
    assert verdict.status == "PASSED"
"""


def write(pytester: pytest.Pytester, test: str = TEST) -> None:
    pytester.path.joinpath("cases.json").write_text(json.dumps(CASES))
    pytester.path.joinpath("suite.toml").write_text(SUITE)
    pytester.makepyfile(test)


def test_each_case_is_a_test_and_the_failure_shows_the_verdict(pytester: pytest.Pytester) -> None:
    write(pytester)
    result = pytester.runpytest_inprocess("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_bot?good? PASSED*", "*test_bot?bad? FAILED*"])
    result.stdout.fnmatch_lines(
        ["*FAILED: score 0, band poor*bad*", "*question  What does delivery cost?*"]
    )
    result.stdout.fnmatch_lines(
        [
            "*answer    Bananas.*",
            "*expected  RM 8*",
            "*why *Low: keyword_recall*",
            "*keyword_recall*0 of 1*",
        ]
    )


@pytest.mark.slow
def test_it_runs_under_xdist(pytester: pytest.Pytester) -> None:
    write(pytester)
    result = pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)


def test_a_bot_is_asked_by_the_suite(pytester: pytest.Pytester) -> None:
    write(pytester)
    pytester.path.joinpath("mybot.py").write_text(
        "def answer(question):\n    return 'RM 8' if 'cost' in question else '30 days'\n"
    )
    suite = SUITE + '\n[target]\nkind = "python"\ncall = "mybot:answer"\n'
    pytester.path.joinpath("suite.toml").write_text(suite)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


def test_settings_can_be_given_in_the_mark(pytester: pytest.Pytester) -> None:
    write(
        pytester,
        TEST.replace('"suite.toml"', '"suite.toml", profile__pass=0.0').replace(
            '"PASSED"', "verdict.status"
        ),
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("test", "told"),
    [
        (TEST.replace("suite.toml", "sweet.toml"), "sweet.toml"),
        (
            TEST.replace("answerkey_case", "x").replace(
                "def test_bot(answerkey, x)", "def test_bot(answerkey)"
            ),
            "takes the argument answerkey_case",
        ),
    ],
)
def test_mistakes_are_reported_at_collection(
    pytester: pytest.Pytester, test: str, told: str
) -> None:
    write(pytester, test)
    result = pytester.runpytest_inprocess()
    assert result.ret != 0
    assert told in result.stdout.str() + result.stderr.str()


def test_the_case_without_its_mark(pytester: pytest.Pytester) -> None:
    write(pytester, "def test_bot(answerkey_case):\n    pass\n")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mark the test with @pytest.mark.answerkey_suite*"])


PROFILE = {
    "name": "words", "version": 1, "pass": 0.5,
    "bands": [{"name": "good", "at": 0.5, "status": "PASSED"}, {"name": "poor", "at": 0.0, "status": "FAILED"}],
    "criteria": [{"metric": "keyword_recall"}],
}  # fmt: skip


def test_an_answer_that_is_given() -> None:
    verdict = assert_verdict(
        "How long?", answer="It is 30 days.", expected="30 days", profile=PROFILE
    )
    assert verdict.passed
    assert verdict.score == 1.0
    with pytest.raises(AssertionError, match="FAILED: score 0"):
        assert_verdict("How long?", answer="No idea.", expected="30 days", profile=PROFILE)


def test_at_least_is_a_mark_of_its_own() -> None:
    half = {"answer": "30", "expected": "30 days", "profile": PROFILE}
    assert assert_verdict("How long?", at_least=0.5, **half).score == 0.5
    with pytest.raises(AssertionError, match=r"expected at least 0\.6"):
        assert_verdict("How long?", at_least=0.6, **half)


def test_a_bots_control_characters_do_not_reach_the_terminal() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_verdict(
            "How long?", answer="\x1b[2J\x1b]0;owned\x07", expected="30 days", profile=PROFILE
        )
    assert "\x1b" not in str(caught.value)


def test_an_unknown_argument_is_named() -> None:
    from answerkey.errors import SettingsError

    with pytest.raises(SettingsError, match='did you mean "contexts"'):
        assert_verdict("How long?", answer="a", context=["b"])


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    program = (
        "import sys, answerkey.pytest_plugin\n"
        "heavy = {'numpy', 'scipy', 'onnxruntime', 'duckdb', 'pyarrow', 'altair', 'httpx2', 'starlette', 'rich'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
