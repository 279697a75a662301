"""The formulas of the ranking metrics, for all queries at once, from the ranks of the relevant ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.ranking.hits import Floats, Hits, Places

CUT_METRICS = ("precision", "recall", "f1", "mrr", "hit_rate", "ndcg", "map")
WHOLE_METRICS = ("mrr", "map")


def parse_name(name: str) -> tuple[str, int | None]:
    """`recall@5` is ("recall", 5); `mrr` is ("mrr", None): the whole ranking."""
    match = re.fullmatch(r"([a-z0-9_]+)(?:@(-?\d+))?", name)
    base, cut = (match[1], match[2]) if match else (name, None)
    if base not in CUT_METRICS:
        known = [*(f"{known}@{cut or 5}" for known in CUT_METRICS), *WHOLE_METRICS]
        listed = f"; ranking metrics are {', '.join(f'{c}@k' for c in CUT_METRICS)}, mrr, map"
        hint = did_you_mean(name, known) or listed
        raise SettingsError(f'unknown ranking metric "{name}"{hint}')
    if cut is None and base not in WHOLE_METRICS:
        raise SettingsError(f'metric "{name}" needs a cut-off, as in "{name}@5"')
    if cut is not None and int(cut) < 1:
        raise SettingsError(f'metric "{name}": K must be 1 or more')
    return base, None if cut is None else int(cut)


def measure_hits(hits: Hits, names: Iterable[str]) -> dict[str, Floats]:
    """For each metric the value per query; 0 where nothing is relevant."""
    return {name: _FORMULAS[base](hits, cut) for name in names for base, cut in [parse_name(name)]}


def _precision(hits: Hits, cut: int | None) -> Floats:
    """Relevant among the first k, over k even when fewer were retrieved."""
    return _found(hits, cut) / (cut or 1)


def _recall(hits: Hits, cut: int | None) -> Floats:
    """Distinct relevant ids among the first k, over all relevant ids."""
    found, again = _found(hits, cut), hits.found.again
    if again is not None and again.any():
        found = found - np.bincount(
            _within(hits.found.pick(again), cut).query, minlength=hits.queries
        )
    return _ratio(found, hits.relevant)


def _f1(hits: Hits, cut: int | None) -> Floats:
    precision, recall = _precision(hits, cut), _recall(hits, cut)
    return _ratio(2 * precision * recall, precision + recall)


def _hit_rate(hits: Hits, cut: int | None) -> Floats:
    return (_found(hits, cut) > 0).astype(np.float64)


def _mrr(hits: Hits, cut: int | None) -> Floats:
    """One over the rank of the first relevant id."""
    first = np.zeros(hits.queries)
    found = _within(hits.found, cut)
    np.maximum.at(first, found.query, 1.0 / found.rank)
    return first


def _ndcg(hits: Hits, cut: int | None) -> Floats:
    """Gain grade / log2(rank + 1), over that of the ideal order of the labels."""
    found, ideal = hits.gains
    return _ratio(_summed(hits, hits.found, found, cut), _summed(hits, hits.ideal, ideal, cut))


def _map(hits: Hits, cut: int | None) -> Floats:
    """Precision at each relevant id found, summed, over the number of relevant ids."""
    return _ratio(_summed(hits, hits.found, hits.precision, cut), hits.relevant)


def _found(hits: Hits, cut: int | None) -> Floats:
    if cut not in hits.found_by_cut:
        query = hits.found.query if cut is None else hits.found.query[hits.found.rank <= cut]
        hits.found_by_cut[cut] = np.bincount(query, minlength=hits.queries).astype(np.float64)
    return hits.found_by_cut[cut]


def _summed(hits: Hits, places: Places, values: Floats, cut: int | None) -> Floats:
    """The sum of the places' values up to a rank per query."""
    weights = values if cut is None else np.where(places.rank <= cut, values, 0.0)
    return np.bincount(places.query, weights=weights, minlength=hits.queries).astype(
        np.float64, copy=False
    )


def _within(places: Places, cut: int | None) -> Places:
    return places if cut is None else places.pick(places.rank <= cut)


def _ratio(over: Floats, under: Floats) -> Floats:
    """Division that gives 0 where the divisor is 0: nothing is relevant, or nothing was found."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


_FORMULAS: dict[str, Callable[[Hits, int | None], Floats]] = {
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "mrr": _mrr,
    "hit_rate": _hit_rate,
    "ndcg": _ndcg,
    "map": _map,
}
