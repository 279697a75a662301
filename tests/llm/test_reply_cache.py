"""Replies on disk: which are kept, and which are dropped."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from answerkey.cache import DiskCache, digest
from answerkey.llm.chat import Reply
from answerkey.llm.reply_cache import ReplyCache
from answerkey.llm.threads import in_threads

KEY = digest("a question")
REPLY = Reply(
    "text é \u2028",
    reasoning="r",
    prompt_tokens=3,
    completion_tokens=None,
    model="m",
    cost=0.5,
    rung="tool",
)


def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    ReplyCache(tmp_path).put(KEY, REPLY)
    assert ReplyCache(tmp_path).get(KEY) == REPLY
    assert ReplyCache(tmp_path).get(digest("another")) is None


@pytest.mark.parametrize(
    "written",
    [b"", b"\0\1", b'{"text": 5}', b"{}", b"[]", b'{"text": "a"', b'{"text": "a", "cost": "1"}'],
)
def test_an_entry_that_is_no_reply_counts_as_absent(tmp_path: Path, written: bytes) -> None:
    cache = ReplyCache(tmp_path)
    DiskCache(tmp_path / "replies.sqlite").put({KEY.encode(): written})
    assert cache.get(KEY) is None
    cache.put(KEY, REPLY)
    assert cache.get(KEY) == REPLY
    cache.drop(KEY)
    assert cache.get(KEY) is None


def test_a_reply_that_utf8_cannot_hold_is_not_kept(tmp_path: Path) -> None:
    ReplyCache(tmp_path).put(KEY, Reply("half \ud800"))
    assert ReplyCache(tmp_path).get(KEY) is None


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = ReplyCache(blocked)
    cache.put(KEY, REPLY)
    assert cache.get(KEY) is None


def test_many_threads_may_write_one_entry(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    in_threads(lambda _: cache.put(KEY, REPLY), range(100), 8)
    assert cache.get(KEY) == REPLY


def test_replies_that_come_together_are_written_soon(tmp_path: Path) -> None:
    cache, other = ReplyCache(tmp_path), ReplyCache(tmp_path)
    keys = [digest(n) for n in range(5)]
    for key in keys:
        cache.put(key, REPLY)
        assert cache.get(key) == REPLY
    until = time.monotonic() + 10
    while other.get(keys[-1]) is None and time.monotonic() < until:
        time.sleep(0.02)
    assert [other.get(key) for key in keys] == [REPLY] * 5
    cache.put(KEY, REPLY)
    cache.put(KEY, Reply("later"))
    cache.write()
    assert other.get(KEY) == Reply("later")
    cache.drop(KEY)
    assert other.get(KEY) is None
