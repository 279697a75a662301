"""`evaluate`: data in, a run out. `run_suite` does the same for a suite file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from answerkey.api.adapters import judge_of, target_of
from answerkey.api.arguments import Arguments, make_suite
from answerkey.api.direct import can_score_directly, score_directly
from answerkey.api.rows import NAME, UserFrame, cases_of, user_frame
from answerkey.api.run import Run, open_run
from answerkey.background import on_loop
from answerkey.coerce.values import is_mapping
from answerkey.errors import IncompleteError, InputError, SettingsError
from answerkey.metrics.registry import additional_metrics
from answerkey.reports.write import write_reports
from answerkey.runs.control import Options, Selection, Stop
from answerkey.runs.execute import run_in_memory, run_prepared
from answerkey.runs.left_out import leave_out_manual
from answerkey.runs.prepare import Prepared, manifest_of, prepare
from answerkey.runs.progress import make_progress
from answerkey.runs.suite import Suite, load_suite
from answerkey.types import Case

if TYPE_CHECKING:
    from answerkey.robustness.run import VariantReport, VariantRun

MetricFunction = Callable[..., object]
Metrics = Sequence[str | MetricFunction] | Mapping[str, float] | str | MetricFunction


def evaluate(
    data: object,
    metrics: Metrics = (),
    *,
    target: object = None,
    profile: str | Path | Mapping[str, object] | None = None,
    judge: object = None,
    embedding: object = None,
    entailment: str | Mapping[str, object] | None = None,
    gates: Sequence[str] = (),
    workers: int = 5,
    timeout: float = 30,
    retries: int | None = None,
    repeats: int = 1,
    variants: Sequence[str] = (),
    user: Mapping[str, object] | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    limit: int | None = None,
    jobs: int | None = None,
    name: str = "evaluate",
    out: str | Path | None = None,
    progress: bool = True,
) -> Run:
    """Score the answers in `data`, or ask `target` and score its answers. `evaluate(df)` needs nothing else.

    - `data`: a list of dicts or of `Case`, a pandas or polars DataFrame, a Hugging Face `Dataset`, a path or a glob.
    - `metrics`: names, functions of `(case, response)` that return a number, a bool or a `Score`, sync or async, or
      `{"groundedness": 0.7}`: each metric must reach its number. Without metrics and without a profile, the profile
      that fits the data is used.
    - `target`: a function of the question (and `history`), sync or async, a LangChain runnable, a LlamaIndex query
      engine, a `Target`, or the settings of a suite's [target] as a dict.
    - `profile`: a built-in scoring profile, a TOML file or a dict. `judge`: "local", a preset, a dict of settings, or a
      function from prompt to text. `embedding`: a model name, "none", settings, or an object
      with `embed(texts)`. `entailment`: a model name or settings.
    - `repeats`: ask each case that many times; `Outcome.attempts` has the answers, `summary.figures.repeats` the figures.
    - `variants`: ask each question again with typos, as keywords, …; `Run.variants` compares the answers. A gate such as
      `variants.typos.drop <= 0.05` is answered in `Run.variants.gates`.
    - `user`: `{"goal": …, "persona": …, "max_turns": …}` makes each case a conversation with a simulated user, played by
      the model of `judge`.
    - `settings`: settings of single metrics, as in a suite's [settings]: `{"recall@5": {"ids": "page"}}`.
    - `jobs`: processes that score recorded answers; by default one per core where there are many cases. With functions
      as `metrics`, a network judge or a `target`, everything stays in this process.
    - `out`: a folder for a run folder with all reports; by default nothing is written.

    Raises `AnswerkeyError` for every mistake that the command line reports; `IncompleteError.run` has what was done.

    >>> run = evaluate([{"question": "2 + 2?", "answer": "4", "expected": "4"}], ["exact_match"], progress=False)
    >>> run.summary.mean["exact_match"]
    1.0
    """
    cases = cases_of(data, limit)
    # Before cases are left out: their rows stay in the frame.
    frame = user_frame(data, cases, limit)
    if target is None:
        _check_needs_no_target(cases, variants, user)
        # Both marks of such cases, `manual` and `conversation`, are columns of the user.
        if any(case.extra for case in cases):
            cases = _leave_out_unanswered(cases)
    if retries is not None and is_mapping(target):
        # The target's own setting wins, as its own timeout does.
        target = {"retries": retries, **target}
    source = str(data) if isinstance(data, (str, Path)) else NAME
    arguments = Arguments(
        name=name,
        source=source,
        metrics=metrics,
        profile=profile,
        judge=judge,
        embedding=embedding,
        entailment=entailment,
        target=target,
        gates=gates,
        workers=workers,
        timeout=timeout,
        repeats=repeats,
        jobs=jobs,
        variants=variants,
        user=user,
        settings=settings,
    )
    suite, functions = make_suite(arguments)
    with additional_metrics(functions):
        if out is None and target is None and can_score_directly(suite, len(cases), judge):
            return score_directly(suite, cases, frame, progress=progress)
        if out is not None:
            suite = suite.writing_to(Path(out))
        bot = None
        if target is not None and not is_mapping(target):
            bot = target_of(target, timeout, retries)
        own_judge = judge_of(judge, workers)
        # Variants are written and checked before the first question is asked.
        variant_run = _plan_variants(suite, cases, own_judge)
        if variant_run is not None:
            suite = variant_run.suite_of_originals
        # A function, because an iterator could be read only once.
        numbered = cast("Any", partial(enumerate, cases))
        with closing(prepare(suite, cases=numbered, target=bot, judge=own_judge)) as prepared:
            run = _execute(prepared, out, progress, frame)
            if variant_run is not None:
                run.variants = _run_variants(variant_run, run, bot, own_judge, progress)
            return run


def _check_needs_no_target(
    cases: Sequence[Case], variants: Sequence[str], user: Mapping[str, object] | None
) -> None:
    """Raise an error if only a target could answer: no recorded answers, or questions to ask anew."""
    if not any(case.recorded is not None for case in cases):
        raise InputError(
            f'{NAME}: no column "answer"; add the answers, or give a target to ask: '
            "evaluate(data, target=my_function)"
        )
    if not variants and user is None:
        return
    argument = "variants" if variants else "user"
    raise SettingsError(
        f"{argument} needs a target to ask, and there are only recorded answers: "
        f"evaluate(data, target=my_function, {argument}=…)"
    )


def _leave_out_unanswered(cases: list[Case]) -> list[Case]:
    """The cases without manual ones and without last messages of a user that nobody answered."""
    return [case for _, case in leave_out_manual(enumerate(cases), answers_in_cases=True)]


def _plan_variants(suite: Suite, cases: Sequence[Case], judge: Any) -> VariantRun | None:
    if not suite.variants.kinds:
        return None
    from answerkey.robustness.run import VariantRun  # most calls ask no variants

    return VariantRun.of_cases(suite, cases, judge=judge)


def _run_variants(
    variant_run: VariantRun, run: Run, target: Any, judge: Any, progress: bool
) -> VariantReport:
    """Ask the variants of a finished run: in its folder, or in memory where it has none."""
    watch = make_progress(quiet=not progress, only_interactive=True)
    try:
        if run.folder is not None:
            report = variant_run.run(run.folder, watch, Stop(), target, judge)
            write_reports(run.folder)  # once more, with the section on variants
            return report
        return variant_run.run_in_memory(run.outcomes, target, judge, watch, Stop())
    finally:
        watch.finish()


async def aevaluate(data: object, metrics: Metrics = (), **options: Any) -> Run:
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


def _execute(
    prepared: Prepared,
    out: str | Path | None,
    progress: bool,
    frame: UserFrame | None = None,
) -> Run:
    """Run what is prepared. Raises `IncompleteError`, which carries the run, if it had to stop."""
    watch = make_progress(quiet=not progress, only_interactive=True)
    stop = Stop()
    try:
        if out is None:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            store, finished = run_in_memory(prepared, watch, stop)
            manifest = replace(manifest_of(prepared, created), partial=finished.partial)
            run = Run(manifest, list(store.outcomes()), frame=frame)
        else:
            finished = run_prepared(prepared, Options(selection=prepared.selection), watch, stop)
            write_reports(finished.folder)
            run = open_run(finished.folder)
    finally:
        watch.finish()
    if stop:
        raise IncompleteError(finished.partial, run)
    return run
