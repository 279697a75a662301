"""A calibration for the terminal: the metric beside what no metric at all would reach."""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.calibrate.agreement import Agreement
from answerkey.calibrate.calibration import Calibration
from answerkey.text import printable


def calibration_text(c: Calibration) -> str:
    """Plain lines; the figures of the JSON, with their denominators."""
    share = c.positives / c.n
    sides = f"label 1 in {c.positives} ({share:.1%})"
    if c.direction.label_means:
        sides += (
            f", taken to mean {c.direction.label_means}"
            if c.direction.guessed
            else f" means {c.direction.label_means}"
        )
    grouped = f"{c.draws:,} draws" + (f" of {c.groups} groups" if c.groups else "")
    lines = [
        f"{c.metric}: scored {c.n}/{c.of}{f', {c.broken} broke' if c.broken else ''}; {sides}; {c.direction.told}",
        "",
        f"  AUROC                 {_figure(c.auroc)}{_interval(c.auroc_ci95)}  ({grouped})",
        f"  answer length alone   {_figure(c.length_auroc)}{_interval(c.length_auroc_ci95)}",
        f"  metric − length             {_interval(c.over_length_ci95).strip() or '-'}",
        f"  Spearman              {_figure(c.spearman)}  (value and label as they are)",
        "",
        f"  best threshold        {_figure(c.threshold)}  (label 1 where value {'>' if c.direction.sign > 0 else '<'} it)",
        f"    on the rows it was fitted to  {_agreement(c.fitted)}",
        f"    cross-validated               {_agreement(c.cross)}",
        f"    always label 1                accuracy {share:.3f}, TPR 1.000, TNR 0.000, κ 0.000",
        f"    always the more common label  accuracy {max(share, 1 - share):.3f}",
    ]
    if c.reliability.error is not None and c.reliability.brier is not None:
        lines.append(
            f"  read as a probability: calibration error {c.reliability.error:.3f}, Brier {c.reliability.brier:.3f}"
        )
    if c.noise:
        flips = "" if c.noise.flips is None else f"; {c.noise.flips:.1%} of {c.noise.rows} rows change sides"
        lines.append(
            f"  noise over {c.noise.repeats} repeats: standard deviation {c.noise.sd:.3g} within a row{flips}"
        )
    lines += [f"  note: {note}" for note in c.notes]
    return printable("\n".join(lines) + "\n")


def _agreement(a: Agreement | None) -> str:
    if a is None:
        return "-"
    return f"accuracy {a.accuracy:.3f}, TPR {_figure(a.tpr)}, TNR {_figure(a.tnr)}, κ {_figure(a.kappa)}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def _interval(ends: Sequence[float] | None) -> str:
    return f"  95 % {ends[0]:.3f} to {ends[1]:.3f}" if ends else ""
