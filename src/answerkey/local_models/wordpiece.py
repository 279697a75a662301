"""The WordPiece tokenizer of the packaged models, without the `tokenizers` package: the core install stays small.

Only the packaged models use it; models by name use `tokenizers`. tests/local_models/test_wordpiece.py compares the two.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

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
        self._vocabulary: dict[str, int] = msgspec.json.decode(path.read_bytes())["model"]["vocab"]
        self._longest = longest
        self._longest_piece = max(map(len, self._vocabulary))
        self._first = self._vocabulary["[CLS]"]
        self._last = self._vocabulary["[SEP]"]
        self._unknown = self._vocabulary["[UNK]"]
        classes: dict[str, list[tuple[int, int]]] = msgspec.json.decode(_CHARACTERS.read_bytes())
        self._marks = _characters_in(classes["marks"])
        self._punctuation = _characters_in(classes["punctuation"])
        self._dropped = classes["dropped"]  # as ranges: more than 100,000 characters
        self._chinese = classes["chinese"]
        self._characters: dict[str, str] = {}
        self._chunks: dict[str, list[int]] = {}

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text, between [CLS] and [SEP]."""
        pieces = (self._ids(text, self._longest - 2) for text in texts)
        return [Tokens([self._first, *ids, self._last], [0] * (len(ids) + 2)) for ids in pieces]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """The tokens of each pair; the longer text is cut first."""
        limit = self._longest - 3
        made: list[Tokens] = []
        for premise, statement in pairs:
            one = self._ids(premise, sys.maxsize)  # whole: the longer one is cut
            other = self._ids(statement, sys.maxsize)
            if len(one) + len(other) > limit:
                first, second = _shares(len(one), len(other), limit)
                one = one[:first]
                other = other[:second]
            ids = [self._first, *one, self._last, *other, self._last]
            made.append(Tokens(ids, [0] * (len(one) + 2) + [1] * (len(other) + 1)))
        return made

    def _ids(self, text: str, limit: int) -> list[int]:
        ids: list[int] = []
        if _ODD.search(text):
            chunks = _CHUNK.findall(text)
        else:
            chunks = text.split()
        for chunk in chunks:
            kept = self._chunks.get(chunk)
            if kept is None:
                kept = self._chunk(chunk, limit)
            ids += kept
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
        kept = self._characters.get(character)
        if kept is not None:
            return kept
        plain = ""
        if not _is_in(character, self._dropped):
            plain = unicodedata.normalize("NFD", character)
        lower = "".join(one.lower() for one in plain if one not in self._marks)
        apart = "".join(f" {one} " if one in self._punctuation else one for one in lower)
        if _is_in(character, self._chinese):
            apart = f" {apart} "
        self._characters[character] = apart
        return apart

    def _pieces(self, word: str) -> list[int]:
        """The longest pieces of the vocabulary, from the left; a word that has none at some place is unknown."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        ids: list[int] = []
        start = 0
        prefix = ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                piece = self._vocabulary.get(prefix + word[start:end])
                if piece is not None:
                    ids.append(piece)
                    start = end
                    prefix = "##"
                    break
            else:
                return [self._unknown]
        return ids


def _characters_in(ranges: Sequence[tuple[int, int]]) -> set[str]:
    return {chr(n) for start, end in ranges for n in range(start, end + 1)}


def _is_in(character: str, ranges: Sequence[tuple[int, int]]) -> bool:
    number = ord(character)
    return any(start <= number <= end for start, end in ranges)


def _shares(one: int, other: int, limit: int) -> tuple[int, int]:
    """How much of two texts is kept: all of the shorter one where it takes less than half."""
    short = min(one, other)
    if short <= limit // 2:
        long = limit - short
    else:
        short = limit // 2
        long = limit - short
    if one <= other:
        return short, long
    return long, short
