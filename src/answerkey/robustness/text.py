"""The section on variants in the printed report and in report.txt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from answerkey.percentages import format_percent
from answerkey.robustness.record import KindRecord, PairMean, VariantsRecord
from answerkey.runs.summary import GateResult
from answerkey.text import format_count, printable

TITLE = "Variants: the same questions as people type or speak them"
_SHOWN_IDS = 10


def variants_section(record: VariantsRecord) -> str:
    """The figures of each kind of variant beside the original questions."""
    lines = [TITLE]
    for kind, figures in record.kinds.items():
        lines += _kind_lines(kind, figures)
    lines += [f"  {line}" for line in left_out_lines(record)]
    lines += [f"  {format_variant_gate(gate)}" for gate in record.gates]
    return printable("\n".join(lines))


def left_out_lines(record: VariantsRecord) -> list[str]:
    """Lines about variants that were not asked, or not to the end."""
    lines: list[str] = []
    for kind, count in record.without_variant.items():
        lines.append(f"{kind}: {format_count(count, 'case')} without such a variant")
    if record.conversation_turns_left_out:
        turns = format_count(record.conversation_turns_left_out, "turn")
        lines.append(f"{turns} of conversations left out")
    if record.partial:
        lines.append(f"not all variants were asked: {record.partial}")
    return lines


def format_variant_gate(gate: GateResult) -> str:
    word = "PASS" if gate.passed else "FAIL"
    if gate.value is None:
        value = gate.note
    else:
        value = f"{gate.value:.4g}"
    return f"{word} {gate.condition} ({value})"


def _kind_lines(kind: str, figures: KindRecord) -> Iterator[str]:
    yield f"  {kind}: {_pass_rates(figures)}"
    if figures.consistency.mean is not None:
        yield f"    agreement with the answer to the original: {_mean_text(figures.consistency)}"
    if figures.retrieval_overlap.mean is not None:
        yield f"    share of the same passages retrieved: {_mean_text(figures.retrieval_overlap)}"
    if figures.routed_pairs:
        yield f"    another route: {len(figures.rerouted)} of {figures.routed_pairs}"
    if figures.newly_failing:
        yield f"    newly failing: {list_ids(figures.newly_failing)}"
    if figures.newly_passing:
        yield f"    newly passing: {list_ids(figures.newly_passing)}"


def _pass_rates(figures: KindRecord) -> str:
    pairs = format_count(figures.scored_pairs, "pair")
    if figures.unscored:
        unscored = f", {figures.unscored} not scored"
    else:
        unscored = ""
    if figures.pass_rate_original is None or figures.pass_rate_variant is None:
        return f"no pair has a verdict{unscored}"
    before = format_percent(figures.pass_rate_original)
    after = format_percent(figures.pass_rate_variant)
    return f"{before} → {after} pass ({pairs}{unscored}){_drop_text(figures)}"


def _drop_text(figures: KindRecord) -> str:
    interval = figures.drop_ci95
    if figures.drop is None or interval is None:
        return ""
    low, high = (f"{100 * end:.0f}" for end in interval)
    if figures.p is None:
        p = ""
    else:
        p = f", p {figures.p:.2g}"
    return f"; drop {100 * figures.drop:.0f} points, 95 % interval {low} to {high}{p}"


def _mean_text(mean: PairMean) -> str:
    pairs = format_count(mean.n, "pair")
    if mean.ci95 is None:
        return f"{mean.mean:.2f} ({pairs})"
    low, high = mean.ci95
    return f"{mean.mean:.2f}, 95 % interval {low:.2f}–{high:.2f} ({pairs})"


def list_ids(ids: Sequence[str], most: int = _SHOWN_IDS) -> str:
    """The first ids, and how many more there are."""
    if len(ids) > most:
        more = f", … and {len(ids) - most} more"
    else:
        more = ""
    return ", ".join(ids[:most]) + more
