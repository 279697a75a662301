"""junit.xml: one test per case, so that CI lists the failing ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from answerkey.profiles.decide import ERROR
from answerkey.runs.summary import GateResult
from answerkey.types import Outcome

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD_LENGTH = 200  # the counts are known last: the head is written over this many blanks


class JunitFile:
    def __init__(self, file: IO[str], name: str) -> None:
        self._file, self._name = file, name
        self._tests = self._failures = self._errors = 0
        self._seconds = 0.0
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        self._head = file.tell()
        file.write(" " * (_HEAD_LENGTH + len(name.encode())) + "\n")

    def add(self, outcome: Outcome) -> None:
        case, verdict, seconds = outcome.case, outcome.verdict, outcome.response.seconds or 0.0
        self._tests += 1
        self._seconds += seconds
        group = _attribute(case.type or case.source_file or self._name)
        self._file.write(
            f'<testcase classname={group} name={_attribute(f"{case.id}: {case.question}"[:200])} time="{seconds:.3f}"'
        )
        if verdict.status == ERROR:
            self._errors += 1
            self._file.write(f"><error message={_attribute(verdict.justification[:300])}/></testcase>\n")
        elif not verdict.passed and verdict.score is not None:
            self._failures += 1
            message = f"{verdict.status} {verdict.score:.3g}: {verdict.justification}"
            body = f"expected: {' / '.join(case.expected)}\nanswer: {outcome.response.answer or ''}"
            self._file.write(f"><failure message={_attribute(message[:300])}>{_text(body)}</failure></testcase>\n")
        else:
            self._file.write("/>\n")

    def finish(self, partial: str = "", gates: Sequence[GateResult] = ()) -> None:
        """Each gate is a test. An incomplete run adds an error, so that CI never reports it as complete."""
        for gate in gates:
            self._tests += 1
            self._failures += not gate.passed
            self._file.write(f'<testcase classname="gates" name={_attribute(gate.condition)}')
            value = "no figure" if gate.value is None else f"{gate.value:.4g}"
            message = _attribute(f"{value} {gate.note}".strip())
            self._file.write("/>\n" if gate.passed else f"><failure message={message}/></testcase>\n")
        if partial:
            self._tests += 1
            self._errors += 1
            group, message = _attribute(self._name), _attribute(f"partial run: {partial}")
            self._file.write(
                f'<testcase classname={group} name="the whole run"><error message={message}/></testcase>\n'
            )
        self._file.write("</testsuite>\n")
        self._file.seek(self._head)
        self._file.write(
            f'<testsuite name={_attribute(self._name)} tests="{self._tests}" failures="{self._failures}" '
            f'errors="{self._errors}" time="{self._seconds:.3f}">'
        )


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
