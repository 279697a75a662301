"""A comparison for the terminal, for a pull request, and as two charts. The sentence of the verdict always comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerkey.comparison.comparison import CaseChange, Comparison
from answerkey.comparison.significance import Difference, effect_size
from answerkey.comparison.verdict import beyond, format_number
from answerkey.reports.chart_style import BLUE, GREY, RED, Spec, add_title, layer, number
from answerkey.reports.chart_style import name as category
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


def comparison_text(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """Plain text for the terminal."""
    c = comparison
    lines = [c.sentence, "", f"A  {c.name_a}", f"B  {c.name_b}", "", "What changed"]
    lines += [f"  {line}" for line in c.changed.sentences()]
    for title, flips in flip_lists(c):
        lines += ["", f"{title}: {len(flips)}{_first_of(flips, cases)}"]
        lines += [
            f"  {_case_line(flip)}{', flaky' if flip.flaky else ''}" for flip in flips[:cases]
        ]
    lines += ["", *align_columns([COLUMNS, *table_rows(c)]), "", *notes(c)]
    for title, moves in case_lists(c):
        lines += ["", f"{title}: {len(moves)}{_first_of(moves, cases)}"]
        lines += [f"  {_signed(move.diff)}  {_case_line(move)}" for move in moves[:cases]]
    return printable("\n".join(lines) + "\n")


def comparison_markdown(comparison: Comparison, cases: int = SHOWN_CASES) -> str:
    """Markdown for a pull request; text of a bot stays plain text."""
    c = comparison
    lines = [
        f"## {escape_markdown(c.verdict)}",
        "",
        escape_markdown(c.sentence),
        "",
        f"A `{code_span(c.name_a)}`, B `{code_span(c.name_b)}`",
        "",
    ]
    lines += [f"- {escape_markdown(line)}" for line in c.changed.sentences()]
    for title, flips in flip_lists(c):
        lines += ["", f"**{title}: {len(flips)}{_first_of(flips, cases)}**", ""]
        lines += [
            f"- `{code_span(f.id)}` {escape_markdown(f.question)} ({escape_markdown(move_status(f))})"
            for f in flips[:cases]
        ]
    lines += ["", "<details><summary>Statistics</summary>", ""]
    lines += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [
        f"| `{code_span(name)}` | {' | '.join(escape_markdown(value) for value in rest)} |"
        for name, *rest in table_rows(c)
    ]
    lines += ["", *(f"- {escape_markdown(note)}" for note in notes(c)), "", "</details>"]
    for title, moves in case_lists(c):
        lines += [
            "",
            f"<details><summary>{title}: {len(moves)}{_first_of(moves, cases)}</summary>",
            "",
        ]
        lines += ["| case | question | A | B | |", "|---|---|---:|---:|---|"]
        for m in moves[:cases]:
            scores = f"{format_figure(m.score_a)} | {format_figure(m.score_b)}"
            lines.append(
                f"| `{code_span(m.id)}` | {escape_markdown(m.question)} | {scores} | {escape_markdown(move_status(m))} |"
            )
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def flip_lists(c: Comparison) -> list[tuple[str, Sequence[CaseChange]]]:
    """The cases that newly fail and newly pass; a list without cases is left out."""
    return [
        each
        for each in (("Newly failing", c.newly_failing), ("Newly passing", c.newly_passing))
        if each[1]
    ]


def case_lists(c: Comparison) -> list[tuple[str, list[CaseChange]]]:
    """The cases that moved, likewise. If the scoring setup changed, they are scored differently, not better or worse."""
    lower, higher = (
        ("Scored lower", "Scored higher") if c.changed.scoring else ("Degraded", "Improved")
    )
    return [each for each in ((lower, c.degraded_cases), (higher, c.improved_cases)) if each[1]]


def comparison_values(c: Comparison) -> dict[str, Any]:
    """What every page of a comparison shows."""
    tables = {"header": COLUMNS, "table": table_rows(c), "metrics": metric_rows(c)}
    return {**tables, "notes": notes(c), "charts": comparison_charts(c)}


def _differences(c: Comparison) -> dict[str, Difference]:
    """Of the overall score, where there is one, then of each metric."""
    return {
        name: d for name, d in c.differences("overall score").items() if d.n or d is not c.overall
    }


def table_rows(c: Comparison) -> list[list[str]]:
    """The cells of the table as text, the overall score first."""
    return [_row(name, d) for name, d in _differences(c).items()]


def metric_rows(c: Comparison) -> list[list[str]]:
    """The short table: name, A, B, difference, 95 % interval, and what the corrected test says."""
    rows: list[list[str]] = []
    for name, d in _differences(c).items():
        p = d.p if name == "overall score" else d.p_holm
        better = d.diff is not None and (d.diff > 0) != (d.better == "lower")
        found = "differs" if d.better == "neither" else "better" if better else "worse"
        result = "-" if p is None else "no clear difference" if p >= 0.05 else found
        cells = _row(name, d)
        rows.append([cells[0], *cells[2:6], result])
    return rows


def notes(c: Comparison) -> list[str]:
    """What the table does not show: pass and fail, the detectable difference, missing values."""
    m = c.mcnemar
    n = m.both + m.only_a + m.only_b + m.neither
    lines: list[str] = []
    if n and m.p is not None:
        lines.append(
            f"passed: A {(m.both + m.only_a) / n:.1%}, B {(m.both + m.only_b) / n:.1%} of {n}; {m.only_b} newly pass, "
            f"{m.only_a} newly fail; McNemar p = {m.p:.3g} ({m.method})"
        )
    if c.overall.smallest_detectable:
        power = f"detectable with 80 % power in {c.overall.n} cases"
        too_large = f"none; it would exceed the whole scale (0 to {c.scale or 0:g})"
        smallest = (
            too_large
            if beyond(c.overall, c.scale)
            else format_number(c.overall.smallest_detectable)
        )
        lines.append(f"smallest difference in the overall score {power}: {smallest}")
    used = {d.interval.method for d in (c.overall, *c.metrics.values()) if d.interval}
    spoken = {
        "bootstrap": "bootstrap, 10,000 draws, fixed seed",
        "t": "Student's t (more than 2,000 cases)",
    }
    methods = " and ".join(spoken.get(method, method) for method in sorted(used)) or "none"
    lines.append(f"intervals of the difference: {methods}")
    if max(c.repeats) > 1:
        lines.append(
            f"each case was asked {c.repeats[0]} times in A and {c.repeats[1]} in B; scores are the means"
        )
    if c.noise:
        lines.append(
            f"noise floor from {c.noise.runs} runs of A: ±{format_number(c.noise.floor)} in the mean; "
            f"{len(c.noise.flaky)} cases are flaky; {sum(m.flaky for m in c.moves)} moved within their own range"
        )
    if c.lost:
        lines.append(
            f"{len(c.lost)} cases have a verdict in A but not in B: {', '.join(c.lost[:5])}"
        )
    by_note: dict[str, list[str]] = {}
    for name, d in {"overall score": c.overall, **c.metrics}.items():
        if d.note and (d.n or d is not c.overall):
            by_note.setdefault(d.note, []).append(name)
    lines += [f"{', '.join(names)}: {note}" for note, names in by_note.items()]
    lines += [f"{name}: {a} errors in A, {b} in B" for name, (a, b) in c.errors.items() if a or b]
    if c.only_a or c.only_b:
        lines.append(
            f"measured only in A: {', '.join(c.only_a) or '-'}; only in B: {', '.join(c.only_b) or '-'}"
        )
    return lines


def _row(name: str, d: Difference) -> list[str]:
    arrow = " ↓" if d.better == "lower" else ""
    interval = f"{_signed(d.interval.low)} to {_signed(d.interval.high)}" if d.interval else "-"
    return [
        f"{name}{arrow}",
        str(d.n) if d.clusters is None else f"{d.n} in {d.clusters} clusters",
        format_figure(d.mean_a),
        format_figure(d.mean_b),
        _signed(d.diff),
        interval,
        _p(d.p),
        _p(d.p_holm) if name not in ("overall score", "quality") else "",
        _p(d.wilcoxon_p),
        _effect(d.d_pooled),
        _effect(d.d_z),
        "-" if d.better == "neither" else f"{d.wins}/{d.losses}/{d.ties}",
    ]


def _effect(size: float | None) -> str:
    return "-" if size is None else f"{size:+.2f} {effect_size(size)}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}" if abs(value) < 10 else f"{value:+,.1f}"


def _p(value: float | None) -> str:
    return "-" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _first_of(moves: Sequence[CaseChange], cases: int) -> str:
    return f", the first {cases}" if len(moves) > cases else ""


def move_status(move: CaseChange) -> str:
    return move.status_b if move.status_a == move.status_b else f"{move.status_a} → {move.status_b}"


def _case_line(case: CaseChange) -> str:
    question = " ".join(case.question.split())[:70]
    return f"{case.id}: {question}  {format_figure(case.score_a)} → {format_figure(case.score_b)}  {move_status(case)}"


_MOST_BARS = 1_500  # more would be thinner than a pixel
_SIGNIFICANT, _NOT_SIGNIFICANT = "p < 0.05 after Holm", "not significant"


def comparison_charts(comparison: Comparison) -> dict[str, Spec]:
    """Both charts by the name of their file; one with nothing to show is left out."""
    charts = {
        "compare_cases": case_chart(comparison),
        "compare_metrics": difference_chart(comparison),
    }
    return {file: chart for file, chart in charts.items() if chart is not None}


def case_chart(comparison: Comparison) -> Spec | None:
    """Every case that moved as a bar, from the largest loss to the largest gain; None where none moved."""
    moves = sorted(comparison.moves, key=lambda move: move.diff)
    if not moves:
        return None
    step = max(1, -(-len(moves) // _MOST_BARS))
    values = [
        {
            "place": n,
            "case": short_label(move.id),
            "diff": move.diff,
            "moved": "higher" if move.diff > 0 else "lower",
        }
        for n, move in enumerate(moves)
        if n % step == 0
    ]
    colour = category("moved", scale={"domain": ["higher", "lower"], "range": [BLUE, RED]})
    x = {"field": "place", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.1}}
    bars = layer("bar", {"x": x, "y": number("diff", "overall score, B − A"), "color": colour})
    up = sum(move.diff > 0 for move in moves)
    title = f"{up} cases score higher in B, {len(moves) - up} lower, of {comparison.overall.n}"
    return add_title(title, {"height": 240, "data": {"values": values}, **bars})


def difference_chart(comparison: Comparison) -> Spec | None:
    """Differences with 95 % intervals on one scale: divided by the pooled standard deviation, better to the right."""
    named = {"overall score": comparison.overall} if comparison.overall.n else {}
    values: list[Spec] = []
    for metric, d in {**named, **comparison.metrics}.items():
        if not d.d_pooled or not d.diff or d.interval is None:
            continue
        unit = abs(d.diff / d.d_pooled) * (-1 if d.better == "lower" else 1)
        low, high = sorted((d.interval.low / unit, d.interval.high / unit))
        significant = d.p_holm is not None and d.p_holm < 0.05
        result = _SIGNIFICANT if significant else _NOT_SIGNIFICANT
        values.append(
            {
                "metric": short_label(metric),
                "d": d.diff / unit,
                "low": low,
                "high": high,
                "result": result,
            }
        )
    if not values:
        return None
    y = category("metric", axis={"labelLimit": 220})
    colour = category(
        "result", scale={"domain": [_SIGNIFICANT, _NOT_SIGNIFICANT], "range": [BLUE, GREY]}
    )
    low = number("low", "worse  ←  difference in standard deviations  →  better")
    zero = layer("rule", {"x": {"datum": 0}}, strokeDash=[4, 4])
    rule = layer(
        "rule", {"x": low, "x2": {"field": "high"}, "y": y, "color": colour}, strokeWidth=2
    )
    dot = layer("point", {"x": number("d"), "y": y, "color": colour}, filled=True, size=70)
    body = {"height": {"step": 26}, "data": {"values": values}, "layer": [zero, rule, dot]}
    return add_title("Difference in each metric with its 95 % interval", body)
