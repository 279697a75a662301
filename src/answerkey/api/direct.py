"""Recorded answers scored in one go: no target, no folder, nothing to resume.

This is the path of `evaluate(df)`. Whatever needs more, such as a target, a judge, gates, several
processes or a run folder, goes through the engine in `runs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING

from answerkey.api.rows import UserFrame
from answerkey.api.run import Run
from answerkey.cases.whole_conversation import CONVERSATION_METRICS
from answerkey.errors import IncompleteError
from answerkey.metrics.registry import is_metric
from answerkey.runs.score import Scorer, make_scorer
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.types import Case, Outcome, Profile, Status

if TYPE_CHECKING:
    from answerkey.runs.manifest import Manifest

log = getLogger("answerkey.runs")

MOST_CASES = 512  # from here on several processes are faster
_CASES_WITHOUT_BAR = 32  # a bar for less than a second's work would only flicker
_BATCH = 64  # cases between two movements of the bar


def can_score_directly(suite: Suite, count: int, judge: object) -> bool:
    """Whether the answers are recorded and nothing but local metrics is needed."""
    is_plain = not (suite.gate or suite.judge or suite.run.jobs) and suite.run.repeats == 1
    # A metric of whole conversations needs a row for each of them, which the engine adds.
    profile = _load(suite)
    names = {*suite.metrics, *(profile.metrics if profile else ())}
    has_conversations = not CONVERSATION_METRICS.isdisjoint(names)
    return is_plain and judge is None and count <= MOST_CASES and not has_conversations


def score_directly(
    suite: Suite, cases: Sequence[Case], frame: UserFrame | None, *, progress: bool
) -> Run:
    """The run of recorded answers; the manifest is made when something asks for it."""
    needs_choice = not all(map(is_metric, suite.metrics)) or not suite.metrics
    if needs_choice or suite.profile is not None:
        suite = _choose(suite, cases)
    profile = _load(suite)
    recorded = Recorded()
    pairs = [(case, recorded.lookup(case)) for case in cases]
    created = datetime.now(UTC)
    with closing(make_scorer(suite, profile)) as scorer:
        if progress and len(pairs) > _CASES_WITHOUT_BAR:
            outcomes = _score_with_bar(scorer, pairs)
        else:
            outcomes = scorer.outcomes(pairs)
    # The manifest names the functions among the metrics, which only this context knows.
    manifest = partial(_make_manifest, suite, profile, scorer, cases, created)
    run = Run(partial(copy_context().run, manifest), outcomes, frame=frame)
    _check_outcomes(run, suite, cases)
    return run


def _choose(suite: Suite, cases: Sequence[Case]) -> Suite:
    """The suite with a profile that fits the cases, and with our names of metrics."""
    from answerkey.profiles.choose import ProfileChoice
    from answerkey.runs.prepare import choose_scoring

    choice = ProfileChoice(live=False)
    for case in cases:
        choice.add(case)
    suite = choose_scoring(suite, choice)
    if suite.profile is None:
        return suite
    return replace(suite, profile=choice.with_own_criteria(suite.profile))


def _load(suite: Suite) -> Profile | None:
    if suite.profile is None:
        return None
    from answerkey.profiles import load_profile

    return load_profile(suite.profile, suite.folder)


def _score_with_bar(scorer: Scorer, pairs: Sequence[tuple[Case, object]]) -> list[Outcome]:
    from answerkey.runs.progress import make_progress
    from answerkey.runs.score import in_chunks

    watch = make_progress(only_interactive=True)
    outcomes: list[Outcome] = []
    try:
        watch.start(len(pairs), 0)
        for chunk in in_chunks(pairs, _BATCH):
            for outcome in scorer.outcomes(chunk):  # pyright: ignore[reportArgumentType]
                watch.outcome(outcome)
                outcomes.append(outcome)
    finally:
        watch.finish()
    return outcomes


def _check_outcomes(run: Run, suite: Suite, cases: Sequence[Case]) -> None:
    """Warn about a metric that could measure nothing; stop after equal errors in a row, as every run does."""
    outcomes = run.outcomes
    if any(outcome.verdict.status == Status.ERROR for outcome in outcomes):
        from answerkey.runs.control import ErrorStreak
        from answerkey.user_traceback import begin_run

        begin_run()  # the next run shows its own tracebacks
        streak = ErrorStreak(suite.run.max_equal_errors)
        for outcome in outcomes:
            if reason := streak.reason_to_stop(outcome):
                raise IncompleteError(reason, run)
    unmeasured = [
        name
        for name in suite.metrics
        if all(outcome.scores[name].value is None for outcome in outcomes)
    ]
    if unmeasured:
        _warn_of_missing_columns(cases, unmeasured)


def _warn_of_missing_columns(cases: Sequence[Case], metrics: Sequence[str]) -> None:
    from answerkey.runs.survey import CaseSurvey

    survey = CaseSurvey(live=False)
    for case in cases:
        survey.add(case)
    for warning in survey.warnings(metrics):
        log.warning("%s", warning)


def _make_manifest(
    suite: Suite,
    profile: Profile | None,
    scorer: Scorer,
    cases: Sequence[Case],
    created: datetime,
) -> Manifest:
    from answerkey.runs.prepare import manifest_of_cases

    return manifest_of_cases(suite, profile, scorer, cases, created.isoformat(timespec="seconds"))
