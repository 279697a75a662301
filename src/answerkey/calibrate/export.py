"""A calibration as strict JSON, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from answerkey.calibrate.agreement import Agreement
from answerkey.calibrate.calibration import Calibration


def calibration_json(c: Calibration) -> dict[str, Any]:
    """`kappa`, `tpr`, `tnr` and `accuracy_at_best` are at `best_threshold` on the rows it was fitted to;
    `cross_validated` holds the same figures on rows left out of the fit."""
    direction = c.direction
    fitted = _agreement(c.fitted)
    return {
        "metric": c.metric,
        "n": c.n,
        "labelled": c.of,
        "broken": c.broken,
        "positives": c.positives,
        "label_cut": c.label_cut,
        "label_means": direction.label_means,
        "label_means_guessed": direction.guessed,
        "direction": direction.told,
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
        "cross_validated": {**_agreement(c.cross), "thresholds": c.cross_thresholds},
        "baselines": baselines(c),
        "reliability": [
            {**asdict(b), "interval": list(b.interval[:2]) if b.interval else None}
            for b in c.reliability.bins
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


def _agreement(a: Agreement | None) -> dict[str, float | None]:
    if a is None:
        return dict.fromkeys(("accuracy", "kappa", "tpr", "tnr"))
    return {"accuracy": a.accuracy, "kappa": a.kappa, "tpr": a.tpr, "tnr": a.tnr}
