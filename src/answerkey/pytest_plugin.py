"""The pytest plugin: verdicts in tests. Nothing heavy is imported before a test needs it.

    def test_one(answerkey):
        answerkey.assert_verdict("How long?", answer="30 days [1].", expected="30 days", profile="rag", contexts=["30 days."])

    @pytest.mark.answerkey_suite("suite.toml")        # one test per case of the suite
    def test_bot(answerkey, answerkey_case):
        answerkey.assert_verdict(answerkey_case)      # asks the suite's target, scores with its profile

With xdist each worker has its own target and models; the cases and their order are the same in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from answerkey.runs.assertions import VerdictSession
    from answerkey.runs.suite import Suite
    from answerkey.types import Case, Outcome, Verdict

MARK = "answerkey_suite"


def pytest_configure(config: pytest.Config) -> None:
    about = "one test per case of an answerkey suite, as answerkey_case"
    config.addinivalue_line("markers", f"{MARK}(path, **settings): {about}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a marked test by the cases of its suite; a suite that cannot be read is a collection error."""
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    if "answerkey_case" not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a test with @{MARK} takes the argument answerkey_case"
        )
    from answerkey.cases import read_cases
    from answerkey.errors import AnswerkeyError

    try:
        suite = _suite_of(mark, metafunc.definition.path)
        cases = list(read_cases(suite.cases, suite.folder))
    except AnswerkeyError as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("answerkey_case", cases, ids=[case.id for case in cases])


@pytest.fixture(scope="session")
def _answerkey_session() -> Iterator[VerdictSession]:
    from answerkey.runs.assertions import VerdictSession

    session = VerdictSession()
    yield session
    session.close()


@pytest.fixture
def answerkey(_answerkey_session: VerdictSession, request: pytest.FixtureRequest) -> Answerkey:
    """`assert_verdict` and `outcome`, bound to the suite that the test is marked with."""
    mark = request.node.get_closest_marker(MARK)
    return Answerkey(_answerkey_session, _suite_of(mark, request.path) if mark else None)


@pytest.fixture
def answerkey_case() -> Case:
    """One case of the marked suite; a test without the mark fails."""
    pytest.fail(
        f'mark the test with @pytest.mark.{MARK}("suite.toml") to get its cases', pytrace=False
    )


class Answerkey:
    """The `answerkey` fixture."""

    def __init__(self, session: VerdictSession, suite: Suite | None) -> None:
        self._session = session
        self._suite = suite

    def outcome(self, given: str | Case, **about: object) -> Outcome:
        """Ask and score a case of the marked suite; or score the given answer, as `assert_verdict` does."""
        from answerkey.types import Case

        if isinstance(given, Case) and "answer" not in about and self._suite is None:
            raise pytest.UsageError(
                f'give answer=…, or mark the test with @pytest.mark.{MARK}("suite.toml")'
            )
        return self._session.outcome(given, self._suite, about)

    def assert_verdict(
        self, given: str | Case, *, at_least: float | None = None, **about: object
    ) -> Verdict:
        """Fail if the verdict does not pass, or if its score is below `at_least`, and show why.

        `given` is a question or a case; `about` as for `answerkey.assert_verdict`. The profile is that of the call,
        of the suite, or `route-aware`.
        """
        __tracebackhide__ = True
        return self._session.check(self.outcome(given, **about), at_least)


def _suite_of(mark: pytest.Mark, test_file: Path) -> Suite:
    from answerkey.runs.suite import load_suite

    if len(mark.args) != 1:
        raise pytest.UsageError(
            f'{test_file.name}: give one path, as in @pytest.mark.{MARK}("suite.toml")'
        )
    overrides = {key.replace("__", "."): value for key, value in mark.kwargs.items()}
    return load_suite(test_file.parent / mark.args[0], overrides)
