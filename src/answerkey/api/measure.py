"""Single answers and rankings, without a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import cast, overload

from answerkey.api.adapters import judge_of
from answerkey.api.arguments import Arguments, make_suite
from answerkey.api.rows import NAME
from answerkey.cases.rows import case_of_row
from answerkey.coerce.responses import response_of_row
from answerkey.coerce.rows import rename_columns
from answerkey.coerce.values import Place, is_list
from answerkey.errors import InputError
from answerkey.metrics.ranking.rank import Ranked, score_rankings
from answerkey.metrics.registry import additional_metrics
from answerkey.profiles.choose import ProfileChoice
from answerkey.retrieval.rankings import Labels, as_rankings, as_relevance_labels, has_pages
from answerkey.runs.prepare import choose_scoring
from answerkey.runs.score import make_scorer
from answerkey.types import Score


def rank(qrels: object, rankings: object, metrics: Sequence[str], unit: str = "page") -> Ranked:
    """Ranking metrics of rankings against labels: dicts, or paths to TREC, CSV and JSON files.

    >>> rank({"q1": ["b"]}, {"q1": ["a", "b"]}, ["mrr", "recall@1"]).mean
    {'mrr': 0.5, 'recall@1': 0.0}
    """
    in_rankings = has_pages(rankings)
    in_labels = has_pages(qrels, labels=True)
    if in_rankings is not None:
        # A number that must be read first, or whose error is found below, with its place.
        with suppress(InputError):
            if in_labels is None:
                labels = as_relevance_labels(qrels)
            else:
                labels = cast("Labels", qrels)
            scores = cast("Mapping[str, Mapping[str, float]]", rankings)
            return score_rankings(
                scores, labels, metrics, unit, pages=in_rankings or in_labels is not False
            )
    return score_rankings(as_rankings(rankings), as_relevance_labels(qrels), metrics, unit)


@overload
def score(metric: str | Callable[..., object], **row: object) -> Score: ...
@overload
def score(metric: list[str | Callable[..., object]], **row: object) -> dict[str, Score]: ...
def score(metric: object, **row: object) -> Score | dict[str, Score]:
    """The score of one answer; with a list of metrics, a dict of scores.

    `row` has the columns of a case: `answer`, `expected`, `question`, `contexts`, `route`, `retrieved`, `relevant` and
    so on, and the options `judge` and `embedding`.

    >>> score("exact_match", answer="30 days", expected="30 days").value
    1.0
    """
    judge = row.pop("judge", None)
    metrics = metric if is_list(metric) else [metric]
    arguments = Arguments(
        "score", NAME, metrics=metrics, judge=judge, embedding=row.pop("embedding", None)
    )
    suite, functions = make_suite(arguments)
    place = Place("score")
    # Many metrics need no question, but every row must have one.
    renamed_row, _ = next(iter(rename_columns([({"question": "-", **row}, place)])))
    case = case_of_row(renamed_row, place, "1")
    with additional_metrics(functions):
        suite = choose_scoring(suite, ProfileChoice(live=False))
        scorer = make_scorer(suite, None, judge_of(judge, workers=1))
    with closing(scorer):
        scores = scorer.plan.score([(case, response_of_row(renamed_row, place))])[0]
    if is_list(metric):
        return dict(scores)
    return scores[suite.metrics[0]]
