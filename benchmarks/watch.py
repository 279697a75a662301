"""How soon `answerkey watch` notices a worse bot, and how often it alarms without a change.

python -m benchmarks.watch [--shuffles N] [--delays N] [--simulate N] [--topics] [--data FILE]

Replays answers of real systems with human labels (EVOUNA): a label stands for the verdict, and length, refusals and
eight topics are series beside it, weighted as in a watch. One system is replaced by another after 100 or 300 sampled
answers; the median number of answers up to the alarm is printed. Then the answers of one system are shuffled, part
of them is the baseline, and the rest is looked at after every 25 answers. Ends with code 1 where more than 5 % of the
shuffles ever alarm, or where the whole watch takes a median of more than 150 answers for a drop of at least 10 points.

These systems also write answers of different length, which a watch notices first; "verdict alone" leaves out all
series but the verdict, with the share of the error budget that it has among the others: one bit per answer.
`--topics` holds the intents of intents.toml out of the baseline in turn. `--simulate` draws lives of 3,000 answers with
known rates, for baselines of several sizes; there the verdict has the whole budget.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from answerkey.embed import load_embedder
from answerkey.types import Case, Outcome, Response, Verdict
from answerkey.watch.evidence import ALPHA, LIMIT, ChangeEvidence
from answerkey.watch.observe import add_in_step
from answerkey.watch.series import SeriesBaseline, plan_series, values_by_outcome
from answerkey.watch.topics import find_topics, new_questions

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "evouna" / "dev.jsonl"
INTENTS = Path(__file__).with_name("intents.toml")
SEED = 5
BASELINE = 1500
BATCH = 25
TOPICS = 8
LIFE = 3000
PAIRS = (("newbing", "fid"), ("gpt4", "fid"), ("newbing", "gpt35"), ("gpt4", "gpt35"))
MOST_ANSWERS = 150
SWITCHES = (100, 300)
RATES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
BASELINES = (50, 200, 1500)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=1000)
    parser.add_argument("--delays", type=int, default=200)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--simulate", type=int, default=0)
    parser.add_argument("--topics", action="store_true")
    options = parser.parse_args()
    if options.topics:
        return measure_topics()
    if options.simulate:
        return simulate(options.simulate)
    if not options.data.is_file():
        print(f"needs the labelled answers of EVOUNA: {options.data}")
        return 0
    answers = read_answers(options.data)
    random = Random(SEED)
    is_good = True
    print("drop  switch after  median answers up to the alarm (90 % within)  verdict alone")
    for before, after in PAIRS:
        drop = _rate(answers[before]) - _rate(answers[after])
        for switch in SWITCHES:
            middle = 0.0
            cells: list[str] = []
            for is_alone in (True, False):
                delays = sorted(
                    _delay(answers[before], answers[after], switch, random, is_alone)
                    for _ in range(options.delays)
                )
                middle = median(delays)
                cells.append(f"{middle:>6.0f} ({delays[int(0.9 * len(delays))]:.0f})")
            print(
                f"{drop:5.1%} {switch:>8} {cells[1]:>28} {cells[0]:>28}   {before} to {after}",
                flush=True,
            )
            if drop >= 0.10:
                is_good = is_good and middle <= MOST_ANSWERS
    for name in ("newbing", "gpt4", "gpt35"):
        alarms = sum(_ever_alarms(answers[name], random) for _ in range(options.shuffles))
        share = alarms / options.shuffles
        print(
            f"without a change, {name}: {alarms} of {options.shuffles} shuffles ever alarm ({share:.1%})"
        )
        is_good = is_good and share <= ALPHA
    return 0 if is_good else 1


def simulate(lives: int) -> int:
    """The share of lives that ever alarm by the verdict, for several rates and baselines."""
    random = Random(SEED)
    worst = 0.0
    for rate in RATES:
        for size in BASELINES:
            alarms = sum(_simulated_life_alarms(rate, size, random) for _ in range(lives))
            worst = max(worst, alarms / lives)
            share = f"{alarms / lives:.1%} of {lives} lives ever alarm"
            print(f"rate {rate:.0%}, baseline of {size}: {share}", flush=True)
    return int(worst > ALPHA)


def _simulated_life_alarms(rate: float, size: int, random: Random) -> bool:
    passed = sum(random.random() < rate for _ in range(size))
    series = ChangeEvidence.against(float(passed), size)
    for _ in range(LIFE):
        series.add_one(float(random.random() < rate))
        if series.value >= LIMIT:
            return True
    return False


def measure_topics() -> int:
    """How many questions of an intent that the baseline lacks are listed as new."""
    intents: dict[str, list[str]] = tomllib.loads(INTENTS.read_text(encoding="utf-8"))
    result = hold_intents_out(intents, repeats=3)
    print(
        f"{result.topics_found} of {result.topics} held-out intents have two or more questions "
        f"listed; {result.found / result.new:.0%} of their {result.new} questions, and "
        f"{result.mistaken / result.familiar:.1%} of {result.familiar} familiar ones"
    )
    return int(result.topics_found < 0.9 * result.topics)


@dataclass
class HeldOut:
    """Counts over all intents that were held out in turn."""

    topics: int = 0
    topics_found: int = 0
    new: int = 0
    found: int = 0
    familiar: int = 0
    mistaken: int = 0


def hold_intents_out(intents: Mapping[str, Sequence[str]], repeats: int) -> HeldOut:
    """Leave each intent out of the baseline; the log has it and a quarter of all others."""
    embedder = load_embedder()
    random = Random(SEED)
    result = HeldOut()
    for held_out in [name for name in intents for _ in range(repeats)]:
        baseline: list[str] = []
        familiar: list[str] = []
        for name, questions in intents.items():
            if name != held_out:
                shuffled = random.sample(list(questions), len(questions))
                familiar += shuffled[: len(questions) // 4]
                baseline += shuffled[len(questions) // 4 :]
        new = list(intents[held_out])
        log = [*new, *familiar]
        topics, _ = find_topics(baseline, embedder)
        listed = {one.question for one in new_questions(topics, log, embedder.embed(log), embedder)}
        found = len(listed.intersection(new))
        result.topics += 1
        result.topics_found += found >= 2
        result.new += len(new)
        result.found += found
        result.familiar += len(familiar)
        result.mistaken += len(listed.intersection(familiar))
    return result


def read_answers(path: Path) -> dict[str, list[Outcome]]:
    """The outcomes of each system; the label is the verdict."""
    systems: dict[str, list[Outcome]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        passed = bool(row["label"])
        verdict = Verdict("PASSED" if passed else "FAILED", float(passed), passed=passed)
        response = Response(row["answer"])
        case = Case(row["id"], row["question"])
        systems.setdefault(row["model"], []).append(Outcome(case, response, {}, verdict))
    return systems


def _rate(outcomes: Sequence[Outcome]) -> float:
    return sum(outcome.verdict.passed for outcome in outcomes) / len(outcomes)


def _topics(outcomes: Sequence[Outcome]) -> list[int]:
    return [sum(outcome.case.question.encode()) % TOPICS for outcome in outcomes]


def _plan(baseline: Sequence[Outcome], is_alone: bool) -> list[SeriesBaseline]:
    names = {number: f"topic {number}" for number in range(TOPICS)}
    plan = plan_series(baseline, _topics(baseline), names)
    return plan[:1] if is_alone else plan


def _alarm_after(
    baseline: Sequence[Outcome], stream: Sequence[Outcome], is_alone: bool = False
) -> int | None:
    """The number of answers after which the watch alarms; None where it never does."""
    plan = _plan(baseline, is_alone)
    evidence = {each.series.name: ChangeEvidence.against(each.total, each.count) for each in plan}
    weights = {each.series.name: each.series.weight for each in plan}
    for start in range(0, len(stream), BATCH):
        batch = stream[start : start + BATCH]
        topics = _topics(batch)
        values = {each.series.name: values_by_outcome(each.series, batch, topics) for each in plan}
        if sum(add_in_step(evidence, weights, values).values()) >= LIMIT:
            return start + len(batch)
    return None


def _delay(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    switch: int,
    random: Random,
    is_alone: bool,
) -> float:
    """Answers between the switch and the alarm; infinite where it comes before or never."""
    known = random.sample(list(before), BASELINE + switch)
    stream = [*known[BASELINE:], *random.sample(list(after), 800)]
    alarm = _alarm_after(known[:BASELINE], stream, is_alone)
    return float("inf") if alarm is None or alarm <= switch else float(alarm - switch)


def _ever_alarms(outcomes: Sequence[Outcome], random: Random) -> bool:
    shuffled = random.sample(list(outcomes), len(outcomes))
    return _alarm_after(shuffled[:BASELINE], shuffled[BASELINE:]) is not None


if __name__ == "__main__":
    sys.exit(main())
