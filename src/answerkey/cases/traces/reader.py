"""A trace file as cases, with notices about what it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from answerkey.cases.hide import hide_secrets
from answerkey.cases.rows import case_of_cells
from answerkey.cases.traces.facts import SpanFacts, SpanKind, read_span_facts
from answerkey.cases.traces.families import NAMES
from answerkey.cases.traces.shelf import SpanShelf
from answerkey.cases.traces.stream import Damage, holds_spans, read_spans
from answerkey.cases.traces.tree import SpanTree
from answerkey.cases.traces.turns import TraceTurn, row_of_turn, turns_of_trace
from answerkey.coerce.decode import warn_once
from answerkey.coerce.values import Place, is_list
from answerkey.errors import InputError
from answerkey.text import format_count
from answerkey.types import Case

_MOST_TURNS = 50  # earlier turns of a conversation that a case keeps
_MOST_NAMED = 3  # places of damage that a notice names
_MISSING: dict[str, str] = NAMES["missing"]

__all__ = ["holds_spans", "read_trace_cases"]


@dataclass(slots=True)
class TraceSurvey:
    """Counts what a file has and lacks, for the notices at its end."""

    traces: int = 0
    silent: int = 0  # traces without a question
    spans: int = 0
    cut: int = 0
    missing_parents: int = 0
    cycles: int = 0
    cases: int = 0
    damage: list[Damage] = field(default_factory=list[Damage])
    damaged: int = 0
    scopes: Counter[str] = field(default_factory=Counter[str])
    present: set[str] = field(default_factory=set[str])

    def add_span(self, facts: SpanFacts) -> None:
        self.spans += 1
        self.cut += facts.is_cut
        if facts.kind is not SpanKind.OTHER and facts.scope:
            self.scopes[facts.scope] += 1

    def add_damage(self, damage: Damage) -> None:
        self.damaged += 1
        if len(self.damage) < _MOST_NAMED:
            self.damage.append(damage)

    def add_tree(self, tree: SpanTree, turns: list[TraceTurn]) -> None:
        self.traces += 1
        self.silent += not turns
        # The caller of the service is outside the file, so that one missing parent is usual.
        self.missing_parents += max(tree.missing - 1, 0)
        self.cycles += tree.cycles

    def add_row(self, row: dict[str, object]) -> None:
        self.cases += 1
        columns = {
            "passages": "contexts",
            "session": "conversation",
            "feedback": "feedback",
            "tokens": "prompt_tokens",
            "latency": "response_time",
        }
        self.present.update(what for what, column in columns.items() if column in row)

    def content_setting(self) -> str:
        """The setting that makes the most frequent producer record messages."""
        if self.scopes:
            scope = self.scopes.most_common(1)[0][0].lower()
        else:
            scope = ""
        producers: list[dict[str, str]] = NAMES["recording"]
        return next(entry["content"] for entry in producers if scope.startswith(entry["scope"]))


def read_trace_cases(path: Path, name: str) -> Iterator[Case]:
    """The cases of a trace file: one per turn, conversations together, secrets removed."""
    survey = TraceSurvey()
    with SpanShelf() as shelf:
        for span in read_spans(path, name):
            if isinstance(span, Damage):
                survey.add_damage(span)
                continue
            facts = read_span_facts(span)
            survey.add_span(facts)
            shelf.add(facts)
        yield from _cases_of_shelf(shelf, survey, path, name)
        if shelf.dropped:
            warn_once(f"{name}: {shelf.dropped} spans of very large traces were left out")
    _report(survey, name)


def _cases_of_shelf(shelf: SpanShelf, survey: TraceSurvey, path: Path, name: str) -> Iterator[Case]:
    session = ""
    history: list[dict[str, object]] = []
    for own_session, trace, spans in shelf.traces():
        # Traces without a session do not belong together.
        if not own_session or own_session != session:
            history = []
        session = own_session
        turns, tree = turns_of_trace(spans)
        survey.add_tree(tree, turns)
        for number, turn in enumerate(turns, start=1):
            row = hide_secrets(row_of_turn(turn))
            # The trace id finds the case in the tracer again.
            row["id"] = f"{trace}#T{number}" if len(turns) > 1 else trace
            survey.add_row(row)
            if session or len(turns) > 1:
                row["conversation"] = session or trace
            if "history" not in row and history:
                row["history"] = history[-_MOST_TURNS:]
            yield case_of_cells(
                row, Place(name, survey.cases, "turn"), f"{path.stem}#{survey.cases}"
            )
            history = _history_of(row)


def _history_of(row: dict[str, object]) -> list[dict[str, object]]:
    earlier = row.get("history")
    turns: list[dict[str, object]] = list(earlier) if is_list(earlier) else []  # pyright: ignore[reportAssignmentType]
    return [*turns, {"user": row["question"], "answer": row.get("answer") or ""}]


def _report(survey: TraceSurvey, name: str) -> None:
    """Say what was left out and what was not recorded; a file without any question is an error."""
    problems = _list_problems(survey)
    if problems:
        warn_once(f"{name}: {'; '.join(problems)}")
    if not survey.cases:
        if not survey.spans:
            raise InputError(f"{name}: no span could be read; {'; '.join(problems)}")
        traces = format_count(survey.traces, "trace")
        raise InputError(
            f"{name}: {traces} with {format_count(survey.spans, 'span')}, but no question: the "
            f"text of messages was not recorded; to record it: {survey.content_setting()}"
        )
    if survey.silent:
        warn_once(
            f"{name}: {format_count(survey.silent, 'trace')} without a question left out; to "
            f"record messages: {survey.content_setting()}"
        )
    absent = [
        what
        for what in ("passages", "session", "tokens", "latency", "feedback")
        if what not in survey.present
    ]
    if absent:
        notes = [f"{what} ({_MISSING[what]})" for what in absent]
        warn_once(f"{name}: not recorded: {'; '.join(notes)}")


def _list_problems(survey: TraceSurvey) -> list[str]:
    problems: list[str] = []
    if survey.damaged:
        places = "; ".join(f"{damage.place}: {damage.reason}" for damage in survey.damage)
        if survey.damaged > len(survey.damage):
            more = ", …"
        else:
            more = ""
        problems.append(f"{format_count(survey.damaged, 'record')} skipped ({places}{more})")
    if survey.cycles:
        problems.append(f"{format_count(survey.cycles, 'cycle')} of parents cut")
    if survey.missing_parents:
        problems.append(
            f"{format_count(survey.missing_parents, 'span')} without the parent it names"
        )
    if survey.cut:
        problems.append(
            f"{format_count(survey.cut, 'attribute')} cut short: {_MISSING['truncated']}"
        )
    return problems
