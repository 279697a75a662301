"""How far our verdicts and scores differ from those that the case file recorded, and why."""

from __future__ import annotations

from answerkey.metrics.recorded_scores import RECORDED_PASS
from answerkey.metrics.registry import RECORDED
from answerkey.percentages import format_percent
from answerkey.runs.figures import Figures
from answerkey.runs.summary import Summary

_SAME = 0.005  # rates and means that differ by less are equal in print
_MOST_METRICS = 3


def recorded_lines(summary: Summary) -> list[str]:
    """The recorded pass rate beside ours, and the metrics whose means differ most; empty without any."""
    figures = summary.figures
    lines: list[str] = []
    recorded = figures.average_scores.get(RECORDED_PASS)
    if recorded is not None and recorded.mean is not None and summary.run.profile.name:
        line = f"recorded in the file: {format_percent(recorded.mean)} of {recorded.n} passed"
        if figures.pass_rate is None:
            line += "; here no case could be scored: the file lacks expected answers and criteria"
            line += ", join them with a second file"
        elif abs(figures.pass_rate - recorded.mean) < _SAME:
            line += ", as here"
        else:
            line += f", here {format_percent(figures.pass_rate)}"
        lines.append(line)
    differing = _differing_means(figures)
    if differing:
        lines.append(f"means that differ from the recorded ones: {'; '.join(differing)}")
    return lines


def _differing_means(figures: Figures) -> list[str]:
    gaps: list[tuple[float, str]] = []
    for name, ours in figures.average_scores.items():
        theirs = figures.average_scores.get(f"{RECORDED}{name}")
        if theirs is None or theirs.mean is None or ours.mean is None:
            continue
        gap = abs(ours.mean - theirs.mean)
        if gap >= _SAME:
            text = f"{name} {ours.mean:.3f}, recorded {theirs.mean:.3f}"
            gaps.append((gap, text))
    gaps.sort(reverse=True)
    return [text for _, text in gaps[:_MOST_METRICS]]
