"""The labels of many cases as arrays, and the hits of page rankings in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from answerkey.metrics.ranking.hits import Floats, Hits, Ints, Places, ideal_places
from answerkey.retrieval.rankings import clean_id
from answerkey.types import Case


@dataclass(frozen=True, slots=True)
class Labels:
    """Relevant pages by query: `code` is query · pages + page, sorted; pages that the index lacks are only in `ideal`."""

    queries: int
    pages: int
    code: Ints
    grade: Floats
    ideal: Places

    @property
    def labelled(self) -> np.ndarray:
        return np.bincount(self.ideal.query, minlength=self.queries) > 0


def number_labels(cases: Sequence[Case], pages: Sequence[str]) -> Labels:
    numbers = {page: number for number, page in enumerate(pages)}
    grades = [{clean_id(key): grade for key, grade in (case.relevant or {}).items()} for case in cases]
    pairs = sorted(
        (query * len(pages) + numbers[page], grade)
        for query, row in enumerate(grades)
        for page, grade in row.items()
        if grade > 0 and page in numbers
    )
    code = np.array([pair[0] for pair in pairs], np.int64)
    return Labels(len(cases), len(pages), code, np.array([pair[1] for pair in pairs]), ideal_places(grades))


def hits_in_pages(rankings: Ints, labels: Labels) -> Hits:
    """Hits of rankings (variant, query, rank) of page numbers, -1 for none; a row a variant and query."""
    variants, queries, depth = rankings.shape
    codes = np.where(rankings >= 0, np.arange(queries)[None, :, None] * labels.pages + rankings, -1).reshape(
        -1, depth
    )
    place = np.searchsorted(labels.code, codes)
    place[place == len(labels.code)] = 0
    hit = (labels.code[place] == codes) if len(labels.code) else np.zeros(codes.shape, bool)
    row, column = np.nonzero(hit)
    found = Places(row, column + 1, labels.grade[place[row, column]] if len(row) else np.empty(0))
    ideal = labels.ideal
    shift = np.repeat(np.arange(variants) * queries, len(ideal.query))
    repeated = Places(
        np.tile(ideal.query, variants) + shift, np.tile(ideal.rank, variants), np.tile(ideal.grade, variants)
    )
    return Hits(variants * queries, found, repeated)
