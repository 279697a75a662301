"""Rows that a model computed: each once, in memory and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from answerkey.cache import DiskCache
from answerkey.local_models.row_cache import RowCache


class Counter:
    """Computes rows and remembers what it was asked for."""

    def __init__(self) -> None:
        self.rounds: list[list[str]] = []

    def __call__(self, keys: Sequence[str]) -> list[np.ndarray]:
        self.rounds.append(list(keys))
        return [np.array([len(key), 1.0], np.float32) for key in keys]


def make_cache(store: DiskCache | None = None, model: str = "m", most: int = 100) -> RowCache[str]:
    return RowCache(model, store, lambda row: len(row) == 2, most)


def test_a_key_is_computed_once_and_rows_keep_the_order() -> None:
    cache = make_cache()
    compute = Counter()
    rows = cache.rows(["aa", "b", "aa"], compute, at_once=10)
    assert [row[0] for row in rows] == [2, 1, 2]
    assert compute.rounds == [["aa", "b"]]
    cache.rows(["b", "ccc"], compute, at_once=10)
    assert compute.rounds[1:] == [["ccc"]]


def test_rounds_have_a_size() -> None:
    compute = Counter()
    make_cache().rows([str(n) for n in range(7)], compute, at_once=3)
    assert [len(part) for part in compute.rounds] == [3, 3, 1]


def test_rows_on_disk_are_those_of_the_same_model(tmp_path: Path) -> None:
    store = DiskCache(tmp_path / "rows.sqlite")
    compute = Counter()
    make_cache(store).rows(["a"], compute, at_once=10)
    make_cache(store).rows(["a"], compute, at_once=10)
    assert len(compute.rounds) == 1
    make_cache(store, model="other").rows(["a"], compute, at_once=10)
    assert len(compute.rounds) == 2


def test_a_row_of_the_wrong_length_is_computed_again(tmp_path: Path) -> None:
    store = DiskCache(tmp_path / "rows.sqlite")
    compute = Counter()
    make_cache(store).rows(["a"], compute, at_once=10)
    (key,) = (make_cache(store)._digest("a"),)
    for damaged in (b"12345", np.zeros(3, np.float32).tobytes()):
        store.put({key: damaged})
        make_cache(store).rows(["a"], compute, at_once=10)
    assert len(compute.rounds) == 3


def test_memory_is_bounded() -> None:
    cache = make_cache(most=2)
    compute = Counter()
    cache.rows(["a", "b", "c"], compute, at_once=10)
    cache.rows(["c"], compute, at_once=10)
    assert len(compute.rounds) == 1
    cache.rows(["a"], compute, at_once=10)
    assert compute.rounds[1:] == [["a"]]
