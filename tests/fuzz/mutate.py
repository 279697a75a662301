"""Hostile values, and changes to bytes, text and JSON values: all from one seeded generator."""

from __future__ import annotations

import json
from random import Random
from typing import Any

NUMBERS = (
    "0", "-1", "1", "-0", "0.5", "1e308", "-1e308", "1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "nan", "inf",
    "9999999999", "99999999999999999999", "1" + "0" * 60, "1" + "0" * 400, "1" + "0" * 5000, "0x10", "1_000", "٣", "１２", "²", "1,5",
    "1.2.3", "--1", "1e", "007", "3.0000000000000004", "true", "-9223372036854775809", "1e101",
)  # fmt: skip
TEXTS = (
    "", " ", "\n", "\t", "\0", "a", "é", "e\u0301", "日本", "🎉", "\ud800", "\udfff x", "\u202e", "\u2028", "\ufeff", "\x1b[31m", "\x07",
    "x" * 300, "x" * 5000, "[" * 200, "{" * 200, '{"a":' * 150, "[[[]]]", "null", "None", "N/A", "=1+1", "＝1", "@x", "-x", "+x", "../x",
    "a/b", "..", ".", "%s%n{0}", "{question}", "${HOME}", "${NOPE}", "<script>alert(1)</script>", "]]>", "<!--", "&amp;", "'", '"', '"""',
    "\\", "\\u0000", "^(a+)+$", "(", "[", "a**b", "```", "---", "# Q", "**A:**", "Q1", "recall@5", "recall@99999999999999999999", "ndcg@0",
    "ndcg@-1", "token_f1", "exact_match", "no_such_metric", "a:b", "a:b:c", ":", "module:function", "local", "groq", "http://", "http://[",
    "http://127.0.0.1:1/", "http://user:pw@127.0.0.1/", "ftp://x", "pass_rate >= 0.5", "success[x] > 2", "mean[] >= nan", "a#1", "a.pdf:34",
    "34", "3-1", "0-99999999", "1999-12-31", "12:60", "yes", "off", "rag", "rubric", "data\r\nx", "a\u0000b", "\u00a0", "１", "ı", "ß", "ﬀ",
)  # fmt: skip
KEYS = (
    "id", "question", "expected", "answer", "contexts", "passages", "relevant", "retrieved", "type", "tags", "history", "criteria",
    "answer_criteria", "score", "n", "case", "response", "verdict", "scores", "value", "error", "status", "extra", "details", "parts",
    "messages", "sequence", "assert", "vars", "tests", "prompts", "name", "kind", "weight", "floor", "bands", "at", "metric", "reason",
)  # fmt: skip
DEEP = (120, 300, 1200, 20_000)
TOKENS = (b",", b";", b"\t", b'"', b"'", b"\n", b"\r", b":", b"{", b"}", b"[", b"]", b"-", b"#", b"|", b"*", b"&a", b"*a", b"!!", b"\xff",
          b"\xc3", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\xed\xa0\x80", b"<<", b"```", b"---\n", b"= ", b"[[", b"\\u", b"\\ud800")  # fmt: skip


def number(rng: Random) -> Any:
    """A number of Python, most of them odd."""
    choice = rng.randrange(8)
    if choice == 0:
        return 10 ** rng.choice((3, 18, 30, 101, 400, 6000))
    if choice == 1:
        return float(rng.choice(("nan", "inf", "-inf", "1e308", "5e-324", "-0.0")))
    return rng.choice(
        (
            0,
            -1,
            1,
            2,
            0.5,
            -0.5,
            3.7,
            2**31,
            2**63,
            -(2**63) - 1,
            1e16,
            9999999999,
            rng.random(),
            rng.randrange(100),
        )
    )


def value(rng: Random, depth: int = 0) -> Any:
    """Any JSON value; now and then one that is nested very deeply."""
    choice = rng.randrange(12)
    if choice < 4:
        return rng.choice(TEXTS)
    if choice < 7:
        return number(rng)
    if choice == 7:
        return rng.choice((None, True, False))
    if choice == 8 and depth == 0 and rng.random() < 0.3:
        return nested(rng.choice(DEEP[:3]), rng.random() < 0.5)
    if depth > 2:
        return rng.choice(TEXTS)
    if choice < 10:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS + TEXTS): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def nested(depth: int, as_list: bool) -> Any:
    inner: Any = 1
    for _ in range(depth):
        inner = [inner] if as_list else {"a": inner}
    return inner


def paths(given: Any, at: tuple[Any, ...] = (), depth: int = 0) -> list[tuple[Any, ...]]:
    """The places of everything in a value, itself first."""
    found = [at]
    if depth < 12 and isinstance(given, dict):
        found += [
            path for key, item in given.items() for path in paths(item, (*at, key), depth + 1)
        ]
    elif depth < 12 and isinstance(given, list):
        found += [path for n, item in enumerate(given) for path in paths(item, (*at, n), depth + 1)]
    return found


def change(rng: Random, given: Any, times: int | None = None) -> Any:
    """A copy with some places replaced, removed, doubled, renamed or wrapped."""
    made = json.loads(json.dumps(given))
    for _ in range(times or rng.choice((1, 1, 1, 2, 4))):
        at = rng.choice(paths(made))
        if not at:
            if rng.random() < 0.2:
                made = value(rng)
            continue
        holder = made
        for key in at[:-1]:
            holder = holder[key]
        _replace(rng, holder, at[-1])
    return made


def _replace(rng: Random, holder: Any, key: Any) -> None:
    choice = rng.randrange(10)
    if choice < 5:
        holder[key] = value(rng)
    elif choice == 5:
        del holder[key]
    elif choice == 6:
        holder[key] = [holder[key]] if rng.random() < 0.5 else {"a": holder[key]}
    elif choice == 7 and isinstance(holder, dict):
        holder[rng.choice(KEYS + TEXTS)] = holder.pop(key)
    elif choice == 8 and isinstance(holder, list):
        holder.extend(holder[:1] * rng.choice((1, 3, 30)))
    else:
        holder[key] = str(holder[key])[:2000] if rng.random() < 0.5 else number(rng)


def garble(rng: Random, data: bytes) -> bytes:
    """Bytes with some of them flipped, cut, doubled, moved or replaced."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(made) + 1)
        end = min(len(made), at + rng.choice((1, 2, 8, 40, 400)))
        choice = rng.randrange(9)
        if choice == 0 and at < len(made):
            made[at] ^= 1 << rng.randrange(8)
        elif choice == 1:
            del made[at:end]
        elif choice == 2:
            made[at:at] = made[at:end] * rng.choice((1, 2, 20))
        elif choice == 3:
            made[at:end] = rng.choice(TOKENS) * rng.choice((1, 1, 3, 150))
        elif choice == 4:
            made[at:at] = text_bytes(rng.choice(TEXTS))
        elif choice == 5:
            made[at:end] = rng.choice(NUMBERS).encode()
        elif choice == 6:
            del made[at:]
        elif choice == 7:
            made = bytearray(_other_number(rng, bytes(made)))
        else:
            made[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4))))
    return bytes(made)


def _other_number(rng: Random, data: bytes) -> bytes:
    """One of the digits in the data as a hostile number."""
    places = [n for n, byte in enumerate(data) if chr(byte).isdigit()]
    if not places:
        return data
    at = rng.choice(places)
    return data[:at] + rng.choice(NUMBERS).encode() + data[at + 1 :]


def text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def dumps(rng: Random, given: Any) -> str:
    """JSON as strict or as loose as Python writes it; what it cannot write becomes text."""
    try:
        return json.dumps(given, ensure_ascii=rng.random() < 0.5, default=str)
    except (ValueError, RecursionError):
        return '"too deep to write"'
