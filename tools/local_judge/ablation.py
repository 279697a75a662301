"""What each feature and each rule of `answer_agreement` earns: `python -m tools.local_judge.ablation --data DIR`.

Every feature in turn is set to its median, and every weight of a rule to 0. The models are not fitted again. The table of
docs/validity_tables.md shows how much AUROC and accuracy fall, as means over sets that nothing was fitted on.

`--drop NAME …` removes features from the fitted models for good: a split on a feature that has one value only takes one
side, so the trees get smaller and say the same.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tools.local_judge.correctness_study import TESTS
from tools.local_judge.data import CORRECTNESS_SET, read_lines
from tools.local_judge.measure import Array, accuracy, auroc
from tools.local_judge.report import Line, filled
from tools.local_judge.written_study import SETS, pairs_of, written_rows
from tools.train_entailment.sources import fraction

from answerkey.metrics.agreement import answer_agreement, rules
from answerkey.metrics.agreement.answer_agreement import second_rows, with_models, word_features
from answerkey.metrics.agreement.model_verdict import VERDICT_FEATURES
from answerkey.metrics.boosted_trees import load_fitted, load_numbers
from answerkey.types import Case, Pair, Response

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ROOT / "src" / "answerkey" / "metrics" / "agreement" / "fitted" / "agreement.json"
PAGE = ROOT / "docs" / "validity_tables.md"
SMALL_CASES = ("rag_blind_cases", "rag_tenth_cases", "rag_eleventh_cases")
SIMILAR_FROM = 1.5  # of grades 0 to 2; those in between are left out
EVOUNA_SHARE = 0.05  # of the questions, to save time; the models are fitted on them
SIMILARITY_SHARE = 0.07
WEIGHTS = {
    rules: ("SURE", "LIKELY", "FIGURES_SHORT", "OTHER_NAME"),
    answer_agreement: ("SURELY_RULED", "OVERRULED"),
}

Features = dict[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """The answers of one set with what both models are given."""

    features: list[Features]
    verdicts: list[Features | None]
    labels: Array


def main() -> None:
    options = _options()
    sets = {name: _read(rows) for name, rows in _sets(options.data)}
    medians = _medians(list(sets.values()))
    if options.drop:
        _drop({name: medians[name] for name in options.drop})
        return
    lines = _lines(sets, medians)
    PAGE.write_text(filled(PAGE.read_text("utf-8"), {"ablation": lines}), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    parser.add_argument("--drop", nargs="*", help="features to remove from the fitted models")
    return parser.parse_args()


def _sets(data: Path) -> Iterator[tuple[str, list[tuple[Pair, int]]]]:
    for name in SETS:
        rows = written_rows(name)
        yield name, list(zip(pairs_of(rows), (row["label"] for row in rows), strict=True))
    for name in SMALL_CASES:
        text = (TESTS / f"{name}.jsonl").read_text(encoding="utf-8")
        rows = [row for row in map(json.loads, text.splitlines()) if row.get("expected")]
        yield name, [(_pair(row, row["expected"]), row["verdict"] == "pass") for row in rows]
    similar = [
        row
        for row in read_lines(data, "answer_similarity")
        if row["label"] != 1 and fraction(row["group"]) < SIMILARITY_SHARE
    ]
    yield (
        "answer_similarity",
        [(_pair(row, row["reference"]), row["label"] >= SIMILAR_FROM) for row in similar],
    )
    answers = [
        row for row in read_lines(data, CORRECTNESS_SET) if fraction(row["group"]) < EVOUNA_SHARE
    ]
    yield CORRECTNESS_SET, [(_pair(row, *row["reference"]), row["label"]) for row in answers]


def _pair(row: Mapping[str, Any], *expected: str) -> Pair:
    return Case("", row.get("question") or "", expected=expected), Response(row["answer"])


def _read(rows: Sequence[tuple[Pair, int]]) -> Measured:
    features = [word_features(*pair) for pair, _ in rows]
    kept = [n for n, one in enumerate(features) if one]
    present = [features[n] or {} for n in kept]
    verdicts = second_rows(present, [0.0] * len(kept), [rows[n][0] for n in kept])
    return Measured(present, verdicts, np.array([float(rows[n][1]) for n in kept]))


def _medians(sets: Sequence[Measured]) -> Features:
    rows = [row for one in sets for row in one.features]
    asked = [row for one in sets for row in one.verdicts if row]
    names = set(load_fitted("agreement/agreement").features)
    medians = {name: float(np.median([row[name] for row in rows])) for name in sorted(names)}
    return medians | {
        name: float(np.median([row[name] for row in asked])) for name in VERDICT_FEATURES
    }


def _scores(one: Measured, fixed: Features) -> Array:
    """The log-odds with some features fixed."""
    features: list[Features] = []
    for row in one.features:
        changed = row | fixed
        changed["by_rules"] = fixed.get("by_rules", rules.log_odds(changed))
        features.append(changed)
    verdicts = [row and row | {k: v for k, v in fixed.items() if k in row} for row in one.verdicts]
    return np.array(with_models(features, verdicts))


def _figures(sets: Mapping[str, Measured], fixed: Features) -> dict[str, tuple[float, float]]:
    figures: dict[str, tuple[float, float]] = {}
    for name, one in sets.items():
        odds = _scores(one, fixed)
        figures[name] = (auroc(one.labels, odds), accuracy(one.labels, 1 / (1 + np.exp(-odds))))
    return figures


@contextmanager
def _without_weight(module: Any, name: str) -> Iterator[None]:
    usual = getattr(module, name)
    setattr(module, name, 0.0)
    try:
        yield
    finally:
        setattr(module, name, usual)


def _lines(sets: Mapping[str, Measured], medians: Features) -> list[Line]:
    """The rules first, then the features, by what they earn."""
    count = sum(len(one.labels) for one in sets.values())
    usual = _figures(sets, {})
    weights: list[Line] = []
    for module, names in WEIGHTS.items():
        for name in names:
            with _without_weight(module, name):
                weights.append(_line(f"rule {name}", count, usual, _figures(sets, {})))
    features = [
        _line(name, count, usual, _figures(sets, {name: value})) for name, value in medians.items()
    ]
    features.sort(key=lambda line: -line.figures["AUROC"][0])
    whole = _line("all as it is", count, usual, dict.fromkeys(usual, (0.0, 0.0)))
    return [whole, *weights, *features]


def _line(
    name: str,
    count: int,
    usual: Mapping[str, tuple[float, float]],
    without: Mapping[str, tuple[float, float]],
) -> Line:
    held = [title for title in usual if title != CORRECTNESS_SET]
    lost = {title: np.subtract(usual[title], without[title]) for title in usual}
    mean = np.mean([lost[title] for title in held], axis=0)
    figures = {
        "AUROC": (float(mean[0]),),
        "accuracy": (float(mean[1]),),
        "most in one set": (float(max(lost[title][0] for title in held)),),
        "EVOUNA, AUROC": (float(lost[CORRECTNESS_SET][0]),),
    }
    return Line(name, count, figures)


def _drop(constants: Features) -> None:
    """Write the fitted models without these features."""
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    smaller = prune(numbers, constants)
    smaller["with_model"] = prune(numbers["with_model"], constants)
    text = json.dumps(smaller, ensure_ascii=False, separators=(",", ":"))
    NUMBERS.write_text(text + "\n", encoding="utf-8")
    load_numbers.cache_clear()


def prune(model: Mapping[str, Any], constants: Features) -> dict[str, Any]:
    """A fitted model in which some features have one value only, without them."""
    names: list[str] = model["features"]
    kept = [name for name in names if name not in constants]
    base = float(model["base"])
    trees: list[dict[str, list[float]]] = []
    for tree in model["trees"]:
        smaller = _prune_tree(tree, names, kept, constants)
        if len(smaller["feature"]) == 1:
            base += smaller["value"][0]
        else:
            trees.append(smaller)
    return {**model, "features": kept, "base": round(base, 5), "trees": trees}


def _prune_tree(
    tree: Mapping[str, list[Any]], names: Sequence[str], kept: Sequence[str], constants: Features
) -> dict[str, list[Any]]:
    smaller: dict[str, list[Any]] = {key: [] for key in tree}

    def add(node: int) -> int:
        while tree["feature"][node] >= 0 and names[tree["feature"][node]] in constants:
            is_left = constants[names[tree["feature"][node]]] <= tree["threshold"][node]
            node = tree["left" if is_left else "right"][node]
        place = len(smaller["feature"])
        for values in smaller.values():
            values.append(0)
        tested = tree["feature"][node]
        smaller["threshold"][place] = tree["threshold"][node]
        smaller["value"][place] = tree["value"][node]
        smaller["feature"][place] = -1
        if tested >= 0:
            smaller["feature"][place] = kept.index(names[tested])
            smaller["left"][place] = add(tree["left"][node])
            smaller["right"][place] = add(tree["right"][node])
        return place

    add(0)
    return smaller


if __name__ == "__main__":
    main()
