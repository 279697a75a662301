"""The five embedding metrics: SPEC's formulas from the model's own vectors, and what empty input gives."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import answerkey
from answerkey import Case, Passage, Response
from answerkey.cli.score import score_command as score
from answerkey.embed import load_embedder
from answerkey.metrics.plan import make_plan
from answerkey.metrics.semantic import embedding_metrics

OF_PASSAGES = ("context_relevance", "context_sufficiency", "answer_hallucination")
FIVE = (
    "context_relevance",
    "context_sufficiency",
    "answer_relevance",
    "answer_correctness",
    "answer_hallucination",
)
QUESTION = "How many days of annual leave does a new employee get?"
CONTEXTS = [
    "New employees are entitled to 14 days of annual leave in their first year.",
    "Unused annual leave may be carried over until the end of March.",
    "The canteen serves lunch between noon and two.",
]
ANSWER = (
    "A new employee gets 14 days of annual leave. The rocket was launched into orbit yesterday!"
)
EXPECTED = "14 days of annual leave."


def plain(question: str, answer: str, reference: str, contexts: Sequence[str]) -> dict[str, float]:
    """The formulas once more, one text at a time, as a plain script writes them."""
    model = load_embedder()

    def cos(a: str, b: str) -> float:
        x, y = model.embed([a])[0], model.embed([b])[0]
        return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))

    near = [cos(question, context) for context in contexts]
    parts = [part.strip() for part in re.split(r"[.!?]", answer) if part.strip()]
    loose = [part for part in parts if max(cos(part, context) for context in contexts) < 0.4]
    return {
        "context_relevance": sum(near) / len(near),
        "context_sufficiency": sum(value >= 0.5 for value in near) / len(near),
        "answer_relevance": cos(answer, reference or question),
        "answer_correctness": cos(answer, reference),
        "answer_hallucination": len(loose) / len(parts),
    }


def pair(
    answer: str | None, expected: Sequence[str] = (EXPECTED,), contexts: Sequence[str] = CONTEXTS
):
    response = Response(answer=answer, passages=tuple(Passage(text) for text in contexts))
    return Case("c", QUESTION, expected=tuple(expected)), response


def test_evaluate_all_is_the_formulas_of_the_plain_script() -> None:
    found = answerkey.evaluate_all(QUESTION, ANSWER, EXPECTED, CONTEXTS)
    assert found == pytest.approx(plain(QUESTION, ANSWER, EXPECTED, CONTEXTS), abs=1e-6)
    assert found["answer_hallucination"] == 0.5
    assert 0 < found["context_sufficiency"] < 1


def test_thresholds_are_those_of_contexts_and_of_sentences() -> None:
    strict = answerkey.evaluate_all(QUESTION, ANSWER, EXPECTED, CONTEXTS, thresholds=(0.99, 0.99))
    loose = answerkey.evaluate_all(
        QUESTION, ANSWER, EXPECTED, CONTEXTS, "all-MiniLM-L6-v2", (-1.0, -1.0)
    )
    assert (strict["context_sufficiency"], strict["answer_hallucination"]) == (0.0, 1.0)
    assert (loose["context_sufficiency"], loose["answer_hallucination"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("answer", "reference", "contexts", "expected"),
    [
        (
            "",
            EXPECTED,
            CONTEXTS,
            {"answer_relevance": 0, "answer_correctness": 0, "answer_hallucination": 0},
        ),
        (
            "  \n",
            EXPECTED,
            [],
            {"answer_correctness": 0, "answer_hallucination": 0, "context_relevance": 0},
        ),
        (
            None,
            None,
            None,
            {"answer_relevance": 0, "answer_correctness": None, "answer_hallucination": 0},
        ),
        (
            ANSWER,
            EXPECTED,
            [],
            {"context_relevance": 0, "context_sufficiency": 0, "answer_hallucination": 1},
        ),
        (
            ANSWER,
            EXPECTED,
            None,
            {"context_relevance": 0, "context_sufficiency": 0, "answer_hallucination": 1},
        ),
        (
            ANSWER,
            EXPECTED,
            [""],
            {"context_relevance": 0, "context_sufficiency": 0, "answer_hallucination": 1},
        ),
        (ANSWER, EXPECTED, [None], {"context_relevance": 0, "answer_hallucination": 1}),
        ("...!?", "", CONTEXTS, {"answer_correctness": None, "answer_hallucination": 0}),
    ],
)
def test_empty_input(
    answer: str | None, reference: str | None, contexts: list[str] | None, expected: dict
) -> None:
    found = answerkey.evaluate_all(QUESTION, answer, reference, contexts)
    assert {name: found[name] for name in expected} == expected
    assert all(value is None or 0 <= value <= 1 for value in found.values())


def test_without_an_expected_answer_the_question_is_the_measure() -> None:
    found = answerkey.evaluate_all(QUESTION, ANSWER, None, CONTEXTS)
    assert found["answer_correctness"] is None
    assert found["answer_relevance"] == pytest.approx(
        plain(QUESTION, ANSWER, "", CONTEXTS)["answer_relevance"]
    )


def test_the_best_of_several_expected_answers_counts() -> None:
    one, both = (
        answerkey.evaluate_all(QUESTION, ANSWER, reference, CONTEXTS)["answer_correctness"]
        for reference in (EXPECTED, ["Something about bananas.", EXPECTED])
    )
    assert both == pytest.approx(one, abs=1e-6)


def test_a_plan_gives_the_same_from_one_batch() -> None:
    class Counting:
        name, digest, precision, dimension = "m", "d", "fp32", 384
        calls: list[int] = []

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            self.calls.append(len(texts))
            return load_embedder().embed(texts)

    embed = Counting()
    pairs = [
        pair(ANSWER),
        pair(EXPECTED),
        pair(None),
        pair("Bananas are yellow.", contexts=["Bananas!"]),
    ]
    table = make_plan(FIVE, {"embed": embed}).score(pairs)
    assert len(embed.calls) == 1
    for name, value in answerkey.evaluate_all(QUESTION, ANSWER, EXPECTED, CONTEXTS).items():
        assert table[0][name].value == pytest.approx(value, abs=1e-6)
    assert table[0]["answer_hallucination"].details["unsupported"] == [
        "The rocket was launched into orbit yesterday"
    ]
    assert table[1]["answer_correctness"].value == pytest.approx(1)
    assert [table[2][name].applies for name in FIVE] == [True, True, False, False, False]
    assert "off-topic" not in table[3]["context_relevance"].reason, "a profile has the readings"


def test_a_cosine_below_zero_is_shown_as_zero_with_a_note() -> None:
    class Opposite:
        name, digest, precision, dimension = "m", "d", "fp32", 2

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            return np.array([[1, 0] if text == ANSWER else [-1, 0] for text in texts], np.float32)

    score = embedding_metrics([pair(ANSWER)], names=["answer_correctness"], embed=Opposite())[
        "answer_correctness"
    ][0]
    assert score.value == 0
    assert "the cosine is -1.000, shown as 0" in score.reason
    assert score.details["cosine"] == -1


def test_settings_move_the_marks() -> None:
    settings = {"context_sufficiency": {"relevant_from": 0.99}}
    (scores,) = make_plan(FIVE, {"embed": load_embedder()}, settings).score([pair(ANSWER)])
    assert scores["context_sufficiency"].value == 0


def test_the_command_scores_and_stores_all_five(tmp_path: Path) -> None:
    rows = [
        {
            "question": QUESTION,
            "reference_answer": EXPECTED,
            "answer": ANSWER,
            "contexts": CONTEXTS,
        },
        {"question": QUESTION, "reference_answer": EXPECTED, "answer": "", "contexts": CONTEXTS},
        {"question": QUESTION, "reference_answer": EXPECTED, "answer": ANSWER, "contexts": []},
        {"question": QUESTION, "reference_answer": EXPECTED, "answer": ANSWER, "contexts": [""]},
        {"question": QUESTION, "reference_answer": None, "answer": ANSWER, "contexts": None},
    ]
    file = tmp_path / "data.json"
    file.write_text(json.dumps(rows))
    options = [
        "--metrics",
        ",".join(FIVE),
        "--model",
        "all-MiniLM-L6-v2",
        "--out",
        str(tmp_path / "out"),
    ]
    done = CliRunner().invoke(score, [str(file), *options, "--no-charts", "--json"])
    assert done.exit_code == 0, done.output
    (stored,) = (tmp_path / "out").glob("*/results.jsonl")
    lines = [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()]
    for row, line in zip(rows, lines, strict=True):
        expected = answerkey.evaluate_all(
            row["question"], row["answer"], row["reference_answer"], row["contexts"]
        )
        found = {name: line["scores"][name]["value"] for name in FIVE}
        if not row["contexts"]:
            expected |= dict.fromkeys(OF_PASSAGES)
        assert found == pytest.approx(expected, abs=1e-6)
        assert all(line["scores"][name]["error"] is None for name in FIVE)


class Noisy:
    """An embedder whose vectors differ in the 8th decimal from batch to batch, as a model's do."""

    name, digest, precision, dimension = "noisy", "0", "fp32", 2

    def __init__(self, noise: float) -> None:
        self.noise = noise

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        cosine = {CONTEXTS[0]: 0.5, ANSWER: 0.8}
        rows = [(cosine.get(text, 1.0) + self.noise, 0.0) for text in texts]
        return np.array(rows, np.float32)


def test_other_answers_of_the_batch_change_no_score_and_no_threshold() -> None:
    asked = [pair(ANSWER, contexts=CONTEXTS[:1])]
    low, high = (
        embedding_metrics(asked, names=FIVE, embed=Noisy(noise)) for noise in (-6e-8, 6e-8)
    )
    assert low == high
    assert low["context_sufficiency"][0].value == 1.0
