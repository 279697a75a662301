"""A look in words."""

from __future__ import annotations

from answerkey.text import format_count, short_label
from answerkey.watch.observe import Look, SeriesPoint

_MOST_LISTED = 5


def look_text(look: Look) -> str:
    """The series of a look, its alarms, and the questions that are new."""
    new = format_count(look.read, "new answer")
    lines = [
        f"Look {look.number} at {look.time}: {new} read, {look.sampled} scored, against {look.baseline}",
        "",
    ]
    lines.append(
        f"  {'series':<34} {'baseline':>9} {'now':>9} {'so far':>9}  {'95 % sequence':<15} evidence"
    )
    lines += [_series_line(point) for point in look.points]
    lines.append("")
    lines.append(f"Evidence of a change: {look.evidence:.2f}; an alarm from {look.limit:g}")
    if look.anchor is not None:
        lines.append(f"Judge: {look.anchor.sentence()}{_agreement(look.anchor.agreement)}")
    for alarm in look.alarms:
        lines.append(f"ALARM ({alarm.kind.value}): {alarm.sentence}")
    if look.new_questions:
        lines.append("Far from every question of the baseline:")
        lines += [
            f"  {new.similarity:.2f}  {short_label(new.question, 90)}"
            for new in look.new_questions[:_MOST_LISTED]
        ]
    return "\n".join(lines)


def _series_line(point: SeriesPoint) -> str:
    now = _percent(point.mean)
    so_far = _percent(point.mean_so_far)
    if point.count_so_far:
        interval = f"{point.low:.0%} to {point.high:.0%}"
    else:
        interval = "-"
    name = short_label(point.name, 34)
    return f"  {name:<34} {point.baseline:>9.1%} {now:>9} {so_far:>9}  {interval:<15} {point.evidence:.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _agreement(share: float | None) -> str:
    if share is None:
        return ""
    return f"; it agrees with {share:.0%} of the labels"
