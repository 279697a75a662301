"""The memory of vectors: it saves work and is never the reason for a failure or for another number."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from answerkey.cache import DiskCache
from answerkey.embed import CachedEmbedder


class Counting:
    """Unit vectors made from the text itself; counts what it was asked."""

    name, digest, precision, dimension = "counting", "abc", "fp32", 8

    def __init__(self, digest: str = "abc") -> None:
        self.digest = digest
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        rows = [
            np.random.default_rng(crc32(text.encode("utf-8", "surrogatepass"))).normal(size=8)
            for text in texts
        ]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def test_each_text_is_asked_once_and_rows_come_back_in_order(tmp_path: Path) -> None:
    inner = Counting()
    embedder = CachedEmbedder(inner, DiskCache(tmp_path / "v.sqlite"))
    rows = embedder.embed(["b", "a", "b", "", "a"])
    assert inner.asked == ["b", "a", ""]
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_array_equal(rows[1], inner.embed(["a"])[0])
    inner.asked.clear()
    np.testing.assert_array_equal(embedder.embed(["a", "b"]), rows[[1, 0]])
    assert inner.asked == []


def test_the_disk_gives_the_same_bits_to_a_new_process_and_only_to_the_same_model(
    tmp_path: Path,
) -> None:
    path = tmp_path / "v.sqlite"
    texts = [f"text {n} \ud800" for n in range(1200)]
    first = CachedEmbedder(Counting(), DiskCache(path)).embed(texts)
    inner, other = Counting(), Counting(digest="other weights")
    np.testing.assert_array_equal(CachedEmbedder(inner, DiskCache(path)).embed(texts), first)
    assert inner.asked == []
    CachedEmbedder(other, DiskCache(path)).embed(texts[:3])
    assert other.asked == texts[:3]


def test_nothing_is_opened_before_the_first_use(tmp_path: Path) -> None:
    CachedEmbedder(Counting(), DiskCache(tmp_path / "deep" / "v.sqlite"))
    assert list(tmp_path.iterdir()) == []


def test_no_text_gives_no_row_and_one_text_is_a_mistake() -> None:
    embedder = CachedEmbedder(Counting())
    assert embedder.embed([]).shape == (0, 8)
    with pytest.raises(TypeError, match="list of strings"):
        embedder.embed("one text")


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_file_is_dropped(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(content)
    first = CachedEmbedder(Counting(), DiskCache(path))
    rows = first.embed(["a", "b"])
    np.testing.assert_array_equal(rows, Counting().embed(["a", "b"]))
    first.embed(["c"])
    again = Counting()
    CachedEmbedder(again, DiskCache(path)).embed(["c"])
    assert again.asked == []


def test_a_file_torn_in_the_middle_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    cache = DiskCache(path)
    texts = [f"text {n}" for n in range(3000)]
    expected = CachedEmbedder(Counting(), cache).embed(texts)
    cache.close()
    content = bytearray(path.read_bytes())
    content[4096:-4096:7] = b"\x5a" * len(content[4096:-4096:7])
    path.write_bytes(content)
    np.testing.assert_array_equal(
        CachedEmbedder(Counting(), DiskCache(path)).embed(texts), expected
    )


def test_rows_that_are_no_unit_vectors_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    cache = DiskCache(path)
    expected = CachedEmbedder(Counting(), cache).embed(["a", "b", "c", "d"])
    cache.close()
    with sqlite3.connect(path) as connection:
        blobs = [
            _summed(blob)
            for blob in (
                b"",
                b"abc",
                np.full(8, np.nan, "<f4").tobytes(),
                np.eye(1, 16, dtype="<f4").tobytes(),
            )
        ]
        for n, blob in enumerate(blobs, start=1):
            connection.execute("UPDATE entries SET value = ? WHERE id = ?", (blob, n))
    connection.close()
    np.testing.assert_array_equal(
        CachedEmbedder(Counting(), DiskCache(path)).embed(["a", "b", "c", "d"]), expected
    )


def test_a_folder_that_cannot_be_written_means_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    inner = Counting()
    embedder = CachedEmbedder(inner, DiskCache(tmp_path / "file" / "v.sqlite"))
    assert embedder.embed(["a"]).shape == (1, 8)


def test_the_size_is_bounded_and_the_newest_stay(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    cache = DiskCache(path, limit_bytes=200_000)
    embedder = CachedEmbedder(Counting(), cache)
    for start in range(0, 20_000, 500):
        embedder.embed([f"text {n}" for n in range(start, start + 500)])
    cache.close()
    assert path.stat().st_size < 400_000
    newest = [f"text {n}" for n in range(19_900, 20_000)]
    assert _asked(path, newest) == []


def _asked(path: Path, texts: Sequence[str]) -> list[str]:
    """The texts that a new process has to embed."""
    inner = Counting()
    CachedEmbedder(inner, DiskCache(path)).embed(texts)
    return inner.asked


def _summed(value: bytes) -> bytes:
    return blake2b(value, digest_size=8).digest() + value


def _fill(path: str, start: int) -> None:
    embedder = CachedEmbedder(Counting(), DiskCache(Path(path)))
    for n in range(start, start + 200, 20):
        embedder.embed([f"text {m}" for m in range(n, n + 20)])


def test_several_processes_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(str(path), start)) for start in (0, 100, 200)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert _asked(path, [f"text {n}" for n in range(400)]) == []
