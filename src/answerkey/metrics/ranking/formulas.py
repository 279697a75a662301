"""The formulas of the ranking metrics, for all queries at once, from the ranks of the hits."""

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
    base = match[1] if match else name
    cut = match[2] if match else None
    if base not in CUT_METRICS:
        names = [*(f"{metric}@{cut or 5}" for metric in CUT_METRICS), *WHOLE_METRICS]
        listed = ", ".join(f"{metric}@k" for metric in CUT_METRICS)
        hint = did_you_mean(name, names) or f"; ranking metrics are {listed}, mrr, map"
        raise SettingsError(f'unknown ranking metric "{name}"{hint}')
    if cut is None:
        if base not in WHOLE_METRICS:
            raise SettingsError(f'metric "{name}" needs a cut-off, as in "{name}@5"')
        return base, None
    if int(cut) < 1:
        raise SettingsError(f'metric "{name}": K must be 1 or more')
    return base, int(cut)


def measure_hits(hits: Hits, names: Iterable[str]) -> dict[str, Floats]:
    """For each metric the value per query; 0 where nothing is relevant."""
    values: dict[str, Floats] = {}
    for name in names:
        base, cut = parse_name(name)
        values[name] = _FORMULAS[base](hits, cut)
    return values


def _precision(hits: Hits, cut: int | None) -> Floats:
    """Relevant among the first k, over k even when fewer were retrieved."""
    # A bot that returns two good pages and stops has not filled its k places; trec_eval counts so too.
    return _count_hits(hits, cut) / (cut or 1)


def _recall(hits: Hits, cut: int | None) -> Floats:
    """Distinct relevant ids among the first k, over all relevant ids."""
    count = _count_hits(hits, cut)
    # Counted by chunk, a page found twice is still one relevant page: recall must not exceed 1.
    again = hits.found.again
    if again is not None and again.any():
        repeats = _first_places(hits.found.pick(again), cut)
        count = count - np.bincount(repeats.query, minlength=hits.queries)
    return _divide(count, hits.relevant)


def _f1(hits: Hits, cut: int | None) -> Floats:
    """Harmonic mean of precision and recall."""
    precision = _precision(hits, cut)
    recall = _recall(hits, cut)
    return _divide(2 * precision * recall, precision + recall)


def _hit_rate(hits: Hits, cut: int | None) -> Floats:
    return (_count_hits(hits, cut) > 0).astype(np.float64)


def _mrr(hits: Hits, cut: int | None) -> Floats:
    """One over the rank of the first relevant id."""
    first = np.zeros(hits.queries)
    places = _first_places(hits.found, cut)
    np.maximum.at(first, places.query, 1.0 / places.rank)
    return first


def _ndcg(hits: Hits, cut: int | None) -> Floats:
    """Gain grade / log2(rank + 1), over that of the ideal order of the labels."""
    gains, ideal_gains = hits.gains
    dcg = _sum_by_query(hits, hits.found, gains, cut)
    return _divide(dcg, _sum_by_query(hits, hits.ideal, ideal_gains, cut))


def _map(hits: Hits, cut: int | None) -> Floats:
    """Precision at each hit, summed, over the number of relevant ids."""
    return _divide(_sum_by_query(hits, hits.found, hits.precision, cut), hits.relevant)


def _count_hits(hits: Hits, cut: int | None) -> Floats:
    if cut not in hits.found_by_cut:
        places = _first_places(hits.found, cut)
        counts = np.bincount(places.query, minlength=hits.queries)
        hits.found_by_cut[cut] = counts.astype(np.float64)
    return hits.found_by_cut[cut]


def _sum_by_query(hits: Hits, places: Places, values: Floats, cut: int | None) -> Floats:
    """The sum of the places' values up to a rank, per query."""
    if cut is None:
        weights = values
    else:
        weights = np.where(places.rank <= cut, values, 0.0)
    sums = np.bincount(places.query, weights=weights, minlength=hits.queries)
    return sums.astype(np.float64, copy=False)


def _first_places(places: Places, cut: int | None) -> Places:
    if cut is None:
        return places
    return places.pick(places.rank <= cut)


def _divide(over: Floats, under: Floats) -> Floats:
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
