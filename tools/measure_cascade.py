"""Accuracy against calls saved of `[judge] when = "unsure"`, on labelled answers, with a scripted judge.

    python -m tools.measure_cascade FILE.jsonl … [--rows 400] [--right 0.9] [--seed 0]

Each row has `answer` and `label`, and either `contexts` (faithfulness; label 1 means not supported) or `reference`
(agreement with the expected answer; label 1 means correct). The scripted judge is right with the given probability, by
chance and independently of the answer, so the table shows what the local models cost or save, not what a real judge does.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.cache import digest
from answerkey.llm.scripted import ScriptedChat
from answerkey.metrics.judge.cascade import DETAIL, Band, CascadeJudge
from answerkey.metrics.judge.judged_metrics import Judge, load_judge
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.types import Case, Pair, Passage, Requirement, Response, Score

# From "never ask" to "always ask"; nothing lies between the first two.
BANDS: tuple[Band, ...] = ((0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.15, 0.85), (0.05, 0.95), (0, 1))
TOP = 5.0


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Pairs with their labels: whether the answer is good."""

    name: str
    pairs: list[Pair]
    labels: list[bool]
    is_agreement: bool


@dataclass(frozen=True, slots=True)
class BandResult:
    """The share of right verdicts and of saved calls."""

    accuracy: float
    saved: float


class StoredScores:
    """A local judge whose scores were computed before, so that each band takes no time."""

    name = "local"

    def __init__(self, pairs: Sequence[Pair], scores: Sequence[Score]) -> None:
        self._scores = {pair[0].id: score for pair, score in zip(pairs, scores, strict=True)}

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return [{"accuracy": self._scores[case.id]} for case, _ in pairs]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return [self._scores[case.id] for case, _ in pairs]

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        raise NotImplementedError

    def prefer(self, duels: Sequence[Any]) -> list[Score]:
        raise NotImplementedError

    def usage(self) -> None:
        return None

    def fingerprint(self) -> str:
        return "local stored"

    def close(self) -> None:
        pass


def read_set(path: Path, rows: int, seed: int) -> LabelledSet:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    # Shuffled, not sampled: a smaller number of rows is then the beginning of a larger one.
    random.Random(seed).shuffle(lines)
    chosen = lines[:rows]
    is_agreement = not any(row.get("contexts") for row in chosen)
    pairs: list[Pair] = []
    labels: list[bool] = []
    for n, row in enumerate(chosen):
        references = row.get("reference") or ()
        if isinstance(references, str):
            references = (references,)
        expected = tuple(references) if is_agreement else ()
        passages = tuple(Passage(text) for text in row.get("contexts") or ())
        case = Case(str(n), row.get("question") or "", expected=expected)
        pairs.append((case, Response(row["answer"], passages)))
        is_one = bool(row["label"])
        labels.append(is_one if is_agreement else not is_one)
    return LabelledSet(path.parent.name, pairs, labels, is_agreement)


def make_scripted_judge(data: LabelledSet, right: float, seed: int) -> Judge:
    """A model judge whose model knows the label of each answer and is right this often."""
    verdicts: dict[str, bool] = {}
    for (case, response), label in zip(data.pairs, data.labels, strict=True):
        drawn = random.Random(f"{seed} {case.id} {data.name}").random()
        verdicts[_key(response.answer or "", case.question)] = label == (drawn < right)

    def reply(messages: Sequence[Any]) -> str:
        text = messages[-1]["content"]
        question = _part(text, "QUESTION")
        is_good = verdicts[_key(_part(text, "ANSWER"), question)]
        if data.is_agreement:
            grades = dict.fromkeys(("completeness", "citation_quality", "coherence"), 3)
            return json.dumps({"reasoning": "", "accuracy": TOP * is_good, **grades})
        return json.dumps({"reason": "scripted", "score": float(is_good)})

    return ModelJudge(ScriptedChat(reply), concurrency=1)


def _key(answer: str, question: str) -> str:
    return digest(answer.strip(), question.strip())


def _part(text: str, title: str) -> str:
    """The text of a part of the prompt; parts are set off by lines that begin with a marker."""
    marker = text.split()[3].rstrip(".")
    for part in text.split(f"{marker} ")[1:]:
        first, _, rest = part.partition("\n")
        if first == title:
            return rest
    return ""


def measure(data: LabelledSet, right: float, seed: int) -> list[BandResult]:
    """The result of each band, from the calls that are made and the scores that come back."""
    local = load_judge("local")
    if data.is_agreement:
        scores = [row["accuracy"] for row in local.rubric(data.pairs)]
    else:
        scores = local.judge("faithfulness", data.pairs)
    stored = StoredScores(data.pairs, scores)
    results: list[BandResult] = []
    for band in BANDS:
        judge = CascadeJudge(make_scripted_judge(data, right, seed), stored, band, check_share=0.0)
        if data.is_agreement:
            verdicts = [row["accuracy"] for row in judge.rubric(data.pairs)]
            middle = TOP / 2
        else:
            verdicts = judge.judge("faithfulness", data.pairs)
            middle = 0.5
        is_right = [
            score.value is not None and (score.value >= middle) == label
            for score, label in zip(verdicts, data.labels, strict=True)
        ]
        saved = [score.details[DETAIL].get("calls_saved", 0) for score in verdicts]
        results.append(BandResult(sum(is_right) / len(is_right), sum(saved) / len(saved)))
    return results


def to_markdown(table: dict[str, tuple[int, list[BandResult]]]) -> str:
    titles = ["never ask", *(f"{low:g} to {high:g}" for low, high in BANDS[1:-1]), "always ask"]
    lines = [f"| set | rows | {' | '.join(titles)} |", f"|{'---|' * (len(titles) + 2)}"]
    for name, (rows, results) in table.items():
        cells = [f"{each.accuracy:.3f}, {each.saved:.0%}" for each in results]
        lines.append(f"| {name} | {rows} | {' | '.join(cells)} |")
    means = [
        BandResult(
            sum(results[n].accuracy for _, results in table.values()) / len(table),
            sum(results[n].saved for _, results in table.values()) / len(table),
        )
        for n in range(len(BANDS))
    ]
    cells = [f"{each.accuracy:.3f}, {each.saved:.0%}" for each in means]
    lines.append(f"| mean of the sets | | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--right", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table: dict[str, tuple[int, list[BandResult]]] = {}
    for path in options.files:
        data = read_set(path, options.rows, options.seed)
        table[data.name] = (len(data.pairs), measure(data, options.right, options.seed))
        print(to_markdown(table), flush=True)  # after each set: a long run shows what it has


if __name__ == "__main__":
    main()
