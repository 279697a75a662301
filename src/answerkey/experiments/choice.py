"""Which setting is best, does it hold on unseen queries, and is it better than the default? Overall and by question type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from answerkey.comparison.significance import Difference, difference
from answerkey.experiments.sweep import Place, Sweep
from answerkey.intervals import SEED, Interval, mean_interval
from answerkey.metrics.ranking.hits import Floats
from answerkey.text import format_count

FEW_QUERIES = 20
_FOLDS, _REPEATS = 10, 10
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Best:
    """`winner`, `runner_up` and `default` are (variant, K) numbers; tests are of the winner against the other, by
    query. `unseen` is what the choice gives on queries that did not take part in it: cross-validated, with a 95 %
    interval. `keep_default`: the default is among the settings, and that is not clearly better."""

    winner: Place
    value: float
    queries: int
    sentence: str
    runner_up: Place | None = None
    test: Difference | None = None
    unseen: float | None = None
    unseen_interval: Interval | None = None
    default: Place | None = None
    default_test: Difference | None = None

    @property
    def keep_default(self) -> bool:
        if self.default is None or self.default == self.winner or self.default_test is None:
            return False
        return not (self.default_test.sure and (self.default_test.diff or 0.0) > 0)


def best_setting(
    sweep: Sweep, places: Sequence[Place] | None = None, queries: np.ndarray | None = None
) -> Best:
    """The setting with the highest mean of the metric that chooses; of equals the one with the smallest K. `places` and
    `queries` (a mask) restrict what is compared; the default is every setting and labelled query."""
    asked = sweep.labelled if queries is None else queries & sweep.labelled
    order = _ordered(sweep, sweep.places if places is None else places, asked)
    table = np.stack([sweep.chosen[row, column, asked] for row, column in order])
    winner, value, n = order[0], float(table[0].mean()), int(asked.sum())
    if len(order) == 1:
        sentence = f"{setting_name(sweep, winner)} is the only setting: {sweep.plan.select_name} {value:.4f}"
        return Best(winner, value, n, sentence)
    other = next((n for n, place in enumerate(order) if place[0] != winner[0]), 1)
    held_out = cross_validate_choice(table)
    # The default is the α that the suite sets (0.5 otherwise) in the first index, at the winner's K or else at any.
    rows = [
        n
        for n, v in enumerate(sweep.variants)
        if v.alpha == sweep.settings.alpha and not v.stage and v.setup == 0
    ]
    there = [place for place in order if place[0] in rows]
    default = next((place for place in there if place[1] == winner[1]), there[0] if there else None)
    found = Best(
        winner,
        value,
        n,
        "",
        order[other],
        difference(table[other], table[0]),
        float(held_out.mean()) if n > 1 else None,
        mean_interval(held_out),
        default,
        difference(table[order.index(default)], held_out)
        if default is not None and n > 1
        else None,
    )
    return replace(found, sentence=_sentence(sweep, found))


def _ordered(sweep: Sweep, places: Sequence[Place], asked: np.ndarray) -> list[Place]:
    means = {place: float(sweep.chosen[place[0], place[1], asked].mean()) for place in places}
    return sorted(places, key=lambda place: (-round(means[place], 9), sweep.ks[place[1]], place[0]))


def cross_validate_choice(table: Floats) -> Floats:
    """For each query the value of the setting that is best on other queries: ten folds, ten times, the mean. `table`
    holds (setting, query), the preferred of equal settings first."""
    queries = table.shape[1]
    folds = min(_FOLDS, queries)
    if folds < 2:
        return table[0].copy()
    random = np.random.default_rng(SEED)
    total = table.sum(axis=1)
    held_out = np.zeros(queries)
    for _ in range(_REPEATS):
        for fold in np.array_split(random.permutation(queries), folds):
            rest = (total - table[:, fold].sum(axis=1)) / (queries - len(fold))
            held_out[fold] += table[int(np.argmax(rest >= rest.max() - _SAME)), fold]
    return held_out / _REPEATS


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """The best setting for one type of question. `note` warns of too few queries to choose by."""

    type: str
    best: Best
    note: str


def by_type(sweep: Sweep) -> list[TypeChoice]:
    """The best method and K for each type, where there is more than one type."""
    types = np.array(sweep.types)
    found: list[TypeChoice] = []
    for kind in sorted({*types[sweep.labelled].tolist()}):
        best = best_setting(sweep, queries=types == kind)
        few = f"only {format_count(best.queries, 'query', 'queries')}: too few to choose by"
        found.append(TypeChoice(kind, best, few if best.queries < FEW_QUERIES else ""))
    return found if len(found) > 1 else []


@dataclass(frozen=True, slots=True)
class Routing:
    """Each type with its own best setting, against one setting for all: both chosen on other queries than measured.
    `routes` maps a type to its setting; types with too few queries take the one for all."""

    routes: dict[str, Place]
    value: float
    single: float
    test: Difference
    sentence: str


def routing(sweep: Sweep, types: Sequence[TypeChoice], overall: Best) -> Routing | None:
    """None where fewer than two types have queries enough to choose by."""
    enough = [choice for choice in types if not choice.note]
    if len(enough) < 2:
        return None
    order = _ordered(sweep, sweep.places, sweep.labelled)
    table = np.stack([sweep.chosen[row, column, sweep.labelled] for row, column in order])
    kinds = np.array(sweep.types)[sweep.labelled]
    single = cross_validate_choice(table)
    routed = single.copy()
    for choice in enough:
        routed[kinds == choice.type] = cross_validate_choice(table[:, kinds == choice.type])
    test = difference(single, routed)
    p = "" if test.p is None else f", p = {test.p:.2g}"
    figures = f"{sweep.plan.select_name} {routed.mean():.4f} against {single.mean():.4f} on unseen queries{p}"
    better = test.sure and (test.diff or 0.0) > 0
    found = "better than one for all" if better else "not measurably better: use one for all"
    sentence = f"a method per question type is {found} ({figures})"
    routes = {
        choice.type: choice.best.winner if not choice.note else overall.winner for choice in types
    }
    return Routing(routes, float(routed.mean()), float(single.mean()), test, sentence)


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What a sweep found: the best of all settings, of the methods and of the α at the main K, by type and by index.
    `setup` is the index of the best setting, which the charts show."""

    best: Best
    method: Best
    alpha: Best
    topk: Best
    types: list[TypeChoice]
    routing: Routing | None
    setups: list[Best]
    setup: int


