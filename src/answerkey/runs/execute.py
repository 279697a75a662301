"""A run: ask or look up, score in chunks, decide, and write each outcome down before going on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TypeVar

from answerkey.errors import IncompleteError
from answerkey.profiles import decide
from answerkey.profiles.decide import ERROR, describe_errors
from answerkey.runs.ask import Answered, Answers, Numbered, ask_all, with_answers
from answerkey.runs.control import Finished, Options, Selection, Stop, Watch
from answerkey.runs.journal import Journal, read_journal
from answerkey.runs.prepare import Prepared, manifest_of, prepare, selected
from answerkey.runs.records import scores_to_json, to_json
from answerkey.runs.resume import Resumed, finished_before, resume, still_stopping
from answerkey.runs.score import Tools
from answerkey.runs.store import (
    ANSWERED,
    ASK,
    FINISHED,
    RESPONSES,
    SCORES,
    STOPPED,
    JournalIndex,
    State,
    locked,
    new_folder,
    write_manifest,
)
from answerkey.runs.suite import Suite
from answerkey.targets.recorded import Recorded
from answerkey.text import counted
from answerkey.types import Case, Json, Outcome, Profile, Question, Response, Score, Verdict

T = TypeVar("T")
_CHUNK = 256
_SAME_ERROR_LIMIT = 10


@dataclass(slots=True)
class _Live:
    """The open run: its journals, and what has happened so far in this process."""

    prepared: Prepared
    options: Options
    watch: Watch
    stop: Stop
    state: State
    responses: Journal
    scores: Journal
    began: float = field(default_factory=time.monotonic)
    stopped: list[tuple[int, Outcome]] = field(default_factory=list[tuple[int, Outcome]])
    asked: int = 0
    errors: int = 0
    failed: int = 0
    cost: float = 0.0
    same_error: tuple[str, int] = ("", 0)


def run_suite(
    suite: Suite, options: Options | None = None, watch: Watch | None = None, stop: Stop | None = None
) -> Finished:
    """Begin a run or go on with one. Whatever ends it, the folder is valid and can be resumed."""
    options = options or Options()
    with closing(prepare(suite, options.selection)) as prepared:
        return run_prepared(prepared, options, watch or Watch(), Stop() if stop is None else stop)


def run_prepared(prepared: Prepared, options: Options, watch: Watch, stop: Stop) -> Finished:
    suite = prepared.suite
    folder = options.resume or new_folder(suite.folder / suite.run.out, suite.name)
    with locked(folder):
        if options.resume is None:
            created = datetime.now(UTC).isoformat(timespec="seconds")
            begun = Resumed(manifest_of(prepared, created), State())
        else:
            begun = resume(folder, prepared, accept=options.accept_changes)
        write_manifest(folder, begun.manifest)
        responses, scores = Journal(folder / RESPONSES, "responses"), Journal(folder / SCORES, "scores")
        prepared, options = still_stopping(prepared, options, begun)
        live = _Live(prepared, options, watch, stop, begun.state, responses, scores)
        with closing(responses), closing(scores):
            watch.start(prepared.count, begun.state.count(FINISHED))
            watch.earlier(finished_before(folder, begun.state))
            for warning in prepared.warnings:
                watch.note(f"warning: {warning}")
            try:
                _work(live, begun, folder)
            except IncompleteError as error:
                stop.set(str(error))
        finished = _finished(live, folder)
        write_manifest(folder, {**begun.manifest, "partial": finished.partial})
        return finished


def _finished(live: _Live, folder: Path) -> Finished:
    first = min(live.stopped, default=None, key=lambda numbered: numbered[0])
    return Finished(
        folder=folder,
        partial=_why_partial(live),
        interrupted=live.stop.interrupted,
        stopped=first[1] if first else None,
        also_stopped=max(len(live.stopped) - 1, 0),
        asked=live.asked,
        errors=live.errors,
        failed=live.failed,
        limited=bool(live.options.resume_limit) and not live.stop and not live.errors,
    )


def _work(live: _Live, begun: Resumed, folder: Path) -> None:
    """First what was stopped at, then the rest, in order. Answers that only lack a score are not asked for again."""
    target, workers = live.prepared.target, live.prepared.suite.run.workers
    size = chunk_size(live.prepared.tools)
    if _stops_on_fail(live):
        # What comes after the first failure is not begun; only a judge is worth asking about several at once.
        size = min(size, workers) if size < _CHUNK else 1
    if live.state.count(ANSWERED):
        for chunk in in_chunks(_answered_before(folder, live.state), size):
            _score(live, chunk)
            if live.stop:
                return

    def keep(answered: list[Answered]) -> None:
        live.responses.append([_response_record(*each) for each in answered])

    cases = islice(_to_ask(begun.cases or live.prepared.cases, live.state), live.options.resume_limit)
    if isinstance(target, Recorded):
        for chunk in in_chunks(((n, case, target.lookup(case)) for n, case in cases), size):
            keep(chunk)
            _score(live, chunk)
            if live.stop:
                return
        return

    if live.options.resume is not None:
        cases = _with_earlier_answers(cases, folder)

    # Live answers are scored as they come, but not more at once than a judge can take.
    ahead = {"ahead": 1} if _stops_on_fail(live) else {}
    for batch in ask_all(target, cases, workers, live.stop, keep, **ahead):
        for chunk in in_chunks(batch, size):
            _score(live, chunk)
        _mind_the_budget(live)


def _to_ask(cases: Callable[[], Iterator[Numbered]], state: State) -> Iterator[Numbered]:
    if state.count(STOPPED):
        yield from [(n, case) for n, case in cases() if state[n] == STOPPED]
    for n, case in cases():
        if state[n] == ASK:
            yield n, case


def _with_earlier_answers(cases: Iterable[Numbered], folder: Path) -> Iterator[Numbered]:
    """Turns of a conversation that was cut short get back what the target answered then, from the journal."""
    answers: dict[object, Answers] = {}
    for _, record in read_journal(folder / RESPONSES):
        if talk := _talk(record.get("case", {})):
            turn = len(record["case"].get("history", ())), record["case"]["question"]
            answers.setdefault(talk, {})[turn] = record["response"].get("answer") or ""
    for n, case in cases:
        earlier = answers.get(_talk({"source_file": case.source_file, "extra": case.extra}), {})
        yield n, replace(case, history=with_answers(case.history, earlier)) if earlier else case


def _talk(case: Json) -> tuple[object, object] | None:
    """What the turns of one conversation have in common; None for a case that stands alone."""
    talk = case.get("extra", {}).get("conversation")
    return (case.get("source_file"), talk) if talk else None


def _answered_before(folder: Path, state: State) -> Iterator[Answered]:
    index = JournalIndex(folder)
    for n in [n for n in range(len(state)) if state[n] == ANSWERED]:
        yield n, *index.pair(n)


def _score(live: _Live, chunk: list[Answered]) -> None:
    """Score, decide and write down one chunk; a failing case may set the stop."""
    prepared = live.prepared
    table = prepared.tools.plan.score([(case, response) for _, case, response in chunk])
    records: list[Json] = []
    outcomes: list[Outcome] = []
    for (n, case, response), scores in zip(chunk, table, strict=True):
        outcome = Outcome(case, response, scores, verdict_of(prepared.profile, case, response, scores))
        outcomes.append(outcome)
        record: Json = {
            "n": n,
            "id": case.id,
            "scores": scores_to_json(scores),
            "verdict": to_json(outcome.verdict),
        }
        if _fails(live, outcome):
            record["stopped"] = True
            live.stopped.append((n, outcome))
            live.stop.set(f"stopped at {case.id}, which is under the threshold")
        elif outcome.verdict.status != ERROR:
            live.state[n] = FINISHED
        records.append(record)
    live.scores.append(records)
    for outcome in outcomes:
        live.asked += 1
        live.errors += outcome.verdict.status == ERROR
        live.failed += outcome.verdict.score is not None and not outcome.verdict.passed
        live.cost += (outcome.response.cost or 0.0) + judge_cost(outcome.scores)
        live.watch.outcome(outcome)
        _mind_the_errors(live, outcome.response)


def verdict_of(profile: Profile | None, case: Case, response: Response, scores: dict[str, Score]) -> Verdict:
    """The profile's verdict; without a profile a case is just scored, or broke."""
    if profile is not None:
        return decide(profile, case, response, scores)
    if response.error is not None:
        return Verdict(ERROR, justification=f"No response: {response.error}")
    broken = describe_errors(scores)
    return Verdict(ERROR, justification=f"Could not be scored: {broken}") if broken else Verdict("SCORED")


