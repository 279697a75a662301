"""One case as a card in a notebook: question, verdict, expected answer, answer with marks, passages, scores."""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.display import html_table, html_text
from answerkey.reports.word_marks import DiffPart, marked_answer
from answerkey.types import Outcome, Passage, Score

_CARD = "border:1px solid #ccc;border-radius:6px;padding:8px 14px;max-width:900px"
_LABEL = "color:#666;font-size:85%;margin-top:8px"
_TEXT = "white-space:pre-wrap"
_GOOD = "#2e7d32"
_BAD = "#b3261e"
_UNDECIDED = "#6b6b6b"
_MARKS = {
    "missing": "text-decoration:underline dotted #b3261e",
    "other": "background:#fde0dc",
    "added": "background:#fff3cd",
}
_LONGEST_PASSAGE = 600
_MOST_PASSAGES = 5


def case_card(outcome: Outcome) -> str:
    """The HTML of the card; every text in it is inert."""
    case = outcome.case
    response = outcome.response
    expected = "\n".join(case.expected)
    answer = response.answer or ""
    expected_parts, answer_parts = marked_answer(expected, answer, case.question)
    parts = [_headline(outcome), _block("question", html_text(case.question))]
    if expected:
        parts.append(_block("expected", _mark_parts(expected_parts)))
    if response.error is not None:
        parts.append(_block("error", html_text(response.error)))
    else:
        parts.append(_block("answer", _mark_parts(answer_parts)))
    parts += _passages(response.passages)
    parts.append(_scores(outcome))
    return f'<div style="{_CARD}">{"".join(parts)}</div>'


def _headline(outcome: Outcome) -> str:
    verdict = outcome.verdict
    colour = _UNDECIDED
    # Without a score nothing was decided, so neither green nor red is true.
    if verdict.score is not None:
        colour = _GOOD if verdict.passed else _BAD
    status = f'<b style="color:{colour}">{html_text(verdict.status)}</b>'
    if verdict.why:
        why = f" {html_text(verdict.why)}"
    else:
        why = ""
    labels = ", ".join(label for label in (verdict.kind, verdict.cause) if label)
    if labels:
        tail = f' <span style="color:#666">({html_text(labels)})</span>'
    else:
        tail = ""
    return f"<div><b>{html_text(outcome.case.id)}</b> {status}{why}{tail}</div>"


def _block(label: str, content: str) -> str:
    return f'<div style="{_LABEL}">{label}</div><div style="{_TEXT}">{content}</div>'


def _mark_parts(parts: Iterable[DiffPart]) -> str:
    pieces: list[str] = []
    for part in parts:
        text = html_text(part.text)
        style = _MARKS.get(part.kind)
        pieces.append(f'<span style="{style}">{text}</span>' if style else text)
    return "".join(pieces)


def _passages(passages: tuple[Passage, ...]) -> list[str]:
    blocks: list[str] = []
    for number, passage in enumerate(passages[:_MOST_PASSAGES], start=1):
        text = passage.text
        if len(text) > _LONGEST_PASSAGE:
            text = f"{text[:_LONGEST_PASSAGE]}…"
        blocks.append(_block(f"passage {number}", html_text(text)))
    if len(passages) > _MOST_PASSAGES:
        blocks.append(_block(f"and {len(passages) - _MOST_PASSAGES} more passages", ""))
    return blocks


def _scores(outcome: Outcome) -> str:
    rows = [(name, _value(score), score.reason) for name, score in outcome.scores.items()]
    return html_table(rows, ("metric", "value", "reason"))


def _value(score: Score) -> object:
    if score.error is not None:
        return f"error: {score.error}"
    if score.value is None:
        return "n/a"
    return score.value
