"""Chooses the best setting: does it hold on unseen queries, is it better than the default?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from answerkey.comparison.significance import Difference, difference
from answerkey.experiments.sweep import Setting, Sweep
from answerkey.intervals import SEED, Interval, mean_interval
from answerkey.metrics.ranking.hits import Floats
from answerkey.text import format_count

FEW_QUERIES = 20
_FOLDS = 10
_REPEATS = 10
_EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class Best:
    """The best setting; tests compare it with another by query.

    `unseen` is the value on queries that did not take part in the choice: cross-validated, with a
    95 % interval. `metric` is the name of the metric that chose.
    """

    winner: Setting
    value: float
    queries: int
    sentence: str
    metric: str
    runner_up: Setting | None = None
    test: Difference | None = None
    unseen: float | None = None
    unseen_interval: Interval | None = None
    default: Setting | None = None
    default_test: Difference | None = None

    @property
    def keep_default(self) -> bool:
        """The default is among the settings, and the winner is not clearly better."""
        if self.default is None or self.default == self.winner or self.default_test is None:
            return False
        return not _is_better(self.default_test)


def _is_better(test: Difference) -> bool:
    return test.sure and (test.diff or 0.0) > 0


def best_setting(
    sweep: Sweep,
    places: Sequence[Setting] | None = None,
    queries: np.ndarray | None = None,
    *,
    own_k: bool = False,
) -> Best:
    """The setting with the highest mean of the metric that chooses; ties go to the smallest K.

    `places` and `queries` (a mask) restrict the comparison; the default is every setting and
    labelled query. With `own_k` the metric is taken at each setting's own K.
    """
    mask = sweep.labelled if queries is None else queries & sweep.labelled
    values = sweep.at_own_k() if own_k else sweep.chosen
    metric = f"{sweep.plan.select[0]}@K" if own_k else sweep.plan.select_name
    order = _order_settings(sweep, values, sweep.places if places is None else places, mask)
    table = np.stack([values[row, column, mask] for row, column in order])
    winner = order[0]
    value = float(table[0].mean())
    count = int(mask.sum())
    if len(order) == 1:
        sentence = f"{setting_name(sweep, winner)} is the only setting: {metric} {value:.4f}"
        return Best(winner, value, count, sentence, metric)
    held_out = cross_validate_choice(table)
    # The same variant at another K has nearly the same ranking: it is no rival where there is
    # another one.
    other = next((n for n, place in enumerate(order) if place[0] != winner[0]), 1)
    best = Best(
        winner=winner,
        value=value,
        queries=count,
        sentence="",
        metric=metric,
        runner_up=order[other],
        test=difference(table[other], table[0]),
        unseen=float(held_out.mean()) if count > 1 else None,
        unseen_interval=mean_interval(held_out),
        default=_default_setting(sweep, order),
    )
    if best.default is not None and count > 1:
        # Against the held-out values: those of the winner were chosen for being high.
        test = difference(table[order.index(best.default)], held_out)
        best = replace(best, default_test=test)
    return replace(best, sentence=_sentence(sweep, best))


def _order_settings(
    sweep: Sweep, values: Floats, places: Sequence[Setting], mask: np.ndarray
) -> list[Setting]:
    means = {place: float(values[place[0], place[1], mask].mean()) for place in places}
    # Means that differ by rounding only are equal; the smaller K is then the cheaper one.
    return sorted(places, key=lambda place: (-round(means[place], 9), sweep.ks[place[1]], place[0]))


def _default_setting(sweep: Sweep, order: Sequence[Setting]) -> Setting | None:
    """The α of the suite (0.5 by default) in the first index, at the winner's K or else at any."""
    rows = {
        row
        for row, variant in enumerate(sweep.variants)
        if variant.alpha == sweep.settings.alpha and not variant.stage and variant.setup == 0
    }
    defaults = [place for place in order if place[0] in rows]
    same_k = [place for place in defaults if place[1] == order[0][1]]
    return next(iter(same_k or defaults), None)


