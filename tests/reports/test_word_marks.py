"""Two answers, word by word."""

from __future__ import annotations

from answerkey.reports.word_marks import DiffPart, marked_answer, word_diff


def test_the_answer_is_marked_against_the_expected_one() -> None:
    expected, answer = marked_answer("It opens at 9 on Monday.", "On Monday, it opens at 8.")
    assert [piece.text for piece in expected if piece.kind == "missing"] == ["9"]
    assert [piece.text for piece in answer if piece.kind == "other"] == ["8."]
    assert "".join(piece.text for piece in expected) == "It opens at 9 on Monday."
    assert marked_answer("", "7 days")[1] == [DiffPart("7 days")]


def test_a_citation_is_no_unexpected_number() -> None:
    _, answer = marked_answer("In 1 hour.", "In 2 hours [2]. So it is [1, 3].")
    assert [piece.text for piece in answer if piece.kind == "other"] == ["2"]


def test_word_diff_gives_both_texts_back() -> None:
    a, b = "The fee is 5 % of the sum.\n\n- due now", "The fee is 7 % of the whole sum.\n- due now"
    left, right = word_diff(a, b)
    assert "".join(piece.text for piece in left) == a
    assert "".join(piece.text for piece in right) == b
    assert next(p.text.strip() for p in left if p.kind == "removed") == "5"
    assert word_diff("", "") == ([], [])
    assert [p.kind for p in word_diff("", "new words")[1]] == ["added"]
    long_a, long_b = "word " * 300_000, "other " * 300_000
    assert len("".join(p.text for p in word_diff(long_a, long_b)[0])) <= 20_000
