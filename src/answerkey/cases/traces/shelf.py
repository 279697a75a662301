"""Spans sorted by conversation and trace, on disk, so that a file of any size needs little memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from types import TracebackType

import msgspec

from answerkey.cases.traces.facts import SpanFacts
from answerkey.coerce.values import describe_value, is_list, is_mapping, valid_text

_BATCH = 500
# The spans of a trace share one case. A trace with more is damaged or not about a bot, and its
# spans must fit into memory; the rest is left out and reported.
MOST_SPANS = 200_000
_TABLES = """
CREATE TABLE spans (number INTEGER PRIMARY KEY, trace TEXT NOT NULL, facts BLOB NOT NULL);
CREATE TABLE traces (trace TEXT PRIMARY KEY, first INTEGER NOT NULL, start INTEGER,
                     session TEXT NOT NULL, spans INTEGER NOT NULL) WITHOUT ROWID;
"""
_IN_ORDER = """
SELECT traces.trace, traces.session, spans.facts
FROM traces JOIN spans ON spans.trace = traces.trace
LEFT JOIN (SELECT session, MIN(first) AS first FROM traces WHERE session <> '' GROUP BY session) AS own
       ON own.session = traces.session
ORDER BY COALESCE(own.first, traces.first), traces.start, traces.first, spans.number
"""
_DEEPEST = 50  # levels of the arguments of a tool
_decode = msgspec.msgpack.Decoder(SpanFacts).decode
_encode_fast = msgspec.msgpack.Encoder().encode


def _encode(facts: SpanFacts) -> bytes:
    try:
        return _encode_fast(facts)
    except (OverflowError, ValueError, TypeError, RecursionError):
        # Huge whole numbers, half characters and deep nesting: rare, so that only they pay.
        return _encode_fast(_plain_values(facts))


def _plain_values(value: object, depth: int = 0) -> object:
    """The value with texts that are valid and numbers that fit into 64 bits."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return describe_value(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        plain = {name: _plain_values(item, depth + 1) for name, item in fields.items()}
        return type(value)(**plain)
    if is_mapping(value):
        return {valid_text(str(key)): _plain_values(item, depth + 1) for key, item in value.items()}
    if is_list(value):
        return [_plain_values(item, depth + 1) for item in value]
    return value


class SpanShelf:
    """A temporary database, gone when it is closed. The empty name makes SQLite keep it in memory
    until it grows, and then in a file that nobody else can see."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.executescript(_TABLES)
        self._spans: list[tuple[str, bytes]] = []
        self._traces: dict[str, _TraceEntry] = {}
        self._count = 0
        self.dropped = 0

    def __enter__(self) -> SpanShelf:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._database.close()

    def add(self, facts: SpanFacts) -> None:
        """Keep a span."""
        self._count += 1
        entry = self._traces.get(facts.trace)
        if entry is None:
            entry = _TraceEntry(self._count)
            self._traces[facts.trace] = entry
        entry.spans += 1
        if facts.start is not None and (entry.start is None or facts.start < entry.start):
            entry.start = facts.start
        # Any span may name the session; the first one counts.
        entry.session = entry.session or facts.session
        self._spans.append((facts.trace, _encode(facts)))
        if len(self._spans) >= _BATCH:
            self._write()

    def _write(self) -> None:
        """Move what was collected to the database; the entry of a trace is joined with its old one."""
        self._database.executemany("INSERT INTO spans (trace, facts) VALUES (?, ?)", self._spans)
        self._database.executemany(
            "INSERT INTO traces VALUES (?, ?, ?, ?, ?) ON CONFLICT (trace) DO UPDATE SET "
            "start = MIN(COALESCE(start, excluded.start), COALESCE(excluded.start, start)), "
            "session = CASE session WHEN '' THEN excluded.session ELSE session END, "
            "spans = spans + excluded.spans",
            [
                (trace, entry.first, entry.start, entry.session, entry.spans)
                for trace, entry in self._traces.items()
            ],
        )
        self._spans.clear()
        self._traces.clear()

    def traces(self) -> Iterator[tuple[str, str, Iterator[SpanFacts]]]:
        """Session, trace and spans of each trace: conversations in the order of the file, their
        traces in the order of time."""
        self._write()
        # After all rows are there: filling an index row by row is slower.
        self._database.execute("CREATE INDEX IF NOT EXISTS by_trace ON spans (trace)")
        rows = self._database.execute(_IN_ORDER)
        for (trace, session), group in groupby(rows, key=lambda row: (row[0], row[1])):
            yield session, trace, self._decode_group(row[2] for row in group)

    def _decode_group(self, blobs: Iterator[bytes]) -> Iterator[SpanFacts]:
        for number, blob in enumerate(blobs):
            if number < MOST_SPANS:
                yield _decode(blob)
            else:
                self.dropped += 1


class _TraceEntry:
    """The facts about a trace since the last write."""

    __slots__ = ("first", "session", "spans", "start")

    def __init__(self, first: int) -> None:
        self.first = first
        self.session = ""
        self.spans = 0
        self.start: int | None = None
