"""Runs a suite: ask or look up, score in batches, decide, and store each outcome before the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from answerkey.errors import IncompleteError
from answerkey.runs.ask import Answered, Numbered, answer_of, ask_all, resume_conversations
from answerkey.runs.control import Budget, ErrorStreak, Finished, Options, Selection, Stop, Watch
from answerkey.runs.divide import open_pool
from answerkey.runs.manifest import Manifest, write_manifest
from answerkey.runs.memory_store import MemoryStore
from answerkey.runs.prepare import Prepared, manifest_of, prepare, select_cases
from answerkey.runs.resume import (
    Resumed,
    finished_before,
    new_manifest,
    resume,
    still_stopping,
)
from answerkey.runs.run_writer import Scored
from answerkey.runs.score import LARGEST_BATCH, cost_of, in_chunks
from answerkey.runs.shards import (
    ShardedRun,
    ShardEnd,
    ShardPool,
    cut,
    shard_size,
    shards_folder,
)
from answerkey.runs.state import Progress, RunState
from answerkey.runs.store import FolderStore, lock_run, new_folder, with_record_counts
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.text import format_count
from answerkey.types import Case, Outcome, Status


@dataclass(slots=True)
class _Execution:
    """A run in progress: where its outcomes go, and what has happened so far in this process."""

    prepared: Prepared
    manifest: Manifest | None  # None for a run in memory
    options: Options
    watch: Watch
    stop: Stop
    store: FolderStore | MemoryStore
    budget: Budget = field(init=False)
    streak: ErrorStreak = field(init=False)
    failures: Counter[int] = field(default_factory=Counter[int])  # by position of the case
    stopped: list[tuple[int, Outcome]] = field(default_factory=list[tuple[int, Outcome]])
    asked: int = 0
    errors: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        settings = self.prepared.suite.run
        self.budget = Budget(settings)
        self.streak = ErrorStreak(settings.max_equal_errors)

    @property
    def stops_on_fail(self) -> bool:
        settings = self.prepared.suite.run
        return self.options.stop_on_fail or settings.stop_on_fail or settings.stop_below is not None

    @property
    def is_recorded(self) -> bool:
        return isinstance(self.prepared.target, Recorded)

    @property
    def unfinished(self) -> int:
        """How many answers are not finished."""
        return self.prepared.answers - self.store.state.count(Progress.FINISHED)


def execute_suite(
    suite: Suite,
    options: Options | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Finished:
    """Start or resume a run. However it ends, the folder is valid and can be resumed.

    >>> execute_suite(load_suite(Path("suite.toml"))).folder  # doctest: +SKIP
    PosixPath('results/suite_20260102_030405')
    """
    options = options or Options()
    if options.cluster is not None:
        from answerkey.runs.cluster import check_cluster_run

        check_cluster_run(suite, options)
        # Workers may have another working folder.
        suite = replace(suite, folder=suite.folder.resolve())
    with closing(prepare(suite, options.selection)) as prepared:
        return run_prepared(prepared, options, watch or Watch(), Stop() if stop is None else stop)


def run_prepared(prepared: Prepared, options: Options, watch: Watch, stop: Stop) -> Finished:
    """Run into a folder: a new one, or the one that `options.resume` names."""
    suite = prepared.suite
    folder = options.resume or new_folder(suite.folder / suite.run.out, suite.name)
    with lock_run(folder):
        if options.resume is None:
            begun = Resumed(new_manifest(prepared, folder), RunState())
        else:
            begun = resume(folder, prepared, accept=options.accept_changes)
        # Written before the first question, so that a killed run can be resumed.
        write_manifest(folder, begun.manifest)
        prepared, options = still_stopping(prepared, options, begun)
        watch.start(prepared.answers, begun.state.count(Progress.FINISHED))
        watch.earlier(finished_before(folder, begun.state))
        with closing(
            FolderStore(folder, begun.manifest, begun.state, debug=options.debug)
        ) as store:
            if store.note:
                watch.note(store.note)
            execution = _Execution(prepared, begun.manifest, options, watch, stop, store)
            _execute(execution, prepared.attempts(begun.cases))
        finished = _describe_end(execution, folder)
        write_manifest(
            folder, with_record_counts(folder, replace(begun.manifest, partial=finished.partial))
        )
        return finished


def run_in_memory(
    prepared: Prepared, watch: Watch | None = None, stop: Stop | None = None
) -> tuple[MemoryStore, Finished]:
    """The same run without a folder; the store returns its outcomes, and nothing is written."""
    watch = watch or Watch()
    store = MemoryStore(prepared.repeats)
    watch.start(prepared.answers, 0)
    stop = Stop() if stop is None else stop
    # With all details, which nobody could look up later.
    execution = _Execution(prepared, None, Options(debug=True), watch, stop, store)
    _execute(execution, prepared.attempts())
    return store, _describe_end(execution, Path())


def ask_once(suite: Suite, case: Case) -> Outcome:
    """One case asked and scored outside any run, to look into a failure."""
    with closing(prepare(suite, Selection(), lambda: iter([(0, case)]), new=False)) as prepared:
        # The stored case lacks its recorded answer, so it is looked up in the files again.
        if isinstance(prepared.target, Recorded):
            same = (each for _, each in select_cases(suite, Selection()) if each.id == case.id)
            case = next(same, replace(case, recorded=None))
        return prepared.scorer.outcomes([(case, answer_of(prepared.target, case))])[0]


def _execute(run: _Execution, cases: Callable[[], Iterator[Numbered]]) -> None:
    for warning in run.prepared.warnings:
        run.watch.note(f"warning: {warning}")
    try:
        _ask_and_score(run, cases)
    except IncompleteError as error:
        run.stop.set(str(error))


def _ask_and_score(run: _Execution, cases: Callable[[], Iterator[Numbered]]) -> None:
    """Score stored answers without a verdict; then ask: first where the run stopped, then the rest."""
    store = run.store
    size = _batch_size(run)
    unscored = store.state.places(Progress.ANSWERED)
    if unscored:
        _score(run, in_chunks(store.answers(unscored), size))
        if run.stop:
            return
    to_ask = islice(_to_ask(cases, store.state), run.options.resume_limit)
    if run.options.resume is not None and not run.is_recorded:
        # Turns that are asked now need the answers of the turns before the interruption.
        to_ask = resume_conversations(to_ask, store.answers(), run.prepared.repeats.times)
    pool = None
    # Shards end in any order, so "the first failure" has no meaning there.
    if not run.stops_on_fail:
        answers = min(run.unfinished, run.options.resume_limit or run.unfinished)
        pool = open_pool(run.prepared, run.options, answers, run.watch)
    if pool is not None:
        _run_shards(run, pool, to_ask)
    elif run.is_recorded:
        _look_up_and_score(run, to_ask, size)
    else:
        _ask_live_and_score(run, to_ask, size)


def _run_shards(run: _Execution, pool: ShardPool, to_ask: Iterator[Numbered]) -> None:
    prepared = run.prepared
    store = run.store
    live = not run.is_recorded

    def report(end: ShardEnd) -> None:
        run.asked += end.counts.cases
        run.errors += end.counts.errors
        run.failed += end.counts.failed
        run.budget.spent += end.cost
        run.watch.group(end.counts)
        reason = end.stop or run.budget.reason_to_stop()
        if reason:
            run.stop.set(reason)

    folder = store.folder if isinstance(store, FolderStore) else None
    times = prepared.repeats.times
    size = shard_size(run.unfinished, pool.count, prepared.scorer.batch * times, live=live)
    with closing(pool), shards_folder(folder) as home:
        manifest = run.manifest or manifest_of(prepared, created="")
        sharded = ShardedRun(manifest, home, run.stop, store.merge, report, run.watch.note)
        sharded.execute(pool, cut(_with_answers(run, to_ask), size, times, live=live))


def _with_answers(run: _Execution, to_ask: Iterator[Numbered]) -> Iterator[Numbered]:
    """Cases for a shard: with the answers of a second file, which is read only here."""
    target = run.prepared.target
    for place, case in to_ask:
        if isinstance(run.store, MemoryStore):
            # The scores come back from the shard; the answers are known here already.
            run.store.add_answers([(place, case, answer_of(target, case))])
        if isinstance(target, Recorded) and target.answers is not None:
            yield place, replace(case, recorded=target.answers.get(case.id))
        else:
            yield place, case


def _batch_size(run: _Execution) -> int:
    size = run.prepared.scorer.batch
    if not run.stops_on_fail:
        return size
    # Nothing after the first failure is asked; only a judge makes it worth scoring several at once.
    has_judge = size < LARGEST_BATCH
    if has_judge:
        return min(size, run.prepared.suite.run.workers)
    return 1


def _look_up_and_score(run: _Execution, to_ask: Iterator[Numbered], size: int) -> None:
    """Recorded answers are stored with their verdicts: a killed run looks them up again."""
    target = run.prepared.target
    answered = ((place, case, answer_of(target, case)) for place, case in to_ask)
    _score(run, in_chunks(answered, size), with_answers=True)


def _ask_live_and_score(run: _Execution, to_ask: Iterator[Numbered], size: int) -> None:
    """Live answers are scored as they arrive, but not more at once than a judge can take."""
    store = run.store
    settings = run.prepared.suite.run
    # Without a queue ahead, no question is asked after the first failure.
    ahead = {"ahead": 1} if run.stops_on_fail else {}

    def keep(answered: Sequence[Answered]) -> None:
        store.add_answers(answered)
        reason = run.budget.pay_for_answers(response.cost or 0.0 for _, _, response in answered)
        if reason:
            run.stop.set(reason)

    answers = ask_all(run.prepared.target, to_ask, settings.workers, run.stop, keep, **ahead)
    with closing(answers) as batches:
        chunks = (chunk for answered in batches for chunk in in_chunks(answered, size))
        _score(run, chunks, live=True)


def _to_ask(cases: Callable[[], Iterator[Numbered]], state: RunState) -> Iterator[Numbered]:
    # The case at which the run stopped is asked first, as --resume promises.
    if state.count(Progress.STOPPED):
        yield from [(n, case) for n, case in cases() if state[n] == Progress.STOPPED]
    for n, case in cases():
        if state[n] == Progress.ASK:
            yield n, case


def _score(
    run: _Execution,
    chunks: Iterator[list[Answered]],
    *,
    live: bool = False,
    with_answers: bool = False,
) -> None:
    """Score and store chunks until there are no more, or the run stops.

    Answers that a target still gives after a stop are scored too.
    """

    def until_stop() -> Iterator[list[Answered]]:
        while live or not run.stop:
            chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk

    scorer = run.prepared.scorer
    overlap = not run.stops_on_fail
    for chunk, outcomes in scorer.stream(until_stop(), overlap=overlap):
        scored: list[Scored] = []
        for (place, case, _), outcome in zip(chunk, outcomes, strict=True):
            stops = _stops_at(run, place, outcome)
            scored.append(Scored(place, outcome, stops))
            if stops:
                run.stopped.append((place, outcome))
                run.stop.set(f"stopped at {case.id}, which is under the threshold")
        # Stored before they are counted: a display must not show what a kill could lose.
        run.store.add_scores(scored, with_answers=with_answers)
        for outcome in outcomes:
            _count(run, outcome)
        reason = run.budget.reason_to_stop()
        if reason:
            run.stop.set(reason)


def _count(run: _Execution, outcome: Outcome) -> None:
    verdict = outcome.verdict
    run.asked += 1
    run.errors += verdict.status == Status.ERROR
    run.failed += verdict.score is not None and not verdict.passed
    run.budget.spent += cost_of(outcome)
    run.watch.outcome(outcome)
    reason = run.streak.reason_to_stop(outcome)
    if reason:
        run.stop.set(reason)


def _stops_at(run: _Execution, place: int, outcome: Outcome) -> bool:
    """Whether stop-on-fail stops at this outcome: with it, too few answers can still pass."""
    if not run.stops_on_fail or not _is_failing(outcome, run.prepared.suite.run.stop_below):
        return False
    repeats = run.prepared.repeats
    n = place // repeats.times
    run.failures[n] += 1
    # With "3 of 5" the third failure decides; two may still be outvoted.
    return run.failures[n] > repeats.times - repeats.needed


def _is_failing(outcome: Outcome, below: float | None) -> bool:
    """A network error is not a failing answer."""
    verdict = outcome.verdict
    response = outcome.response
    if verdict.status == Status.ERROR:
        return response.error is not None and response.error_kind != "infrastructure"
    if verdict.score is None:
        return False
    if below is None:
        return not verdict.passed
    return verdict.score < below


def _describe_end(run: _Execution, folder: Path) -> Finished:
    first = min(run.stopped, default=None, key=lambda numbered: numbered[0])
    limit = run.options.resume_limit
    ended_in_errors = run.unfinished > 0 and not run.stop and limit is None
    return Finished(
        folder=folder,
        partial=_describe_rest(run),
        interrupted=run.stop.interrupted,
        stopped=first[1] if first else None,
        also_stopped=max(len(run.stopped) - 1, 0),
        asked=run.asked,
        errors=run.errors,
        failed=run.failed,
        limited=bool(limit) and not run.stop and not run.errors,
        ended_in_errors=ended_in_errors,
    )


def _describe_rest(run: _Execution) -> str:
    """Why the run is incomplete; empty if it is complete."""
    if run.unfinished <= 0:
        return ""
    if run.stop:
        return run.stop.reason
    rest = format_count(run.unfinished, "case" if run.prepared.repeats.times == 1 else "answer")
    limit = run.options.resume_limit
    if limit is None:
        return f"{rest} ended in an error"
    return f"{rest} left after --resume-limit {limit}"
