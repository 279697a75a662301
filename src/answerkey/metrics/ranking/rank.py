"""Ranking metrics of responses and of recorded rankings, equal to those of trec_eval.

A query with no relevant id is reported as unlabelled and left out of the means. A labelled query
that is missing from the run counts as 0 and is reported as missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from answerkey.coerce.decode import warn_once
from answerkey.coerce.labels import align_labels, page_parts
from answerkey.coerce.passage_fields import clean_id, passage_id
from answerkey.display import data_frame, html_table, html_text
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.metrics.registry import Facts, metric_group
from answerkey.retrieval.page_ids import ID_STYLES, rename_id
from answerkey.retrieval.rankings import in_order
from answerkey.types import Pair, Response, Score

if TYPE_CHECKING:
    import pandas

    from answerkey.config.retrieval_tables import IdStyle
    from answerkey.metrics.ranking.hits import Floats, Hits

UNITS = ("page", "chunk")
UNLABELLED = "unlabelled: no page is marked relevant for this case"
ABOVE_ONE = 'above 1, as several chunks of one page are each counted (unit = "chunk")'
OTHER_IDS = 'no label matches a retrieved id; with ids = "page" they would match'
NO_PAGES = "the labels are page numbers, and no retrieved id names a page"
Ranking = Sequence[str] | Mapping[str, float]
_ROUNDING = 1e-9
_of_ranking = partial(
    Facts, family="retrieval", needs=("retrieved", "relevant"), empty="0 for an empty ranking"
)


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
        """The values of each query by metric."""
        import numpy as np

        rows: list[list[float]] = np.stack([*self.columns.values()], axis=1).tolist()
        return {
            query: dict(zip(self.columns, row, strict=True))
            for query, row in zip(self.ids, rows, strict=True)
        }

    @cached_property
    def labelled_queries(self) -> list[str]:
        unlabelled = set(self.unlabelled)
        return [query for query in self.ids if query not in unlabelled]

    def values(self, metric: str, queries: Sequence[str] | None = None) -> Floats:
        """The values of these queries, by default of the labelled ones; 0 for a missing query."""
        import numpy as np

        by_query = dict(zip(self.ids, self.columns[metric].tolist(), strict=True))
        if queries is None:
            chosen = self.labelled_queries
        else:
            chosen = queries
        return np.array([by_query.get(query, 0.0) for query in chosen])

    def sd(self, metric: str, queries: Sequence[str] | None = None) -> float | None:
        """The standard deviation over the labelled queries; None for fewer than two."""
        values = self.values(metric, queries)
        if len(values) > 1:
            return float(values.std(ddof=1))
        return None

    def to_dicts(self) -> list[dict[str, float | str]]:
        """One row per query."""
        return [{"query": query, **values} for query, values in self.queries.items()]

    def to_pandas(self) -> pandas.DataFrame:
        """`to_dicts` as a DataFrame."""
        return data_frame(self.to_dicts())

    def __repr__(self) -> str:
        means = [
            f"{name} {'-' if mean is None else f'{mean:.4f}'}" for name, mean in self.mean.items()
        ]
        return f"{', '.join(means)} ({self._counts()})"

    def _repr_html_(self) -> str:
        table = html_table(self.mean.items(), ("metric", "mean"))
        return f"<div>{table}{html_text(self._counts())}</div>"

    def _counts(self) -> str:
        return (
            f"{len(self.labelled_queries)} of {len(self.ids)} queries labelled, "
            f"{len(self.missing)} missing from the rankings"
        )

    @property
    def above_one(self) -> list[str]:
        """The metrics that leave 0..1, as they can with unit "chunk"."""
        return [
            name
            for name, column in self.columns.items()
            if column.max(initial=0.0) > 1.0 + _ROUNDING
        ]


def score_rankings(
    run: Mapping[str, Ranking],
    labels: Mapping[str, Mapping[str, float]],
    names: Sequence[str],
    unit: str = "page",
    *,
    pages: bool = True,
    ids: IdStyle = "auto",
) -> Ranked:
    """The metrics of recorded rankings: lists in order, or `{id: score}`, sorted as by trec_eval.

    Ids are compared whole; `manual.pdf:34` and `manual#34` mean `manual.pdf#34`. With ids = "page"
    only the page counts. A place without an id ("") is not relevant. Without `pages`, no id is
    known to be that of a page.

    >>> score_rankings({"q1": ["a", "b"]}, {"q1": {"b": 1}}, ["mrr", "recall@1"]).mean
    {'mrr': 0.5, 'recall@1': 0.0}
    """
    from answerkey.metrics.ranking.formulas import measure_hits

    check_unit(unit)
    check_ids(ids)
    if not names:
        raise SettingsError("no metric is given; expected names such as ndcg@10, recall@5")
    # Queries of both sides: a labelled one that is missing from the run counts as 0.
    queries = list(dict.fromkeys([*labels, *run]))
    rankings = [_check_ranking(query, run.get(query, ())) for query in queries]
    grades = [labels.get(query, {}) for query in queries]
    if ids in ("page", "document"):
        rankings = [_rename_ranking(ranking, ids) for ranking in rankings]
        grades = [_rename_labels(row, ids) for row in grades]
    hits = _find_hits(rankings, grades, unit, pages)
    columns = measure_hits(hits, names)
    is_labelled = hits.relevant > 0
    means: dict[str, float | None] = dict.fromkeys(columns)
    if is_labelled.any():
        means = {name: float(column[is_labelled].mean()) for name, column in columns.items()}
    unlabelled = [
        query
        for query, has_label in zip(queries, is_labelled.tolist(), strict=True)
        if not has_label
    ]
    left_out = set(unlabelled)
    ranked = Ranked(
        ids=queries,
        columns=columns,
        mean=means,
        unlabelled=unlabelled,
        # A query without a label can't be missed.
        missing=[query for query in labels if query not in run and query not in left_out],
        places=sum(len(ranking) for ranking in rankings),
        without_id=sum(_count_without_id(ranking) for ranking in rankings),
    )
    # A value above 1 can only come from counting chunks; with pages it would be a bug of ours.
    assert unit == "chunk" or not ranked.above_one, ranked.above_one
    return ranked


def _check_ranking(query: str, ranking: object) -> Ranking:
    # A text is a sequence too, and would be ranked letter by letter.
    if isinstance(ranking, str) or not isinstance(ranking, (dict, Mapping, Sequence)):
        raise InputError(
            f'the ranking of the query "{query}" is {type(ranking).__name__}; '
            "expected a list of ids, best first, or {id: score}"
        )
    return cast("Ranking", ranking)


def _count_without_id(ranking: Ranking) -> int:
    if isinstance(ranking, (dict, Mapping)):
        return int("" in ranking)
    return ranking.count("")


def _rename_ranking(ranking: Ranking, ids: IdStyle) -> Ranking:
    if isinstance(ranking, Mapping):
        # Renaming may join ids, so the order by score must be fixed before.
        ranking = in_order(ranking.items())
    return [rename_id(name, ids) for name in ranking]


def _rename_labels(labels: Mapping[str, float], ids: IdStyle) -> dict[str, float]:
    renamed: dict[str, float] = {}
    for name, grade in labels.items():
        new = rename_id(name, ids)
        # Two labels may become one page; the better grade counts.
        renamed[new] = max(grade, renamed.get(new, grade))
    return renamed


def _find_hits(
    runs: Sequence[Ranking], labels: Sequence[Mapping[str, float]], unit: str, pages: bool
) -> Hits:
    from answerkey.metrics.ranking.hits import hits_in_rankings, hits_in_scores

    # `dict` comes first because checking for it is fast.
    if all(not one or isinstance(one, (dict, Mapping)) for one in runs):
        scored = cast("Sequence[Mapping[str, float]]", runs)
        return hits_in_scores([one or {} for one in scored], labels, pages=pages)
    ordered = [in_order(one.items()) if isinstance(one, Mapping) else one for one in runs]
    named = [align_labels(grades, one) for grades, one in zip(labels, ordered, strict=True)]
    return hits_in_rankings(ordered, named, unit)


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
    pairs: Sequence[Pair], *, names: Sequence[str], unit: str = "page", ids: str = "auto"
) -> dict[str, list[Score]]:
    """How well the target ranked the relevant pages; chunks of one page count once."""
    from answerkey.metrics.ranking.formulas import measure_hits
    from answerkey.metrics.ranking.hits import hits_in_rankings

    check_unit(unit)
    style = check_ids(ids)
    rankings: list[list[str]] = []
    labels: list[Mapping[str, float]] = []
    notes: list[str] = []
    for case, response in pairs:
        ranking = [rename_id(name, style) for name in ranking_of(response)]
        grades = _rename_labels(
            {clean_id(key): grade for key, grade in (case.relevant or {}).items()}, style
        )
        rankings.append(ranking)
        labels.append(align_labels(grades, ranking))
        notes.append(_note_on_ids(labels[-1], ranking))
    if OTHER_IDS in notes:
        setting = f'[settings."{names[0]}"] ids = "page"'
        warn_once(f"{OTHER_IDS}; set {setting} for each ranking metric in the suite")
    if NO_PAGES in notes:
        warn_once(
            f'{NO_PAGES}; set ids = "page" in [target] if its kind is "rag", '
            "else let the target return the `page` of each passage"
        )
    hits = hits_in_rankings(rankings, labels, unit)
    is_labelled = hits.relevant > 0
    scores: dict[str, list[Score]] = {}
    for name, column in measure_hits(hits, names).items():
        scores[name] = [
            _make_score(float(value), bool(has_label), note)
            for value, has_label, note in zip(column, is_labelled, notes, strict=True)
        ]
    return scores


def _make_score(value: float, is_labelled: bool, note: str) -> Score:
    if not is_labelled:
        return Score.not_applicable(UNLABELLED)
    return Score(value, ABOVE_ONE if value > 1.0 + _ROUNDING else note)


def _note_on_ids(labels: Mapping[str, float], ranking: Sequence[str]) -> str:
    """Why no label can be one of the retrieved ids; "" where one may be."""
    if needs_page_ids(labels, ranking):
        return OTHER_IDS
    relevant = [name for name, grade in labels.items() if grade > 0]
    are_pages = bool(relevant) and all(name.isdigit() for name in relevant)
    if are_pages and ranking and not any(page_parts(name).page.isdigit() for name in ranking):
        return NO_PAGES
    return ""


def needs_page_ids(labels: Mapping[str, float], ranking: Sequence[str]) -> bool:
    """Whether no label is a retrieved id, but one would be if only the page counted."""
    relevant = {name for name, grade in labels.items() if grade > 0}
    if not relevant or relevant.intersection(ranking):
        return False
    pages = {rename_id(name, "page") for name in ranking}
    # The ids are pages already; the setting would change nothing.
    if pages == set(ranking):
        return False
    return any(rename_id(name, "page") in pages for name in relevant)


def ranking_of(response: Response) -> list[str]:
    """The response's own ranking, or else the id of each passage; "" for no id."""
    if response.retrieved is not None:
        return [clean_id(name) for name in response.retrieved]
    return [passage_id(passage) for passage in response.passages]


def check_unit(unit: str) -> None:
    if unit not in UNITS:
        raise SettingsError(f'unit "{unit}": expected "page" or "chunk"{did_you_mean(unit, UNITS)}')


def check_ids(ids: str) -> IdStyle:
    """The style of ids, or an error that lists the styles."""
    for style in ID_STYLES:
        if ids == style:
            return style
    listed = ", ".join(ID_STYLES)
    raise SettingsError(f'ids "{ids}": expected one of {listed}{did_you_mean(ids, ID_STYLES)}')
