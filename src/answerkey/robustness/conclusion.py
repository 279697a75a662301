"""How a run with variants ends."""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, Ending
from answerkey.robustness.run import VariantReport
from answerkey.runs.summary import GateResult
from answerkey.text import format_count


def conclude_with_variants(ending: Ending, report: VariantReport) -> Ending:
    """The ending of a run whose own ending is `ending`; the worse of the two decides."""
    # The failure of the run itself is reported; its variants are in the reports.
    if ending.code != EXIT_OK:
        return ending
    finished = report.finished
    if finished.interrupted:
        return Ending(EXIT_INTERRUPTED, f"variants: {finished.partial}; {ending.sentence}")
    if finished.partial:
        return Ending(EXIT_INCOMPLETE, f"variants: {finished.partial}; {ending.sentence}")
    return conclude_variant_gates(ending, report.gates)


def conclude_variant_gates(ending: Ending, results: Sequence[GateResult]) -> Ending:
    """The ending of a run whose variants are complete; the worse of the two decides."""
    if ending.code != EXIT_OK or not results:
        return ending
    gates = format_count(len(results), "gate")
    failed = [gate for gate in results if not gate.passed]
    if failed:
        conditions = ", ".join(
            f"{gate.condition}: {gate.note or format(gate.value, '.4g')}" for gate in failed
        )
        sentence = f"{len(failed)} of {gates} on variants failed ({conditions}); {ending.sentence}"
        return Ending(EXIT_GATE, sentence)
    return Ending(EXIT_OK, f"{gates} on variants passed; {ending.sentence}")
