"""The labelled sets as rows, and edited copies of supported answers."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.train_entailment.sources import Row as PairRow
from tools.train_entailment.sources import fraction, is_held_out
from tools.train_entailment.written import written_rows

from answerkey.language.sentences import pieces
from answerkey.language.stems import stem
from answerkey.language.words import opposites, word_list
from answerkey.types import Case, Pair, Passage, Response

GROUNDING_SETS = ("ragtruth_qa", "begin", "wice", "summedits", "factcheckgpt_stance")
WRITTEN_SET = (
    "written_passages"  # written to train the entailment model; the fifth that it has not seen
)
FITTED_SETS = (*GROUNDING_SETS, WRITTEN_SET)
MOST_OF_A_GROUP = {
    "summedits": 10,
    "lfqa_verification": 6,
}  # rows drawn from the large sets, to save time
MOST_MEASURED = 300
MEASURED_SETS = (
    "lfqa_verification",
    "summac_parts",
    "xsum_hallucination",
)  # the half that the model was not trained on
SANITY_SET = "halueval_qa_sample"  # written by a model, not marked by people: shown, never fitted
CORRECTNESS_SET = "evouna"
CORPORA = ("scifact", "cranfield")  # more English, to count how common each word is


@dataclass(frozen=True, slots=True)
class Row:
    """`label` 1 is unsupported; `group` is never split; `edited` rows are made by us from a supported answer."""

    id: str
    group: str
    question: str
    contexts: tuple[str, ...]
    answer: str
    label: int
    sentences: tuple[tuple[int, int, int], ...] = ()
    edited: bool = False

    @property
    def pair(self) -> Pair:
        passages = tuple(Passage(text) for text in self.contexts)
        return Case(self.id, self.question), Response(answer=self.answer, passages=passages)


def read_lines(data: Path, name: str) -> list[dict[str, Any]]:
    with (data / name / "dev.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def corpus(data: Path, name: str) -> list[str]:
    with (data / name / "corpus.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line).get("text") or "" for line in lines]


def grounding_rows(data: Path, name: str) -> list[Row]:
    if name == WRITTEN_SET:
        return _pair_rows(name, written_rows(name))
    if name in MEASURED_SETS:
        with lzma.open(data / "nli" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            return _pair_rows(name, map(json.loads, lines))[:MOST_MEASURED]
    rows = [
        Row(
            id=line["id"],
            group=f"{name}/{line['group']}",
            question=line["question"] or "",
            contexts=tuple(line["contexts"]),
            answer=line["answer"],
            label=int(line["label"]),
            sentences=tuple((s["start"], s["end"], s["label"]) for s in line.get("sentences", ())),
        )
        for line in read_lines(data, name)
    ]
    return _drawn(rows, name)


def _pair_rows(name: str, pairs: Iterable[PairRow]) -> list[Row]:
    """Pairs that the entailment model was not trained on."""
    rows = [
        Row(
            id=f"{name}/{n}",
            group=f"{name}/{row['group']}",
            question="",
            contexts=(row["premise"],),
            answer=row["hypothesis"],
            label=int(row["label"] != "entail"),
        )
        for n, row in enumerate(row for row in pairs if is_held_out(row, name))
    ]
    return _drawn(rows, name)


def _drawn(rows: list[Row], name: str) -> list[Row]:
    """All rows, or so many of each group: the large sets would take most of the time."""
    most = MOST_OF_A_GROUP.get(name)
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (fraction(row.group), row.group, fraction(row.id))):
        groups.setdefault(row.group, []).append(row)
    return [row for members in groups.values() for row in members[:most]]


def with_edits(rows: list[Row], most: int, seed: int) -> list[Row]:
    """Each row, and after up to `most` of the supported ones a copy with one fact changed."""
    rng = random.Random(seed)
    supported = [row.id for row in rows if row.label == 0]
    chosen = set(rng.sample(supported, min(most, len(supported))))
    result: list[Row] = []
    for row in rows:
        result.append(row)
        edited = edit(row, rng) if row.id in chosen else None
        if edited:
            result.append(edited)
    return result


def edit(row: Row, rng: random.Random) -> Row | None:
    """A copy with one change that makes it unsupported, or None where no change fits."""
    ways = [_number, _name, _negate, _oppose, _narrow, _foreign]
    rng.shuffle(ways)
    for way in ways:
        changed = way(row, rng)
        if changed and changed != row.answer:
            return replace(
                row,
                id=f"{row.id}+{way.__name__[1:]}",
                answer=changed,
                label=1,
                sentences=(),
                edited=True,
            )
    return None


def _number(row: Row, rng: random.Random) -> str | None:
    found = list(re.finditer(r"\d+", row.answer))
    if not found:
        return None
    match = rng.choice(found)
    value = int(match[0]) if len(match[0]) < 12 else 0
    other = str(max(1, value + rng.choice([-3, -2, -1, 1, 2, 5, 10, 100])))
    if other in {n for text in row.contexts for n in re.findall(r"\d+", text)}:
        return None
    return row.answer[: match.start()] + other + row.answer[match.end() :]


def _name(row: Row, rng: random.Random) -> str | None:
    pattern = r"(?<=[a-z,] )[A-Z][a-z]{2,}"
    found = list(re.finditer(pattern, row.answer))
    others = sorted(
        {name for text in row.contexts for name in re.findall(pattern, text)}
        - set(re.findall(pattern, row.answer))
    )
    if not found or not others:
        return None
    match = rng.choice(found)
    return row.answer[: match.start()] + rng.choice(others) + row.answer[match.end() :]


def _negate(row: Row, rng: random.Random) -> str | None:
    found = list(
        re.finditer(r"\b(is|are|was|were|can|will|has|have|should|could|may)\b(?! not)", row.answer)
    )
    if not found:
        return None
    match = rng.choice(found)
    return f"{row.answer[: match.end()]} {rng.choice(['not', 'never', 'no longer'])}{row.answer[match.end() :]}"


def _oppose(row: Row, rng: random.Random) -> str | None:
    found = [m for m in re.finditer(r"[A-Za-z]+", row.answer) if stem(m[0].lower()) in opposites()]
    if not found:
        return None
    match = rng.choice(found)
    return (
        row.answer[: match.start()]
        + rng.choice(sorted(opposites()[stem(match[0].lower())]))
        + row.answer[match.end() :]
    )


def _narrow(row: Row, rng: random.Random) -> str | None:
    found = list(re.finditer(r"\b(the|a|in|of|to|for)\b", row.answer))
    if not found:
        return None
    match = rng.choice(found)
    put = rng.choice(["only ", "without ", "except ", "but not "])
    return row.answer[: match.start()] + put + row.answer[match.start() :]


def _foreign(row: Row, rng: random.Random) -> str | None:
    """One content word for another of the same passages that the answer does not have."""
    stop = word_list("stop_words")
    found = [m for m in re.finditer(r"[a-z]{4,}", row.answer) if m[0] not in stop]
    said = {s for piece in pieces(row.answer) for s in piece.stems}
    others = sorted(
        {
            w
            for text in row.contexts
            for w in re.findall(r"\b[a-z]{5,}\b", text)
            if w not in stop and stem(w) not in said
        }
    )
    if not found or not others:
        return None
    match = rng.choice(found)
    return row.answer[: match.start()] + rng.choice(others) + row.answer[match.end() :]