def cross_validate_choice(table: Floats) -> Floats:
    """For each query the value of the setting that is best on other queries.

    The choice is made in ten folds, ten times; the mean is returned. `table` holds (setting,
    query), the preferred of equal settings first.
    """
    queries = table.shape[1]
    folds = min(_FOLDS, queries)
    # A single query leaves no other query to choose by.
    if folds < 2:
        return table[0].copy()
    random = np.random.default_rng(SEED)
    total = table.sum(axis=1)
    held_out = np.zeros(queries)
    # One split may be lucky, so several are averaged.
    for _ in range(_REPEATS):
        for fold in np.array_split(random.permutation(queries), folds):
            rest = (total - table[:, fold].sum(axis=1)) / (queries - len(fold))
            # The first of equal settings, as everywhere.
            chosen = int(np.argmax(rest >= rest.max() - _EQUAL))
            held_out[fold] += table[chosen, fold]
    return held_out / _REPEATS


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """The best setting, α and K for one type of question; `note` warns of too few queries."""

    type: str
    best: Best
    alpha: Best
    k: Best
    note: str


def choose_by_type(sweep: Sweep, setup: int) -> list[TypeChoice]:
    """The best method, α and K for each type, where there is more than one type."""
    types = np.array(sweep.types)
    kinds = sorted({*types[sweep.labelled].tolist()})
    if len(kinds) < 2:
        return []
    alphas = [(row, sweep.main) for row in sweep.alpha_rows(setup)]
    choices: list[TypeChoice] = []
    for kind in kinds:
        mask = types == kind
        best = best_setting(sweep, queries=mask)
        note = ""
        if best.queries < FEW_QUERIES:
            note = f"only {format_count(best.queries, 'query', 'queries')}: too few to choose by"
        choices.append(
            TypeChoice(
                type=kind,
                best=best,
                alpha=best_setting(sweep, alphas, mask),
                k=best_setting(sweep, sweep.topk_settings(setup), mask, own_k=sweep.plan.own_k),
                note=note,
            )
        )
    return choices


@dataclass(frozen=True, slots=True)
class Routing:
    """Each type with its own best setting, against one setting for all.

    Both are chosen on other queries than they are measured on. `routes` maps a type to its
    setting; types with too few queries take the one for all.
    """

    routes: dict[str, Setting]
    value: float
    single: float
    test: Difference
    sentence: str


def compare_routing(sweep: Sweep, types: Sequence[TypeChoice], overall: Best) -> Routing | None:
    """Whether a method per type is better; None where fewer than two types have enough queries."""
    winners = {choice.type: choice.best.winner for choice in types}
    return _compare_routes(sweep, types, sweep.places, winners, overall.winner, "method")


def compare_k_routing(
    sweep: Sweep, types: Sequence[TypeChoice], topk: Best, setup: int
) -> Routing | None:
    """Whether a K per type is better than one K for all, at the α of the top-K analysis."""
    places = sweep.topk_settings(setup)
    if len(places) < 2:
        return None
    winners = {choice.type: choice.k.winner for choice in types}
    return _compare_routes(sweep, types, places, winners, topk.winner, "K", own_k=sweep.plan.own_k)


def _compare_routes(
    sweep: Sweep,
    types: Sequence[TypeChoice],
    places: Sequence[Setting],
    winners: dict[str, Setting],
    overall: Setting,
    what: str,
    *,
    own_k: bool = False,
) -> Routing | None:
    enough = [choice.type for choice in types if not choice.note]
    if len(enough) < 2:
        return None
    values = sweep.at_own_k() if own_k else sweep.chosen
    order = _order_settings(sweep, values, places, sweep.labelled)
    table = np.stack([values[row, column, sweep.labelled] for row, column in order])
    kinds = np.array(sweep.types)[sweep.labelled]
    single = cross_validate_choice(table)
    # Types with too few queries keep the setting for all, so that both sides are equal there.
    routed = single.copy()
    for kind in enough:
        routed[kinds == kind] = cross_validate_choice(table[:, kinds == kind])
    test = difference(single, routed)
    verdict = "not measurably better: use one for all"
    if _is_better(test):
        verdict = "better than one for all"
    metric = sweep.plan.topk_name if own_k else sweep.plan.select_name
    figures = f"{metric} {routed.mean():.4f} against {single.mean():.4f} on unseen queries"
    sentence = f"a {what} per question type is {verdict} ({figures}{_p_value(test)})"
    routes = {choice.type: overall if choice.note else winners[choice.type] for choice in types}
    return Routing(routes, float(routed.mean()), float(single.mean()), test, sentence)


