"""How a run ends: the exit code and the last line, from its figures. What could not be completed never passes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, Ending
from answerkey.runs.control import Finished
from answerkey.runs.manifest import Manifest
from answerkey.runs.summary import GateResult, Summary
from answerkey.text import format_count

_SHOWN_IDS = 3
_SHOWN_CAUSE = 120  # characters
_SAME_CAUSE = 10  # characters that two texts of one cause share
_SIGN = re.compile(r"(.*?)\s*(>=|<=|==|!=|>|<)\s*(.*)")
_OPPOSITE = {">=": "<", "<=": ">", ">": "<=", "<": ">=", "==": "!=", "!=": "=="}


def conclude(finished: Finished, summary: Summary) -> Ending:
    """The ending of a run with this summary. `FAIL: 1 of 2 gates failed (pass_rate 0.56 < 0.70); 28 of 50 cases passed;
    failing: q3, q7, q9, …; see …`"""
    totals = summary.figures.totals
    gates = summary.gates
    ids = summary.failing
    if ids:
        failing = f"failing: {_and_more(', '.join(ids[:_SHOWN_IDS]), ids)}"
    else:
        failing = ""
    rest = [
        _describe_passed(summary),
        failing,
        f"see {finished.folder / ('failures.txt' if ids else 'report.txt')}",
    ]

    def ending(code: int, *reasons: str, gated: bool = True) -> Ending:
        return Ending(code, "; ".join(part for part in (*reasons, *rest) if part), gated=gated)

    # The order matters: an interrupted run is never called failed, and never passed.
    if finished.interrupted:
        return ending(EXIT_INTERRUPTED, _describe_done(summary), _cause(summary))
    if finished.stopped is not None:
        also = ""
        if finished.also_stopped:
            also = f" ({finished.also_stopped} more failed in the same batch)"
        return ending(
            EXIT_GATE, f"stopped at {finished.stopped.case.id}, which is under the threshold{also}"
        )
    if finished.partial and finished.limited:
        counts = f"{format_count(finished.asked, 'case')} asked, {finished.failed} failed"
        code = EXIT_GATE if finished.failed else EXIT_OK
        return ending(code, f"{counts}; {finished.partial}", gated=bool(finished.failed))
    if finished.partial and not finished.ended_in_errors:
        # The reason may name the cause already.
        start = _cause(summary).partition("No response: ")[2][:_SAME_CAUSE]
        if start and start in finished.partial:
            cause = ""
        else:
            cause = _cause(summary)
        return ending(EXIT_INCOMPLETE, finished.partial, _describe_done(summary), cause)
    # Errors come before the gates, which a run with errors cannot pass.
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


def end_of_reading(run: Manifest, sentence: str) -> Ending:
    """The ending of a command that reads a run; reading a damaged one is not a success."""
    if run.damage:
        return Ending(EXIT_INCOMPLETE, run.partial)
    return Ending(EXIT_OK, sentence, gated=False)


def _describe_done(summary: Summary) -> str:
    return (
        f"{summary.figures.totals.cases} of {format_count(summary.run.selected or 0, 'case')} done"
    )


def _describe_passed(summary: Summary) -> str:
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
    if len(message) <= _SHOWN_CAUSE:
        shown = message
    else:
        shown = f"{message[:_SHOWN_CAUSE]}…"
    return f"most frequent cause ({format_count(count, 'time')}): {shown}"


def _gate(gate: GateResult) -> str:
    """`pass_rate 0.56 < 0.70`: the figure and the condition that it does not meet."""
    match = _SIGN.match(gate.condition)
    if gate.value is None or match is None:
        return f"{gate.condition}: {gate.note}"
    figure, sign, limit = match.groups()
    return f"{figure} {gate.value:.4g} {_OPPOSITE[sign]} {limit}"


def _and_more(shown: str, items: Sequence[object]) -> str:
    if len(items) > _SHOWN_IDS:
        return f"{shown}, …"
    return shown