def draw_conclusions(sweep: Sweep) -> Conclusions:
    """Every choice of a sweep, made once for files, reports and charts."""
    best = best_setting(sweep)
    setup = sweep.variants[best.winner[0]].setup
    types = by_type(sweep)
    topk = sweep.topk[setup]
    several = range(len(sweep.setups)) if len(sweep.setups) > 1 else ()
    return Conclusions(
        best,
        best_setting(sweep, [(row, sweep.main) for row in sweep.method_rows(setup)]),
        best_setting(sweep, [(row, sweep.main) for row in sweep.alpha_rows(setup)]),
        best_setting(sweep, [place for place in sweep.places if place[0] == topk]),
        types,
        routing(sweep, types, best),
        [
            best_setting(sweep, [p for p in sweep.places if sweep.variants[p[0]].setup == n])
            for n in several
        ],
        setup,
    )


def setting_name(sweep: Sweep, place: Place, with_k: bool = True) -> str:
    variant = sweep.variants[place[0]]
    alpha = "" if variant.alpha is None else f" (α = {variant.alpha:g})"
    setup = sweep.setup_name(variant.setup)
    return f"{variant.name}{alpha}{f' on {setup}' if setup else ''}{f' at K = {sweep.ks[place[1]]}' if with_k else ''}"


def _sentence(sweep: Sweep, best: Best) -> str:
    assert best.test is not None
    assert best.runner_up is not None
    first, second = setting_name(sweep, best.winner), setting_name(sweep, best.runner_up)
    metric = sweep.plan.select_name
    p = "" if best.test.p is None else f", p = {best.test.p:.2g}"
    queries = format_count(best.queries, "query", "queries")
    margin = f"{metric} {best.test.mean_b:.4f} against {best.test.mean_a:.4f}{p}, {queries}"
    unseen = "" if best.unseen is None else f"; expect {best.unseen:.4f} on unseen queries"
    if best.keep_default and best.default is not None and best.default_test is not None:
        gain = f"{metric} {best.default_test.mean_b:.4f} on unseen queries against {best.default_test.mean_a:.4f}"
        kept = setting_name(sweep, best.default)
        return f"keep the default, {kept}: {first} is not measurably better ({gain}, {best.queries} queries)"
    if best.test.sure:
        return f"{first} is best: it beats {second} ({margin}){unseen}"
    if best.winner[0] == best.runner_up[0]:
        return f"{first} is enough: K = {sweep.ks[best.runner_up[1]]} is not measurably different ({margin}){unseen}"
    return f"a tie: {first} and {second} cannot be separated ({margin}){unseen}"
