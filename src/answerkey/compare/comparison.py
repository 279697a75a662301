"""A comparison of two runs: what changed, the verdict, every figure, and the cases that moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from answerkey.compare.changed import Changed, what_changed
from answerkey.compare.noise import Noise, estimate_noise
from answerkey.compare.pair import Pairs, pair
from answerkey.compare.side import Side
from answerkey.compare.significance import Difference, McNemar, difference, holm, mcnemar
from answerkey.compare.verdict import decide
from answerkey.errors import SettingsError
from answerkey.types import Better

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


@dataclass(frozen=True, slots=True)
class Comparison:
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
