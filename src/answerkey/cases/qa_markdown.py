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

_QUESTION_LINES = {
    "### Q1:": re.compile(r"###\s+Q(\d{1,9})\s*:\s*(.*?)\s*#*\s*$"),
    "## Q1:": re.compile(r"##\s+Q(\d{1,9})\s*:\s*(.*?)\s*#*\s*$"),
    "**Q1:**": re.compile(r"\*\*Q(\d{1,9})\s*:\s*(.*?)\s*\*\*\s*$"),
    "Q1:": re.compile(r"Q(\d{1,9})\s*:\s*(.*?)\s*$"),
}
# Headings above this level are those of sections; where questions are no headings, sections have # to ###.
_LEVEL = {"### Q1:": 3, "## Q1:": 2, "**Q1:**": 4, "Q1:": 4}
_ANSWER_LINE = re.compile(r"(?:\*\*A(\d{1,9})\s*:\s*\*\*|\*\*A(\d{1,9})\*\*\s*:|A(\d{1,9})\s*:)\s*(.*)$")
_HEADING = re.compile(r"(#{1,6})\s+\S")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(slots=True)
class _Block:
    number: int
    line: int
    question: list[str]
    answer: list[str] = field(default_factory=list[str])
    answered: bool = False
    closed: bool = False


def read_qa_markdown(path: Path, name: str) -> Iterator[Case]:
    lines = read_text(path).split("\n")
    blocks = _blocks(lines, name)
    for block in blocks:
        question = " ".join(part.strip() for part in block.question if part.strip())
        answer = "\n".join(_trimmed(block.answer)).strip()
        if not question:
            raise InputError(
                f"{name}, line {block.line}: Q{block.number} has no text; write the question after the colon"
            )
        if not block.answered or not answer:
            raise InputError(
                f"{name}, line {block.line}: Q{block.number} has no answer; expected a line that begins with "
                f'"A{block.number}:" or "**A{block.number}:**"'
            )
        yield Case(
            id=f"{path.stem}#Q{block.number}",
            question=question,
            expected=(answer,),
            source_file=name,
            question_num=block.number,
        )


def _blocks(lines: list[str], name: str) -> list[_Block]:
    layout = _layout(lines)
    blocks: list[_Block] = []
    seen: dict[int, int] = {}
    fenced = False
    for number, line in enumerate(lines, start=1):
        current = blocks[-1] if blocks else None
        if _FENCE.match(line):
            fenced = not fenced
        asked = None if fenced or layout is None else _QUESTION_LINES[layout].match(line)
        if asked:
            if (key := int(asked[1])) in seen:
                raise InputError(
                    f"{name}, line {number}: Q{key} stands already at line {seen[key]}; number each question once"
                )
            seen[key] = number
            blocks.append(_Block(key, number, [asked[2]]))
        elif current is None or layout is None:
            continue
        elif not current.answered and (given := _ANSWER_LINE.match(line)):
            _begin_answer(current, given, name, number)
        elif not fenced:
            _refuse_other_layout(line, current, layout, name, number)
            _add_line(current, line, _LEVEL[layout])
        else:
            _add_line(current, line, 0)
    if not blocks:
        raise InputError(
            f'{name}: no question found; expected lines such as "### Q1: …" or "Q1: …", with "A1: …" below'
        )
    return blocks


def _layout(lines: list[str]) -> str | None:
    """The layout of the first question line outside a code fence."""
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        if not fenced:
            for layout, pattern in _QUESTION_LINES.items():
                if pattern.match(line):
                    return layout
    return None


def _begin_answer(block: _Block, given: re.Match[str], name: str, number: int) -> None:
    answer_number = int(given[1] or given[2] or given[3])
    if answer_number != block.number:
        raise InputError(
            f"{name}, line {number}: found A{answer_number}, expected A{block.number} for the question at line {block.line}; "
            "give each answer the number of its question"
        )
    block.answered = True
    block.answer.append(given[4])


def _add_line(block: _Block, line: str, level: int) -> None:
    heading = _HEADING.match(line)
    if heading and len(heading[1]) < level:
        block.closed = True
    if block.closed:
        return
    (block.answer if block.answered else block.question).append(line)


def _refuse_other_layout(line: str, block: _Block, layout: str, name: str, number: int) -> None:
    """A next question in another layout would be swallowed by the answer before it: say so instead."""
    for other, pattern in _QUESTION_LINES.items():
        found = pattern.match(line) if other != layout else None
        if found and int(found[1]) == block.number + 1:
            raise InputError(
                f'{name}, line {number}: Q{found[1]} is written as "{other}", but this file began with "{layout}"; use one layout'
            )
    stray = _ANSWER_LINE.match(line)
    if stray and block.answered and int(stray[1] or stray[2] or stray[3]) == block.number + 1:
        raise InputError(
            f"{name}, line {number}: found A{block.number + 1} without its question; add Q{block.number + 1} above it"
        )


def _trimmed(lines: list[str]) -> list[str]:
    """Without the blank lines, rules and headings at the end, which lead to the next question."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or _RULE.match(lines[end - 1]) or _HEADING.match(lines[end - 1])):
        end -= 1
    return lines[:end]
