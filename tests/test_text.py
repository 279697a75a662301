import json

import pytest

from answerkey.text import numbers, printable, printable_json, short_label, split_at_stops, words


@pytest.mark.parametrize(
    ("text", "decimal", "values"),
    [
        ("RM 99,852.83", ".", [99852.83]),
        ("1.2M and 3k, 2 billion", ".", [1.2e6, 3e3, 2e9]),
        ("up 12% or 12.5 percent", ".", [12, 12.5]),
        ("1.234,5", ".", [1234.5]),
        ("1.234", ",", [1234]),
        ("1.234", ".", [1.234]),
        ("1,234", ".", [1234]),
        ("1,234", ",", [1.234]),
        ("0,8", ".", [0.8]),
        ("12'345 and 1\u00a0234", ".", [12345, 1234]),
        ("1,23,456", ".", [123456]),
        ("-5, −6, 2020-2021", ".", [-5, -6, 2020, 2021]),
        ("version 1.2.3 of Q3", ".", []),
        ("$5 and 5 USD, RM1,000", ".", [5, 5, 1000]),
        ("RM 1.2 M, 3 K, 4 m of rope, 7 Kings", ".", [1.2e6, 3e3, 4, 7]),
        ("a .5 share, p<.05", ".", [0.5, 0.05]),
        ("page 34.", ".", [34]),
        ("Days left:\n- 5 days, 2019 - 2020", ".", [5, 2019, 2020]),
        ("-RM 1,000, -USD 5, −US$5, -$5, RM -7, $-8", ".", [-1000, -5, -5, -5, -7, -8]),
        ("$5-$10, cost-RM 5, COVID-19", ".", [5, 10, 5, 19]),
        ("1.5tn, 2 tn, 3 trillion", ".", [1.5e12, 2e12, 3e12]),
        (f"{'9' * 400} and {'9' * 300} trillion", ".", []),
        ("", ".", []),
    ],
)
def test_numbers_are_read_as_people_write_them(text, decimal, values):
    assert [number.value for number in numbers(text, decimal)] == pytest.approx(values)


def test_sentences_split_at_full_stops_and_marks():
    assert split_at_stops("One. Two!  Three? ...") == ["One", "Two", "Three"]
    assert split_at_stops("") == split_at_stops(" .!? ") == []


def test_nothing_invisible_reaches_a_terminal():
    assert printable("a\x1b[31mred\u202e\x07") == "a�[31mred��"
    assert printable("tab\tline\nñ 漢字 👍") == "tab\tline\nñ 漢字 👍"


def test_words_are_folded_and_scripts_without_spaces_are_cut_in_pairs():
    assert words("Rise of 5%: 東京都") == ("rise", "of", "5", "東京", "京都")
    assert words("Ｎ° “Straße” é") == words('n° "STRASSE" e\u0301')
    assert words("नमस्ते") == ("नमस्ते",)


def test_inert_text_keeps_its_places() -> None:
    text = "a\x1b[31m \u202eb\u2066 \ud800 \ufeff\n\tc \u200d\u200c é 👩\u200d👧"
    assert len(printable(text)) == len(text)
    assert printable("plain é\n\t👩\u200d👧 \u200c") == "plain é\n\t👩\u200d👧 \u200c"
    printable(text).encode("utf-8")
    assert short_label("x" * 1_000_000) == "x" * 59 + "…"


def test_json_for_a_terminal_has_no_control_characters() -> None:
    text = json.dumps({"a": "x\x7f\x9b\u202e\x1b"}, ensure_ascii=False)
    shown = printable_json(text)
    assert shown.isascii()
    assert shown.isprintable()
    assert json.loads(shown) == json.loads(text)
