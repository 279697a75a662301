"""A comparison as strict JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from answerkey.comparison.comparison import CaseChange, Comparison
from answerkey.comparison.significance import Difference, effect_size

_INTERNAL = ("interval", "error", "span")


def comparison_json(comparison: Comparison, cases: int = 20) -> dict[str, object]:
    """A comparison as JSON. It lists at most `cases` improved and degraded cases, and counts all."""
    c = comparison
    return {
        "verdict": str(c.verdict),
        "sentence": c.sentence,
        "a": c.name_a,
        "b": c.name_b,
        "partial": {"a": c.changed.partial_a or None, "b": c.changed.partial_b or None},
        **_changes_record(c),
        "repeats": dict(zip("ab", c.repeats, strict=True)),
        "newly_failing": _flips_record(c.newly_failing, cases),
        "newly_passing": _flips_record(c.newly_passing, cases),
        "errors": {"a": c.errors_a, "b": c.errors_b},
        "overall": difference_record(c.overall),
        "quality": difference_record(c.quality) if c.quality.n else None,
        "metrics": {name: difference_record(figures) for name, figures in c.metrics.items()},
        "only_in_a": c.only_a,
        "only_in_b": c.only_b,
        "broken": {name: {"a": a, "b": b} for name, (a, b) in c.errors.items() if a or b},
        "mcnemar_p": c.mcnemar.p,
        "mcnemar": _mcnemar_record(c),
        "smallest_detectable": c.overall.smallest_detectable,
        "noise": _noise_record(c),
        "improved": _moves_record(c.improved_cases, cases),
        "degraded": _moves_record(c.degraded_cases, cases),
        "flaky": [move.id for move in c.moves if move.flaky][:cases],
        "lost": {"count": len(c.lost), "cases": c.lost[:cases]},
        "unscored": {"count": len(c.unscored), "cases": c.unscored[:cases]},
    }


def _changes_record(c: Comparison) -> dict[str, object]:
    changed = c.changed
    return {
        "changed": changed.flags(),
        "shared_cases": changed.shared,
        "identical_answers": changed.identical,
        "near_identical_answers": changed.near_identical,
        "changed_answers": changed.different,
        "cases": {"added": changed.added, "removed": changed.removed, "edited": changed.edited},
        "settings": changed.settings,
    }


def _mcnemar_record(c: Comparison) -> dict[str, object]:
    passes = c.mcnemar
    record: dict[str, object] = {
        "n": passes.n,
        "both_pass": passes.both,
        "only_a_passes": passes.only_a,
        "only_b_passes": passes.only_b,
        "both_fail": passes.neither,
    }
    if passes.n:
        record["pass_rate_a"] = (passes.both + passes.only_a) / passes.n
        record["pass_rate_b"] = (passes.both + passes.only_b) / passes.n
    return {**record, "method": passes.method}


def _noise_record(c: Comparison) -> dict[str, object] | None:
    if c.noise is None:
        return None
    return {
        "runs": c.noise.runs,
        "sd_within_case": c.noise.sd,
        "floor": c.noise.floor,
        "flaky_cases": c.noise.flaky,
    }


def difference_record(figures: Difference) -> dict[str, object]:
    """A difference as JSON, with its interval as two numbers."""
    record = {name: value for name, value in asdict(figures).items() if name not in _INTERNAL}
    interval = figures.interval
    return {
        **record,
        "test": None if figures.test is None else str(figures.test),
        "ci95": list(interval[:2]) if interval else None,
        "ci_method": interval.method if interval else None,
        "effect": effect_size(figures.d_pooled),
    }


def _flips_record(cases: Sequence[CaseChange], most: int) -> dict[str, object]:
    return {"count": len(cases), "cases": [asdict(case) for case in cases[:most]]}


def _moves_record(moves: Sequence[CaseChange], most: int) -> dict[str, object]:
    cases = [{**asdict(move), "diff": move.diff} for move in moves[:most]]
    for case in cases:
        del case["flaky"]
    return {"count": len(moves), "cases": cases}
