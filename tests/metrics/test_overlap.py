"""Worked examples, and the field's own libraries as the reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.metrics import overlap
from answerkey.types import Case, Response

TEXT = st.text(st.sampled_from("ab cd.'-é1\n"), max_size=40)


def score(function, answer, *expected):
    found = function(Case("c", "q", expected=expected), Response(answer=answer))
    return found if isinstance(found, float) else found.value


def test_exact_match_after_normalisation():
    assert score(overlap.exact_match, "  The  Answer\n", "the answer") == 1
    assert score(overlap.exact_match, "the answers", "the answer") == 0
    assert score(overlap.exact_match, "two", "one", "Two") == 1


def test_keyword_recall():
    assert score(overlap.keyword_recall, "Paris is in France", "Paris, France") == 1
    assert score(overlap.keyword_recall, "Paris", "Paris, the capital of France") == pytest.approx(
        1 / 5
    )
    assert score(overlap.keyword_recall, "anything", "...") == 0
    assert score(overlap.keyword_recall, "", "word") == 0


def test_token_f1_ignores_articles_and_punctuation():
    assert score(overlap.token_f1, "The cat sat.", "a cat sat") == 1
    assert score(overlap.token_f1, "cat", "cat sat") == pytest.approx(2 / 3)
    assert score(overlap.token_f1, "", "") == 1


@given(TEXT, TEXT)
def test_rouge_l_equals_rouge_score(answer, expected):
    from rouge_score.rouge_scorer import RougeScorer

    ascii_only = (
        answer.replace("é", "e"),
        expected.replace("é", "e"),
    )  # the library knows no other letters
    reference = RougeScorer(["rougeL"]).score(ascii_only[1], ascii_only[0])["rougeL"].fmeasure
    assert score(overlap.rouge_l, *ascii_only) == pytest.approx(reference, abs=1e-12)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=5))
def test_chrf_of_many_equals_sacrebleu_one_by_one(pairs):
    from sacrebleu.metrics.chrf import CHRF

    reference = [CHRF().sentence_score(answer, [expected]).score for answer, expected in pairs]
    found = overlap.chrf(
        [
            (Case("c", "q", expected=(expected,)), Response(answer=answer))
            for answer, expected in pairs
        ]
    )
    assert found == pytest.approx(reference, abs=1e-9)


def test_chrf_takes_the_best_of_several_expected_answers():
    pairs = [
        (Case("c", "q", expected=("zzz", "abc")), Response(answer="abc")),
        (Case("d", "q", expected=("x",)), Response(answer="y")),
    ]
    assert overlap.chrf(pairs) == [100.0, 0.0]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Cafe\u0301 am Markt", "Café am Markt"),  # NFD and NFC
        ("１２ “items”", '12 "items"'),  # full-width digits, typographic quotes
        ("It’s 2019–2020", "It's 2019-2020"),
        ("STRASSE", "straße"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
    ],
)
def test_equal_texts_in_other_characters_are_equal_in_every_metric(answer, expected):
    for function in (
        overlap.exact_match,
        overlap.keyword_recall,
        overlap.token_f1,
        overlap.rouge_l,
    ):
        assert score(function, answer, expected) == 1, function.__name__
    pair = (Case("c", "q", expected=(expected.casefold(),)), Response(answer=answer.casefold()))
    assert overlap.chrf([pair]) == [100.0]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("东京是日本的首都。", "日本的首都是东京。"), ("กรุงเทพเป็นเมืองหลวง", "เมืองหลวงเป็นกรุงเทพ")],
)
def test_reordered_text_without_spaces_is_compared_by_pairs_of_characters(answer, expected):
    assert 0.5 < score(overlap.token_f1, answer, expected) < 1
    assert 0.5 < score(overlap.keyword_recall, answer, expected) < 1
    assert 0.2 < score(overlap.rouge_l, answer, expected) < 1
    assert score(overlap.token_f1, "完全不同", expected) == 0
