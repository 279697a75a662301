"""Compare the typos that `--variants typos` makes with typos that people made.

    python tools/typo_table.py typos.jsonl

Each line of the file has `question` and `typo`, the question as somebody typed it. The same questions
are mistyped by answerkey; the table counts the kinds of slips and the edit distances of both.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from answerkey.types import Case
from answerkey.variants.expand import VariantPlan, expand_cases

SEEDS = 20  # one draw of 30 questions says little


def classify_slip(word: str, mistyped: str) -> str:
    """The kind of one slip; `other` for two or more in one word."""
    if len(mistyped) == len(word) - 1 and _is_shorter_by_one(mistyped, word):
        return "letter left out"
    if len(mistyped) == len(word) + 1 and _is_shorter_by_one(word, mistyped):
        return "letter added"
    different = [
        n for n, pair in enumerate(zip(word, mistyped, strict=False)) if pair[0] != pair[1]
    ]
    if len(mistyped) == len(word) and len(different) == 1:
        return "letter replaced"
    if len(mistyped) == len(word) and len(different) == 2:
        first, second = different
        if (
            second == first + 1
            and word[first] == mistyped[second]
            and word[second] == mistyped[first]
        ):
            return "letters swapped"
    return "other"


def _is_shorter_by_one(short: str, long: str) -> bool:
    return any(long[:n] + long[n + 1 :] == short for n in range(len(long)))


def edit_distance(a: str, b: str) -> int:
    """Damerau's distance: insertions, deletions, replacements and swaps of neighbours."""
    rows = [list(range(len(b) + 1))]
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def count_slips(pairs: Iterable[tuple[str, str]]) -> tuple[Counter[str], Counter[int]]:
    """The kinds of slips over all mistyped words, and the edit distances over all questions."""
    kinds: Counter[str] = Counter()
    distances: Counter[int] = Counter()
    for question, typed in pairs:
        distances[edit_distance(question, typed)] += 1
        words = question.split()
        typed_words = typed.split()
        if len(words) != len(typed_words):
            kinds["other"] += 1
            continue
        for word, mistyped in zip(words, typed_words, strict=True):
            if word != mistyped:
                kinds[classify_slip(word, mistyped)] += 1
    return kinds, distances


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    real = [(row["question"], row["typo"]) for row in map(json.loads, lines)]
    cases = [Case(str(n), question) for n, (question, _) in enumerate(real)]
    made: list[tuple[str, str]] = []
    for seed in range(SEEDS):
        children = expand_cases(cases, VariantPlan(("typos",), seed=seed)).children
        questions = {case.id: case.question for case in cases}
        made += [(questions[str(child.extra["variant_of"])], child.question) for child in children]
    tables = [count_slips(real), count_slips(made)]
    print(
        f"| | people ({len(real)} questions) | answerkey ({len(made)} questions) |\n|---|---|---|"
    )
    for kind in ("letter left out", "letter replaced", "letters swapped", "letter added", "other"):
        print(f"| {kind} | {' | '.join(_share(table[0], kind) for table in tables)} |")
    for distance in (1, 2):
        shares = " | ".join(_share(table[1], distance) for table in tables)
        print(f"| edit distance {distance} | {shares} |")


def _share(counts: Counter[str] | Counter[int], key: str | int) -> str:
    number = dict(counts).get(key, 0)  # type: ignore[arg-type]
    return f"{100 * number / counts.total():.0f} %"


if __name__ == "__main__":
    main()
