"""Questions and answers in Markdown, in the five layouts that people use.

    ### Q1: …          ## Q1: …           **Q1: …**          **Q1: …**          Q1: …
    **A1:** …          **A1:** …          (blank)            (blank)            A1: …
                                          A1: …              **A1:** …

One file has one layout. An answer runs to the next question, to a heading above the level of the
questions, or to the end of the file; headings and rules that only lead to the next question are
not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from answerkey.coerce.decode import read_text
from answerkey.errors import InputError
from answerkey.types import Case

_NUMBER = r"(\d+(?:[A-Za-z]|\.\d{1,3})?)"  # also 6a and 6.1
_QUESTION_LINES = {
    "### Q1:": re.compile(rf"###\s+Q{_NUMBER}\s*:\s*(.*?)\s*#*\s*$"),
    "## Q1:": re.compile(rf"##\s+Q{_NUMBER}\s*:\s*(.*?)\s*#*\s*$"),
    "**Q1:**": re.compile(rf"\*\*Q{_NUMBER}\s*:\s*(.*?)\s*\*\*\s*$"),
    "Q1:": re.compile(rf"Q{_NUMBER}\s*:\s*(.*?)\s*$"),
}
# A line that was meant as a question: with another sign than the colon, or the whole word.
_LIKE_A_QUESTION = re.compile(
    rf"(?:##+\s+|\*\*)(?:Q|Question\s+){_NUMBER}\s*[.):\u2013\u2014-]\s*\S", re.IGNORECASE
)
# Headings above this level are those of sections; where questions are no headings, sections have
# # to ###.
_LEVEL = {"### Q1:": 3, "## Q1:": 2, "**Q1:**": 4, "Q1:": 4}
_ANSWER_LINE = re.compile(
    rf"(?:\*\*A{_NUMBER}\s*:\s*\*\*|\*\*A{_NUMBER}\*\*\s*:|A{_NUMBER}\s*:)\s*(.*)$"
)
_HEADING = re.compile(r"(#{1,6})\s+\S")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_FENCE = re.compile(r"\s*(```|~~~)(?!.*\1)")  # not one that ends in its own line
_LARGEST_NUMBER = 10**9
_FURTHEST_NEXT = 3  # Q5 to Q7 may follow Q4; "Q90:" in an answer is text


@dataclass(slots=True)
class _Block:
    """A question with its answer, line by line."""

    number: str  # as in "6a"; without leading zeros
    line: int
    question: list[str]
    answer: list[str] = field(default_factory=list[str])
    is_answered: bool = False
    is_closed: bool = False  # by a heading of a section

    def add(self, line: str) -> None:
        if not self.is_closed:
            (self.answer if self.is_answered else self.question).append(line)

    def may_be_followed_by(self, written: str) -> bool:
        number, letter = _split_number(written)
        own_number, own_letter = _split_number(self.number)
        if number == own_number:
            return letter > own_letter
        return own_number < number <= own_number + _FURTHEST_NEXT


def read_qa_markdown(path: Path, name: str) -> Iterator[Case]:
    parser = _Parser(read_text(path).split("\n"), name)
    for block in parser.blocks():
        yield _case_of_block(block, path.stem, name)


def _case_of_block(block: _Block, stem: str, name: str) -> Case:
    place = f"{name}, line {block.line}: Q{block.number}"
    question = " ".join(part.strip() for part in block.question if part.strip())
    if not question:
        raise InputError(f"{place} has no text; write the question after the colon")
    answer = _trim_answer(block.answer)
    if not block.is_answered or not answer:
        begins = f'"A{block.number}:" or "**A{block.number}:**"'
        raise InputError(f"{place} has no answer; expected a line that begins with {begins}")
    return Case(
        f"{stem}#Q{block.number}",
        question,
        expected=(answer,),
        source_file=name,
        question_num=_split_number(block.number)[0],
    )


def _trim_answer(lines: list[str]) -> str:
    """The answer without the blank lines, rules and headings that lead to the next question."""
    end = len(lines)
    while end and _leads_on(lines[end - 1]):
        end -= 1
    return "\n".join(lines[:end]).strip()


def _leads_on(line: str) -> bool:
    return not line.strip() or bool(_RULE.match(line) or _HEADING.match(line))


class _Parser:
    """Reads a file line by line into blocks."""

    def __init__(self, lines: list[str], name: str) -> None:
        self._lines = lines
        self._name = name
        self._layout = _find_layout(lines)
        self._blocks: list[_Block] = []
        self._lines_of_numbers: dict[str, int] = {}
        self._fence_line = 0  # where the open code block began; 0 outside
        self._swallowed_line = 0  # the first question in the open code block

    def blocks(self) -> list[_Block]:
        layout = self._layout
        if layout is None:
            expected = 'lines as "### Q1: …" or "Q1: …", with "A1: …" below'
            raise InputError(f"{self._name}: no question found; expected {expected}")
        for number, line in enumerate(self._lines, start=1):
            self._add(line, number, layout)
        if self._fence_line and self._swallowed_line:
            place = f"{self._name}, line {self._fence_line}"
            problem = "a code block begins here and does not end"
            raise InputError(f"{place}: {problem}; close it before line {self._swallowed_line}")
        return self._blocks

    def _add(self, line: str, number: int, layout: str) -> None:
        if _FENCE.match(line):
            # One fence opens and the next one closes.
            self._fence_line = 0 if self._fence_line else number
            self._swallowed_line = 0
        question = _QUESTION_LINES[layout].match(line)
        if question and not self._fence_line:
            self._begin_block(question, number)
            return
        # A question inside an open code block: the block was probably never closed.
        if question:
            self._swallowed_line = self._swallowed_line or number
        if not self._blocks:
            return
        block = self._blocks[-1]
        if block.is_answered:
            answer = None
        else:
            answer = _ANSWER_LINE.match(line)
        if answer:
            self._begin_answer(block, answer, number)
            return
        # Inside a code block a "# comment" is no heading.
        if not self._fence_line:
            _refuse_other_layout(line, block, layout, f"{self._name}, line {number}")
            heading = _HEADING.match(line)
            if heading and len(heading[1]) < _LEVEL[layout]:
                block.is_closed = True
        block.add(line)

    def _begin_block(self, question: re.Match[str], number: int) -> None:
        place = f"{self._name}, line {number}"
        if _split_number(question[1])[0] >= _LARGEST_NUMBER:
            problem = "the number of this question has more than 9 digits"
            raise InputError(f"{place}: {problem}; shorten it")
        key = _plain_number(question[1])
        if key in self._lines_of_numbers:
            earlier = f"Q{key} stands already at line {self._lines_of_numbers[key]}"
            raise InputError(f"{place}: {earlier}; number each question once")
        self._lines_of_numbers[key] = number
        self._blocks.append(_Block(key, number, [question[2]]))

    def _begin_answer(self, block: _Block, answer: re.Match[str], number: int) -> None:
        written = _plain_number(_answer_number(answer))
        if written != block.number:
            problem = f"found A{written}, expected A{block.number}"
            raise InputError(
                f"{self._name}, line {number}: {problem} for the question at line {block.line}; "
                "give each answer the number of its question"
            )
        block.is_answered = True
        block.answer.append(answer[4])


def _answer_number(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3]


def _find_layout(lines: list[str]) -> str | None:
    """The layout of the first question line outside a code block."""
    is_fenced = False
    for line in lines:
        is_fenced ^= bool(_FENCE.match(line))
        if is_fenced:
            continue
        for layout, pattern in _QUESTION_LINES.items():
            if pattern.match(line):
                return layout
    return None


def _refuse_other_layout(line: str, block: _Block, layout: str, place: str) -> None:
    """Refuse a question in another layout: the answer before it would swallow it."""
    for other, pattern in _QUESTION_LINES.items():
        if other != layout:
            match = pattern.match(line)
        else:
            match = None
        if match and block.may_be_followed_by(match[1]):
            problem = f'Q{match[1]} is written as "{other}", but this file began with "{layout}"'
            raise InputError(f"{place}: {problem}; use one layout")
    similar = _LIKE_A_QUESTION.match(line)
    if similar and block.may_be_followed_by(similar[1]):
        expected = f'a question such as "{layout.replace("1", similar[1], 1)}"'
        raise InputError(
            f'{place}: found "{line.strip()[:40]}", expected {expected}; write it so, or give this '
            "heading another number"
        )
    stray = _ANSWER_LINE.match(line)
    if stray and block.is_answered and block.may_be_followed_by(_answer_number(stray)):
        written = _answer_number(stray)
        raise InputError(f"{place}: found A{written} without its question; add Q{written} above it")


def _split_number(number: str) -> tuple[int, str]:
    """The number and what follows it: 6a is (6, "a")."""
    digits = re.match(r"\d+", number)
    assert digits is not None
    # Python refuses to read a whole number of more than 4,300 digits.
    return int(digits[0][:4000]), number[digits.end() :].lower()


def _plain_number(written: str) -> str:
    number, letter = _split_number(written)
    return f"{number}{letter}"
