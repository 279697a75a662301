"""A comparison of two runs: what changed, the verdict, every figure, and the cases that moved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.comparison.changed import Changed, what_changed
from answerkey.comparison.pair import Noise, Pairs, Side, estimate_noise, pair, read_side
from answerkey.comparison.significance import Difference, McNemar, difference, effect_size, holm, mcnemar
from answerkey.comparison.verdict import decide
from answerkey.display import data_frame, html_table, html_text
from answerkey.errors import InputError, SettingsError
from answerkey.runs.store import open_run, read_manifest, read_outcomes
from answerkey.types import Better, Json, Outcome, Profile

if TYPE_CHECKING:
    import pandas

_STILL = 1e-6


@dataclass(frozen=True, slots=True)
class Move:
    """One case whose overall score moved. A flaky one lies within what repeats of A gave it anyway."""

    id: str
    question: str
    score_a: float
    score_b: float
    status_a: str
    status_b: str
    flaky: bool = False

    @property
    def diff(self) -> float:
        return self.score_b - self.score_a


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Run B against run A. `sentence` is the verdict in words; differences are B − A."""

    name_a: str
    name_b: str
    verdict: str
    sentence: str
    changed: Changed
    overall: Difference
    metrics: dict[str, Difference]
    mcnemar: McNemar
    moves: tuple[Move, ...]
    lost: tuple[str, ...]
    broken: dict[str, tuple[int, int]]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    noise: Noise | None = None
    scale: float | None = None

    @property
    def improved(self) -> list[Move]:
        """Largest gain first; flaky cases left out."""
        return sorted((m for m in self.moves if m.diff > 0 and not m.flaky), key=lambda m: -m.diff)

    @property
    def degraded(self) -> list[Move]:
        """Largest loss first; flaky cases left out."""
        return sorted((m for m in self.moves if m.diff < 0 and not m.flaky), key=lambda m: m.diff)

    def to_dicts(self) -> list[Json]:
        """One row per metric, the overall score first."""
        return [
            {"metric": name, **_difference_json(d)}
            for name, d in {"overall": self.overall, **self.metrics}.items()
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """`to_dicts` as a DataFrame."""
        return data_frame(self.to_dicts())

    def __repr__(self) -> str:
        """The verdict, the metrics and the cases that changed most."""
        means = [f"{name} {_change(d)}" for name, d in self.metrics.items() if d.diff is not None]
        moved = f"{len(self.improved)} cases improved, {len(self.degraded)} got worse"
        worst = ", ".join(move.id for move in self.degraded[:3])
        return "\n".join(
            [self.sentence, "  " + ", ".join(means), f"  {moved}{f': {worst}' if worst else ''}"]
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                d.mean_a,
                d.mean_b,
                _signed(d.diff),
                _interval_text(d),
                d.p_holm,
                f"{d.wins}/{d.losses}/{d.ties}",
            )
            for name, d in {"overall score": self.overall, **self.metrics}.items()
        ]
        header = ("", "A", "B", "B − A", "95% CI", "p (Holm)", "won/lost/tied")
        moves = [
            (m.id, m.question[:80], m.score_a, m.score_b) for m in (*self.degraded[:5], *self.improved[:5])
        ]
        cases = html_table(moves, ("case", "question", "A", "B")) if moves else ""
        return f"<div><b>{html_text(self.sentence)}</b>{html_table(rows, header)}{cases}</div>"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def _change(d: Difference) -> str:
    return f"{d.mean_a:.3f} → {d.mean_b:.3f} ({_signed(d.diff)})"


def _interval_text(d: Difference) -> str:
    return f"{d.interval.low:+.3f} to {d.interval.high:+.3f}" if d.interval else ""


def compare_sides(a: Side, b: Side, repeats: Sequence[Side] = ()) -> Comparison:
    """B against A, paired by case id; `repeats` are further runs of A's bot, for the noise floor."""
    pairs = pair(a, b)
    changed = what_changed(pairs)
    overall = difference(*pairs.score())
    metrics = _corrected({name: difference(*pairs.metric(name), direction(name)) for name in pairs.metrics()})
    noise = estimate_noise(pairs, repeats) if repeats else None
    scale = a.scale if a.scale == b.scale else None
    verdict, sentence = decide(changed, overall, metrics, noise, scale)
    return Comparison(
        name_a=a.name,
        name_b=b.name,
        verdict=verdict,
        sentence="; ".join([*changed.unfinished, sentence]),
        changed=changed,
        overall=replace(overall, p_holm=overall.p),
        metrics=metrics,
        mcnemar=mcnemar(*pairs.passed()),
        moves=_moves(pairs, noise),
        lost=tuple(pairs.lost()),
        broken={name: (a.broken.get(name, 0), b.broken.get(name, 0)) for name in metrics},
        only_a=tuple(name for name in a.metrics if name not in b.metrics),
        only_b=tuple(name for name in b.metrics if name not in a.metrics),
        noise=noise,
        scale=scale,
    )


def direction(name: str) -> Better:
    """Whether higher or lower is better; a metric that is not installed here is taken as higher."""
    from answerkey.metrics.registry import find

    try:
        return find(name).facts.better
    except SettingsError:
        return "higher"


def _corrected(metrics: dict[str, Difference]) -> dict[str, Difference]:
    tested = [name for name, d in metrics.items() if d.p is not None]
    ps = holm([metrics[name].p or 0.0 for name in tested])
    return metrics | {name: replace(metrics[name], p_holm=p) for name, p in zip(tested, ps, strict=True)}


def _moves(pairs: Pairs, noise: Noise | None) -> tuple[Move, ...]:
    a, b = pairs.a, pairs.b
    moves: list[Move] = []
    for row, (i, j) in enumerate(zip(pairs.rows_a.tolist(), pairs.rows_b.tolist(), strict=True)):
        before, after = a.score[i], b.score[j]
        # A missing score is NaN, and every comparison with NaN is false.
        if abs(after - before) > _STILL * max(abs(before), abs(after)):
            flaky = noise is not None and noise.covers(row, after)
            moves.append(Move(a.ids[i], a.questions[i], before, after, a.statuses[i], b.statuses[j], flaky))
    return tuple(moves)


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


def compare_runs(a: str | Path, b: str | Path, repeats: Sequence[str | Path] = ()) -> Comparison:
    """Is B better than A? `repeats` are further runs of A's bot, for the noise floor."""
    return compare_sides(load_side(a), load_side(b), [load_side(path) for path in repeats])


def load_side(path: str | Path) -> Side:
    """A run's numbers and hashes, streamed from its folder."""
    return side_of(str(path), read_manifest(Path(path)), read_outcomes(path), open_run(path).profile)


def side_of(name: str, manifest: Json, outcomes: Iterable[Outcome], profile: Profile | None) -> Side:
    """A run's numbers and hashes, from its manifest and outcomes."""
    side = read_side(name, manifest.get("fingerprint", {}), outcomes)
    if not len(side):
        raise InputError(
            f"{name}: the run has no finished case to compare; finish it with `answerkey run … --resume`"
        )
    side.partial = _unfinished(manifest, len(side))
    side.scale = profile.scale if profile else None
    return side


def _unfinished(manifest: Json, done: int) -> str:
    """How far a run came that ended early; empty for one with an outcome, be it an error, for every case."""
    why, count = manifest.get("partial", ""), manifest.get("count") or 0
    if not why or done >= count:
        return ""
    return f"{done} of {count} cases: {'not finished' if why == 'in progress' else why}"
