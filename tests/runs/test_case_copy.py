"""The cases of a run are read from their files once; a copy serves every later pass."""

from pathlib import Path

import pytest

from answerkey.files import json_line
from answerkey.runs.case_copy import CaseCopy
from answerkey.runs.records import to_json
from answerkey.types import AnswerCriteria, Case, Passage, Requirement, Response, Turn

CASES = [
    Case(
        "a",
        "How long?",
        ("30 days", "a month"),
        type="fact",
        relevant={"m#3": 2},
        tags=("x",),
        min_score=0.5,
    ),
    Case(
        "b",
        "Half \udc80 a pair\nand a line",
        history=(Turn("hi", "hello"),),
        extra={"n": [1, {"é": None}]},
    ),
    Case(
        "c",
        "?",
        criteria=AnswerCriteria(numerical_range=(1.0, 2.0)),
        requirements=(Requirement("It is short."),),
    ),
    Case("d", "", recorded=Response("yes", (Passage("t", page="4"),), seconds=0.5, extra={"k": 1})),
]


def copied(source=lambda: iter(())):
    copy = CaseCopy(source)
    for n, case in enumerate(CASES):
        copy.add(3 * n, json_line(to_json(case), sort=True), case.recorded)
    return copy


def test_cases_come_back_as_they_were():
    copy = copied()
    assert list(copy()) == [(3 * n, case) for n, case in enumerate(CASES)]


def test_two_streams_do_not_disturb_each_other():
    copy = copied()
    assert [one[0] for one, other in zip(copy(), copy(), strict=True) if one == other] == [
        0,
        3,
        6,
        9,
    ]


def test_without_space_for_the_copy_the_files_are_read_again(monkeypatch):
    copy = copied(lambda: iter([(7, CASES[0])]))

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copy._file, "write", full)
    copy.add(12, b"{}", None)
    assert list(copy()) == [(7, CASES[0])]


def test_a_run_reads_its_file_once(cli, write, monkeypatch):
    import answerkey.runs.prepare as prepare

    calls = []
    read = prepare.read_cases
    monkeypatch.setattr(prepare, "read_cases", lambda *given: calls.append(given) or read(*given))
    path = write("cases.jsonl", '{"question": "Where?", "answer": "Here", "expected": "here"}\n')
    assert cli("score", path, "--metrics", "exact_match", "--quiet").code == 0
    assert len(calls) == 1


def test_a_copy_that_would_be_very_large_is_given_up(monkeypatch):
    monkeypatch.setattr("answerkey.runs.case_copy._MOST", 200)
    copy = copied(lambda: iter([(7, CASES[0])]))
    assert list(copy()) == [(7, CASES[0])]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_full_at_the_end_is_noticed_at_the_end(monkeypatch):
    full = Path("/dev/full").open("r+b", 1 << 20)  # noqa: SIM115  (the copy closes it)
    monkeypatch.setattr("answerkey.runs.case_copy.SpooledTemporaryFile", lambda _: full)
    copy = copied(lambda: iter([(7, CASES[0])]))
    copy.finish()
    assert list(copy()) == [(7, CASES[0])]