@dataclass(frozen=True, slots=True)
class Conclusions:
    """The best of all settings, of the methods and of the α at the main K, by type and by index.

    `setup` is the index of the best setting, which the charts show.
    """

    best: Best
    method: Best
    alpha: Best
    topk: Best
    types: list[TypeChoice]
    routing: Routing | None
    k_routing: Routing | None
    setups: list[Best]
    setup: int


def draw_conclusions(sweep: Sweep) -> Conclusions:
    """Every choice of a sweep, made once for files, reports and charts."""
    best = best_setting(sweep)
    setup = sweep.variants[best.winner[0]].setup
    types = choose_by_type(sweep, setup)
    topk = best_setting(sweep, sweep.topk_settings(setup), own_k=sweep.plan.own_k)
    return Conclusions(
        best=best,
        method=best_setting(sweep, [(row, sweep.main) for row in sweep.method_rows(setup)]),
        alpha=best_setting(sweep, [(row, sweep.main) for row in sweep.alpha_rows(setup)]),
        topk=topk,
        types=types,
        routing=compare_routing(sweep, types, best),
        k_routing=compare_k_routing(sweep, types, topk, setup),
        setups=_best_by_setup(sweep),
        setup=setup,
    )


def _best_by_setup(sweep: Sweep) -> list[Best]:
    if len(sweep.setups) < 2:
        return []
    return [
        best_setting(sweep, [p for p in sweep.places if sweep.variants[p[0]].setup == setup])
        for setup in range(len(sweep.setups))
    ]


def setting_name(sweep: Sweep, place: Setting, with_k: bool = True) -> str:
    """The name of a setting for people: method, α, index and K."""
    variant = sweep.variants[place[0]]
    parts = [variant.name]
    if variant.alpha is not None:
        parts.append(f"(α = {variant.alpha:g})")
    setup = sweep.setup_name(variant.setup)
    if setup:
        parts.append(f"on {setup}")
    if with_k:
        parts.append(f"at K = {sweep.ks[place[1]]}")
    return " ".join(parts)


def _sentence(sweep: Sweep, best: Best) -> str:
    assert best.test is not None
    assert best.runner_up is not None
    first = setting_name(sweep, best.winner)
    second = setting_name(sweep, best.runner_up)
    figures = f"{best.metric} {best.test.mean_b:.4f} against {best.test.mean_a:.4f}"
    queries = format_count(best.queries, "query", "queries")
    margin = f"{figures}{_p_value(best.test)}, {queries}"
    unseen = ""
    if best.unseen is not None:
        unseen = f"; expect {best.unseen:.4f} on unseen queries"
    if best.keep_default and best.default is not None and best.default_test is not None:
        test = best.default_test
        gain = f"{best.metric} {test.mean_b:.4f} on unseen queries against {test.mean_a:.4f}"
        return (
            f"keep the default, {setting_name(sweep, best.default)}: "
            f"{first} is not measurably better ({gain}, {best.queries} queries)"
        )
    if best.test.sure:
        return f"{first} is best: it beats {second} ({margin}){unseen}"
    if best.winner[0] == best.runner_up[0]:
        other_k = sweep.ks[best.runner_up[1]]
        return f"{first} is enough: K = {other_k} is not measurably different ({margin}){unseen}"
    return f"a tie: {first} and {second} cannot be separated ({margin}){unseen}"


def _p_value(test: Difference) -> str:
    if test.p is None:
        return ""
    return f", p = {test.p:.2g}"
