"""Documents as pages, and pages cut into chunks of words.

Text, Markdown, PDF, JSON, JSONL and BEIR folders are read; each page knows its document and number, each chunk its page and
where in the page it stood.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from answerkey.cache import kept_file
from answerkey.coerce.decode import parse_json, read_lines, read_text
from answerkey.coerce.passages import as_passages
from answerkey.coerce.values import Place, is_list, is_mapping, valid_text
from answerkey.config.retrieval_tables import IdStyle
from answerkey.errors import InputError

TEXT_ENDINGS = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
ENDINGS = TEXT_ENDINGS | {".pdf", ".jsonl"}
LISTS = (
    "chunks",
    "documents",
    "pages",
    "passages",
    "data",
)  # where the records of a JSON object may be


@dataclass(frozen=True, slots=True)
class Page:
    """`id` is what labels name: a page number, a document, or both. `number` is None where there are no pages."""

    id: str
    text: str
    document: str
    number: str | None = None


def read_corpus(path: Path, ids: IdStyle = "auto") -> list[Page]:
    """The pages of a file, of a folder with all below it, or of a BEIR folder. `ids` "auto": a record's own id; else
    the page number where a single document has pages, `document#page` where several have, and the document's name where
    it has no pages."""
    pages = [page for file in corpus_files(path) for page in _read_file(file, path)]
    if not pages:
        raise InputError(f"{path} holds no page of text")
    paged = {page.document for page in pages if page.number is not None and not page.id}
    style = ids if ids != "auto" else ("page" if len(paged) == 1 else "document#page")

    def name(page: Page) -> str:
        if style == "document" or page.number is None:
            return page.document
        return page.number if style == "page" else f"{page.document}#{page.number}"

    return [page if page.id and ids == "auto" else replace(page, id=name(page)) for page in pages]


def corpus_files(path: Path) -> list[Path]:
    """The files to read, sorted by name; of a BEIR folder the corpus alone."""
    if path.is_file():
        readable = ENDINGS | {".json"}  # of a folder it may be anything
        if path.suffix.lower() not in readable:
            raise InputError(
                f"{path}: cannot read {path.suffix or 'this'} files; give {', '.join(sorted(readable))}"
            )
        return [path]
    if not path.is_dir():
        raise InputError(f"no documents at {path}: give a file, a folder or a BEIR folder")
    if (path / "corpus.jsonl").is_file():
        return [path / "corpus.jsonl"]
    files = sorted(
        file for file in path.rglob("*") if file.suffix.lower() in ENDINGS and file.is_file()
    )
    if not files:
        raise InputError(f"{path} holds no document; expected {', '.join(sorted(ENDINGS))}")
    return files


def _read_file(file: Path, root: Path) -> Iterator[Page]:
    name = file.relative_to(root).as_posix() if root.is_dir() else file.name
    ending = file.suffix.lower()
    if ending in {".json", ".jsonl"}:
        yield from _read_records(file)
    elif ending == ".pdf":
        for number, text in enumerate(read_pdf(file), start=1):
            yield Page("", text, name, str(number))
    else:
        parts = read_text(file).split("\f")  # a form feed ends a page
        for number, text in enumerate(parts, start=1):
            yield Page("", text, name, str(number) if len(parts) > 1 else None)


def _read_records(file: Path) -> Iterator[Page]:
    """JSON objects, one per line or in one list, in any of the usual shapes: text, id or page, and optionally a title."""
    if file.suffix.lower() == ".jsonl":
        lines = ((Place(file.name, number), line) for number, line in read_lines(file))
        rows = ((place, parse_json(line, str(place), in_line=True)) for place, line in lines)
    else:
        found = parse_json(read_text(file), file.name)
        if is_mapping(found):
            found = next((found[name] for name in LISTS if name in found), found)
        if not is_list(found):
            under = f"alone or under {', '.join(LISTS)}"
            raise InputError(f'{file.name}: expected a list of {{"id": …, "text": …}}, {under}')
        rows = (
            (Place(file.name, number, "record"), row) for number, row in enumerate(found, start=1)
        )
    for place, row in rows:
        if not is_mapping(row):
            raise InputError(f'{place}: expected {{"id": …, "title": …, "text": …}}')
        if "text" not in row and "contents" in row:
            row = {**row, "text": row["contents"]}
        passage = as_passages(row, "text", place)[0]
        if not (name := passage.id or passage.page):
            raise InputError(
                f'{place}: no id and no page; expected {{"id": …, "title": …, "text": …}}'
            )
        title, text = str(row.get("title") or "").strip(), passage.text
        text = f"{title}\n{text}" if title and not text.startswith(title) else text
        yield Page(name, text, passage.document or name, passage.page)


def read_pdf(file: Path) -> list[str]:
    """The text of each page, in order; empty for a page without text, an error if no page has any."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None

    def make() -> bytes:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError

        logging.getLogger("pypdf").setLevel(
            logging.ERROR
        )  # it warns of every oddity that it copes with
        try:
            reader = PdfReader(BytesIO(raw))
            if reader.is_encrypted and not reader.decrypt(""):
                raise FileNotDecryptedError
            pages = [
                valid_text(page.extract_text() or "") for page in reader.pages
            ]  # damaged fonts give half characters
        except (
            FileNotDecryptedError,
            DependencyError,
        ):  # AES needs a package of its own: encrypted either way
            raise InputError(f"{file} is encrypted: save a copy without the password") from None
        except Exception as error:  # a damaged file can fail anywhere inside the reader
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"{file} is not a PDF that can be read: {reason}") from None
        if not any(page.strip() for page in pages):
            raise InputError(
                f"{file} has {len(pages)} pages and no text: it looks scanned; run it through OCR first"
            )
        return json.dumps(pages).encode()

    return json.loads(kept_file("pages", sha256(b"pdf-pages-1" + raw).hexdigest(), make))
