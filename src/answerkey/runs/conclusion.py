"""How a run ends: the exit code and the last line, from its figures. What could not be completed never passes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, Ending
from answerkey.runs.control import Finished
from answerkey.runs.store import DAMAGED
from answerkey.runs.summary import GateResult, Summary
from answerkey.text import format_count

_SHOWN_IDS, _SHOWN_CAUSE, _SAME_CAUSE = 3, 120, 10
_SIGN = re.compile(r"(.*?)\s*(>=|<=|==|!=|>|<)\s*(.*)")
_OPPOSITE = {">=": "<", "<=": ">", ">": "<=", "<": ">=", "==": "!=", "!=": "=="}


def conclude(finished: Finished, summary: Summary) -> Ending:
    """The ending of a run with this summary. `FAIL: 1 of 2 gates failed (pass_rate 0.56 < 0.70); 28 of 50 cases passed;
    failing: q3, q7, q9, …; see …`"""
    totals, gates = summary.figures.totals, summary.gates
    ids = summary.failing
    failing = f"failing: {_and_more(', '.join(ids[:_SHOWN_IDS]), ids)}" if ids else ""
    rest = [
        _passed(summary),
        failing,
        f"see {finished.folder / ('failures.txt' if ids else 'report.txt')}",
    ]

    def ending(code: int, *reasons: str, gated: bool = True) -> Ending:
        return Ending(code, "; ".join(part for part in (*reasons, *rest) if part), gated=gated)

    if finished.interrupted:
        return ending(EXIT_INTERRUPTED, _done(summary), _cause(summary))
    if finished.stopped is not None:
        also = (
            f" ({finished.also_stopped} more failed in the same batch)"
            if finished.also_stopped
            else ""
        )
        return ending(
            EXIT_GATE, f"stopped at {finished.stopped.case.id}, which is under the threshold{also}"
        )
    if finished.partial and finished.limited:
        asked = f"{format_count(finished.asked, 'case')} asked, {finished.failed} failed; {finished.partial}"
        return ending(EXIT_GATE if finished.failed else EXIT_OK, asked, gated=bool(finished.failed))
    if finished.partial and not finished.partial.endswith("ended in an error"):
        known = _cause(summary).partition("No response: ")[2][
            :_SAME_CAUSE
        ]  # the reason may name the cause already
        cause = "" if known and known in finished.partial else _cause(summary)
        return ending(EXIT_INCOMPLETE, finished.partial, _done(summary), cause)
    if finished.partial or totals.errors:
        errors = f"{totals.errors} of {format_count(totals.cases, 'case')} ended in an error"
        return ending(EXIT_INCOMPLETE, errors, _cause(summary))
    failed = [gate for gate in gates if not gate.passed]
    if failed:
        conditions = _and_more(", ".join(_gate(gate) for gate in failed[:_SHOWN_IDS]), failed)
        return ending(
            EXIT_GATE, f"{len(failed)} of {format_count(len(gates), 'gate')} failed ({conditions})"
        )
    return ending(
        EXIT_OK, f"{format_count(len(gates), 'gate')} passed" if gates else "", gated=bool(gates)
    )


def end_of_reading(partial: str, sentence: str) -> Ending:
    """The ending of a command that reads a run; `partial` is that of the run. A damaged run is not a success."""
    return (
        Ending(EXIT_INCOMPLETE, partial)
        if partial.startswith(DAMAGED)
        else Ending(EXIT_OK, sentence, gated=False)
    )


def _done(summary: Summary) -> str:
    return (
        f"{summary.figures.totals.cases} of {format_count(summary.run.selected or 0, 'case')} done"
    )


def _passed(summary: Summary) -> str:
    totals = summary.figures.totals
    if summary.run.profile.name is None:
        scored = totals.cases - totals.errors
        if scored and not any(average.n for average in summary.figures.average_scores.values()):
            return f"no metric is applicable to any of {format_count(scored, 'case')}, no profile"
        return f"{format_count(scored, 'case')} scored, no profile"
    if not totals.unscored:
        return f"{totals.passed} of {format_count(totals.cases, 'case')} passed"
    counted = totals.cases - totals.unscored
    unscored = f"{format_count(totals.unscored, 'case')} UNSCORED"
    if not counted:
        return f"no case was scored: {unscored}"
    return f"{totals.passed} of {format_count(counted, 'scored case')} passed, {unscored}"


def _cause(summary: Summary) -> str:
    """The most frequent cause of errors."""
    if not summary.errors:
        return ""
    message, count = next(iter(summary.errors.items()))
    shown = message if len(message) <= _SHOWN_CAUSE else f"{message[:_SHOWN_CAUSE]}…"
    return f"most frequent cause ({format_count(count, 'time')}): {shown}"


def _gate(gate: GateResult) -> str:
    """`pass_rate 0.56 < 0.70`: the figure and the condition that it does not meet."""
    found = _SIGN.match(gate.condition)
    if gate.value is None or found is None:
        return f"{gate.condition}: {gate.note}"
    figure, sign, limit = found.groups()
    return f"{figure} {gate.value:.4g} {_OPPOSITE[sign]} {limit}"


def _and_more(shown: str, items: Sequence[object]) -> str:
    return f"{shown}, …" if len(items) > _SHOWN_IDS else shown
