"""The state of a watch: killed at any moment, used by several jobs at once, fed the same log twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from answerkey.errors import InputError, StorageError
from answerkey.types import Case, Outcome, Response, Verdict
from answerkey.watch.observe import Look, Watcher, look_at
from answerkey.watch.state import STATE_FILE, answer_key, open_state, read_state

FORK = multiprocessing.get_context("fork")


class _Embedder:
    def embed(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 1), np.float32)


def _score(cases: Sequence[Case]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for case in cases:
        assert case.recorded is not None
        passed = case.recorded.answer == "right"
        verdict = Verdict("PASSED" if passed else "FAILED", float(passed), passed=passed)
        outcomes.append(Outcome(case, case.recorded, {}, verdict))
    return outcomes


def _cases(first: int, count: int) -> list[Case]:
    return [
        Case(f"q{number}", f"question {number}", recorded=Response("right" if number % 5 else "no"))
        for number in range(first, first + count)
    ]


def _watcher() -> Watcher:
    return Watcher(_score, _Embedder(), "base", lambda: _score(_cases(10_000, 100)), sample=500)


def _look(folder: Path, cases: Sequence[Case]) -> None:
    with open_state(folder) as state:
        look_at(state, cases, [], _watcher())


def _look_or_stop(folder: Path, cases: Sequence[Case]) -> None:
    try:
        _look(folder, cases)
    except StorageError:
        os._exit(3)


def _start(target: Any, *arguments: object) -> BaseProcess:
    process = FORK.Process(target=target, args=arguments)
    process.start()
    return process


def _check_integrity(folder: Path) -> None:
    database = sqlite3.connect(folder / STATE_FILE)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def _looks(folder: Path) -> list[Look]:
    with read_state(folder) as state:
        return state.looks(Look)


def test_killed_at_any_moment_the_state_is_that_of_a_finished_look(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    whole = tmp_path / "whole"
    random = Random(3)
    _look(killed, _cases(0, 50))
    _look(whole, _cases(0, 50))
    kills = 0
    for number in range(1, 25):
        log = _cases(0, 50 + 50 * number)
        process = _start(_look, killed, log)
        time.sleep(random.random() * 0.1)
        if process.is_alive():
            os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        _check_integrity(killed)
        # Each look that is on record counted whole logs: never a part of one.
        assert all(look.read % 50 == 0 for look in _looks(killed))
    _look(killed, _cases(0, 1250))
    _look(whole, _cases(0, 1250))
    assert kills
    assert sum(look.read for look in _looks(killed)) == 1250
    assert sum(look.read for look in _looks(whole)) == 1250


def test_jobs_at_once_count_each_answer_once(tmp_path: Path) -> None:
    _look(tmp_path, _cases(0, 10))
    log = _cases(0, 400)
    processes = [_start(_look_or_stop, tmp_path, log) for _ in range(6)]
    for process in processes:
        process.join()
    codes = [process.exitcode for process in processes]
    assert set(codes) <= {0, 3}
    assert 0 in codes
    _check_integrity(tmp_path)
    looks = _looks(tmp_path)
    assert len(looks) == 1 + codes.count(0)
    assert sum(look.read for look in looks) == 400


def test_the_same_log_twice_changes_no_evidence(tmp_path: Path) -> None:
    _look(tmp_path, _cases(0, 200))
    first = _looks(tmp_path)[0]
    _look(tmp_path, _cases(0, 200))
    second = _looks(tmp_path)[1]
    assert (second.read, second.sampled) == (0, 0)
    assert [point.evidence for point in second.points] == [point.evidence for point in first.points]
    assert [point.count_so_far for point in second.points] == [
        point.count_so_far for point in first.points
    ]


def test_answers_are_distinguished_by_trace_time_and_id() -> None:
    def key(case_id: str, **extra: object) -> int:
        return answer_key(Case(case_id, "How long?", recorded=Response("Two."), extra=extra))

    assert key("log#1") != key("log#2")
    assert key("log#1", time="10:00") == key("log#7", time="10:00")
    assert key("log#1", time="10:00") != key("log#1", time="10:01")
    assert key("a", trace_id="t", span_id="s") == key("b", trace_id="t", span_id="s")
    assert key("a", trace_id="t", span_id="s") != key("a", trace_id="t", span_id="s2")


@pytest.mark.parametrize(("version", "message"), [(1, "an earlier answerkey"), (99, "a newer")])
def test_a_state_of_another_version_is_refused(tmp_path: Path, version: int, message: str) -> None:
    _look(tmp_path, _cases(0, 20))
    database = sqlite3.connect(tmp_path / STATE_FILE)
    database.execute(f"PRAGMA user_version = {version}")
    database.commit()
    database.close()
    with pytest.raises(InputError, match=message):
        _look(tmp_path, _cases(0, 20))
