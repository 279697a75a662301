"""Ranking metrics of responses and of recorded rankings; equal to trec_eval's where both define the value.

A query with no relevant id is reported as unlabelled and left out of the means.
A labelled query that is missing from the run counts as 0 and is reported as missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from answerkey.coerce.labels import align_labels
from answerkey.coerce.passage_fields import clean_id, passage_id
from answerkey.display import data_frame, html_table, html_text
from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import Facts, metric_group
from answerkey.retrieval.rankings import in_order
from answerkey.types import Pair, Response, Score

if TYPE_CHECKING:
    import pandas

    from answerkey.metrics.ranking.hits import Floats, Hits

UNITS = ("page", "chunk")
UNLABELLED = "unlabelled: no page is marked relevant for this case"
ABOVE_ONE = 'above 1, as several chunks of one page are each counted (unit = "chunk")'
Ranking = Sequence[str] | Mapping[str, float]
_of_ranking = partial(Facts, needs=("retrieved", "relevant"), empty="0 for an empty ranking")


@dataclass(frozen=True, repr=False)
class Ranked:
    """A value per query and metric; the means leave unlabelled queries out."""

    ids: list[str]
    columns: dict[str, Floats]
    mean: dict[str, float | None]
    unlabelled: list[str]
    missing: list[str]
    places: int = 0
    without_id: int = 0

    @cached_property
    def queries(self) -> dict[str, dict[str, float]]:
        import numpy as np

        rows: list[list[float]] = np.stack([*self.columns.values()], axis=1).tolist()
        return {
            query: dict(zip(self.columns, row, strict=True))
            for query, row in zip(self.ids, rows, strict=True)
        }

    def to_dicts(self) -> list[dict[str, float | str]]:
        """One row per query."""
        return [{"query": query, **values} for query, values in self.queries.items()]

    def to_pandas(self) -> pandas.DataFrame:
        """`to_dicts` as a DataFrame."""
        return data_frame(self.to_dicts())

    def __repr__(self) -> str:
        means = ", ".join(
            f"{name} {'-' if mean is None else f'{mean:.4f}'}" for name, mean in self.mean.items()
        )
        return f"{means} ({self._counts()})"

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self.mean.items(), ('metric', 'mean'))}{html_text(self._counts())}</div>"

    def _counts(self) -> str:
        labelled = len(self.ids) - len(self.unlabelled)
        return f"{labelled} of {len(self.ids)} queries labelled, {len(self.missing)} missing from the rankings"

    @property
    def above_one(self) -> list[str]:
        """The metrics that leave 0..1, as they can with unit "chunk"."""
        return [
            name for name, column in self.columns.items() if column.max(initial=0.0) > 1.0 + 1e-9
        ]


def score_rankings(
    run: Mapping[str, Ranking],
    labels: Mapping[str, Mapping[str, float]],
    names: Sequence[str],
    unit: str = "page",
    *,
    pages: bool = True,
) -> Ranked:
    """The metrics of recorded rankings: lists in order, or `{id: score}`, sorted as trec_eval does.

    Ids are compared whole; `manual.pdf:34` and `manual#34` mean `manual.pdf#34`. A place without an id ("") is not relevant.
    Without `pages`, no id is known to be that of a page.

    >>> score_rankings({"q1": ["a", "b"]}, {"q1": {"b": 1}}, ["mrr", "recall@1"]).mean
    {'mrr': 0.5, 'recall@1': 0.0}
    """
    from answerkey.metrics.ranking.formulas import measure_hits

    check_unit(unit)
    if not names:
        raise SettingsError("no metric is given; expected names such as ndcg@10, recall@5")
    queries = list(dict.fromkeys([*labels, *run]))
    rankings = [run.get(query, ()) for query in queries]
    hits = _hits(rankings, [labels.get(query, {}) for query in queries], unit, pages)
    columns = measure_hits(hits, names)
    labelled = hits.relevant > 0
    means = {
        name: float(column[labelled].mean()) if labelled.any() else None
        for name, column in columns.items()
    }
    unlabelled = [query for query, has in zip(queries, labelled.tolist(), strict=True) if not has]
    left_out = set(unlabelled)
    missing = [query for query in labels if query not in run and query not in left_out]
    places = sum(len(ranking) for ranking in rankings)
    without_id = sum(
        "" in one if isinstance(one, (dict, Mapping)) else one.count("") for one in rankings
    )
    ranked = Ranked(queries, columns, means, unlabelled, missing, places, without_id)
    assert unit == "chunk" or not ranked.above_one, ranked.above_one
    return ranked


def _hits(
    runs: Sequence[Ranking], labels: Sequence[Mapping[str, float]], unit: str, pages: bool
) -> Hits:
    from answerkey.metrics.ranking.hits import hits_in_rankings, hits_in_scores

    if all(
        not one or isinstance(one, (dict, Mapping)) for one in runs
    ):  # dict first: it is the fast check
        scored = cast("Sequence[Mapping[str, float]]", runs)
        return hits_in_scores([one or {} for one in scored], labels, pages=pages)
    ordered = [in_order(one.items()) if isinstance(one, Mapping) else one for one in runs]
    return hits_in_rankings(
        ordered,
        [align_labels(grades, one) for grades, one in zip(labels, ordered, strict=True)],
        unit,
    )


@metric_group(
    _of_ranking("precision@k", "Relevant pages among the first k, over k."),
    _of_ranking("recall@k", "Share of the relevant pages found in the first k."),
    _of_ranking("f1@k", "Harmonic mean of precision@k and recall@k."),
    _of_ranking("mrr", "One over the rank of the first relevant page."),
    _of_ranking("mrr@k", "As mrr, 0 when that rank is past k."),
    _of_ranking("hit_rate@k", "1 when a relevant page is among the first k."),
    _of_ranking("ndcg@k", "Discounted gain of the first k, over the ideal; graded."),
    _of_ranking("map", "Average precision over the whole ranking."),
    _of_ranking("map@k", "Average precision over the first k."),
)
def ranking_metrics(
    pairs: Sequence[Pair], *, names: Sequence[str], unit: str = "page"
) -> dict[str, list[Score]]:
    """How well the target ranked the relevant pages; several chunks of a page count once (unit = "page")."""
    from answerkey.metrics.ranking.formulas import measure_hits
    from answerkey.metrics.ranking.hits import hits_in_rankings

    check_unit(unit)
    rankings = [ranking_of(response) for _, response in pairs]
    labels = [
        align_labels(
            {clean_id(key): grade for key, grade in (case.relevant or {}).items()}, ranking
        )
        for (case, _), ranking in zip(pairs, rankings, strict=True)
    ]
    hits = hits_in_rankings(rankings, labels, unit)
    labelled = hits.relevant > 0
    return {
        name: [
            Score(float(value), ABOVE_ONE if value > 1.0 + 1e-9 else "")
            if has
            else Score.not_applicable(UNLABELLED)
            for value, has in zip(column, labelled, strict=True)
        ]
        for name, column in measure_hits(hits, names).items()
    }


def ranking_of(response: Response) -> list[str]:
    """The response's own ranking, or else the page of each passage, or its id where it has no page; "" for no id."""
    if response.retrieved is not None:
        return [clean_id(name) for name in response.retrieved]
    return [passage_id(passage) for passage in response.passages]


def check_unit(unit: str) -> None:
    if unit not in UNITS:
        raise SettingsError(f'unit "{unit}": expected "page" or "chunk"{did_you_mean(unit, UNITS)}')
