"""What each rule, weight and feature of `groundedness` earns: `python -m tools.local_judge.grounding_ablation --data DIR`.

Every rule in turn is switched off, every weight set to 0, and every feature to its median. Nothing is fitted again. The table
of docs/validity_tables.md shows how much the AUROC falls: the mean over three sets that nothing was fitted on, the most
in one of them, and the answers of bots that people marked (RAGTruth), which the detector was fitted on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tools.local_judge.data import MEASURED_SETS, Row, grounding_rows
from tools.local_judge.measure import Array, auroc
from tools.local_judge.report import Line, filled

from answerkey.entailment.packaged import load_model
from answerkey.metrics.grounding import groundedness
from answerkey.metrics.grounding.groundedness import load_detector
from answerkey.metrics.grounding.sentence_features import ReadAnswer, read_answers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "validity_tables.md"
BOTS = "ragtruth_qa"
WEIGHTS = ("EDIT_WEIGHT", "MODEL_WEIGHT", "RARE", "LONG_ANSWER")
RULES = (
    "_claims_nothing",
    "_adds_statement",
    "_is_unknown",
    "surely_contradicts",
    "_is_converted",
    "_is_contradicted",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The answers of one set, read once."""

    rows: Sequence[Row]
    answers: Sequence[ReadAnswer]

    def auroc(self, fixed: Mapping[str, float]) -> float:
        answers = [_fix(answer, fixed) for answer in self.answers]
        by_sentence = groundedness.score_sentences(answers)
        values = [
            groundedness.score_answer(answer, row.question, scores).value
            for answer, row, scores in zip(answers, self.rows, by_sentence, strict=True)
        ]
        labels = np.array([float(row.label) for row in self.rows])
        known = np.array([value is not None for value in values])
        supported = np.array([value or 0.0 for value in values])
        return auroc(labels[known], -supported[known])


def _fix(answer: ReadAnswer, fixed: Mapping[str, float]) -> ReadAnswer:
    if not fixed:
        return answer
    sentences = tuple(
        replace(sentence, features={**sentence.features, **fixed}) for sentence in answer.sentences
    )
    return replace(answer, sentences=sentences)


def main() -> None:
    options = _options()
    sets = {name: _read(options.data, name) for name in (*MEASURED_SETS, BOTS)}
    lines = _lines(sets)
    page = PAGE.read_text("utf-8")
    PAGE.write_text(filled(page, {"grounding_ablation": lines}), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the labelled sets")
    return parser.parse_args()


def _read(data: Path, name: str) -> Measured:
    rows = grounding_rows(data, name)
    return Measured(rows, list(read_answers([row.pair for row in rows], load_model())))


@contextmanager
def _changed(name: str, value: object) -> Iterator[None]:
    usual = getattr(groundedness, name)
    setattr(groundedness, name, value)
    try:
        yield
    finally:
        setattr(groundedness, name, usual)


def _never(*_: Any) -> bool:
    return False


def _lines(sets: Mapping[str, Measured]) -> list[Line]:
    usual = _figures(sets, {})
    lines = [Line("all as it is", _count(sets), _columns(usual, dict.fromkeys(usual, 0.0)))]
    off: dict[str, object] = dict.fromkeys(WEIGHTS, 0.0) | dict.fromkeys(RULES, _never)
    for name, value in off.items():
        with _changed(name, value):
            lines.append(Line(_title(name), _count(sets), _columns(usual, _figures(sets, {}))))
    features = [
        Line(name, _count(sets), _columns(usual, _figures(sets, {name: median})))
        for name, median in _medians(sets).items()
    ]
    return [*lines, *sorted(features, key=lambda line: -line.figures["AUROC"][0])]


def _title(name: str) -> str:
    return f"rule {name.strip('_')}" if name in RULES else f"weight {name}"


def _medians(sets: Mapping[str, Measured]) -> dict[str, float]:
    detector = load_detector(True)
    names = {name for model in (*detector.coverage, detector.edits) for name in model.features}
    sentences = [
        sentence
        for one in sets.values()
        for answer in one.answers
        for sentence in answer.sentences
        if answer.by_model
    ]
    return {
        name: float(np.median([sentence.features[name] for sentence in sentences]))
        for name in sorted(names)
    }


def _figures(sets: Mapping[str, Measured], fixed: Mapping[str, float]) -> dict[str, float]:
    return {name: one.auroc(fixed) for name, one in sets.items()}


def _columns(
    usual: Mapping[str, float], without: Mapping[str, float]
) -> dict[str, tuple[float, ...]]:
    lost = {name: usual[name] - without[name] for name in usual}
    unseen: Array = np.array([lost[name] for name in MEASURED_SETS])
    return {
        "AUROC": (float(unseen.mean()),),
        "most in one set": (float(unseen.max()),),
        "bots' answers": (lost[BOTS],),
    }


def _count(sets: Mapping[str, Measured]) -> int:
    return sum(len(one.rows) for one in sets.values())


if __name__ == "__main__":
    main()
