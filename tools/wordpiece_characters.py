"""Write local_models/data/characters.json: how the `tokenizers` package treats each character, as ranges of code points."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from tokenizers import Tokenizer

SOURCE = Path(__file__).parents[1] / "src" / "answerkey"
TABLE = SOURCE / "local_models" / "data" / "characters.json"
CHINESE = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
           (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]  # fmt: skip


def classes() -> dict[str, list[tuple[int, int]]]:
    """The ranges of each class."""
    tokenizer = Tokenizer.from_file(
        str(SOURCE / "embed" / "data" / "all-MiniLM-L6-v2" / "tokenizer.json")
    )
    every = [n for n in range(0x110000) if not 0xD800 <= n < 0xE000]
    gone = [n for n in every if tokenizer.normalizer.normalize_str(chr(n)) == ""]
    # A mark is stripped after a letter is taken apart; what is dropped before goes wherever it stands.
    accents = tokenizer.normalizer.__class__(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    )
    marks = {n for n in gone if accents.normalize_str(chr(n)) == ""}
    points = [n for n in every if len(tokenizer.pre_tokenizer.pre_tokenize_str(f"a{chr(n)}a")) == 3]
    return {
        "dropped": ranges(n for n in gone if n not in marks),
        "marks": ranges(marks),
        "punctuation": ranges(points),
        "chinese": CHINESE,
    }


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as ranges, both ends included."""
    ordered = sorted(numbers)
    breaks = [
        0,
        *(place for place, (a, b) in enumerate(pairwise(ordered), start=1) if b != a + 1),
        len(ordered),
    ]
    return [(ordered[start], ordered[end - 1]) for start, end in pairwise(breaks)]


if __name__ == "__main__":
    TABLE.write_text(json.dumps(classes(), separators=(",", ":")) + "\n", encoding="utf-8")
