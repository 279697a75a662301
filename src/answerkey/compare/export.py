"""A comparison as strict JSON, for programs."""

from __future__ import annotations

from typing import Any

from answerkey.compare.comparison import Comparison, Move
from answerkey.compare.noise import Noise
from answerkey.compare.significance import Difference, McNemar, effect_size


def comparison_json(comparison: Comparison, cases: int = 20) -> dict[str, Any]:
    """The comparison as strict JSON; at most `cases` improved and degraded cases are listed, all are counted."""
    c = comparison
    return {
        "verdict": c.verdict,
        "sentence": c.sentence,
        "a": c.name_a,
        "b": c.name_b,
        "partial": {"a": c.changed.partial_a or None, "b": c.changed.partial_b or None},
        "changed": c.changed.flags(),
        "shared_cases": c.changed.shared,
        "identical_answers": c.changed.identical,
        "near_identical_answers": c.changed.near_identical,
        "changed_answers": c.changed.different,
        "cases": {"added": c.changed.added, "removed": c.changed.removed, "edited": c.changed.edited},
        "overall": _difference_json(c.overall),
        "metrics": {name: _difference_json(d) for name, d in c.metrics.items()},
        "only_in_a": c.only_a,
        "only_in_b": c.only_b,
        "broken": {name: {"a": a, "b": b} for name, (a, b) in c.broken.items() if a or b},
        "mcnemar_p": c.mcnemar.p,
        "mcnemar": _mcnemar_json(c.mcnemar),
        "smallest_detectable": c.overall.smallest_detectable,
        "noise": _noise_json(c.noise),
        "improved": {"count": len(c.improved), "cases": [_move_json(m) for m in c.improved[:cases]]},
        "degraded": {"count": len(c.degraded), "cases": [_move_json(m) for m in c.degraded[:cases]]},
        "flaky": [m.id for m in c.moves if m.flaky][:cases],
        "lost": {"count": len(c.lost), "cases": c.lost[:cases]},
    }


def _difference_json(d: Difference) -> dict[str, Any]:
    return {
        "n": d.n,
        "better": d.better,
        "mean_a": d.mean_a,
        "mean_b": d.mean_b,
        "diff": d.diff,
        "ci95": [d.interval.low, d.interval.high] if d.interval else None,
        "ci_method": d.interval.method if d.interval else None,
        "t": d.t,
        "p": d.p,
        "p_holm": d.p_holm,
        "wilcoxon_p": d.wilcoxon_p,
        "d_pooled": d.d_pooled,
        "d_z": d.d_z,
        "effect": effect_size(d.d_pooled),
        "wins": d.wins,
        "losses": d.losses,
        "ties": d.ties,
        "smallest_detectable": d.smallest_detectable,
        "note": d.note,
    }


def _mcnemar_json(m: McNemar) -> dict[str, Any]:
    counts = {
        "both_pass": m.both,
        "only_a_passes": m.only_a,
        "only_b_passes": m.only_b,
        "both_fail": m.neither,
    }
    n = sum(counts.values())
    rates = {"pass_rate_a": (m.both + m.only_a) / n, "pass_rate_b": (m.both + m.only_b) / n} if n else {}
    return {"n": n, **counts, **rates, "method": m.method}


def _noise_json(noise: Noise | None) -> dict[str, Any] | None:
    if noise is None:
        return None
    return {"runs": noise.runs, "sd_within_case": noise.sd, "floor": noise.floor, "flaky_cases": noise.flaky}


def _move_json(m: Move) -> dict[str, Any]:
    return {
        "id": m.id,
        "question": m.question,
        "score_a": m.score_a,
        "score_b": m.score_b,
        "diff": m.diff,
        "status_a": m.status_a,
        "status_b": m.status_b,
    }
