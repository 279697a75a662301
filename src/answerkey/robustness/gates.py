"""Gates on variants, such as `variants.typos.drop <= 0.05`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from answerkey.errors import SettingsError, did_you_mean
from answerkey.robustness.measure import VariantFigures
from answerkey.runs.figures import Range
from answerkey.runs.gates import SIGNS
from answerkey.runs.summary import GateResult

_PREFIX = "variants."
# The kind may contain dots and colons: `translate:de`, `module:function`.
_CONDITION = re.compile(r"\s*variants\.(.+)\.(\w+)\s*(>=|<=|==|!=|>|<)\s*(-?\d*\.?\d+)\s*(%?)\s*$")
_FIGURES = ("drop", "pass_rate", "consistency", "retrieval_overlap", "newly_failing", "rerouted")


@dataclass(frozen=True, slots=True)
class VariantGate:
    """A parsed condition on one kind of variant."""

    text: str
    kind: str
    figure: str
    sign: str
    limit: float


def split_gates(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The gates on the run itself, and those on its variants."""
    own = tuple(text for text in texts if not text.strip().startswith(_PREFIX))
    variants = tuple(text for text in texts if text.strip().startswith(_PREFIX))
    return own, variants


def parse_variant_gates(texts: Sequence[str], kinds: Sequence[str]) -> list[VariantGate]:
    """Every mistake is refused before the first question is asked."""
    return [_parse_gate(text, kinds) for text in texts]


def _parse_gate(text: str, kinds: Sequence[str]) -> VariantGate:
    match = _CONDITION.match(text)
    if match is None:
        example = '"variants.typos.drop <= 0.05"'
        raise SettingsError(f'gate "{text}": expected a figure of a variant, as in {example}')
    kind, figure, sign, number, percent = match.groups()
    if figure not in _FIGURES:
        hint = did_you_mean(figure, _FIGURES) or f"; known: {', '.join(_FIGURES)}"
        raise SettingsError(f'gate "{text}": unknown figure "{figure}"{hint}')
    if kind not in kinds:
        fix = f"add it to --variants {','.join([*kinds, kind])}"
        raise SettingsError(f'gate "{text}": the run has no variants of the kind "{kind}"; {fix}')
    limit = float(number) / (100 if percent else 1)
    return VariantGate(text.strip(), kind, figure, sign, limit)


def answer_variant_gates(
    gates: Sequence[VariantGate], figures: Mapping[str, VariantFigures]
) -> list[GateResult]:
    return [_answer_gate(gate, figures.get(gate.kind)) for gate in gates]


def _answer_gate(gate: VariantGate, figures: VariantFigures | None) -> GateResult:
    # A gate on a kind that could not be asked fails: it was asked for.
    if figures is None:
        note = f"no case has a variant of the kind {gate.kind}"
        return GateResult(gate.text, None, None, passed=False, note=note)
    value, interval = _find_figure(gate.figure, figures)
    if value is None:
        note = "no pair has this figure"
        return GateResult(gate.text, None, None, passed=False, note=note)
    return GateResult(gate.text, value, interval, passed=SIGNS[gate.sign](value, gate.limit))


def _find_figure(name: str, figures: VariantFigures) -> tuple[float | None, Range]:
    counts = {"newly_failing": figures.newly_failing, "rerouted": figures.rerouted}
    if name in counts:
        return float(len(counts[name])), None
    if name == "pass_rate":
        return figures.change.mean_b, None
    if name == "drop":
        return figures.drop, figures.drop_interval
    if name == "consistency":
        mean = figures.consistency
    else:
        mean = figures.overlap
    if mean.interval is None:
        return mean.mean, None
    return mean.mean, (mean.interval.low, mean.interval.high)
