"""Logs of bots as cases: a row per question and answer, or a row per message.

A log has a time or a session beside its texts. Sessions become conversations, thumbs become
labels, and error messages of the bot's program are errors, not answers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from answerkey.cases.error_answers import error_message
from answerkey.cases.feedback import read_feedback
from answerkey.cases.hide import hide_secrets
from answerkey.cases.traces.messages import Role, content_text, role_of
from answerkey.coerce.columns import log_column
from answerkey.coerce.rows import Row
from answerkey.coerce.tables import ROW_READERS
from answerkey.coerce.values import has_no_value, is_list
from answerkey.errors import InputError
from answerkey.types import Case

Cells = Mapping[str, object]
_MOST_SESSIONS = 20_000  # open sessions that are remembered; older ones start anew
_MOST_TURNS = 20  # earlier turns of a session that a case keeps
# Texts of all remembered sessions together. 20,000 sessions with long answers would take 400 MB.
_MOST_CHARACTERS = 16_000_000
LABELS = frozenset(
    {"expected", "expected_route", "acceptable_routes", "relevant", "answer_criteria", "criteria"}
)
_TEXTS = ("conversation", "messages", "sequence")


def read_log_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a log, prepared; the rows of any other file as they are."""
    stream = iter(rows)
    # The first row decides whether rows are messages: the rest is read once, in a stream.
    first = next(stream, None)
    if first is None:
        return
    everything: Iterable[Row] = chain([first], stream)
    if is_message_row(first[0]):
        everything = _pair_messages(everything)
    sessions = _Sessions()
    for row, place in everything:
        yield (_read_log_row(row, sessions) if is_log_row(row) else row), place


def is_log_row(row: Cells) -> bool:
    """Whether a row belongs to a log: a question with an answer, and a time or a session.

    A row that says what is right is a test, whose recorded answer stays as it is.
    """
    if "question" not in row or ("answer" not in row and "error" not in row):
        return False
    if not LABELS.isdisjoint(row):
        return False
    return is_stored_chat(row)


def is_message_row(row: Cells) -> bool:
    """Whether a row is one message of a chat: a role and a text."""
    if "question" in row or any(is_list(row.get(key)) for key in _TEXTS):
        return False
    role = _column(row, "role")
    return role is not None and _column(row, "content") is not None and _role(row) is not None


def is_stored_chat(row: Cells) -> bool:
    """Whether a conversation comes from a log: it has a time or a session."""
    return _column(row, "time") is not None or _column(row, "session") is not None


def session_of(row: Cells) -> str:
    """The session that a row names; "" where it names none."""
    return _text(row, "session")


def without_error_answer(case: Case) -> Case:
    """The case, with an error in place of an answer that is an error message."""
    if case.recorded is None or not case.recorded.answer:
        return case
    problem = error_message(case.question, case.recorded.answer)
    if not problem:
        return case
    return replace(case, recorded=replace(case.recorded, answer=None, error=problem))


def is_read_whole(path: Path, name: str) -> bool:
    """Whether the rows of a file depend on each other: messages, or turns of sessions."""
    reader = ROW_READERS.get(path.suffix.lower())
    if reader is None:
        return False
    # Only a look: the reader that is chosen later reports the mistake.
    try:
        first = next(iter(reader(path, name)), None)
    except InputError:
        return False
    if first is None:
        return False
    row = first[0]
    return is_message_row(row) or (is_log_row(row) and _column(row, "session") is not None)


def _column(row: Cells, column: str) -> str | None:
    name = log_column(column, row)
    if name is None or row[name] in (None, ""):
        return None
    return name


def _text(row: Cells, column: str) -> str:
    name = _column(row, column)
    if name is None:
        text = ""
    else:
        text = str(row[name]).strip()
    return "" if has_no_value(text) else text


def _role(row: Cells) -> Role | None:
    return role_of({"role": _text(row, "role")})


