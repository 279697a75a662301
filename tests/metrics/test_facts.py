"""Facts of the expected answer and claims of the answer."""

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Passage, Response

NAMES = (
    "fact_recall", "fact_precision", "fact_f1", "fact_contradictions", "context_fact_recall", "context_utilisation",
    "hallucination", "self_knowledge", "noise_sensitivity",
)  # fmt: skip
EXPECTED = "The museum opens at 9 am on weekdays. A ticket costs 12 euros."
PASSAGES = ("The museum opens at 9 am on weekdays.", "The garden closes at 6 pm in winter.")
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "graded_facts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def score(answer, expected=EXPECTED, passages=PASSAGES):
    case = Case("c", "When does it open and what does it cost?", expected=(expected,))
    return make_plan(NAMES, {}).score([(case, Response(answer, tuple(map(Passage, passages))))])[0]


def test_all_facts_and_nothing_else():
    values = {name: one.value for name, one in score(EXPECTED).items()}
    assert [values[name] for name in NAMES[:4]] == [1, 1, 1, 0]
    assert (values["context_fact_recall"], values["context_utilisation"]) == (0.5, 1)
    assert (values["hallucination"], values["self_knowledge"], values["noise_sensitivity"]) == (
        0,
        0.5,
        0,
    )


def test_a_wrong_claim_from_the_passages_and_one_from_nowhere():
    found = score("The garden closes at 6 pm in winter. Elephants live on the roof.")
    assert found["fact_recall"].value == 0
    assert found["noise_sensitivity"].value == 0.5
    assert found["hallucination"].value == 0.5


def test_a_contradicted_fact_is_named_with_its_quote():
    found = score("The museum opens at 11 am on weekdays. A ticket costs 20 euros.")
    assert found["fact_recall"].value == 0
    assert found["fact_contradictions"].value == 1
    facts = found["fact_recall"].details["facts"]
    assert [fact["state"] for fact in facts] == ["contradicted", "contradicted"]
    assert "20 euros" in facts[1]["quote"]
    assert found["fact_recall"].reason.endswith(("by words only", "by the entailment model"))


@pytest.mark.parametrize("answer", ["", "I don't know.", "?"])
def test_an_answer_without_a_claim(answer):
    found = score(answer)
    assert found["fact_recall"].value == 0
    assert found["fact_precision"].value is None
    assert found["hallucination"].value is None


@pytest.mark.parametrize(
    "text",
    [
        "这座桥建于1902年。",
        "पुल 1902 में बना था।",
        "بُني الجسر عام 1902.",
        "Die Brücke wurde 1902 gebaut.",
    ],
)
def test_other_languages_never_fail(text):
    found = score(text, text, (text,))
    assert not any(one.error for one in found.values())
    assert found["fact_recall"].value == 1


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("Le musée ouvre à 9 heures.", "Le musée ouvre à 11 heures."),
        ("Het museum opent om 9 uur.", "Het museum opent om 11 uur."),
        ("Il museo apre alle 9.", "Il museo apre alle 11."),
        ("O museu abre às 9 horas.", "O museu abre às 11 horas."),
        ("Muzium dibuka pada pukul 9 pagi.", "Muzium dibuka pada pukul 11 pagi."),
        ("博物馆9点开门。", "博物馆11点开门。"),
    ],
)
def test_another_figure_in_another_language_is_seen_by_words_only(expected, answer):
    found = score(answer, expected, (expected,))["fact_recall"]
    assert found.value == 0
    assert found.reason.endswith("by words only")


def test_completeness_follows_the_number_of_facts_that_are_right():
    pairs = [
        (Case(row["id"], row["question"], expected=(row["expected"],)), Response(row["answer"]))
        for row in ROWS
    ]
    found = make_plan(["fact_recall"], {}).score(pairs)
    values = [one["fact_recall"].value for one in found]
    assert spearmanr(values, [row["facts_right"] for row in ROWS]).statistic >= 0.85
