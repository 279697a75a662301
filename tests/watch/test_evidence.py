"""The evidence of a change: no false alarms without one, and a drop is found soon."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from random import Random

import pytest

from answerkey.watch.evidence import LIMIT, ChangeEvidence
from answerkey.watch.series import MAIN_SHARE


def _alarm_after(
    baseline: list[float], stream: list[float], batch: int = 25, weight: float = MAIN_SHARE
) -> int | None:
    evidence = ChangeEvidence.against(sum(baseline), len(baseline))
    for start in range(0, len(stream), batch):
        evidence.add(stream[start : start + batch])
        if weight * evidence.value >= LIMIT:
            return evidence.count
    return None


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("size", [100, 1000])
def test_few_lives_without_a_change_ever_alarm(rate: float, size: int) -> None:
    random = Random(1)
    lives = 100
    alarms = 0
    for _ in range(lives):
        values = [float(random.random() < rate) for _ in range(size + 600)]
        alarms += _alarm_after(values[:size], values[size:]) is not None
    assert alarms <= 0.05 * lives


def test_values_between_zero_and_one_alarm_no_more_often() -> None:
    random = Random(2)
    lives = 60
    alarms = 0
    for _ in range(lives):
        values = [min(max(random.gauss(0.7, 0.2), 0.0), 1.0) for _ in range(1100)]
        alarms += _alarm_after(values[:500], values[500:]) is not None
    assert alarms <= 0.05 * lives


def test_a_drop_is_found_and_dated() -> None:
    random = Random(3)
    evidence = ChangeEvidence.against(850.0, 1000)
    evidence.add(float(random.random() < 0.85) for _ in range(200))
    assert evidence.value < LIMIT
    evidence.add(float(random.random() < 0.60) for _ in range(150))
    assert evidence.value >= LIMIT
    assert evidence.likely_start is not None
    assert 100 <= evidence.likely_start <= 300


def test_the_evidence_of_a_broken_bot_stays_a_number() -> None:
    evidence = ChangeEvidence.against(99.0, 100)
    evidence.add([0.0] * 3000)
    assert LIMIT < evidence.value < float("inf")


def test_looking_more_often_changes_nothing() -> None:
    random = Random(7)
    values = [float(random.random() < 0.8) for _ in range(120)]
    one = ChangeEvidence.against(80.0, 100)
    one.add(values)
    many = ChangeEvidence.against(80.0, 100)
    for value in values:
        many.add([value])
    assert many.value == one.value


def test_the_state_of_a_long_watch_stays_small() -> None:
    evidence = ChangeEvidence.against(80.0, 100)
    evidence.add([1.0, 1.0, 1.0, 1.0, 0.0] * 1000)
    assert len(evidence.starts) <= 40


def test_a_real_system_is_replaced_by_a_worse_one(shared_data: Path) -> None:
    """Human labels of two systems that differ by 11 points; 100 sampled answers before the switch."""
    labels: dict[str, list[float]] = {}
    for line in (shared_data / "evouna" / "dev.jsonl").read_text().splitlines():
        row = json.loads(line)
        labels.setdefault(row["model"], []).append(float(row["label"]))
    random = Random(4)
    delays: list[float] = []
    for _ in range(40):
        before = random.sample(labels["newbing"], 1600)
        after = random.sample(labels["fid"], 600)
        alarm = _alarm_after(before[:1500], before[1500:] + after, batch=10)
        delays.append(float("inf") if alarm is None else alarm - 100)
    assert statistics.median(delays) <= 150
