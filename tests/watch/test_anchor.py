"""A judge that becomes stricter is told apart from a bot that becomes worse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.support.fake_endpoint import FakeEndpoint, Request, Said, verdict

from answerkey.types import Case, Outcome, Response, Verdict
from answerkey.watch.anchor import compare_anchor, sign_test

Write = Callable[[str, object], Path]


class _Judge:
    """Passes right answers; once it is strict, only right answers that are also long."""

    def __init__(self) -> None:
        self.is_strict = False

    def __call__(self, request: Request) -> Said:
        text = request.text
        is_right = "thirty days" in text
        if self.is_strict:
            is_right = is_right and "from the day of delivery" in text
        return verdict(1.0 if is_right else 0.0)


def _rows(first: int, count: int, rate: float) -> list[dict[str, object]]:
    random = Random(first)
    rows: list[dict[str, object]] = []
    for number in range(first, first + count):
        days = "thirty days" if random.random() < rate else "sixty days"
        more = " from the day of delivery" if number % 2 else ""
        rows.append(
            {
                "id": f"q{number}",
                "question": f"How long may I return order {number}?",
                "answer": f"You have {days}{more}.",
                "timestamp": f"2026-01-02T10:00:00.{number:06}Z",
            }
        )
    return rows


@pytest.mark.network
def test_a_stricter_judge_and_a_worse_bot_are_two_alarms(
    cli: Callable[..., Any], write: Write, tmp_path: Path
) -> None:
    judge = _Judge()
    with FakeEndpoint(judge) as endpoint:
        shown = cli(
            "score", write("baseline.jsonl", _rows(10_000, 120, 0.9)), "--no-charts", "--quiet",
            "--metrics", "judge.relevance>=0.5", "--out", tmp_path / "runs",
            "--judge", endpoint.base_url, "--judge-model", "fake",
        )  # fmt: skip
        assert shown.code == 0, shown.err
        (run,) = (tmp_path / "runs").glob("score_*")
        anchor_rows = _rows(20_000, 60, 0.8)
        for row in anchor_rows:
            row["label"] = int("thirty" in str(row["answer"]))
        anchor = write("anchor.jsonl", anchor_rows)

        def watch(name: str, first: int, rate: float) -> Any:
            log = write(name, _rows(first, 100, rate))
            return cli(
                "watch", log, "--baseline", run, "--anchor", anchor,
                "--state", tmp_path / "state", "--json",
            )  # fmt: skip

        first = watch("one.jsonl", 0, 0.9)
        assert first.code == 0, first.out + first.err
        assert first.json["anchor"]["agreement"] == 1.0
        judge.is_strict = True
        second = watch("two.jsonl", 200, 0.9)
        assert second.code == 1
        assert [alarm["kind"] for alarm in second.json["alarms"]] == ["judge"]
        assert second.json["anchor"]["stricter"] > 10
        assert second.json["anchor"]["agreement"] < 0.8
        judge.is_strict = False
        third = watch("three.jsonl", 400, 0.5)
        assert third.code == 1
        assert {alarm["kind"] for alarm in third.json["alarms"]} == {"bot"}


def _outcome(name: str, passed: bool) -> Outcome:
    status = "PASSED" if passed else "FAILED"
    return Outcome(
        Case(name, "q"), Response("a"), {}, Verdict(status, float(passed), passed=passed)
    )


@pytest.mark.parametrize(("stricter", "milder", "is_changed"), [(2, 1, False), (12, 0, True)])
def test_a_few_flips_of_a_noisy_judge_are_no_change(
    stricter: int, milder: int, is_changed: bool
) -> None:
    first = {f"a{number}": number >= milder for number in range(60)}
    outcomes = [
        _outcome(name, not passed if number < stricter + milder else passed)
        for number, (name, passed) in enumerate(first.items())
    ]
    result = compare_anchor(outcomes, first, look=1)
    assert (result.stricter, result.milder) == (stricter, milder)
    assert result.is_changed is is_changed


def test_a_later_look_asks_for_more_flips() -> None:
    first = {f"a{number}": True for number in range(60)}
    outcomes = [_outcome(name, number >= 9) for number, name in enumerate(first)]
    assert sign_test(9, 0) < 0.005
    assert compare_anchor(outcomes, first, look=1).is_changed
    assert not compare_anchor(outcomes, first, look=10).is_changed
