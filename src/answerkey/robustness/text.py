"""The section on variants in the printed report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from answerkey.percentages import format_percent
from answerkey.robustness.measure import MeanOverPairs, VariantFigures
from answerkey.robustness.run import VariantReport
from answerkey.runs.summary import GateResult
from answerkey.text import format_count, printable

_SHOWN_IDS = 10


def variants_section(report: VariantReport) -> str:
    """The figures of each kind of variant beside the original questions."""
    lines = ["Variants: the same questions as people type or speak them"]
    for figures in report.figures.values():
        lines += _kind_lines(figures)
    for kind, count in report.impossible.items():
        lines.append(f"  {kind}: {format_count(count, 'case')} without such a variant")
    if report.conversation_turns:
        turns = format_count(report.conversation_turns, "turn")
        lines.append(f"  {turns} of conversations left out")
    lines += [f"  {_gate_line(gate)}" for gate in report.gates]
    return printable("\n".join(lines))


def _kind_lines(figures: VariantFigures) -> Iterator[str]:
    yield f"  {figures.kind}: {_pass_rates(figures)}"
    if figures.consistency.mean is not None:
        yield f"    agreement with the answer to the original: {_mean_text(figures.consistency)}"
    if figures.overlap.mean is not None:
        yield f"    share of the same passages retrieved: {_mean_text(figures.overlap)}"
    if figures.routed:
        yield f"    another route: {len(figures.rerouted)} of {figures.routed}"
    if figures.newly_failing:
        yield f"    newly failing: {_id_list(figures.newly_failing)}"
    if figures.newly_passing:
        yield f"    newly passing: {_id_list(figures.newly_passing)}"


def _pass_rates(figures: VariantFigures) -> str:
    change = figures.change
    pairs = format_count(change.n, "pair")
    if figures.unscored:
        unscored = f", {figures.unscored} not scored"
    else:
        unscored = ""
    if change.mean_a is None or change.mean_b is None:
        return f"no pair has a verdict{unscored}"
    rates = f"{format_percent(change.mean_a)} → {format_percent(change.mean_b)} pass"
    return f"{rates} ({pairs}{unscored}){_drop_text(figures)}"


def _drop_text(figures: VariantFigures) -> str:
    interval = figures.drop_interval
    if figures.drop is None or interval is None:
        return ""
    low, high = (f"{100 * end:.0f}" for end in interval)
    if figures.passes.p is None:
        p = ""
    else:
        p = f", p {figures.passes.p:.2g}"
    return f"; drop {100 * figures.drop:.0f} points, 95 % interval {low} to {high}{p}"


def _mean_text(mean: MeanOverPairs) -> str:
    pairs = format_count(mean.n, "pair")
    if mean.interval is None:
        return f"{mean.mean:.2f} ({pairs})"
    low = mean.interval.low
    high = mean.interval.high
    return f"{mean.mean:.2f}, 95 % interval {low:.2f}–{high:.2f} ({pairs})"


def _id_list(ids: Sequence[str]) -> str:
    if len(ids) > _SHOWN_IDS:
        more = f", … and {len(ids) - _SHOWN_IDS} more"
    else:
        more = ""
    return ", ".join(ids[:_SHOWN_IDS]) + more


def _gate_line(gate: GateResult) -> str:
    word = "PASS" if gate.passed else "FAIL"
    if gate.value is None:
        value = gate.note
    else:
        value = f"{gate.value:.4g}"
    return f"{word} {gate.condition} ({value})"
