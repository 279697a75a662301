"""The text of each page of a PDF; what was read is kept in the cache, as reading is slow."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from answerkey.errors import InputError
from answerkey.retrieval.cache import kept

_FORMAT = "pdf-pages-1"


def read_pdf(file: Path) -> list[str]:
    """One text a page, in order, empty where a page holds none; an error where no page holds any."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    cached = kept("pages", sha256(_FORMAT.encode() + raw).hexdigest(), ".json")
    if cached.found:
        return json.loads(cached.path.read_bytes())
    pages = _extract(file, raw)
    if not any(page.strip() for page in pages):
        raise InputError(
            f"{file} has {len(pages)} pages and no text: it looks scanned; run it through OCR first"
        )
    cached.write(json.dumps(pages).encode())
    return pages


def _extract(file: Path, raw: bytes) -> list[str]:
    import logging
    from io import BytesIO

    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity that it copes with
    try:
        reader = PdfReader(BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError(f"{file} is encrypted: save a copy without the password")
        return [_plain(page.extract_text() or "") for page in reader.pages]
    except InputError:
        raise
    except (FileNotDecryptedError, DependencyError):  # AES needs a package of its own: encrypted either way
        raise InputError(f"{file} is encrypted: save a copy without the password") from None
    except Exception as error:  # a damaged file can fail anywhere inside the reader
        told = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{file} is not a PDF that can be read: {told}") from None


def _plain(text: str) -> str:
    """Without lone surrogates, which broken fonts give and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
