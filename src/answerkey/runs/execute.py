"""The engine: ask or look up, score in batches, decide, and store each outcome before the next one; rescore an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from pathlib import Path

from answerkey.config.declare import TomlTable, read_table
from answerkey.config.tables import EntailmentTable
from answerkey.errors import IncompleteError, InputError, SettingsError
from answerkey.runs.ask import Answered, Numbered, answer_of, ask_all, resume_conversations
from answerkey.runs.case_copy import CaseCopy
from answerkey.runs.control import Budget, ErrorStreak, Finished, Options, Selection, Stop, Watch
from answerkey.runs.engines.jobs import ScoringProcesses, start_processes
from answerkey.runs.journal import ANSWERED, ASK, FINISHED, STOPPED, RunState
from answerkey.runs.manifest import Manifest, write_manifest
from answerkey.runs.prepare import Prepared, prepare, selected
from answerkey.runs.resume import (
    Resumed,
    finished_before,
    new_manifest,
    resume,
    run_to_resume,
    still_stopping,
)
from answerkey.runs.score import LARGEST_BATCH, cost_of, in_chunks
from answerkey.runs.store import (
    FolderStore,
    MemoryStore,
    Scored,
    locked,
    new_folder,
    open_index,
    read_manifest,
    sealed,
)
from answerkey.runs.suite import Suite, load_suite, suite_of
from answerkey.targets.recorded import Recorded
from answerkey.text import format_count
from answerkey.types import Case, Outcome, Status
from answerkey.user_code import names_code


@dataclass(slots=True)
class _Execution:
    """A run in progress: where its outcomes go, and what has happened so far in this process."""

    prepared: Prepared
    options: Options
    watch: Watch
    stop: Stop
    store: FolderStore | MemoryStore
    budget: Budget
    copy: CaseCopy | None = None  # the cases to run, where none stands at another position
    processes: ScoringProcesses | None = None
    streak: ErrorStreak = field(default_factory=ErrorStreak)
    fails: Counter[int] = field(default_factory=Counter[int])
    stopped: list[tuple[int, Outcome]] = field(default_factory=list[tuple[int, Outcome]])
    asked: int = 0
    errors: int = 0
    failed: int = 0


def run_suite(
    suite: Suite,
    options: Options | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Finished:
    """Start or resume a run. However it ends, the folder is valid and can be resumed.

    >>> run_suite(load_suite(Path("suite.toml"))).folder  # doctest: +SKIP
    PosixPath('results/suite_20260102_030405')
    """
    options = options or Options()
    with closing(prepare(suite, options.selection)) as prepared:
        return run_prepared(prepared, options, watch or Watch(), Stop() if stop is None else stop)


def run_prepared(prepared: Prepared, options: Options, watch: Watch, stop: Stop) -> Finished:
    """Run into a folder: a new one, or the one that `options.resume` names."""
    suite = prepared.suite
    folder = options.resume or new_folder(suite.folder / suite.run.out, suite.name)
    with locked(folder):
        if options.resume is None:
            begun = Resumed(new_manifest(prepared, folder), RunState())
        else:
            begun = resume(folder, prepared, accept=options.accept_changes)
        write_manifest(folder, begun.manifest)
        prepared, options = still_stopping(prepared, options, begun)
        with closing(FolderStore(folder, begun.state, prepared.repeats)) as store:
            watch.start(prepared.answers, begun.state.count(FINISHED))
            watch.earlier(finished_before(folder, begun.state))
            copy = (
                prepared.cases
                if isinstance(prepared.cases, CaseCopy) and begun.cases is None
                else None
            )
            execution = _Execution(prepared, options, watch, stop, store, Budget(suite.run), copy)
            execution.streak = ErrorStreak(suite.run.max_equal_errors)
            _execute(execution, prepared.attempts(begun.cases))
        finished = _finished(execution, folder)
        write_manifest(folder, sealed(folder, replace(begun.manifest, partial=finished.partial)))
        return finished


def run_in_memory(
    prepared: Prepared, watch: Watch | None = None, stop: Stop | None = None
) -> tuple[MemoryStore, Finished]:
    """The same run without a folder; the store returns its outcomes, and nothing is written."""
    watch, stop, store = (
        watch or Watch(),
        Stop() if stop is None else stop,
        MemoryStore(prepared.repeats),
    )
    watch.start(prepared.answers, 0)
    execution = _Execution(prepared, Options(), watch, stop, store, Budget(prepared.suite.run))
    execution.streak = ErrorStreak(prepared.suite.run.max_equal_errors)
    _execute(execution, prepared.attempts())
    return store, _finished(execution, Path())


def ask_once(suite: Suite, case: Case) -> Outcome:
    """One case asked and scored outside any run, to look into a failure."""
    with closing(prepare(suite, Selection(), lambda: iter([(0, case)]), new=False)) as prepared:
        if isinstance(prepared.target, Recorded):
            known = (each for _, each in selected(suite, Selection()) if each.id == case.id)
            case = next(known, replace(case, recorded=None))
        return prepared.scorer.outcomes([(case, answer_of(prepared.target, case))])[0]


def _execute(run: _Execution, cases: Callable[[], Iterator[Numbered]]) -> None:
    for warning in run.prepared.warnings:
        run.watch.note(f"warning: {warning}")
    if not _stops_on_fail(run):
        left = run.prepared.answers - run.store.state.count(FINISHED)
        limit = run.options.resume_limit
        run.processes = start_processes(
            run.prepared.suite, run.prepared.scorer, min(left, limit or left)
        )
    try:
        _ask_and_score(run, cases)
    except IncompleteError as error:
        run.stop.set(str(error))
    finally:
        if run.processes:
            run.processes.close()


def _ask_and_score(run: _Execution, cases: Callable[[], Iterator[Numbered]]) -> None:
    """First the cases that the run stopped at, then the rest in order. Stored answers without a score are scored."""
    target, workers, store = run.prepared.target, run.prepared.suite.run.workers, run.store
    size = run.prepared.scorer.batch
    if _stops_on_fail(run):
        # Nothing after the first failure is asked; only a judge makes it worth scoring several at once.
        size = min(size, workers) if size < LARGEST_BATCH else 1
    if store.state.count(ANSWERED):
        _score(run, in_chunks(store.answers(store.state.positions(ANSWERED)), size))
        if run.stop:
            return None
    if run.copy and isinstance(store, FolderStore) and _only_stores(run):
        return _store_scored(run, run.copy, store)
    to_ask = islice(_to_ask(cases, store.state), run.options.resume_limit)
    if isinstance(target, Recorded):

        def looked_up() -> Iterator[list[Answered]]:
            for chunk in in_chunks(((n, case, target.lookup(case)) for n, case in to_ask), size):
                store.add_answers(chunk)
                yield chunk

        return _score(run, looked_up())
    if run.options.resume is not None:
        to_ask = resume_conversations(to_ask, store.answers(), run.prepared.repeats.times)
    # Live answers are scored as they arrive, but not more at once than a judge can take.
    ahead = {"ahead": 1} if _stops_on_fail(run) else {}
    with closing(ask_all(target, to_ask, workers, run.stop, store.add_answers, **ahead)) as batches:
        _score(
            run, (chunk for answered in batches for chunk in in_chunks(answered, size)), live=True
        )
    return None


def _only_stores(run: _Execution) -> bool:
    """Whether nothing but storing is left for this process: answers are recorded in the cases, and all metrics local."""
    target, processes = run.prepared.target, run.processes
    recorded = (
        isinstance(target, Recorded) and target.answers is None and run.prepared.repeats.times == 1
    )
    known = run.copy is not None and run.copy.complete and not run.store.state.count(STOPPED)
    return recorded and known and processes is not None and processes.whole


def _store_scored(run: _Execution, copy: CaseCopy, store: FolderStore) -> None:
    """Other processes score the recorded cases and make their records; this one stores them."""
    assert run.processes
    left = (each for each in copy.lines() if store.state[each[0]] == ASK)
    chunks = in_chunks(islice(left, run.options.resume_limit), run.prepared.scorer.batch)
    for chunk in run.processes.scored(takewhile(lambda _: not run.stop, chunks)):
        store.add_lines(
            list(map(bytes, chunk.responses)), list(map(bytes, chunk.scores)), chunk.finished
        )
        run.asked += chunk.counts.cases
        run.errors += chunk.counts.errors
        run.failed += chunk.counts.failed
        run.budget.spent += chunk.cost
        run.watch.group(chunk.counts)
        if reason := run.budget.exceeded():
            run.stop.set(reason)


def _to_ask(cases: Callable[[], Iterator[Numbered]], state: RunState) -> Iterator[Numbered]:
    if state.count(STOPPED):
        yield from [(n, case) for n, case in cases() if state[n] == STOPPED]
    for n, case in cases():
        if state[n] == ASK:
            yield n, case


def _score(run: _Execution, chunks: Iterator[list[Answered]], live: bool = False) -> None:
    """Score and store chunks until there are no more, or the run stops; answers that a target still gives are scored."""

    def until_stop() -> Iterator[list[Answered]]:
        while (live or not run.stop) and (chunk := next(chunks, None)) is not None:
            yield chunk

    for chunk, outcomes in run.prepared.scorer.stream(
        until_stop(), run.processes, overlap=not _stops_on_fail(run)
    ):
        scored: list[Scored] = []
        for (n, case, _), outcome in zip(chunk, outcomes, strict=True):
            stops = _stops_at(run, n, outcome)
            scored.append(Scored(n, outcome, stops))
            if stops:
                run.stopped.append((n, outcome))
                run.stop.set(f"stopped at {case.id}, which is under the threshold")
        run.store.add_scores(scored)
        for outcome in outcomes:
            run.asked += 1
            run.errors += outcome.verdict.status == Status.ERROR
            run.failed += outcome.verdict.score is not None and not outcome.verdict.passed
            run.budget.spent += cost_of(outcome)
            run.watch.outcome(outcome)
            if reason := run.streak.reason_to_stop(outcome):
                run.stop.set(reason)
        if reason := run.budget.exceeded():
            run.stop.set(reason)


def _stops_on_fail(run: _Execution) -> bool:
    settings = run.prepared.suite.run
    return run.options.stop_on_fail or settings.stop_on_fail or settings.stop_below is not None


def _stops_at(run: _Execution, n: int, outcome: Outcome) -> bool:
    """Whether stop-on-fail stops at this outcome: with it, too few attempts at the case can still pass. A network error
    is not a failing answer."""
    verdict, response, below = outcome.verdict, outcome.response, run.prepared.suite.run.stop_below
    if verdict.status == Status.ERROR:
        fails = response.error is not None and response.error_kind != "infrastructure"
    else:
        fails = verdict.score is not None and (
            verdict.score < below if below is not None else not verdict.passed
        )
    if not fails or not _stops_on_fail(run):
        return False
    repeats = run.prepared.repeats
    run.fails[n // repeats.times] += 1
    return run.fails[n // repeats.times] > repeats.times - repeats.needed


def _finished(run: _Execution, folder: Path) -> Finished:
    first = min(run.stopped, default=None, key=lambda numbered: numbered[0])
    left, limit = run.prepared.answers - run.store.state.count(FINISHED), run.options.resume_limit
    rest = format_count(left, "case" if run.prepared.repeats.times == 1 else "answer")
    why = (
        f"{rest} ended in an error"
        if limit is None
        else f"{rest} left after --resume-limit {limit}"
    )
    return Finished(
        folder=folder,
        partial="" if left <= 0 else run.stop.reason if run.stop else why,
        interrupted=run.stop.interrupted,
        stopped=first[1] if first else None,
        also_stopped=max(len(run.stopped) - 1, 0),
        asked=run.asked,
        errors=run.errors,
        failed=run.failed,
        limited=bool(limit) and not run.stop and not run.errors,
    )


def rescore(
    folder: Path,
    changes: TomlTable,
    out: Path | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
    *,
    resume: bool = False,
    allow_code: bool = False,
) -> Finished:
    """`changes` are suite settings by name (profile, judge, embedding, metrics); the rest stays as it was.

    With `resume`, the newest unfinished rescore of this run is continued; `folder` may be that rescore itself. A finished
    rescore without `changes` and without an unfinished one of its own raises `AlreadyFinished`.
    Without `allow_code`, a run that names Python code is refused: its folder may be somebody else's.
    """
    manifest = read_manifest(folder)
    if not allow_code:
        _refuse_code_of_run(folder, manifest, changes)
    source, resumed = folder, None
    suite = _suite_to_rescore(folder, manifest, changes, as_stored=False).writing_to(
        out or folder.parent
    )
    unfinished_itself = bool(manifest.rescore_of and manifest.partial)
    if resume and not unfinished_itself:
        resumed = run_to_resume(suite, rescored=folder)
    unchanged = all(value is None for key, value in changes.items() if key != "run")
    if resume and resumed is None and manifest.rescore_of and (unfinished_itself or unchanged):
        source, resumed = Path(manifest.rescore_of), folder
        suite = _suite_to_rescore(folder, manifest, changes, as_stored=True).writing_to(
            out or folder.parent
        )
    index = open_index(source)

    def answered() -> Iterator[tuple[int, Case]]:
        for n, outcome in enumerate(index.outcomes(unscored=True)):
            yield n, replace(outcome.case, recorded=outcome.response)

    def attempts() -> Iterator[tuple[int, Case]]:
        times = suite.run.repeats
        for n, outcome in enumerate(index.outcomes(unscored=True)):
            for repeat, attempt in enumerate(outcome.attempts):
                yield n * times + repeat, replace(attempt.case, recorded=attempt.response)

    with closing(prepare(suite, cases=answered, new=False)) as made:
        # The answers come from the target of the earlier run, and so does the hash of its settings.
        made.fingerprint["settings"] = manifest.fingerprint.get("settings", "none")
        stored = attempts if suite.run.repeats > 1 else None
        prepared = replace(made, rescore_of=str(source.resolve()), stored=stored)
        return run_prepared(
            prepared, Options(resume=resumed), watch or Watch(), Stop() if stop is None else stop
        )


def suite_of_run(folder: Path, *, allow_code: bool = False) -> Suite:
    """The scoring settings of a run, to score other answers as it did; code is refused as by `rescore`."""
    manifest = read_manifest(folder)
    if not allow_code:
        _refuse_code_of_run(folder, manifest, {})
    return _suite_to_rescore(folder, manifest, {"run": {"repeats": 1}}, as_stored=False)


def _refuse_code_of_run(folder: Path, manifest: Manifest, changes: TomlTable) -> None:
    """A run folder is data. Code that it names runs only when the user asks for it."""
    code: list[str] = []
    if changes.get("judge") is None and names_code(manifest.settings.judge):
        code.append(f"judge {manifest.settings.judge}")
    entailment = read_table(EntailmentTable, manifest.settings.entailment or {}, "[entailment]")
    if changes.get("entailment") is None and entailment.runs_code:
        code.append(f"entailment model {entailment.model}")
    suite_path = Path(manifest.suite) if manifest.suite else None
    if suite_path and suite_path.is_file():
        code += [f"module {module}" for module in load_suite(suite_path).modules]
    if code:
        raise SettingsError(
            f"{folder}: run.json names Python code ({', '.join(code)}), and a run folder may come "
            "from somebody else; add --allow-code if you trust it"
        )


def _suite_to_rescore(
    folder: Path, manifest: Manifest, changes: TomlTable, *, as_stored: bool
) -> Suite:
    """The suite as run.json has it; modules with the user's own metrics come from the suite's file, if it still exists."""
    path = Path(manifest.suite) if manifest.suite else None
    beside = load_suite(path) if path and path.is_file() else None
    settings, profile = manifest.settings, manifest.load_profile()
    judged = settings if as_stored or beside is None else beside
    table = {
        "name": manifest.name,
        "cases": list(settings.cases) or ["-"],
        "profile": manifest.profile,
        "metrics": [
            name for name in manifest.metrics if profile is None or name not in profile.metrics
        ],
        "judge": judged.judge,
        "embedding": judged.embedding or {},
        "entailment": judged.entailment or {},
        "modules": list(beside.modules) if beside else [],
        "gate": {"require": list(manifest.gate)},
        "statistics": {"cluster": settings.statistics.cluster},
        **{key: value for key, value in changes.items() if value is not None},
        "run": {
            "repeats": settings.run.repeats,
            "require": settings.run.require,
            **changes.get("run", {}),
        },
    }
    if not table["metrics"] and table["profile"] is None:
        raise InputError(f"{folder}: this run has no profile; give one with --profile")
    given = {key: value for key, value in table.items() if value is not None}
    suite = suite_of(given, beside.folder if beside else Path.cwd())
    criteria = {
        each.name: each for each in (*manifest.criteria, *(beside.criteria if beside else ()))
    }
    return replace(
        suite,
        path=path,
        settings=beside.settings if beside else {},
        criteria=tuple(criteria.values()),
    )