def _stops_on_fail(live: _Live) -> bool:
    return live.options.stop_on_fail or live.prepared.suite.run.stop_below is not None


def _fails(live: _Live, outcome: Outcome) -> bool:
    below = live.prepared.suite.run.stop_below
    if not _stops_on_fail(live):
        return False
    verdict = outcome.verdict
    if verdict.status == ERROR:
        return _from_the_bot(outcome.response)
    if verdict.score is None:
        return False
    return verdict.score < below if below is not None else not verdict.passed


def _from_the_bot(response: Response) -> bool:
    """A broken network is not a failing answer: such errors are counted, and many in a row stop the run."""
    return response.error is not None and response.error_kind != "infrastructure"


def judge_cost(scores: Mapping[str, Score]) -> float:
    return sum(score.details.get("cost") or 0.0 for score in scores.values() if score.details)


def _mind_the_errors(live: _Live, response: Response) -> None:
    if response.error_kind != "infrastructure":
        live.same_error = ("", 0)
        return
    name = response.error_name
    count = live.same_error[1] + 1 if live.same_error[0] == name else 1
    live.same_error = (name, count)
    if count >= _SAME_ERROR_LIMIT:
        live.stop.set(f"{count} times in a row: {response.error}; mend the target, then go on with --resume")


def _mind_the_budget(live: _Live) -> None:
    run = live.prepared.suite.run
    if run.max_minutes is not None and time.monotonic() - live.began > run.max_minutes * 60:
        live.stop.set(f"the budget of {run.max_minutes:g} minutes is used up")
    if run.max_cost is not None and live.cost > run.max_cost:
        live.stop.set(f"the budget of {run.max_cost:g} is used up: {live.cost:g} spent")


