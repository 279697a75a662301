"""Checks over all cases of a suite: unique ids and repeated questions, however many there are."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerkey.cases import read_cases
from answerkey.cases.check import check_cases
from answerkey.cases.seen_hashes import SeenHashes
from answerkey.errors import InputError
from answerkey.types import Case


@pytest.mark.parametrize("most_in_memory", [0, 3, 100])
def test_hashes_are_remembered_in_memory_and_on_disk(most_in_memory: int) -> None:
    seen = SeenHashes(most_in_memory)
    values = [hash(f"id {number}") for number in range(20)] + [-(2**63), 2**63 - 1, 0]
    assert all(seen.add(value) for value in values)
    assert not any(seen.add(value) for value in values)


def test_an_id_that_is_used_twice_far_apart_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("answerkey.cases.check.SeenHashes", lambda: SeenHashes(10))

    def cases() -> Iterator[Case]:
        for number in range(500):
            yield Case(f"q{number}", f"question {number}", source_file="a.csv")
        yield Case("q300", "another question", source_file="a.csv")

    with pytest.raises(InputError, match='case 501, column "id": the id "q300" is used twice'):
        list(check_cases(cases(), "a.csv"))


def test_repeated_questions_are_counted_and_the_first_are_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cases = [Case(f"q{number}", f"question {number % 10}") for number in range(40)]
    with caplog.at_level(logging.WARNING):
        assert len(list(check_cases(cases, "thirty repeats.csv"))) == 40
    assert "30 cases repeat an earlier question: q10 (same as q0)" in caplog.text
    assert "q14 (same as q4), …" in caplog.text
    assert "q15" not in caplog.text


def test_a_long_log_takes_no_more_memory_than_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerkey.cases.check.SeenHashes", lambda: SeenHashes(1000))
    monkeypatch.setattr("answerkey.cases.check._MOST_REMEMBERED", 1000)
    monkeypatch.setattr("answerkey.cases.logs._MOST_SESSIONS", 100)
    log = tmp_path / "log.csv"
    with log.open("w") as file:
        file.write("timestamp,session_id,question,answer\n")
        for number in range(12_000):
            file.write(f"2026-01-02T10:00:00Z,s{number // 3},How is item {number}?,It is fine.\n")
    held: list[int] = []
    tracemalloc.start()
    try:
        for number, _ in enumerate(read_cases([log]), start=1):
            if number % 4000 == 0:
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # 8,000 more ids and questions in sets would be 1.2 MB.
    assert held[2] - held[0] < 100_000


def test_long_sessions_are_forgotten_before_they_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerkey.cases.logs._MOST_CHARACTERS", 2000)
    log = tmp_path / "log.csv"
    with log.open("w") as file:
        file.write("timestamp,session_id,question,answer\n")
        for number in range(100):
            file.write(f"2026-01-02T10:00:00Z,s{number % 4},Question {number}?,{'long ' * 40}\n")
    cases = list(read_cases([log]))
    # 2,000 characters are nine turns of all sessions together; without the limit it would be 20.
    assert 0 < max(len(case.history) for case in cases) <= 9


def test_one_session_is_remembered_however_long_its_texts_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("answerkey.cases.logs._MOST_CHARACTERS", 50)
    log = tmp_path / "log.csv"
    rows = [f"2026-01-02T10:00:00Z,s1,Question {number}?,{'long ' * 40}" for number in range(30)]
    log.write_text("\n".join(["timestamp,session_id,question,answer", *rows]))
    histories = [len(case.history) for case in read_cases([log])]
    assert histories[:4] == [0, 1, 2, 3]
    assert max(histories) == 20
