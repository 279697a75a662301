"""The Python interface: evaluate data and bots, open and compare runs, score single answers.

>>> import answerkey as ak
>>> run = ak.evaluate(data, metrics=["answer_agreement", "groundedness"])  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast, overload

from answerkey.api.adapters import NAME, cases_of, judge_of, metrics_of, name_of, target_of
from answerkey.api.run import Run, open_run
from answerkey.background import on_loop
from answerkey.cases import read_cases as stream_cases
from answerkey.cases.rows import case_of_row
from answerkey.coerce.responses import response_of_row
from answerkey.coerce.rows import rename_columns
from answerkey.coerce.values import Place, is_list, is_mapping
from answerkey.comparison.comparison import Comparison, compare_sides
from answerkey.comparison.pair import Side, load_side, side_of
from answerkey.comparison.prefer import Preference, prefer_outcomes, remember_flips
from answerkey.errors import IncompleteError, InputError
from answerkey.metrics.judge.judged_metrics import load_judge
from answerkey.metrics.ranking.rank import Ranked, score_rankings
from answerkey.metrics.registry import additional_metrics
from answerkey.reports.write import write_reports
from answerkey.retrieval.rankings import Labels, as_rankings, as_relevance_labels, has_pages
from answerkey.runs.control import Options, Selection, Stop
from answerkey.runs.execute import run_in_memory, run_prepared
from answerkey.runs.prepare import Prepared, manifest_of, prepare
from answerkey.runs.progress import make_progress
from answerkey.runs.score import make_scorer
from answerkey.runs.suite import load_suite, suite_of
from answerkey.types import Case, Outcome, Score

Metrics = Sequence[str | Callable[..., object]]


def evaluate(
    data: object,
    metrics: Metrics | str | Callable[..., object] = (),
    *,
    target: object = None,
    profile: str | Path | Mapping[str, object] | None = None,
    judge: object = None,
    embedding: str | Mapping[str, object] | None = None,
    entailment: str | Mapping[str, object] | None = None,
    gates: Sequence[str] = (),
    workers: int = 5,
    timeout: float = 30,
    retries: int = 0,
    repeats: int = 1,
    limit: int | None = None,
    jobs: int | None = None,
    name: str = "evaluate",
    out: str | Path | None = None,
    progress: bool = True,
) -> Run:
    """Score the answers in `data`, or ask `target` and score its answers.

    - `data`: a list of dicts or of `Case`, a pandas or polars DataFrame, a Hugging Face `Dataset`, a path or a glob.
    - `metrics`: names, or functions of `(case, response)` that return a number, a bool or a `Score`, sync or async.
    - `target`: a function of the question (and `history`), sync or async, a LangChain runnable, a LlamaIndex query
      engine, a `Target`, or the settings of a suite's [target] as a dict.
    - `profile`: a built-in scoring profile, a TOML file or a dict. `judge`: "local", a preset, a dict of settings, or a
      function from prompt to text. `embedding`: a model name, "none" or settings. `entailment`: a model name or settings.
    - `repeats`: ask each case that many times; `Outcome.attempts` has the answers, `summary.figures.repeats` the figures.
    - `jobs`: processes that compute the metrics; by default one per core where there are many cases. Functions given as
      `metrics`, a network judge and `target` stay in this process.
    - `out`: a folder for a run folder with all reports; by default nothing is written.

    Raises `AnswerkeyError` for every mistake that the command line reports; `IncompleteError.run` has what was done.

    >>> run = evaluate([{"question": "2 + 2?", "answer": "4", "expected": "4"}], ["exact_match"], progress=False)
    >>> run.summary.mean["exact_match"]
    1.0
    """
    names, functions = metrics_of(
        [metrics] if isinstance(metrics, str) or callable(metrics) else metrics
    )
    cases = cases_of(data, limit)
    asked = None if target is None or is_mapping(target) else target_of(target, timeout, retries)
    if target is None and not any(case.recorded is not None for case in cases):
        raise InputError(f'{NAME}: no column "answer"; add the answers, or give a target to ask')
    table: dict[str, object] = {
        "name": name,
        "cases": [str(data) if isinstance(data, (str, Path)) else NAME],
        "metrics": names,
        "run": {"workers": workers, "timeout": timeout, "repeats": repeats, "jobs": jobs},
        "gate": {"require": list(gates)},
        **_tables(profile=profile, judge=judge, embedding=embedding, target=target),
        **({} if entailment is None else {"entailment": entailment}),
    }
    suite = suite_of(table, Path())
    if out is not None:
        suite = suite.writing_to(Path(out))
    with additional_metrics(functions):
        prepared = prepare(
            suite, cases=partial(enumerate, cases), target=asked, judge=judge_of(judge, workers)
        )  # pyright: ignore[reportArgumentType]
    with closing(prepared):
        return _execute(prepared, out, progress)


def _tables(
    *, judge: object, embedding: object, profile: object = None, target: object = None
) -> dict[str, object]:
    """These arguments as the tables of a suite; a judge that is a function has none, a bot's object only its name."""
    if is_mapping(target):
        target = dict(target)
    elif target is not None:
        target = {"kind": "python", "call": f"python:{name_of(target)}"}
    tables: dict[str, object] = {
        "profile": str(profile) if isinstance(profile, Path) else profile,
        "judge": judge if isinstance(judge, str) or is_mapping(judge) else None,
        "embedding": embedding,
        "target": target,
    }
    return {name: table for name, table in tables.items() if table is not None}


