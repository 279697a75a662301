"""A comparison for the terminal and for a pull request. The verdict always comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerkey.comparison.comparison import CaseChange, Comparison
from answerkey.comparison.number_text import format_number, format_rates
from answerkey.comparison.significance import ALPHA, Difference, effect_size
from answerkey.comparison.verdict import describe_test, is_beyond_scale
from answerkey.reports.comparison_charts import comparison_charts
from answerkey.reports.markdown import code_span, escape_markdown
from answerkey.reports.numbers import format_figure
from answerkey.reports.tables import align_columns
from answerkey.text import printable, short_label

SHOWN_CASES = 20
COLUMNS = (
    "",
    "n",
    "A",
    "B",
    "B − A",
    "95 % interval",
    "p",
    "p Holm",
    "Wilcoxon",
    "d",
    "d_z",
    "won/lost/tied",
)
OVERALL = "overall score"
_TERMINAL_COLUMNS = ("", "n", "A", "B", "B − A", "95 % interval", "p", "+/−/=")
_TERMINAL_WIDTH = 100
_LONGEST_ANSWER = 90
_SHORTEST_QUESTION = 20
_INDENT = 10  # "  +0.127  " before a case
_METHODS = {
    "studentised bootstrap": "studentised bootstrap, 10,000 draws, fixed seed",
    "t": "Student's t (more than 200 cases)",
    "t with both ends of the scale": "Student's t, widened because most cases changed alike",
}


def comparison_text(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """Plain text for the terminal; tables and lines of cases are at most 100 columns wide."""
    c = comparison
    lines = [c.sentence, "", f"A  {c.name_a}", f"B  {c.name_b}", "", "Changes"]
    lines += [f"  {line}" for line in c.changed.sentences()]
    for title, flips in flip_lists(c):
        lines += ["", f"{title}: {len(flips)}{_first_of(flips, cases)}"]
        for flip in flips[:cases]:
            lines += _flip_lines(flip)
    lines += ["", *_terminal_table(c), "", *notes(c)]
    for title, moves in case_lists(c):
        lines += ["", f"{title}, same verdict: {len(moves)}{_first_of(moves, cases)}"]
        lines += [f"  {_format_signed(move.diff)}  {_case_line(move)}" for move in moves[:cases]]
    return printable("\n".join(lines) + "\n")


def _flip_lines(flip: CaseChange) -> list[str]:
    """A case that newly fails or passes, with both answers."""
    flaky = ", flaky" if flip.flaky else ""
    lines = [
        f"  {_case_line(flip)}{flaky}",
        f"    A: {_one_line(flip.answer_a, _LONGEST_ANSWER)}",
        f"    B: {_one_line(flip.answer_b, _LONGEST_ANSWER)}",
    ]
    if flip.why_b:
        lines.append(f"    {_describe_failure(flip)}")
    return lines


def _describe_failure(flip: CaseChange) -> str:
    """Why the case fails in B: `wrong figure: Says 28 days, expected 25 days.`"""
    if flip.kind_b:
        return f"{flip.kind_b}: {flip.why_b}"
    return flip.why_b


def _one_line(text: str, longest: int) -> str:
    line = " ".join(text.split())
    if len(line) > longest:
        return f"{line[: longest - 1]}…"
    return line or "(empty)"


def _terminal_table(c: Comparison) -> list[str]:
    """The figures that fit; names are cut so that no line is wider than 100 columns."""
    rows = [_TERMINAL_COLUMNS, *(_terminal_row(n, d) for n, d in _differences(c).items())]
    others = [max(map(len, column)) for column in list(zip(*rows, strict=True))[1:]]
    # Some room stays for the name, even if the other columns are wide.
    room = max(12, _TERMINAL_WIDTH - sum(others) - 2 * len(others))
    return align_columns([[short_label(row[0], room), *row[1:]] for row in rows])


def _terminal_row(name: str, figures: Difference) -> tuple[str, ...]:
    cells = _table_row(name, figures)
    # These two are the decision itself; only the metrics are corrected for their number.
    if name in (OVERALL, "quality"):
        p = cells[6]
    else:
        p = cells[7]
    return (cells[0], str(figures.n), *cells[2:6], p, cells[11])


def comparison_markdown(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """Markdown for a pull request; text of a bot stays plain text."""
    c = comparison
    names = f"A `{code_span(c.name_a)}`, B `{code_span(c.name_b)}`"
    lines = [f"## {escape_markdown(c.verdict)}", "", escape_markdown(c.sentence), "", names, ""]
    lines += [f"- {escape_markdown(line)}" for line in c.changed.sentences()]
    for title, flips in flip_lists(c):
        lines += ["", f"**{title}: {len(flips)}{_first_of(flips, cases)}**", ""]
        for flip in flips[:cases]:
            lines += _markdown_flip(flip)
    lines += ["", "<details><summary>Statistics</summary>", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for name, *rest in table_rows(c):
        cells = " | ".join(escape_markdown(value) for value in rest)
        lines.append(f"| `{code_span(name)}` | {cells} |")
    lines += ["", *(f"- {escape_markdown(note)}" for note in notes(c)), "", "</details>"]
    for title, moves in case_lists(c):
        summary = f"{title}, same verdict: {len(moves)}{_first_of(moves, cases)}"
        lines += ["", f"<details><summary>{summary}</summary>", ""]
        lines += ["| case | question | A | B | |", "|---|---|---:|---:|---|"]
        lines += [_markdown_move(move) for move in moves[:cases]]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _markdown_flip(flip: CaseChange) -> list[str]:
    question = escape_markdown(flip.question)
    status = escape_markdown(move_status(flip))
    answer_a = escape_markdown(_one_line(flip.answer_a, _LONGEST_ANSWER))
    answer_b = escape_markdown(_one_line(flip.answer_b, _LONGEST_ANSWER))
    lines = [
        f"- `{code_span(flip.id)}` {question} ({status})",
        f"  - A: {answer_a}",
        f"  - B: {answer_b}",
    ]
    if flip.why_b:
        lines.append(f"  - {escape_markdown(_describe_failure(flip))}")
    return lines


def _markdown_move(move: CaseChange) -> str:
    scores = f"{format_figure(move.score_a)} | {format_figure(move.score_b)}"
    question = escape_markdown(move.question)
    status = escape_markdown(move_status(move))
    return f"| `{code_span(move.id)}` | {question} | {scores} | {status} |"


def flip_lists(c: Comparison) -> list[tuple[str, Sequence[CaseChange]]]:
    """The cases that newly fail and newly pass; a list without cases is left out."""
    lists = (("Newly failing", c.newly_failing), ("Newly passing", c.newly_passing))
    return [(title, cases) for title, cases in lists if cases]


def case_lists(c: Comparison) -> list[tuple[str, list[CaseChange]]]:
    """The other cases whose score moved; a case is listed once.

    If the scoring setup changed, they are scored differently, not better or worse.
    """
    listed = {case.id for case in (*c.newly_failing, *c.newly_passing)}
    lower = [case for case in c.degraded_cases if case.id not in listed]
    higher = [case for case in c.improved_cases if case.id not in listed]
    # With another scoring setup a higher score does not mean a better answer.
    if c.changed.scoring:
        titles = ("Scored lower", "Scored higher")
    else:
        titles = ("Degraded", "Improved")
    return [(title, cases) for title, cases in zip(titles, (lower, higher), strict=True) if cases]


def comparison_values(c: Comparison) -> dict[str, Any]:
    """The values that every page of a comparison shows."""
    return {
        "rates": format_rates(c.mcnemar) if c.mcnemar.n else "",
        "header": COLUMNS,
        "table": table_rows(c),
        "metrics": metric_rows(c),
        "notes": notes(c),
        "charts": comparison_charts(c),
    }


def _differences(c: Comparison) -> dict[str, Difference]:
    """The overall score, if there is one, then each metric."""
    figures = c.differences(OVERALL)
    if not c.overall.n:
        del figures[OVERALL]
    return figures


def table_rows(c: Comparison) -> list[list[str]]:
    """The cells of the table as text, the overall score first."""
    return [_table_row(name, figures) for name, figures in _differences(c).items()]


def metric_rows(c: Comparison) -> list[list[str]]:
    """The short table: name, A, B, difference, 95 % interval, and the result of the test."""
    rows: list[list[str]] = []
    for name, figures in _differences(c).items():
        cells = _table_row(name, figures)
        if name == OVERALL:
            p = figures.p
        else:
            p = figures.p_holm
        rows.append([cells[0], *cells[2:6], _describe_result(figures, p)])
    return rows


def _describe_result(figures: Difference, p: float | None) -> str:
    if p is None:
        return "-"
    if p >= ALPHA:
        return "no clear difference"
    # A metric such as a length has no better side.
    if figures.better == "neither":
        return "differs"
    return "better" if figures.gain > 0 else "worse"


def notes(c: Comparison) -> list[str]:
    """Notes on what the table does not show: pass and fail, the detectable difference, missing values."""
    lines = [*_pass_notes(c), *_statistics_notes(c)]
    if max(c.repeats) > 1:
        lines.append(
            f"each case was asked {c.repeats[0]} times in A and {c.repeats[1]} in B; "
            "scores are the means"
        )
    if c.noise:
        moved = sum(move.flaky for move in c.moves)
        lines.append(
            f"noise floor from {c.noise.runs} runs of A: ±{format_number(c.noise.floor)} in the "
            f"mean; {len(c.noise.flaky)} cases are flaky; {moved} moved within their own range"
        )
    return lines + _missing_notes(c)


def _pass_notes(c: Comparison) -> list[str]:
    passes = c.mcnemar
    if not passes.n or passes.p is None:
        return []
    return [
        f"passed: {format_rates(passes)} of {passes.n}; {passes.only_b} newly pass, "
        f"{passes.only_a} newly fail; McNemar p = {passes.p:.3g} ({passes.method})"
    ]


def _statistics_notes(c: Comparison) -> list[str]:
    lines: list[str] = []
    if test := describe_test(c.overall):
        lines.append(test)
    if c.overall.smallest_detectable:
        smallest = format_number(c.overall.smallest_detectable)
        # A difference beyond the scale can't occur, so no number of points is named.
        if is_beyond_scale(c.overall, c.scale):
            smallest = f"none; it would exceed the whole scale (0 to {c.scale or 0:g})"
        lines.append(
            "smallest difference in the overall score detectable with 80 % power in "
            f"{c.overall.n} cases: {smallest}"
        )
    used = {d.interval.method for d in (c.overall, *c.metrics.values()) if d.interval}
    methods = " and ".join(_METHODS.get(method, method) for method in sorted(used)) or "none"
    lines.append(f"intervals of the difference: {methods}")
    return lines


def _missing_notes(c: Comparison) -> list[str]:
    lines: list[str] = []
    if c.lost:
        ids = ", ".join(c.lost[:5])
        lines.append(f"{len(c.lost)} cases have a verdict in A but not in B: {ids}")
    by_note: dict[str, list[str]] = {}
    for name, figures in _differences(c).items():
        if figures.note:
            by_note.setdefault(figures.note, []).append(name)
    # One line per note: the same reason often holds for many metrics.
    lines += [f"{', '.join(names)}: {note}" for note, names in by_note.items()]
    lines += [f"{name}: {a} errors in A, {b} in B" for name, (a, b) in c.errors.items() if a or b]
    if c.only_a or c.only_b:
        only_a = ", ".join(c.only_a) or "-"
        only_b = ", ".join(c.only_b) or "-"
        lines.append(f"measured only in A: {only_a}; only in B: {only_b}")
    return lines


def _table_row(name: str, figures: Difference) -> list[str]:
    arrow = " ↓" if figures.better == "lower" else ""
    count = str(figures.n)
    if figures.clusters is not None:
        count = f"{figures.n} in {figures.clusters} clusters"
    interval = "-"
    if figures.interval:
        low = _format_signed(figures.interval.low)
        interval = f"{low} to {_format_signed(figures.interval.high)}"
    won = f"{figures.wins}/{figures.losses}/{figures.ties}"
    return [
        f"{name}{arrow}",
        count,
        format_figure(figures.mean_a),
        format_figure(figures.mean_b),
        _format_signed(figures.diff),
        interval,
        _format_p(figures.p),
        "" if name in (OVERALL, "quality") else _format_p(figures.p_holm),
        _format_p(figures.wilcoxon_p),
        _format_effect(figures.d_pooled),
        _format_effect(figures.d_z),
        "-" if figures.better == "neither" else won,
    ]


def _format_effect(size: float | None) -> str:
    if size is None:
        return "-"
    return f"{size:+.2f} {effect_size(size)}"


def _format_signed(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) < 10:
        return f"{value:+.3f}"
    return f"{value:+,.1f}"


def _format_p(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 0.001:
        return "<0.001"
    return f"{value:.3f}"


def _first_of(moves: Sequence[CaseChange], cases: int) -> str:
    if len(moves) > cases:
        return f", the first {cases}"
    return ""


def move_status(move: CaseChange) -> str:
    """`PASSED → FAILED`, or the status that a case has in both runs."""
    if move.status_a == move.status_b:
        return move.status_b
    return f"{move.status_a} → {move.status_b}"


def _case_line(case: CaseChange) -> str:
    """The id, the question, both scores and statuses; the question is cut to fit the line."""
    scores = f"{format_figure(case.score_a)} → {format_figure(case.score_b)}"
    room = _TERMINAL_WIDTH - _INDENT - len(f"{case.id}:   {scores}  {move_status(case)}")
    question = _one_line(case.question, max(room, _SHORTEST_QUESTION))
    return f"{case.id}: {question}  {scores}  {move_status(case)}"
