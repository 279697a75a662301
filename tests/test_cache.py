"""The disk cache only saves work: damage and a disk that cannot be written mean that nothing is kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from answerkey.cache import DiskCache, cache_folder, digest, kept_file


def test_values_come_back_by_key_and_a_damaged_one_counts_as_absent(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "c.sqlite")
    cache.put({b"%d" % n: b"value %d" % n for n in range(1200)})
    found = cache.get([b"%d" % n for n in range(1200)] + [b"unknown"])
    assert found == {b"%d" % n: b"value %d" % n for n in range(1200)}
    cache.close()
    with sqlite3.connect(tmp_path / "c.sqlite") as connection:
        connection.execute("UPDATE entries SET value = substr(value, 1, 10) WHERE key = ?", (b"3",))
    connection.close()
    assert DiskCache(tmp_path / "c.sqlite").get([b"3", b"4"]) == {b"4": b"value 4"}
    cache.drop(b"4")
    assert DiskCache(tmp_path / "c.sqlite").get([b"3", b"4"]) == {}


def test_a_kept_file_is_made_once_and_again_when_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path))
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"content"

    key = digest("a", {"b": 1, "c": 2})
    assert key == digest("a", {"c": 2, "b": 1})
    assert [kept_file("pages", key, make) for _ in range(3)] == [b"content"] * 3
    assert len(made) == 1
    (tmp_path / "pages" / key).write_bytes(b"torn")
    assert kept_file("pages", key, make) == b"content"
    assert len(made) == 2
    assert [path.name for path in (tmp_path / "pages").iterdir()] == [key]


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "file"))
    assert kept_file("pages", "key", lambda: b"content") == b"content"


def test_the_folder_is_the_systems_unless_the_earlier_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANSWERKEY_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache_folder() == tmp_path / "elsewhere" / "answerkey"
    earlier = tmp_path / ".cache" / "answerkey"
    earlier.mkdir(parents=True)
    assert cache_folder() == earlier
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "chosen"))
    assert cache_folder() == tmp_path / "chosen"
