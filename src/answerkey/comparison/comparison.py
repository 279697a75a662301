"""A comparison of two runs: what changed, the verdict, every figure, and the cases that changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from answerkey.comparison.changed import Changed, what_changed
from answerkey.comparison.pair import Noise, Pairs, Side, estimate_noise, pair, read_side
from answerkey.comparison.significance import (
    Difference,
    McNemar,
    difference,
    effect_size,
    holm,
    mcnemar,
)
from answerkey.comparison.verdict import reach_verdict
from answerkey.display import data_frame, html_table, html_text
from answerkey.errors import InputError, SettingsError
from answerkey.metrics.registry import find
from answerkey.runs.manifest import Manifest
from answerkey.runs.store import DAMAGED, profile_of, read_manifest, read_outcomes
from answerkey.types import Better, Json, Outcome, Profile, Status

if TYPE_CHECKING:
    import pandas

_STILL = 1e-6


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case that passes in only one of the runs, or whose overall score changed. A score is None where the case has
    none. `flaky`: its repeats in one of the runs both passed and failed, or its score stays within the range of A's."""

    id: str
    question: str
    status_a: str
    status_b: str
    score_a: float | None
    score_b: float | None
    flaky: bool = False

    @property
    def diff(self) -> float:
        return (self.score_b or 0.0) - (self.score_a or 0.0)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Run B compared with run A. `sentence` is the verdict in words; differences are B − A.

    `lost` are cases with a verdict in A only; `errors` counts the errors per metric in A and B.
    """

    name_a: str
    name_b: str
    verdict: str
    sentence: str
    changed: Changed
    overall: Difference
    quality: Difference
    metrics: dict[str, Difference]
    mcnemar: McNemar
    newly_failing: tuple[CaseChange, ...]
    newly_passing: tuple[CaseChange, ...]
    moves: tuple[CaseChange, ...]
    lost: tuple[str, ...]
    errors: dict[str, tuple[int, int]]
    errors_a: int
    errors_b: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    noise: Noise | None = None
    scale: float | None = None
    repeats: tuple[int, int] = (1, 1)

    @property
    def scored(self) -> int:
        """The largest number of cases that some figure compares."""
        return max([self.overall.n, *(d.n for d in self.metrics.values())])

    @property
    def improved_cases(self) -> list[CaseChange]:
        """Largest gain first, without flaky cases."""
        return sorted((m for m in self.moves if m.diff > 0 and not m.flaky), key=lambda m: -m.diff)

    @property
    def degraded_cases(self) -> list[CaseChange]:
        """Largest loss first, without flaky cases."""
        return sorted((m for m in self.moves if m.diff < 0 and not m.flaky), key=lambda m: m.diff)

    def to_dicts(self) -> list[Json]:
        """One row per metric, the overall score first."""
        return [
            {"metric": name, **_difference_json(d)}
            for name, d in self.differences("overall").items()
        ]

    def differences(self, overall: str) -> dict[str, Difference]:
        """The overall score under that name, the quality where a profile gives one, and the metrics."""
        return (
            {overall: self.overall}
            | ({"quality": self.quality} if self.quality.n else {})
            | self.metrics
        )

    def to_pandas(self) -> pandas.DataFrame:
        """`to_dicts` as a DataFrame."""
        return data_frame(self.to_dicts())

    def __repr__(self) -> str:
        """The verdict, the metrics and the cases that changed most."""
        known = {name: d for name, d in self.metrics.items() if d.diff is not None}
        means = [
            f"{name} {d.mean_a:.3f} → {d.mean_b:.3f} ({_signed(d.diff)})"
            for name, d in known.items()
        ]
        worst = ", ".join(flip.id for flip in self.newly_failing[:3])
        failing = f"{len(self.newly_failing)} newly fail{f' ({worst})' if worst else ''}"
        lines = [", ".join(means), f"{failing}, {len(self.newly_passing)} newly pass"]
        return "\n  ".join([self.sentence, *filter(None, lines)])

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = []
        for name, d in self.differences("overall score").items():
            ends = f"{d.interval.low:+.3f} to {d.interval.high:+.3f}" if d.interval else ""
            won = f"{d.wins}/{d.losses}/{d.ties}"
            rows.append((name, d.mean_a, d.mean_b, _signed(d.diff), ends, d.p_holm, won))
        header = ("", "A", "B", "B − A", "95% CI", "p (Holm)", "won/lost/tied")
        moves = [
            (m.id, m.question[:80], m.score_a, m.score_b)
            for m in (*self.degraded_cases[:5], *self.improved_cases[:5])
        ]
        cases = html_table(moves, ("case", "question", "A", "B")) if moves else ""
        return f"<div><b>{html_text(self.sentence)}</b>{html_table(rows, header)}{cases}</div>"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


def compare_runs(a: str | Path, b: str | Path, repeats: Sequence[str | Path] = ()) -> Comparison:
    """Is B better than A? `repeats` are further runs of A's bot, for the noise floor.

    >>> compare_runs("results/old", "results/new").verdict  # doctest: +SKIP
    'better'
    """
    return compare_sides(load_side(a), load_side(b), [load_side(path) for path in repeats])


def load_side(path: str | Path) -> Side:
    """The numbers and hashes of a run, streamed from its folder."""
    folder = Path(path)
    return side_of(str(path), read_manifest(folder), read_outcomes(folder), profile_of(folder))


def side_of(
    name: str, manifest: Manifest, outcomes: Iterable[Outcome], profile: Profile | None
) -> Side:
    """The numbers and hashes of a run, from its manifest and outcomes."""
    settings = manifest.settings
    side = read_side(name, manifest.fingerprint, outcomes, settings.statistics.cluster)
    if not len(side):
        raise InputError(
            f"{name}: the run has no finished case to compare; finish it with `answerkey run … --resume`"
        )
    why, count = manifest.partial, manifest.count or 0
    if why and not why.startswith(DAMAGED):
        got = f"{len(side)} of {count} cases: {'not finished' if why == 'in progress' else why}"
        why = got if len(side) < count else ""  # it has an outcome, even an error, for every case
    side.partial = why
    side.scale = profile.scale if profile else None
    side.repeats = settings.run.repeats
    side.settings = {name: getattr(settings, name) for name in ("target", "judge", "embedding")}
    side.settings["settings"] = settings.metrics
    side.settings["run"] = {"repeats": side.repeats, "require": settings.run.require}
    return side


def compare_sides(a: Side, b: Side, repeats: Sequence[Side] = ()) -> Comparison:
    """As `compare_runs`, from the columns of the runs."""
    pairs = pair(a, b)
    changed = what_changed(pairs)
    overall = difference(*pairs.both(a.score, b.score))
    metrics = {
        name: difference(*pairs.both(a.metrics[name], b.metrics[name]), better_direction(name))
        for name in pairs.metrics()
    }
    tested = {name: d.p for name, d in metrics.items() if d.p is not None}
    for name, p in zip(tested, holm(list(tested.values())), strict=True):
        metrics[name] = replace(metrics[name], p_holm=p)
    noise = estimate_noise(pairs, repeats) if repeats else None
    scale = a.scale if a.scale == b.scale else None
    lost = tuple(pairs.lost())
    with_errors = difference(*pairs.score_with_errors()) if lost else overall
    failing, passing, moves = _changes(pairs, noise)
    verdict, sentence = reach_verdict(changed, overall, with_errors, metrics, noise, scale)
    return Comparison(
        name_a=a.name,
        name_b=b.name,
        verdict=verdict,
        sentence="; ".join([*changed.unfinished, sentence]),
        changed=changed,
        overall=replace(overall, p_holm=overall.p),
        quality=difference(*pairs.both(a.quality, b.quality)),
        metrics=metrics,
        mcnemar=mcnemar(*pairs.both(a.passed, b.passed)),
        newly_failing=tuple(failing),
        newly_passing=tuple(passing),
        moves=tuple(moves),
        lost=lost,
        errors={name: (a.errors.get(name, 0), b.errors.get(name, 0)) for name in metrics},
        errors_a=a.statuses.count(Status.ERROR),
        errors_b=b.statuses.count(Status.ERROR),
        only_a=tuple(name for name in a.metrics if name not in b.metrics),
        only_b=tuple(name for name in b.metrics if name not in a.metrics),
        noise=noise,
        scale=scale,
        repeats=(a.repeats, b.repeats),
    )


def better_direction(name: str) -> Better:
    """Whether higher or lower is better; "higher" for a metric that is not installed here."""
    try:
        return find(name).facts.better
    except SettingsError:
        return "higher"


def _changes(
    pairs: Pairs, noise: Noise | None
) -> tuple[list[CaseChange], list[CaseChange], list[CaseChange]]:
    """The cases that newly fail, those that newly pass, and those whose score moved. An error counts as failing."""
    a, b, flaky = pairs.a, pairs.b, pairs.a.flaky | pairs.b.flaky
    failing, passing, moves = list[CaseChange](), list[CaseChange](), list[CaseChange]()
    for row, (i, j) in enumerate(pairs.rows()):
        before, after = a.score[i], b.score[j]
        score_a, score_b = (None if math.isnan(score) else score for score in (before, after))
        case = CaseChange(
            a.ids[i],
            a.questions[i],
            a.statuses[i],
            b.statuses[j],
            score_a,
            score_b,
            a.ids[i] in flaky,
        )
        if a.passed[i] == 1 and (b.passed[j] == 0 or b.statuses[j] == Status.ERROR):
            failing.append(case)
        elif a.passed[i] != 1 and b.passed[j] == 1:
            passing.append(case)
        # A missing score is NaN, and every comparison with NaN is false.
        if abs(after - before) > _STILL * max(abs(before), abs(after)):
            moves.append(replace(case, flaky=noise is not None and noise.covers(row, after)))
    return failing, passing, moves


def comparison_json(comparison: Comparison, cases: int = 20) -> dict[str, object]:
    """The comparison as strict JSON; at most `cases` improved and degraded cases are listed, all are counted."""
    c, m = comparison, comparison.mcnemar
    counts = {
        "both_pass": m.both,
        "only_a_passes": m.only_a,
        "only_b_passes": m.only_b,
        "both_fail": m.neither,
    }
    n = sum(counts.values())
    rates = (
        {"pass_rate_a": (m.both + m.only_a) / n, "pass_rate_b": (m.both + m.only_b) / n}
        if n
        else {}
    )
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
        "cases": {
            "added": c.changed.added,
            "removed": c.changed.removed,
            "edited": c.changed.edited,
        },
        "settings": c.changed.settings,
        "repeats": dict(zip("ab", c.repeats, strict=True)),
        "newly_failing": {
            "count": len(c.newly_failing),
            "cases": [asdict(f) for f in c.newly_failing[:cases]],
        },
        "newly_passing": {
            "count": len(c.newly_passing),
            "cases": [asdict(f) for f in c.newly_passing[:cases]],
        },
        "errors": {"a": c.errors_a, "b": c.errors_b},
        "overall": _difference_json(c.overall),
        "quality": _difference_json(c.quality) if c.quality.n else None,
        "metrics": {name: _difference_json(d) for name, d in c.metrics.items()},
        "only_in_a": c.only_a,
        "only_in_b": c.only_b,
        "broken": {name: {"a": a, "b": b} for name, (a, b) in c.errors.items() if a or b},
        "mcnemar_p": c.mcnemar.p,
        "mcnemar": {"n": n, **counts, **rates, "method": m.method},
        "smallest_detectable": c.overall.smallest_detectable,
        "noise": c.noise
        and {
            "runs": c.noise.runs,
            "sd_within_case": c.noise.sd,
            "floor": c.noise.floor,
            "flaky_cases": c.noise.flaky,
        },
        "improved": _moves_json(c.improved_cases, cases),
        "degraded": _moves_json(c.degraded_cases, cases),
        "flaky": [m.id for m in c.moves if m.flaky][:cases],
        "lost": {"count": len(c.lost), "cases": c.lost[:cases]},
    }


def _difference_json(d: Difference) -> dict[str, object]:
    record = asdict(d)
    interval = record.pop("interval")
    del record["error"]
    ends = {"ci95": interval and list(interval[:2]), "ci_method": interval and interval[2]}
    return {**record, **ends, "effect": effect_size(d.d_pooled)}


def _moves_json(moves: Sequence[CaseChange], most: int) -> dict[str, object]:
    cases = [{**asdict(move), "diff": move.diff} for move in moves[:most]]
    return {
        "count": len(moves),
        "cases": [{key: case[key] for key in case if key != "flaky"} for case in cases],
    }