async def aevaluate(
    data: object, metrics: Metrics | str | Callable[..., object] = (), **options: Any
) -> Run:
    """`evaluate` for async code: the caller's event loop stays free, and async targets, judges and metrics run on it.

    >>> run = await aevaluate(rows, target=my_async_bot, profile="rag")  # doctest: +SKIP
    """
    loop = asyncio.get_running_loop()

    def work() -> Run:
        with on_loop(loop):
            return evaluate(data, metrics, **options)

    return await asyncio.to_thread(work)


def run_suite(
    path: str | Path,
    *,
    limit: int | None = None,
    only: str | None = None,
    settings: Mapping[str, object] | None = None,
    out: str | Path | None = None,
    progress: bool = True,
) -> Run:
    """Run a suite file, in memory or into a new run folder in `out`.

    `settings` override those of the suite by dotted name, as `--set` does.

    >>> run = run_suite("suite.toml", limit=5, settings={"run.workers": 8})  # doctest: +SKIP
    """
    suite = load_suite(Path(path), settings)
    if out is not None:
        suite = suite.writing_to(Path(out))
    with closing(prepare(suite, Selection(limit=limit, only=only))) as prepared:
        return _execute(prepared, out, progress)


def _execute(prepared: Prepared, out: str | Path | None, progress: bool) -> Run:
    """The run of what is prepared; one that had to stop early is an error that carries it."""
    watch, stop = make_progress(quiet=not progress, only_interactive=True), Stop()
    try:
        if out is None:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            store, finished = run_in_memory(prepared, watch, stop)
            run = Run(
                replace(manifest_of(prepared, created), partial=finished.partial),
                list(store.outcomes()),
            )
        else:
            finished = run_prepared(prepared, Options(selection=prepared.selection), watch, stop)
            write_reports(finished.folder)
            run = open_run(finished.folder)
    finally:
        watch.finish()
    if stop:
        raise IncompleteError(finished.partial, run)
    return run


def load_cases(*paths: str | Path | Iterable[str | Path]) -> list[Case]:
    """The cases of files, folders and globs, given one by one or in lists.

    >>> [case.id for case in load_cases("qa/*.md")]  # doctest: +SKIP
    ['faq#Q1', 'faq#Q2']
    """
    flat: list[str | Path] = []
    for path in paths:
        if isinstance(path, (str, Path)):
            flat.append(path)
        else:
            flat.extend(path)
    return list(stream_cases(flat))


def compare(
    a: Run | str | Path, b: Run | str | Path, repeats: Iterable[Run | str | Path] = ()
) -> Comparison:
    """Is run B better than run A? Cases are paired by id; `repeats` are further runs of A's bot, to estimate noise.

    >>> compare(old, new).sentence  # doctest: +SKIP
    'B is better: 56 % → 92 % passed; over 50 cases the score changed by +0.127 (95 % interval +0.0917 to +0.173, p < 0.001)'
    """

    def side(run: Run | str | Path) -> Side:
        if not isinstance(run, Run):
            return load_side(run)
        return side_of(run.name, run.manifest, run.outcomes, run.profile)

    return compare_sides(side(a), side(b), [side(run) for run in repeats])


def rank(qrels: object, rankings: object, metrics: Sequence[str], unit: str = "page") -> Ranked:
    """Ranking metrics of rankings against labels: dicts, or paths to TREC, CSV and JSON files.

    >>> rank({"q1": ["b"]}, {"q1": ["a", "b"]}, ["mrr", "recall@1"]).mean
    {'mrr': 0.5, 'recall@1': 0.0}
    """
    in_rankings, in_labels = has_pages(rankings), has_pages(qrels, labels=True)
    if in_rankings is not None:
        with suppress(
            InputError
        ):  # a number that must be read first, or whose error is found below, with its place
            labels = as_relevance_labels(qrels) if in_labels is None else cast("Labels", qrels)
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
    options = _tables(judge=judge, embedding=row.pop("embedding", None))
    names, functions = metrics_of(metric if is_list(metric) else [metric])
    place = Place("score")
    renamed_row, _ = next(iter(rename_columns([({"question": "-", **row}, place)])))
    case = case_of_row(renamed_row, place, "1")
    suite = suite_of({"cases": [NAME], "metrics": names, **options}, Path())
    with additional_metrics(functions):
        scorer = make_scorer(suite, None, judge_of(judge, workers=1))
    with closing(scorer):
        scores = scorer.plan.score([(case, response_of_row(renamed_row, place))])[0]
    return dict(scores) if is_list(metric) else scores[names[0]]


def prefer(
    a: Run | str | Path, b: Run | str | Path, judge: object = "local", workers: int = 20
) -> Preference:
    """Ask a judge for the better answer to each case of two runs, in both orders. A choice that flips is a tie.

    `judge` is "local", a preset, a dict of settings, or a function from prompt to text.

    >>> prefer(old, new, judge=my_llm).sentence  # doctest: +SKIP
    'B is preferred: B wins 31 cases, A 12, 7 are ties (win rate of B 69 %, 95 % interval 57–80 %, p = 0.0054)'
    """
    first, second = _side(a), _side(b)
    with closing(judge_of(judge, workers) or load_judge(judge)) as opened:
        preference = prefer_outcomes(first, second, opened)
        remember_flips(preference, opened)
    return preference


def _side(run: Run | str | Path) -> tuple[str, Iterable[Outcome]]:
    opened = run if isinstance(run, Run) else open_run(run)
    return opened.name, opened.outcomes