class _Sessions:
    """The earlier turns of the sessions that were seen last."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, list[dict[str, object]]] = OrderedDict()
        self._characters = 0

    def turns(self, session: str) -> list[dict[str, object]]:
        return self._turns.get(session, [])

    def add(self, session: str, question: object, answer: object) -> None:
        # A new list, because rows that were read hold the old one as their history.
        turns = [*self.turns(session), {"user": question, "answer": answer or ""}]
        self._characters += _length(turns[-1])
        for dropped in turns[:-_MOST_TURNS]:
            self._characters -= _length(dropped)
        self._turns[session] = turns[-_MOST_TURNS:]
        self._turns.move_to_end(session)
        while len(self._turns) > _MOST_SESSIONS or self._is_too_long():
            _, oldest = self._turns.popitem(last=False)
            self._characters -= sum(_length(turn) for turn in oldest)

    def _is_too_long(self) -> bool:
        return self._characters > _MOST_CHARACTERS and len(self._turns) > 1


def _length(turn: Mapping[str, object]) -> int:
    return sum(len(value) for value in turn.values() if isinstance(value, str))


def _read_log_row(row: Cells, sessions: _Sessions) -> dict[str, object]:
    # A log of production may hold keys that users pasted into the chat.
    cells = hide_secrets(dict(row))
    problem = error_message(str(cells["question"] or ""), str(cells.get("answer") or ""))
    # "Error: POST …" as an answer would be scored as a bad answer, and hide that the bot was down.
    if problem:
        cells.pop("answer")
        cells.setdefault("error", problem)
    if "response_time" not in cells:
        cells |= _latency(cells)
    feedback_name = _column(cells, "feedback")
    if feedback_name is not None:
        feedback = read_feedback(cells[feedback_name])
        if feedback is not None:
            cells["feedback"] = feedback.value
            cells.setdefault("label", feedback.label)
    time_name = _column(cells, "time")
    if time_name is not None:
        cells.setdefault("time", cells[time_name])
    session = _text(cells, "session")
    if session:
        cells.setdefault("conversation", session)
        # A history that the log brings wins over the turns seen so far.
        if "history" not in cells and sessions.turns(session):
            cells["history"] = sessions.turns(session)
        sessions.add(session, cells["question"], cells.get("answer"))
    return cells


def _latency(row: Cells) -> dict[str, object]:
    milliseconds = _number(_text(row, "latency_ms"))
    if milliseconds is not None:
        return {"response_time": milliseconds / 1000}
    seconds = _number(_text(row, "latency"))
    if seconds is None:
        return {}
    return {"response_time": seconds}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(slots=True)
class _OpenTurn:
    """A question that waits for its answer."""

    row: Row
    texts: list[str] = field(default_factory=list[str])
    reply: dict[str, object] = field(default_factory=dict[str, object])


def _pair_messages(rows: Iterable[Row]) -> Iterator[Row]:
    """A row per message of the user, with the replies to it.

    Sessions may be interleaved. A question is complete when the next one of its session comes.
    """
    open_turns: OrderedDict[str, _OpenTurn] = OrderedDict()
    for row, place in rows:
        session = _text(row, "session")
        role = _role(row)
        content = _column(row, "content")
        text = "" if content is None else content_text(row[content])
        if role is Role.USER and text:
            earlier = open_turns.pop(session, None)
            if earlier is not None:
                yield _close_turn(earlier)
            open_turns[session] = _OpenTurn(({**row, "question": text}, place))
            # The oldest open question gets no answer any more; without a limit a log of single
            # questions would be held in memory as a whole.
            if len(open_turns) > _MOST_SESSIONS:
                yield _close_turn(open_turns.popitem(last=False)[1])
        # An answer without an open question, such as a greeting, is dropped.
        elif role is Role.ASSISTANT and session in open_turns:
            open_turns[session].texts.append(text)
            open_turns[session].reply = dict(row)
    for turn in open_turns.values():
        yield _close_turn(turn)


def _close_turn(turn: _OpenTurn) -> Row:
    """The question with its answer; feedback, latency and model are those of the reply."""
    row, place = turn.row
    # The question's own cells win, since its time and id are those of the case.
    cells = {**turn.reply, **{key: value for key, value in row.items() if value is not None}}
    for column in ("feedback", "latency", "latency_ms", "model"):
        name = _column(turn.reply, column)
        if name is not None:
            cells[name] = turn.reply[name]
    for column in ("role", "content"):
        name = log_column(column, cells)
        if name is not None:
            cells.pop(name)
    if turn.texts:
        # Bots send long answers in several messages.
        cells["answer"] = "\n".join(text for text in turn.texts if text)
    else:
        cells["error"] = "the log has no answer to this question"
    return cells, place
