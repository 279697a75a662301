"""A calibration as JSON, as text, and as a threshold in a profile."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from answerkey.calibrate.agreement import Agreement
from answerkey.calibrate.calibration import Calibration
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.files import write_file
from answerkey.profiles.load import load_profile
from answerkey.text import printable


def calibration_json(c: Calibration) -> dict[str, Any]:
    """`kappa`, `tpr`, `tnr` and `accuracy_at_best` are at `best_threshold` on the rows it was fitted to;
    `cross_validated` holds the same figures on rows left out of the fit."""
    direction = c.direction
    fitted = _agreement_json(c.fitted)
    return {
        "metric": c.metric,
        "n": c.n,
        "labelled": c.of,
        "broken": c.broken,
        "positives": c.positives,
        "label_cut": c.label_cut,
        "label_means": direction.label_means,
        "label_means_guessed": direction.guessed,
        "direction": direction.phrase,
        "auroc": c.auroc,
        "auroc_ci95": c.auroc_ci95,
        "auroc_draws": c.draws,
        "groups": c.groups,
        "spearman": c.spearman,
        "best_threshold": c.threshold,
        "decides": f"label 1 where value {'>' if direction.sign > 0 else '<'} best_threshold",
        "accuracy_at_best": fitted["accuracy"],
        "kappa": fitted["kappa"],
        "tpr": fitted["tpr"],
        "tnr": fitted["tnr"],
        "cross_validated": {**_agreement_json(c.cross), "thresholds": c.cross_thresholds},
        "baselines": baselines(c),
        "reliability": [
            {**asdict(b), "interval": list(b.interval[:2]) if b.interval else None} for b in c.reliability.bins
        ],
        "calibration_error": c.reliability.error,
        "brier": c.reliability.brier,
        "noise": asdict(c.noise) if c.noise else None,
        "notes": c.notes,
    }


def baselines(c: Calibration) -> dict[str, Any]:
    """What no metric at all would reach."""
    share = c.positives / c.n
    return {
        "length_only": {
            "auroc": c.length_auroc,
            "auroc_ci95": c.length_auroc_ci95,
            "metric_minus_length_ci95": c.over_length_ci95,
        },
        "always_positive": {"accuracy": share, "auroc": 0.5, "kappa": 0.0, "tpr": 1.0, "tnr": 0.0},
        "majority": {"accuracy": max(share, 1 - share)},
    }


def _agreement_json(a: Agreement | None) -> dict[str, float | None]:
    if a is None:
        return dict.fromkeys(("accuracy", "kappa", "tpr", "tnr"))
    return {"accuracy": a.accuracy, "kappa": a.kappa, "tpr": a.tpr, "tnr": a.tnr}


def calibration_text(c: Calibration) -> str:
    """Plain lines; the figures of the JSON, with their denominators."""
    share = c.positives / c.n
    sides = f"label 1 in {c.positives} ({share:.1%})"
    if c.direction.label_means:
        sides += (
            f", taken to mean {c.direction.label_means}" if c.direction.guessed else f" means {c.direction.label_means}"
        )
    grouped = f"{c.draws:,} draws" + (f" of {c.groups} groups" if c.groups else "")
    lines = [
        f"{c.metric}: scored {c.n}/{c.of}{f', {c.broken} errors' if c.broken else ''}; {sides}; {c.direction.phrase}",
        "",
        f"  AUROC                 {_figure(c.auroc)}{_interval(c.auroc_ci95)}  ({grouped})",
        f"  answer length alone   {_figure(c.length_auroc)}{_interval(c.length_auroc_ci95)}",
        f"  metric − length             {_interval(c.over_length_ci95).strip() or '-'}",
        f"  Spearman              {_figure(c.spearman)}  (value and label as they are)",
        "",
        f"  best threshold        {_figure(c.threshold)}  (label 1 where value {'>' if c.direction.sign > 0 else '<'} it)",
        f"    on the rows it was fitted to  {_agreement_text(c.fitted)}",
        f"    cross-validated               {_agreement_text(c.cross)}",
        f"    always label 1                accuracy {share:.3f}, TPR 1.000, TNR 0.000, κ 0.000",
        f"    always the more common label  accuracy {max(share, 1 - share):.3f}",
    ]
    if c.reliability.error is not None and c.reliability.brier is not None:
        lines.append(
            f"  read as a probability: calibration error {c.reliability.error:.3f}, Brier {c.reliability.brier:.3f}"
        )
    if c.noise:
        flips = "" if c.noise.flips is None else f"; {c.noise.flips:.1%} of {c.noise.rows} rows change sides"
        lines.append(f"  noise over {c.noise.repeats} repeats: standard deviation {c.noise.sd:.3g} within a row{flips}")
    lines += [f"  note: {note}" for note in c.notes]
    return printable("\n".join(lines) + "\n")


def _agreement_text(a: Agreement | None) -> str:
    if a is None:
        return "-"
    return f"accuracy {a.accuracy:.3f}, TPR {_figure(a.tpr)}, TNR {_figure(a.tnr)}, κ {_figure(a.kappa)}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def _interval(ends: Sequence[float] | None) -> str:
    return f"  95 % {ends[0]:.3f} to {ends[1]:.3f}" if ends else ""


_HEADER = re.compile(r"^\s*\[")
_CRITERIA = re.compile(r"^\s*\[\[\s*(on\.[\w-]+\.)?criteria\s*\]\]\s*(#.*)?$")
_METRIC = re.compile(r"""^\s*metric\s*=\s*["']([^"']+)["']""")
_FLOOR = re.compile(r"^(\s*floor\s*=\s*)[^#\n]*?(\s*(#.*)?)$")


def write_threshold(path: Path, calibration: Calibration) -> float:
    """Returns the floor written, to four significant digits."""
    c = calibration
    if c.threshold is None or c.auroc is None or c.auroc <= 0.5:
        raise InputError(
            f"{c.metric}: no threshold worth writing was found; {'; '.join(c.notes) or 'AUROC is not above 0.5'}"
        )
    if not path.is_file():
        raise SettingsError(f"{path}: no such profile; make one with `answerkey profiles show rag > {path.name}`")
    profile = load_profile(str(path))
    if c.metric not in profile.metrics:
        raise SettingsError(
            f'{path}: the profile has no criterion "{c.metric}"{did_you_mean(c.metric, profile.metrics)}'
        )
    floor = float(f"{c.threshold:.4g}")
    edited = with_floor(path.read_text(encoding="utf-8-sig"), c.metric, floor)
    if edited is None:
        raise SettingsError(f'{path}: write the criterion "{c.metric}" as a [[criteria]] table of its own first')
    tomllib.loads(edited)
    write_file(path, edited)
    return floor


def with_floor(text: str, metric: str, floor: float) -> str | None:
    """The TOML with the floor of that metric's criteria set; None where it has no [[criteria]] table."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)] + [len(lines)]
    found = False
    for start, end in reversed(list(pairwise(starts))):
        block = lines[start:end]
        names = [(n, match[1]) for n, line in enumerate(block) if (match := _METRIC.match(line))]
        if not _CRITERIA.match(lines[start]) or not names or names[0][1] != metric:
            continue
        found = True
        floors = [n for n, line in enumerate(block) if _FLOOR.match(line)]
        if floors:
            block[floors[0]] = _FLOOR.sub(rf"\g<1>{floor!r}\g<2>", block[floors[0]])
        else:
            block.insert(names[0][0] + 1, f"floor = {floor!r}")
        lines[start:end] = block
    return "\n".join(lines) + "\n" if found else None
