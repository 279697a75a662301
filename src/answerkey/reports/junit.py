"""junit.xml: one test per case and per gate, so that CI lists the failing cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from answerkey.runs.summary import GateResult
from answerkey.types import Outcome, Status

# Characters that XML 1.0 has no place for, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The counts are known last: the first line is written over this many blanks.
_HEAD_LENGTH = 200
_MOST_NAME = 200  # characters of a test's name
_MOST_MESSAGE = 300


class JunitFile:
    """Writes junit.xml span by span: the tests of the cases, then `finish`."""

    def __init__(self, file: IO[str], name: str) -> None:
        self._file = file
        self._name = name
        self._tests = 0
        self._failures = 0
        self._errors = 0
        self._skipped = 0
        self._seconds = 0.0
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._head = file.tell()
        # As many blanks as the escaped name has bytes: it stands in the line that is filled in later.
        file.write(" " * (_HEAD_LENGTH + len(_attribute(name).encode())) + "\n")

    def add(
        self, tests: str, count: int, failures: int, errors: int, seconds: float, skipped: int = 0
    ) -> None:
        """Add `count` tests, as `junit_test` writes them."""
        self._tests += count
        self._skipped += skipped
        self._failures += failures
        self._errors += errors
        self._seconds += seconds
        self._file.write(tests)

    def finish(self, partial: str = "", gates: Sequence[GateResult] = ()) -> None:
        """Each gate is a test. A partial run adds an error, so that CI never calls it complete."""
        for gate in gates:
            self.add(_gate_test(gate), 1, failures=int(not gate.passed), errors=0, seconds=0.0)
        if partial:
            error = f"<error message={_attribute(f'partial run: {partial}')}/>"
            group = _attribute(self._name)
            test = f'<testcase classname={group} name="the whole run">{error}</testcase>\n'
            self.add(test, 1, failures=0, errors=1, seconds=0.0)
        self._file.write("</testsuite>\n")
        # The counts stand in the first element, and the tests are not kept in memory.
        self._file.seek(self._head)
        self._file.write(
            f'<testsuite name={_attribute(self._name)} tests="{self._tests}" '
            f'failures="{self._failures}" errors="{self._errors}" skipped="{self._skipped}" '
            f'time="{self._seconds:.3f}">'
        )


def junit_test(outcome: Outcome, run_name: str) -> str:
    """One case as a `<testcase>`; cases without a type or file are grouped under the run."""
    case = outcome.case
    verdict = outcome.verdict
    group = _attribute(case.type or case.source_file or run_name)
    name = _attribute(f"{case.id}: {case.question}"[:_MOST_NAME])
    seconds = outcome.response.seconds or 0.0
    start = f'<testcase classname={group} name={name} time="{seconds:.3f}"'
    why = verdict.why or verdict.justification
    if verdict.status == Status.ERROR:
        return f"{start}><error message={_attribute(why[:_MOST_MESSAGE])}/></testcase>\n"
    if is_skipped(outcome):
        return f"{start}><skipped message={_attribute(why[:_MOST_MESSAGE])}/></testcase>\n"
    if not is_failure(outcome):
        return f"{start}/>\n"
    kind = f" ({verdict.kind})" if verdict.kind else ""
    message = f"{verdict.status} {verdict.score:.3g}{kind}: {why}"
    body = f"expected: {' / '.join(case.expected)}\nanswer: {outcome.response.answer or ''}"
    failure = f"<failure message={_attribute(message[:_MOST_MESSAGE])}>{_text(body)}</failure>"
    return f"{start}>{failure}</testcase>\n"


def is_failure(outcome: Outcome) -> bool:
    """Whether the case was judged and did not pass; an error is not a failure."""
    verdict = outcome.verdict
    return verdict.status != Status.ERROR and not verdict.passed and verdict.score is not None


def is_skipped(outcome: Outcome) -> bool:
    """Whether nothing could be measured: such a case did not pass, but it did not fail either."""
    return outcome.verdict.status == Status.UNSCORED


def _gate_test(gate: GateResult) -> str:
    start = f'<testcase classname="gates" name={_attribute(gate.condition)}'
    if gate.passed:
        return f"{start}/>\n"
    if gate.value is None:
        value = "no figure"
    else:
        value = f"{gate.value:.4g}"
    message = _attribute(f"{value} {gate.note}".strip())
    return f"{start}><failure message={message}/></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))
