"""The tokenizer of BERT models, token for token as the `tokenizers` package reads the same tokenizer.json.

Which characters are dropped, are marks or punctuation is stored beside it: it must not depend on the Unicode tables of
the Python that runs.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_CHARACTERS = Path(__file__).parent / "data" / "characters.json"
_SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_NO_SPACE = "\x0b\x0c\x1c-\x1f\x85"  # dropped, although Python's `split` takes them for white space
_ODD = re.compile(f"[{_NO_SPACE}]")
_CHUNK = re.compile(rf"(?:\S|[{_NO_SPACE}])+")
_LONGEST_WORD = 100
_LONGEST_KEPT = 40
_MOST_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """The ids of one text, or of a pair, whose second text has the type 1."""

    ids: list[int]
    type_ids: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class WordPiece:
    """Texts and pairs as tokens, at most `longest` of them. May be called from several threads."""

    def __init__(self, path: Path, longest: int) -> None:
        self._vocabulary: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
        self._longest = longest
        self._longest_piece = max(map(len, self._vocabulary))
        self._first, self._last, self._unknown = (self._vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        classes = json.loads(_CHARACTERS.read_text(encoding="utf-8"))
        self._dropped, self._marks, self._punctuation = (
            {chr(n) for start, end in classes[name] for n in range(start, end + 1)}
            for name in ("dropped", "marks", "punctuation")
        )
        self._chinese: list[tuple[int, int]] = classes["chinese"]
        self._characters: dict[str, str] = {}
        self._chunks: dict[str, list[int]] = {}

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, between [CLS] and [SEP]."""
        found = (self._ids(text, self._longest - 2) for text in texts)
        return [Tokens([self._first, *ids, self._last], [0] * (len(ids) + 2)) for ids in found]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """The tokens of each pair; the longer text is cut first."""
        limit = self._longest - 3
        made: list[Tokens] = []
        for pair in pairs:
            one, other = (self._ids(text, sys.maxsize) for text in pair)  # whole: the longer one is cut
            if len(one) + len(other) > limit:
                first, second = _shares(len(one), len(other), limit)
                one, other = one[:first], other[:second]
            ids = [self._first, *one, self._last, *other, self._last]
            made.append(Tokens(ids, [0] * (len(one) + 2) + [1] * (len(other) + 1)))
        return made

    def _ids(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        known = self._chunks
        for chunk in _CHUNK.findall(text) if _ODD.search(text) else text.split():
            found = known.get(chunk)
            ids += self._chunk(chunk, limit) if found is None else found
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _chunk(self, chunk: str, limit: int) -> list[int]:
        """The ids of what stands between two blanks, kept for the next time; of a very long one only the first."""
        ids: list[int] = []
        for number, part in enumerate(_SPECIAL.split(chunk)):
            if number % 2:
                ids.append(self._vocabulary[part])
                continue
            for word in "".join(map(self._character, part)).split():
                ids += self._pieces(word)
                if len(ids) >= limit and len(chunk) > _LONGEST_KEPT:
                    return ids
        if len(chunk) <= _LONGEST_KEPT:
            if len(self._chunks) >= _MOST_KEPT:
                self._chunks.clear()
            self._chunks[chunk] = ids
        return ids

    def _character(self, character: str) -> str:
        """The character in lower case without its marks; blanks around it where it is a word of its own."""
        found = self._characters.get(character)
        if found is None:
            number = ord(character)
            own_word = any(start <= number <= end for start, end in self._chinese)
            plain = "" if character in self._dropped else unicodedata.normalize("NFD", character)
            lower = "".join(one.lower() for one in plain if one not in self._marks)
            apart = "".join(f" {one} " if one in self._punctuation else one for one in lower)
            found = self._characters[character] = f" {apart} " if own_word else apart
        return found

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces of the vocabulary, from the left; a word that has none at some place is unknown."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                found = self._vocabulary.get(prefix + word[start:end])
                if found is not None:
                    ids.append(found)
                    start, prefix = end, "##"
                    break
            else:
                return [self._unknown]
        return ids


def _shares(one: int, other: int, limit: int) -> tuple[int, int]:
    """How much of two texts is kept: all of the shorter one where it takes less than half."""
    short, long = min(one, other), max(one, other)
    long = max(short, limit - short) if short <= limit else short
    if short + long > limit:
        short, long = limit // 2, limit - limit // 2
    return (short, long) if one <= other else (long, short)
