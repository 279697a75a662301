"""Long answers whose grade is known because they were made from graded parts.

`bot_answers` takes what six bots answered to one question (RAGTruth QA). An answer in which people marked
nothing is the expected one; the others are cut, mixed with another question's answer, or changed.
`combined_answers` combines facts that were written in four ways: expected, two paraphrases, and wrong.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.local_judge.data import Row, edit, read_lines

from answerkey.language.refusal import refusal
from answerkey.language.sentences import sentence_spans
from answerkey.types import Case, Pair, Response

WRITTEN = Path(__file__).with_name("written")
MARKED = 0.8  # the grade of a whole answer in which people marked something
WRONG_FACT = 0.5  # how much of a right fact a wrong one takes away
REFUSAL = "I'm sorry, I could not find anything about this."


@dataclass(frozen=True, slots=True)
class Graded:
    """`grade` is the share of the expected answer that is right, 0 to 1."""

    question: str
    expected: str
    answer: str
    grade: float

    @property
    def pair(self) -> Pair:
        return Case("", self.question, expected=(self.expected,)), Response(self.answer)


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def bot_answers(data: Path, seed: int) -> list[Graded]:
    """Answers of bots against the answer of another one, each with its question as group."""
    rng = random.Random(seed)
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in read_lines(data, "ragtruth_qa"):
        groups.setdefault(line["group"], []).append(line)
    rows: list[Graded] = []
    for group in sorted(groups):
        lines = groups[group]
        clean = [line for line in lines if _is_reference(line)]
        if not clean:
            continue
        clean.sort(key=lambda line: (not line["model"].startswith("gpt"), line["id"]))
        reference = clean[0]
        other = rng.choice(groups[rng.choice([name for name in sorted(groups) if name != group])])
        expected = reference["answer"]
        for line in lines:
            if line is not reference:
                answer, grade = _degrade(line, other["answer"], rng)
                rows.append(Graded(line["question"], expected, answer, grade))
    return rows


def _is_reference(line: dict[str, Any]) -> bool:
    several = len(_sentences(line["answer"])) > 1
    return line["label"] == 0 and several and refusal(line["answer"]) == "none"


def _degrade(line: dict[str, Any], other: str, rng: random.Random) -> tuple[str, float]:
    """An answer as it is, shortened, mixed or changed, and the share of it that is still right."""
    if refusal(line["answer"]) == "full":
        return line["answer"], 0.0
    sentences = _sentences(line["answer"])
    whole = MARKED if line["label"] else 1.0
    way = rng.choice(["keep", "shorten", "shorten", "first", "mix", "change"])
    if way == "keep" or len(sentences) < 2:
        return line["answer"], whole
    count = rng.randint(1, len(sentences) - 1)
    if way == "first":
        return sentences[0], whole / len(sentences)
    kept = set(rng.sample(range(len(sentences)), count))
    if way == "shorten":
        text = " ".join(sentences[n] for n in sorted(kept))
        return text, whole * count / len(sentences)
    parts: list[str] = []
    right = 0
    for n, sentence in enumerate(sentences):
        replaced = None if n in kept else _replace(sentence, line, other, n, way, rng)
        right += replaced is None
        parts.append(replaced or sentence)
    return " ".join(parts), whole * right / len(sentences)


def _replace(
    sentence: str, line: dict[str, Any], other: str, n: int, way: str, rng: random.Random
) -> str | None:
    """A sentence of another answer, or this one with a fact changed; None where no change fits."""
    if way == "mix":
        others = _sentences(other)
        return others[n % len(others)]
    contexts = (*line["contexts"], sentence)
    changed = edit(Row("", "", "", contexts, sentence, 0), rng)
    return changed.answer if changed else None


def combined_answers(name: str, rounds: int = 1) -> Iterator[Graded]:
    """In each round six answers to each question of a file in `written/`, the same each time."""
    with (WRITTEN / f"{name}.jsonl").open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            rng = random.Random(line["question"])
            for _ in range(rounds):
                yield from _combine(line, rng)


def _combine(line: dict[str, Any], rng: random.Random) -> Iterator[Graded]:
    count = len(line["facts"])
    expected = " ".join(fact[0] for fact in line["facts"])
    # 1 is a right fact, 0 a missing one, -1 a wrong one.
    plans = [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, -1], [1, 1, 0, 0], [1, -1, -1, 0]]
    plans.append(rng.choice([[-1, -1, -1, -1], [0, 0, 0, -1], [0, 0, 0, 0]]))
    for plan in plans:
        rng.shuffle(plan)
        parts = _parts(line, plan, rng)
        if rng.random() < 0.35:
            parts.append(line["extra"])
        if not any(plan):
            parts = [rng.choice([line["extra"], REFUSAL])]
        if rng.random() < 0.3:
            rng.shuffle(parts)
        grade = max(0.0, plan.count(1) - WRONG_FACT * plan.count(-1)) / count
        yield Graded(line["question"], expected, " ".join(parts), grade)


def _parts(line: dict[str, Any], plan: list[int], rng: random.Random) -> list[str]:
    """Two right facts in a row are one sentence in half of the cases."""
    parts: list[str] = []
    n = 0
    while n < len(plan):
        if n % 2 == 0 and plan[n] == plan[n + 1] == 1 and rng.random() < 0.5:
            parts.append(line["joined"][n // 2])
            n += 2
            continue
        expected, paraphrase, other_words, wrong = line["facts"][n]
        if plan[n] == 1:
            parts.append(rng.choice([paraphrase, paraphrase, other_words, other_words, expected]))
        if plan[n] == -1:
            parts.append(wrong)
        n += 1
    return parts


def graded_facts(path: Path) -> Iterator[Graded]:
    """Expected answers of four facts; the number of right ones is known."""
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        yield Graded(row["question"], row["expected"], row["answer"], row["facts_right"] / 4)
