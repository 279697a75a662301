"""Figures of an exported model: held-out groups of each source, the development sets, and pairs with a changed fact."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tools.local_judge.report import Line
from tools.train_entailment.data import CLASSES, LONG_WORDS, SHORT_WORDS, Example, read, split
from tools.train_entailment.score import Scorer, probabilities
from tools.train_entailment.sources import (
    ANSWERS,
    BY_NAME,
    HALVED,
    WRITTEN,
    Row,
    fraction,
    group_of,
)
from tools.train_entailment.windows import best_windows, fit, overlap, sentences

SETS = ("begin", "wice", "summedits", "factcheckgpt_stance", "ragtruth_qa")
FACTS = Path(__file__).parent / "changed_facts.jsonl"
CALIBRATED = 0.3
MOST_SENTENCES = 12


def for_calibration(row: Row, source: str) -> bool:
    """Three tenths of the held-out groups set the temperature; the figures come from the others."""
    return fraction("calibrate:" + group_of(row, source)) < CALIBRATED


def examples(rows: Sequence[Row], source: str) -> list[Example]:
    """Rows as the model sees them: a long premise is cut to the windows that the hypothesis is about."""
    words = LONG_WORDS if BY_NAME[source].kind in (ANSWERS, WRITTEN) else SHORT_WORDS
    return [
        Example(
            fit(row["premise"], row["hypothesis"], words),
            row["hypothesis"],
            CLASSES[row["label"]],
            False,
            source,
        )
        for row in rows
    ]


def calibration_rows(held: dict[str, list[Row]], each: int = 60) -> list[Example]:
    """Up to 60 rows of each source, in random order; none of the sets that are left out by half."""
    chosen: list[Example] = []
    for name, rows in held.items():
        if name not in HALVED:
            chosen += examples([row for row in rows if for_calibration(row, name)][:each], name)
    random.Random(0).shuffle(chosen)
    return chosen


@dataclass(frozen=True)
class Figure:
    """Accuracy, supported or not, with what can be had without the model."""

    name: str
    rows: int
    accuracy: float
    majority: float
    words: float
    auroc: float


def held_out(
    scorer: Scorer, held: dict[str, list[Row]], most: int, temperature: float
) -> list[Figure]:
    """A figure for each source, then for each kind (all its rows together)."""
    kinds: dict[str, list[tuple[bool, float, float]]] = {}
    figures: list[Figure] = []
    for name, rows in held.items():
        kept = [row for row in rows if not for_calibration(row, name)]
        if not kept:
            continue
        kept = random.Random(0).sample(kept, min(most, len(kept)))
        seen = examples(kept, name)
        given = probabilities(
            scorer.logits([(e.premise, e.hypothesis) for e in seen]), temperature
        )[:, 0]
        found = [
            (e.label == 0, float(p), overlap(e.premise, e.hypothesis))
            for e, p in zip(seen, given, strict=True)
        ]
        figures.append(_figure(name, found))
        kinds.setdefault(BY_NAME[name].kind, []).extend(found)
    return figures + [_figure(f"all {kind}", found) for kind, found in kinds.items()]


def _figure(name: str, found: Sequence[tuple[bool, float, float]]) -> Figure:
    labels, given, words = (np.array(column) for column in zip(*found, strict=True))
    share = float(labels.mean())
    # The best threshold in hindsight: the baseline is given more than the model is.
    by_words = max(float(((words >= cut) == labels).mean()) for cut in np.unique(words))
    accuracy = float(((given > 0.5) == labels).mean())
    return Figure(name, len(found), accuracy, max(share, 1 - share), by_words, auroc(labels, given))


def auroc(labels: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a positive row has the higher score; ties count half. nan with one class."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    if not len(positive) or not len(negative):
        return float("nan")
    higher = (positive[:, None] > negative[None, :]).mean()
    return float(higher + 0.5 * (positive[:, None] == negative[None, :]).mean())


def development(
    scorer: Scorer, folder: Path, most: int, temperature: float
) -> dict[str, dict[str, float]]:
    """AUROC of "not supported" on each set: three best windows apart, joined, their mean, and word overlap."""
    return {name: _one_set(scorer, folder / name / "dev.jsonl", most, temperature) for name in SETS}


def _one_set(scorer: Scorer, file: Path, most: int, temperature: float) -> dict[str, float]:
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()
    ]
    rows = random.Random(0).sample(rows, min(most, len(rows)))
    pairs: list[tuple[str, str]] = []
    owners: list[tuple[int, int, bool]] = []
    for number, row in enumerate(rows):
        parts = [part for context in row["contexts"] for part in sentences(context)]
        for place, sentence in enumerate(sentences(row["answer"])[:MOST_SENTENCES]):
            windows = [" ".join(parts[at : at + 3]) for at in best_windows(parts, sentence)]
            pairs += [(window, sentence) for window in windows]
            owners += [(number, place, False)] * len(windows)
            pairs.append((fit(" ".join(parts), sentence, LONG_WORDS), sentence))
            owners.append((number, place, True))
    given = probabilities(scorer.logits(pairs), temperature)[:, 0]
    apart, joined, words = (dict[tuple[int, int], float]() for _ in range(3))
    for (number, place, whole), pair, value in zip(owners, pairs, given, strict=True):
        key = (number, place)
        if whole:
            joined[key] = float(value)
            words[key] = overlap(*pair)
        else:
            apart[key] = max(apart.get(key, 0.0), float(value))
    both = {key: (apart[key] + joined[key]) / 2 for key in joined}
    labels = np.array([row["label"] for row in rows])
    table = {"windows": apart, "joined": joined, "both": both, "words": words}
    return {name: auroc(labels, -_worst(values, len(rows))) for name, values in table.items()}


def _worst(values: dict[tuple[int, int], float], rows: int) -> np.ndarray:
    """The lowest value of each row's sentences; 1 for a row without any."""
    worst = np.ones(rows)
    for (number, _), value in values.items():
        worst[number] = min(worst[number], value)
    return worst