def _why_partial(live: _Live) -> str:
    left = live.prepared.count - live.state.count(FINISHED)
    if left <= 0:
        return ""
    if live.stop:
        return live.stop.reason
    if live.options.resume_limit is not None:
        return f"{counted(left, 'case')} left after --resume-limit {live.options.resume_limit}"
    return f"{counted(left, 'case')} ended in an error"


def chunk_size(tools: Tools) -> int:
    """With a judge, a few rounds of its concurrency: what a crash could lose stays small."""
    judges = [getattr(tool, "concurrency", 0) for tool in tools.closing]
    return min(_CHUNK, max(judges, default=0) * 4 or _CHUNK)


def in_chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _response_record(n: int, case: Case, response: Response) -> Json:
    return {"n": n, "id": case.id, "case": to_json(case), "response": to_json(response)}


def ask_once(suite: Suite, case: Case) -> Outcome:
    with closing(prepare(suite, Selection(), lambda: iter([(0, case)]), new=False)) as prepared:
        target = prepared.target
        if isinstance(target, Recorded):
            found = next(
                (c for _, c in selected(suite, Selection()) if c.id == case.id), replace(case, recorded=None)
            )
            response = target.lookup(found)
        else:
            response = target.ask(Question(case.id, case.question, case.history))
        scores = prepared.tools.plan.score([(case, response)])[0]
        return Outcome(case, response, scores, verdict_of(prepared.profile, case, response, scores))
