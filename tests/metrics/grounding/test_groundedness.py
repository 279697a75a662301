"""groundedness: order, evidence, reasons, odd input and other languages; laws over any text."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from answerkey.entailment.packaged import load_model
from answerkey.metrics.grounding.groundedness import (
    NO_STATEMENT,
    any_unsupported,
    groundedness,
    groundedness_by_words,
    load_detector,
)
from answerkey.metrics.plan import make_plan
from answerkey.types import Case, Passage, Response, Score

PASSAGES = (
    "The Eiffel Tower was completed in 1889 and is 330 metres tall. It stands in Paris, on the Champ de Mars.",
    "Gustave Eiffel's company designed and built the tower. Work began in January 1887 and took about two years.",
)


needs_model = pytest.mark.skipif(
    load_model() is None, reason="the package has no entailment model yet"
)


def score(
    answer: str | None,
    contexts: tuple[str, ...] = PASSAGES,
    question: str = "How tall is the Eiffel Tower?",
    name: str = "groundedness:words",
) -> Score:
    response = Response(answer=answer, passages=tuple(Passage(text) for text in contexts))
    return make_plan([name], {}).score([(Case("1", question), response)])[0][name]


def value(answer: str, **given: Any) -> float:
    found = score(answer, **given).value
    assert found is not None
    return found


@pytest.fixture(
    scope="module", params=["groundedness:words", pytest.param("groundedness", marks=needs_model)]
)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


class TestOrder:
    SUPPORTED = "The Eiffel Tower is 330 metres tall. It was completed in 1889."

    @pytest.mark.parametrize(
        "worse",
        [
            "The Eiffel Tower is 450 metres tall. It was completed in 1889.",
            "The Eiffel Tower is 330 metres tall. It was designed by Frank Lloyd Wright in Chicago.",
            "The Eiffel Tower is 330 metres tall. It was never completed.",
            "Bananas are rich in potassium. Monkeys enjoy them for breakfast.",
        ],
    )
    def test_a_fact_that_no_passage_has_lowers_it(self, worse: str, name: str) -> None:
        assert value(worse, name=name) < value(self.SUPPORTED, name=name)

    def test_the_right_sentence_is_the_worst(self, name: str) -> None:
        found = score(
            "It stands in Paris. It was painted green by Picasso in 1920.", name=name
        ).details["sentences"]
        assert found[1]["probability"] > found[0]["probability"]
        assert found[1]["flag"]
        assert not found[0]["flag"]

    @needs_model
    def test_a_paraphrase_is_nearer_than_a_stranger(self) -> None:
        near = value("Building the tower lasted roughly two years.", name="groundedness")
        assert near > value("Cooking the pasta lasted roughly two hours.", name="groundedness")


class TestEvidence:
    def test_places_are_those_of_the_texts(self, name: str) -> None:
        answer = "Work began in 1887.  It stands in Paris!"
        for sentence in score(answer, name=name).details["sentences"]:
            assert answer[sentence["start"] : sentence["end"]] == sentence["text"]
            start, end = sentence["span"]
            assert PASSAGES[sentence["passage"]][start:end].strip()
        first, second = score(answer, name=name).details["sentences"]
        assert (
            PASSAGES[first["passage"]][slice(*first["span"])]
            == "Work began in January 1887 and took about two years."
        )
        assert "Paris" in PASSAGES[second["passage"]][slice(*second["span"])]

    def test_reasons_name_what_no_passage_has(self) -> None:
        found = score("It cost 7,800 francs and Frank Wright hated it.").details["sentences"][0]
        assert 'number "7,800"' in found["reason"]
        assert '"Frank", "Wright"' in found["reason"]
        assert (
            'number "1999" in no'
            in score("It was built in 1999.").details["sentences"][0]["reason"]
        )
        assert "not" in score("It is not in Paris.").details["sentences"][0]["reason"]

    def test_without_the_model_it_says_so(self) -> None:
        assert "by words only" in score("It stands in Paris.").reason

    @needs_model
    def test_with_the_model_a_changed_fact_is_called_contradicted(self) -> None:
        found = score("Work on the tower took about twenty years.", name="groundedness")
        assert "by words only" not in found.reason
        (sentence,) = found.details["sentences"]
        assert sentence["contradicted"]
        assert 'contradicted by: "Work began in January 1887' in sentence["reason"]
        assert PASSAGES[sentence["passage"]][slice(*sentence["span"])].startswith("Work began")


class TestOddInput:
    def test_nothing_to_support_and_nothing_to_support_it(self) -> None:
        assert not score("").applies
        assert not score("…!?").applies
        assert score("It stands in Paris.", contexts=()).value == 0.0
        assert score("It stands in Paris.", contexts=("", " \n")).value == 0.0
        assert not score(None).applies

    @pytest.mark.parametrize("answer", ["ok", "Sure!", "Yes.", "Hello! How can I help you today?"])
    def test_an_answer_without_a_statement_is_not_applicable(self, answer: str) -> None:
        made = score(answer, contexts=("Employees have 25 days of annual leave.",))
        assert not made.applies
        assert made.reason == NO_STATEMENT

    def test_the_question_repeated_is_no_statement(self) -> None:
        case = Case("1", "How many days of leave do I have?")
        passages = (Passage("Employees have 25 days of annual leave."),)
        (repeated,) = groundedness([(case, Response(case.question, passages=passages))])
        (answered,) = groundedness([(case, Response("25 days of leave.", passages=passages))])
        assert not repeated.applies
        assert (answered.value or 0) > 0.5

    def test_a_very_long_answer_and_passage(self) -> None:
        assert 0 <= value("word " * 5_000, contexts=("word " * 5_000,)) <= 1

    @given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
    @settings(max_examples=60, deadline=None)
    def test_any_text_gives_a_probability(self, answer: str, contexts: list[str]) -> None:
        (found,) = groundedness(
            [
                (
                    Case("1", "What is it?"),
                    Response(answer=answer, passages=tuple(map(Passage, contexts))),
                )
            ]
        )
        assert found.error is None
        if found.value is None:
            assert found.reason
            return
        assert 0 <= found.value <= 1
        for sentence in found.details["sentences"]:
            assert 0 <= sentence["probability"] <= 1
            assert answer[sentence["start"] : sentence["end"]] == sentence["text"]

    def test_a_batch_equals_one_by_one(self) -> None:
        answers = [f"The tower is {n} metres tall and stands in Paris." for n in range(300, 340)]
        pairs = [
            (Case(a, "?"), Response(answer=a, passages=tuple(map(Passage, PASSAGES))))
            for a in answers
        ]
        assert [s.value for s in groundedness(pairs)] == [
            groundedness([pair])[0].value for pair in pairs
        ]


LANGUAGES = {
    "German": ("Der Turm ist 330 Meter hoch.", "Der Eiffelturm steht in Paris. Der Turm ist 330 Meter hoch und wurde 1889 fertig.", "Die Banane ist gelb und wird im Sommer gegessen."),
    "Spanish": ("La torre mide 330 metros.", "La torre Eiffel está en París. La torre mide 330 metros y se terminó en 1889.", "Los plátanos son amarillos y se comen en el verano."),
    "Malay": ("Menara itu setinggi 330 meter.", "Menara Eiffel terletak di Paris. Menara itu setinggi 330 meter dan siap pada tahun 1889.", "Pisang adalah kuning dan dimakan pada musim panas oleh monyet."),
    "Hindi": ("टॉवर 330 मीटर ऊँचा है।", "एफिल टॉवर पेरिस में है। टॉवर 330 मीटर ऊँचा है और 1889 में बना।", "केले पीले होते हैं और गर्मियों में खाए जाते हैं।"),
    "Chinese": ("铁塔高330米。", "埃菲尔铁塔位于巴黎。铁塔高330米，于1889年建成。", "香蕉是黄色的，夏天吃。"),
}  # fmt: skip


class TestOtherLanguages:
    @pytest.mark.parametrize("spoken", LANGUAGES)
    def test_supported_is_above_unrelated_and_it_is_said(self, spoken: str, name: str) -> None:
        right, passage, unrelated = LANGUAGES[spoken]
        good, bad = (
            score(right, contexts=(passage,), name=name),
            score(unrelated, contexts=(passage,), name=name),
        )
        assert (good.value or 0) > (bad.value or 0)
        assert "not English" in good.reason
        assert not good.details["sentences"][0]["flag"]

    def test_a_passage_in_another_language_does_not_count_every_word(self) -> None:
        found = score("Der Turm ist 330 Meter hoch und steht in der Stadt Paris.")
        assert "different languages" in found.reason
        assert not found.details["sentences"][0]["flag"]
        assert value("Der Turm ist 450 Meter hoch und steht in der Stadt Paris.") < (
            found.value or 0
        )


class TestSums:
    def test_at_least_one_fails(self) -> None:
        """With chances p and q it is 1 - (1 - p)(1 - q), in log-odds, after the shift for rarity."""
        p, q = (1 / (1 + math.exp(2.0 - x)) for x in (0.3, -1.2))
        whole = 1 - (1 - p) * (1 - q)
        assert any_unsupported(np.array([0.3, -1.2])) == pytest.approx(
            math.log(whole / (1 - whole))
        )

    @pytest.mark.parametrize("by_model", [pytest.param(True, marks=needs_model), False])
    def test_the_shipped_numbers_load_and_are_plain(self, by_model: bool) -> None:
        detector = load_detector(by_model)
        assert all(len(model.roots) > 20 for model in detector.coverage)
        assert detector.answer_curve[0] > 0
        assert any(name.startswith("model_") for name in detector.coverage[0].features) == by_model


@pytest.mark.slow
def test_it_agrees_with_people(shared_data: Path) -> None:
    """By words alone, on the answers it was fitted on: a check of the shipped numbers, not of how well it generalises."""
    lines = (shared_data / "ragtruth_qa" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    pairs = [
        (
            Case(r["id"], r["question"]),
            Response(answer=r["answer"], passages=tuple(map(Passage, r["contexts"]))),
        )
        for r in rows
    ]
    found = groundedness_by_words(pairs)
    assert roc_auc_score([r["label"] for r in rows], [-(s.value or 0) for s in found]) > 0.82
    labels, given = [], []
    for row, score in zip(rows, found, strict=True):
        for sentence in score.details["sentences"]:
            marks = [
                m["label"]
                for m in row["sentences"]
                if m["start"] < sentence["end"] and m["end"] > sentence["start"]
            ]
            labels.append(max(marks, default=0))
            given.append(sentence["probability"])
    assert roc_auc_score(labels, given) > 0.84


def test_an_answer_as_long_as_a_book_is_checked_by_words():
    sentences = " ".join(f"The shop in street {n} opens at nine." for n in range(300))
    pair = (
        Case("a", "When do the shops open?"),
        Response(sentences, passages=(Passage("All shops open at nine."),)),
    )
    (score,) = groundedness([pair])
    assert len(score.details["sentences"]) == 300
    assert not score.details["by_model"]