def changed_facts(scorer: Scorer, temperature: float) -> list[dict[str, Any]]:
    """Each pair of sentences with the probabilities of "supported" of the right and of the wrong one."""
    rows = [json.loads(line) for line in FACTS.read_text(encoding="utf-8").splitlines()]
    pairs = [(row["premise"], row[which]) for row in rows for which in ("right", "wrong")]
    given = probabilities(scorer.logits(pairs), temperature)[:, 0].reshape(-1, 2)
    return [
        {**row, "p": [round(float(p), 3) for p in two]}
        for row, two in zip(rows, given, strict=True)
    ]


def report(model: Path, data: Path, sets: Path, most: int, rows: int) -> dict[str, Any]:
    """All figures of the model in a folder."""
    facts = json.loads((model / "entailment.json").read_text(encoding="utf-8"))
    scorer = Scorer(model / "entailment.onnx", model / "tokenizer.json")
    temperature = facts["temperature"]
    held = split(read(data)).held
    facts_found = changed_facts(scorer, temperature)
    return {
        "pairs_seen": facts["training"]["pairs"],
        "temperature": temperature,
        "held_out": [vars(figure) for figure in held_out(scorer, held, most, temperature)],
        "development": development(scorer, sets, rows, temperature) if rows else {},
        "changed_facts": {
            "lower": sum(row["p"][0] > row["p"][1] for row in facts_found),
            "both_right": sum(row["p"][0] > 0.5 > row["p"][1] for row in facts_found),
            "of": len(facts_found),
            "missed": [row for row in facts_found if row["p"][0] <= row["p"][1]],
        },
    }


def lines(found: dict[str, Any]) -> list[Line]:
    """The report as the lines of one table: each source, each kind, and the pairs with a changed fact."""
    columns = {
        "accuracy": "accuracy",
        "majority": "majority",
        "word overlap": "words",
        "AUROC": "auroc",
    }
    kinds = [row for row in found["held_out"] if row["name"].startswith("all ")]
    rows = [*kinds, *(row for row in found["held_out"] if row not in kinds)]
    made = [
        Line(row["name"], row["rows"], {title: (row[key],) for title, key in columns.items()})
        for row in rows
    ]
    facts = found["changed_facts"]
    share = {**dict.fromkeys(columns, ()), "accuracy": (facts["lower"] / facts["of"],)}
    return [*made, Line("changed facts: the wrong one is lower", facts["of"], share)]


def markdown(found: dict[str, Any]) -> str:
    """The report as tables for README.md."""
    facts = found["changed_facts"]
    lines = [
        f"After {found['pairs_seen']:,} pairs, int8, temperature {found['temperature']}. "
        f"Changed facts: the wrong sentence has the lower probability in {facts['lower']} of {facts['of']}; "
        f"both are on the right side of 0.5 in {facts['both_right']}.",
        "",
        "| held-out groups of | rows | accuracy | majority | word overlap | AUROC |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["held_out"]:
        figures = " | ".join(
            f"{row[name]:.3f}" for name in ("accuracy", "majority", "words", "auroc")
        )
        lines.append(f"| {row['name']} | {row['rows']} | {figures} |")
    lines += [
        "",
        "| AUROC on | three windows | joined | both | word overlap |",
        "|---|---|---|---|---|",
    ]
    for name, row in found["development"].items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in row.values()) + " |")
    return "\n".join(lines)
