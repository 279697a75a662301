"""Bytes to text: byte-order marks, cp1252 and CRLF are read; a NUL byte is not text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from answerkey.errors import InputError

_BLOCK = 1 << 20
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def encoding_of(path: Path) -> str:
    """The file's encoding, from one pass over it in blocks: UTF-8, UTF-16 with its mark, else cp1252."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    before, utf8, marked = 0, True, False
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                if before == 0:
                    marked = block.startswith(codecs.BOM_UTF8)
                    for bom, name in _BOMS:
                        if block.startswith(bom) and name != "utf-8-sig":
                            return name
                if b"\0" in block:
                    raise InputError(
                        f"{path}: byte {before + block.index(0)} is NUL, so this is no text file; save it as UTF-8 text"
                    )
                before += len(block)
                if utf8:
                    try:
                        decoder.decode(block)
                    except UnicodeDecodeError:
                        utf8 = False
            if utf8:
                try:
                    decoder.decode(b"", final=True)
                except UnicodeDecodeError:
                    utf8 = False
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    return "utf-8-sig" if utf8 or marked else "cp1252"


def read_text(path: Path) -> str:
    """The whole file, with line ends as \\n."""
    encoding = encoding_of(path)
    with path.open(encoding=encoding, errors="replace") as file:
        return file.read()


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number from 1; streamed."""
    with path.open(encoding=encoding_of(path), errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line := line.strip():
                yield number, line
