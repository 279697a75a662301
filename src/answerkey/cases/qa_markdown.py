"""Questions and answers in Markdown, in the five layouts that people use.

    ### Q1: …          ## Q1: …           **Q1: …**          **Q1: …**          Q1: …
    **A1:** …          **A1:** …          (blank)            (blank)            A1: …
                                          A1: …              **A1:** …

One file holds one layout. An answer runs to the next question, to a heading above the level of the
questions, or to the end of the file; headings and rules that only lead to the next question are not part of it.
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
# What was meant as a question: another sign than the colon, or the whole word.
_LIKE_A_QUESTION = re.compile(
    rf"(?:##+\s+|\*\*)(?:Q|Question\s+){_NUMBER}\s*[.):\u2013\u2014-]\s*\S", re.IGNORECASE
)
# Headings above this level are those of sections; where questions are no headings, sections have # to ###.
_LEVEL = {"### Q1:": 3, "## Q1:": 2, "**Q1:**": 4, "Q1:": 4}
_ANSWER_LINE = re.compile(
    rf"(?:\*\*A{_NUMBER}\s*:\s*\*\*|\*\*A{_NUMBER}\*\*\s*:|A{_NUMBER}\s*:)\s*(.*)$"
)
_HEADING = re.compile(r"(#{1,6})\s+\S")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_FENCE = re.compile(r"\s*(```|~~~)(?!.*\1)")  # not one that ends in its own line


@dataclass(slots=True)
class _Block:
    number: str  # as in "6a"; without zeros before it
    line: int
    question: list[str]
    answer: list[str] = field(default_factory=list[str])
    answered: bool = False
    closed: bool = False


def read_qa_markdown(path: Path, name: str) -> Iterator[Case]:
    for block in _blocks(read_text(path).split("\n"), name):
        at = f"{name}, line {block.line}: Q{block.number}"
        question = " ".join(part.strip() for part in block.question if part.strip())
        lines = (
            block.answer
        )  # without the blank lines, rules and headings at the end, which lead to the next question
        while lines and (
            not lines[-1].strip() or _RULE.match(lines[-1]) or _HEADING.match(lines[-1])
        ):
            lines.pop()
        answer = "\n".join(lines).strip()
        if not question:
            raise InputError(f"{at} has no text; write the question after the colon")
        if not block.answered or not answer:
            begins = f'"A{block.number}:" or "**A{block.number}:**"'
            raise InputError(f"{at} has no answer; expected a line that begins with {begins}")
        key, number = f"{path.stem}#Q{block.number}", _order(block.number)[0]
        yield Case(key, question, expected=(answer,), source_file=name, question_num=number)


def _blocks(lines: list[str], name: str) -> list[_Block]:
    layout = _layout(lines)
    blocks: list[_Block] = []
    seen: dict[str, int] = {}
    fenced = swallowed = 0  # the line where a code block began, and a question in it
    for number, line in enumerate(lines, start=1):
        current, at = blocks[-1] if blocks else None, f"{name}, line {number}"
        if _FENCE.match(line):
            fenced, swallowed = 0 if fenced else number, 0
        asked = None if layout is None else _QUESTION_LINES[layout].match(line)
        if asked and fenced:
            swallowed = swallowed or number
        if asked and not fenced:
            if _order(asked[1])[0] >= 10**9:
                raise InputError(
                    f"{at}: the number of this question has more than 9 digits; shorten it"
                )
            if (key := _plain_number(asked[1])) in seen:
                raise InputError(
                    f"{at}: Q{key} stands already at line {seen[key]}; number each question once"
                )
            seen[key] = number
            blocks.append(_Block(key, number, [asked[2]]))
        elif current is None or layout is None:
            continue
        elif not current.answered and (given := _ANSWER_LINE.match(line)):
            if (answer_number := _plain_number(given[1] or given[2] or given[3])) != current.number:
                raise InputError(
                    f"{at}: found A{answer_number}, expected A{current.number} for the question at line {current.line}; "
                    "give each answer the number of its question"
                )
            current.answered = True
            current.answer.append(given[4])
        else:
            heading = None if fenced else _HEADING.match(line)
            if not fenced:
                _refuse_other_layout(line, current, layout, at)
            current.closed = current.closed or bool(heading and len(heading[1]) < _LEVEL[layout])
            if not current.closed:
                (current.answer if current.answered else current.question).append(line)
    if fenced and swallowed:
        begins = f"{name}, line {fenced}: a code block begins here and does not end"
        raise InputError(f"{begins}; close it before line {swallowed}")
    if not blocks:
        raise InputError(
            f'{name}: no question found; expected lines as "### Q1: …" or "Q1: …", with "A1: …" below'
        )
    return blocks


def _layout(lines: list[str]) -> str | None:
    """The layout of the first question line outside a code fence."""
    fenced = False
    for line in lines:
        fenced ^= bool(_FENCE.match(line))
        layout = next(
            (name for name, pattern in _QUESTION_LINES.items() if pattern.match(line)), None
        )
        if layout and not fenced:
            return layout
    return None


def _refuse_other_layout(line: str, block: _Block, layout: str, at: str) -> None:
    """A next question in another layout would be swallowed by the answer before it: say so instead."""
    for other, pattern in _QUESTION_LINES.items():
        found = pattern.match(line) if other != layout else None
        if found and _comes_next(found[1], block):
            raise InputError(
                f'{at}: Q{found[1]} is written as "{other}", but this file began with "{layout}"; use one layout'
            )
    if (found := _LIKE_A_QUESTION.match(line)) and _comes_next(found[1], block):
        raise InputError(
            f'{at}: found "{line.strip()[:40]}", expected a question such as '
            f'"{layout.replace("1", found[1], 1)}"; write it so, or give this heading another number'
        )
    stray = _ANSWER_LINE.match(line)
    if stray and block.answered and _comes_next(written := stray[1] or stray[2] or stray[3], block):
        raise InputError(f"{at}: found A{written} without its question; add Q{written} above it")


def _order(number: str) -> tuple[int, str]:
    """6a is (6, "a")."""
    digits = re.match(r"\d+", number)
    assert digits is not None
    return int(digits[0][:4000]), number[
        digits.end() :
    ].lower()  # Python reads no whole number of more digits


def _plain_number(written: str) -> str:
    return "{}{}".format(*_order(written))


def _comes_next(written: str, block: _Block) -> bool:
    (number, more), (before, last) = _order(written), _order(block.number)
    return before < number <= before + 3 or (number == before and more > last)
