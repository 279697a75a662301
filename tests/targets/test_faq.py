"""The FAQ bot: token-set cosine, ties to the first row, and a stated "no match"."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.errors import InputError, SettingsError
from answerkey.targets.faq import NO_MATCH, faq_tokens, make_faq
from answerkey.targets.faq import token_cosine as cosine_of_tokens
from answerkey.types import Question, Response

ROWS = """question,answer
What is the PSoC?,A programmable chip.
How do I return goods?,Bring them to any store.
How do I return a gift?,Bring the gift receipt.
"""


def token_cosine(a: str, b: str) -> float:
    return cosine_of_tokens(faq_tokens(a), faq_tokens(b))


def ask(folder: Path, question: str, **settings: object) -> Response:
    (folder / "faq.csv").write_text(ROWS, encoding="utf-8")
    return make_faq({"kind": "faq", "faq": "faq.csv", **settings}, folder).ask(
        Question("q", question)
    )


def test_the_cosine_of_the_worked_example() -> None:
    assert faq_tokens("What is PSoC?") == {"what", "is", "psoc"}
    assert token_cosine("What is PSoC?", "What is the PSoC?") == pytest.approx(3 / math.sqrt(12))
    assert round(token_cosine("what is psoc", "what is the psoc"), 4) == 0.8660


def test_the_answer_comes_with_the_match_and_its_cosine(tmp_path: Path) -> None:
    response = ask(tmp_path, "what is psoc")
    assert response.answer == "A programmable chip."
    assert response.extra["match"] == "What is the PSoC?"
    assert response.extra["cosine"] == pytest.approx(0.8660, abs=5e-5)
    assert response.passages[0].id == "faq-1"


def test_ties_go_to_the_first_row(tmp_path: Path) -> None:
    assert ask(tmp_path, "return").answer == "Bring them to any store."
    (tmp_path / "tie.csv").write_text("question,answer\nred car,first\nblue car,second\n")
    bot = make_faq({"faq": "tie.csv"}, tmp_path)
    assert bot.ask(Question("q", "car")).answer == "first"


@pytest.mark.parametrize("question", ["", "   ", "?!", "…", "zebra"])
def test_an_empty_question_or_no_overlap_is_no_match(tmp_path: Path, question: str) -> None:
    response = ask(tmp_path, question)
    assert response.answer == NO_MATCH
    assert response.extra == {"match": None, "cosine": 0.0}
    assert response.passages == ()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("PSoC?", "psoc"),
        ("(psoc)", "psoc!"),
        ("“PSoC”", "psoc"),
        ("psoc psoc", "PSOC"),
        ("¿psoc?", "psoc…"),
    ],
)
def test_case_punctuation_and_repeats_do_not_matter(a: str, b: str) -> None:
    assert token_cosine(a, b) == 1.0


def test_marks_inside_a_word_are_kept() -> None:
    assert faq_tokens("It's 3.5 e-mails") == {"it's", "3.5", "e-mails"}


def test_minimum_refuses_weak_matches(tmp_path: Path) -> None:
    assert ask(tmp_path, "what is psoc", minimum=0.86).answer == "A programmable chip."
    assert ask(tmp_path, "what is psoc", minimum=0.87).answer == NO_MATCH


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_cosine_is_symmetric_and_in_range(a: str, b: str) -> None:
    cosine = token_cosine(a, b)
    assert cosine == token_cosine(b, a)
    assert 0.0 <= cosine <= 1.0 + 1e-12
    assert token_cosine(a, a) == (pytest.approx(1.0) if faq_tokens(a) else 0.0)


def test_json_and_jsonl_are_read_too(tmp_path: Path) -> None:
    rows = [{"question": "red car", "answer": "first"}]
    (tmp_path / "faq.json").write_text(json.dumps(rows))
    (tmp_path / "faq.jsonl").write_text("\ufeff" + json.dumps(rows[0]) + "\n", encoding="utf-8")
    (tmp_path / "faq.csv").write_text("question,expected_answer\nred car,first\n")
    for name in ("faq.json", "faq.jsonl", "faq.csv"):
        assert make_faq({"faq": name}, tmp_path).ask(Question("q", "car")).answer == "first"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("faq.csv", "question,answer\nq,\n", "line 2, column .answer.: .*each row needs"),
        ("faq.csv", "question,remark\nq,a\n", "line 2, column .answer.: found None"),
        ("faq.csv", "", "no rows"),
        ("faq.json", "{", "not valid JSON"),
        ("faq.json", "[1]", "item 1: found int"),
        ("faq.xml", "<a/>", "found a .xml file, expected .json"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=told):
        make_faq({"faq": name}, tmp_path)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "needs faq"),
        ({"faq": "none.csv"}, "no such file"),
        ({"faqs": "faq.csv"}, 'did you mean "faq"'),
        ({"faq": "faq.csv", "minimum": 2}, "from 0 to 1"),
    ],
)
def test_bad_settings_say_what_to_do(
    tmp_path: Path, settings: dict[str, object], told: str
) -> None:
    (tmp_path / "faq.csv").write_text(ROWS)
    with pytest.raises(SettingsError, match=told):
        make_faq(settings, tmp_path)
