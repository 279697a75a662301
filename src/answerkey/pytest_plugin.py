"""The pytest plugin: verdicts in tests. Nothing heavy is imported before a test asks for it.

    def test_one(answerkey):
        answerkey.assert_verdict("How long?", answer="30 days [1].", expected="30 days", profile="rag", contexts=["30 days."])

    @pytest.mark.answerkey_suite("suite.toml")        # one test for each case of the suite
    def test_bot(answerkey, answerkey_case):
        answerkey.assert_verdict(answerkey_case)      # asks the suite's target, scores by its profile

Under xdist each worker has its own target and models; the cases and their order are the same in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from answerkey.runs.score import Tools
    from answerkey.runs.suite import Suite
    from answerkey.types import Case, Outcome, Profile, Response, Target, Verdict

MARK = "answerkey_suite"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(path, **settings): one test for each case of an answerkey suite, as answerkey_case",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The cases of the marked suite, by their ids; a suite that cannot be read is a collection error."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if "answerkey_case" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a test with @{MARK} takes the argument answerkey_case"
        )
    from answerkey.cases import load_cases
    from answerkey.errors import AnswerkeyError

    try:
        suite = _suite_of(mark, metafunc.definition.path)
        cases = list(load_cases(suite.cases, suite.folder))
    except AnswerkeyError as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("answerkey_case", cases, ids=[case.id for case in cases])


@pytest.fixture(scope="session")
def _answerkey_bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


@pytest.fixture
def answerkey(_answerkey_bench: Bench, request: pytest.FixtureRequest) -> Answerkey:
    """`assert_verdict` and `outcome`, bound to the suite of the test where it is marked with one."""
    mark = request.node.get_closest_marker(MARK)
    return Answerkey(_answerkey_bench, _suite_of(mark, request.path) if mark else None)


@pytest.fixture
def answerkey_case() -> Case:
    """One case of the marked suite; without the mark there is none to give."""
    pytest.fail(f'mark the test with @pytest.mark.{MARK}("suite.toml") to get its cases', pytrace=False)


class Answerkey:
    """What the `answerkey` fixture gives."""

    def __init__(self, bench: Bench, suite: Suite | None) -> None:
        self._bench, self._suite = bench, suite

    def outcome(self, given: str | Case, **about: Any) -> Outcome:
        """Ask and score a case of the marked suite; or score an answer that is given, as `assert_verdict` does."""
        from answerkey.types import Case, Outcome

        if isinstance(given, Case) and "answer" not in about:
            if self._suite is None:
                raise pytest.UsageError(
                    f'give answer=…, or mark the test with @pytest.mark.{MARK}("suite.toml")'
                )
            suite, case = self._suite, given
            response = self._bench.ask(suite, case)
        else:
            case, response, ruler = _interaction(given, about)
            suite = _ad_hoc_suite(ruler) if ruler or self._suite is None else self._suite
        scores, verdict = self._bench.judge(suite, case, response)
        return Outcome(case, response, scores, verdict)

    def assert_verdict(self, given: str | Case, *, at_least: float | None = None, **about: Any) -> Verdict:
        """Fail unless the verdict passes (or its score reaches `at_least`), and show why.

        `given` is a question, or a case; `about` may hold answer, expected, contexts, route, and profile, metrics,
        judge, embedding, criteria. The profile is `route-aware` unless the suite or the call names another.
        """
        __tracebackhide__ = True
        outcome = self.outcome(given, **about)
        verdict = outcome.verdict
        good = verdict.passed if at_least is None else verdict.score is not None and verdict.score >= at_least
        if not good:
            raise AssertionError(describe(outcome, at_least))
        return verdict


def assert_verdict(given: str | Case, *, at_least: float | None = None, **about: Any) -> Verdict:
    """The same without the fixture, for an answer that is given. Embedding models are loaded once a process."""
    __tracebackhide__ = True
    bench = Bench()
    try:
        return Answerkey(bench, None).assert_verdict(given, at_least=at_least, **about)
    finally:
        bench.close()


class Bench:
    """Targets and models of a session, each made when it is first needed and closed at the end."""

    def __init__(self) -> None:
        self._targets: dict[str, Target] = {}
        self._rulers: dict[str, tuple[Profile | None, Tools]] = {}

    def ask(self, suite: Suite, case: Case) -> Response:
        from answerkey.cases import read_responses
        from answerkey.targets.recorded import Recorded
        from answerkey.targets.resolve import make_target
        from answerkey.types import Question

        key = repr(suite)
        if key not in self._targets:
            self._targets[key] = make_target(suite.target, suite.folder, read_responses, suite.run.timeout)
        target = self._targets[key]
        if isinstance(target, Recorded):
            return target.lookup(case)
        return target.ask(Question(case.id, case.question, case.history))

    def judge(self, suite: Suite, case: Case, response: Response) -> tuple[Mapping[str, Any], Verdict]:
        from answerkey.profiles import load_profile
        from answerkey.runs.execute import verdict_of
        from answerkey.runs.score import make_tools

        key = repr(suite)
        if key not in self._rulers:
            profile = load_profile(suite.profile or "route-aware", suite.folder)
            self._rulers[key] = (profile, make_tools(suite, profile))
        profile, tools = self._rulers[key]
        scores = tools.plan.score([(case, response)])[0]
        return scores, verdict_of(profile, case, response, scores)

    def close(self) -> None:
        for target in self._targets.values():
            target.close()
        for _, tools in self._rulers.values():
            tools.close()


def describe(outcome: Outcome, at_least: float | None = None) -> str:
    """The verdict as a person reads it in a failed test."""
    from answerkey.text import printable

    case, verdict = outcome.case, outcome.verdict
    wanted = f", expected at least {at_least:g}" if at_least is not None else ""
    score = "no score" if verdict.score is None else f"score {verdict.score:.3g}"
    lines = [
        f"{verdict.status}: {score}{wanted}{f', band {verdict.band}' if verdict.band else ''}  [{case.id}]"
    ]
    lines += [f"  question  {case.question}", f"  answer    {outcome.response.answer}"]
    lines += [f"  expected  {' | '.join(case.expected)}"] if case.expected else []
    lines += [f"  error     {outcome.response.error}"] if outcome.response.error else []
    lines += [f"  why       {verdict.justification}"]
    lines += [
        f"  {part.metric:<26} {part.value:.3g} of {part.maximum:g}, weight {part.weight:.2f}"
        for part in verdict.parts
    ]
    return printable("\n".join(lines))


def _suite_of(mark: pytest.Mark, test_file: Path) -> Suite:
    from answerkey.runs.suite import load_suite

    if len(mark.args) != 1:
        raise pytest.UsageError(f'{test_file.name}: give one path, as in @pytest.mark.{MARK}("suite.toml")')
    overrides = {key.replace("__", "."): value for key, value in mark.kwargs.items()}
    return load_suite(test_file.parent / mark.args[0], overrides)


def _ad_hoc_suite(ruler: Mapping[str, Any]) -> Suite:
    from answerkey.runs.suite import suite_of

    return suite_of({"cases": ["(given)"], "profile": "route-aware", **ruler}, Path())


def _interaction(given: str | Case, about: Mapping[str, Any]) -> tuple[Case, Response, dict[str, Any]]:
    """The case, the response and the ruler that the arguments describe; an unknown one is named."""
    from answerkey.errors import SettingsError, did_you_mean
    from answerkey.types import AnswerCriteria, Case, Passage, Response

    ruler_keys = ("profile", "metrics", "judge", "embedding")
    known = ("answer", "expected", "contexts", "route", "criteria", "expected_route", *ruler_keys)
    for key in about:
        if key not in known:
            raise SettingsError(f'assert_verdict takes no "{key}"{did_you_mean(key, known)}')
    if "answer" not in about:
        raise SettingsError("assert_verdict needs answer=…, or a case of a marked suite")
    expected = about.get("expected", ())
    case = given if isinstance(given, Case) else Case(
        id="given",
        question=given,
        expected=(expected,) if isinstance(expected, str) else tuple(expected),
        expected_route=about.get("expected_route"),
        criteria=AnswerCriteria(**about.get("criteria", {})),
    )  # fmt: skip
    passages = tuple(Passage(text=text, id=str(n)) for n, text in enumerate(about.get("contexts", ()), 1))
    response = Response(answer=about["answer"], passages=passages, route=about.get("route"))
    return case, response, {key: about[key] for key in ruler_keys if key in about}
