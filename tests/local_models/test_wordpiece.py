"""The tokenizer gives the tokens of the `tokenizers` package, whatever the text."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.local_models.model_files import MINILM_FOLDER as PACKAGED
from answerkey.local_models.wordpiece import WordPiece

tokenizers = pytest.importorskip("tokenizers")
PATH = PACKAGED / "tokenizer.json"
TEXTS = [
    "", " ", "Hello, World!", "don't [SEP] [CLS]x[MASK]y [sep] [S\x1cEP]", "naïve café CAFÉ e\u0301", "ΣΊΣΥΦΟΣ σίσυφος", "İstanbul ISTANBUL ß",
    "东京 is 東京都", "ภาษาไทย", "हिन्दी में", "العربية الفصحى", "עברית", "한국어 텍스트", "русский ЯЗЫК", "a\x00b\x0bc\x1fd\x85e\u2028f\u00a0g\ufffdh",
    "😀👩‍👩‍👧 emoji\ufe0f", "x" * 99, "x" * 100, "x" * 101, "RM 99,852.83 (+12%)", "≠ ; \u037e ` \u1fef", "\u0898 \u0628\u0898", "\u2e43\u166d", "\U0001f600" * 300,
    "字" * 400, "word " * 400,
]  # fmt: skip


@cache
def ours(longest: int) -> WordPiece:
    return WordPiece(PATH, longest)


@cache
def theirs(longest: int) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_file(str(PATH))
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest, strategy="longest_first")
    return tokenizer


def assert_equal(texts: Sequence[str], longest: int = 256) -> None:
    expected = theirs(longest).encode_batch_fast(list(texts))
    for text, one, other in zip(texts, ours(longest).encode(texts), expected, strict=True):
        assert one.ids == other.ids, text[:80]


def test_texts_of_many_scripts() -> None:
    assert_equal(TEXTS)
    assert_equal(
        json.loads(
            (PACKAGED.parents[4] / "tests" / "embed" / "reference.json").read_text(encoding="utf-8")
        )
    )


@pytest.mark.slow
def test_every_character_alone_and_between_letters() -> None:
    every = [
        chr(n)
        for n in (
            *range(0xD800),
            *range(0xE000, 0xE100),
            *range(0xF8F0, 0x32000),
            *range(0xE0000, 0xE0200),
        )
    ]
    for start in range(0, len(every), 2048):
        block = every[start : start + 2048]
        assert_equal([" ".join(f"a{character}b {character}" for character in block)], 100_000)


@given(st.text(max_size=60), st.sampled_from([3, 8, 40]))
def test_any_text(text: str, longest: int) -> None:
    readable = text.encode("utf-8", "replace").decode()
    assert_equal([readable, f"{readable} end", f"Begin{readable}"], longest)


@given(
    st.text("ab É字,[SEP]\u0301\x1f\n", max_size=60),
    st.text("ab xyz", max_size=60),
    st.sampled_from([3, 8, 40]),
)
def test_any_pair(one: str, other: str, longest: int) -> None:
    (found,) = ours(longest).encode_pairs([(one, other)])
    (expected,) = theirs(longest).encode_batch([(one, other)])
    assert (found.ids, found.type_ids) == (expected.ids, expected.type_ids)


def test_the_kept_words_are_bounded_and_do_not_change_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("answerkey.local_models.wordpiece._MOST_KEPT", 20)
    small = WordPiece(PATH, 64)
    words = [str(random.Random(n).random()) for n in range(100)]
    assert [one.ids for one in small.encode(words)] == [one.ids for one in small.encode(words)]
    assert len(small._chunks) <= 20


@pytest.mark.slow
def test_the_table_of_characters_is_that_of_the_package() -> None:
    from tools.wordpiece_characters import TABLE, classes

    assert json.loads(TABLE.read_text()) == json.loads(json.dumps(classes()))
