"""Documents to pages to chunks: page numbers, offsets, PDFs good and bad."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import AnswerkeyError, InputError
from answerkey.retrieval.chunks import Chunking, cut_pages
from answerkey.retrieval.corpus import Page, corpus_files, read_corpus


def make_pdf(path: Path, pages: list[str], password: str | None = None) -> None:
    """A PDF with one line of text a page, written by hand; an empty text gives a page without any."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else "0 0 100 100 re f"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    path.write_bytes(body.encode("latin-1"))
    if password:
        from pypdf import PdfWriter

        writer = PdfWriter(clone_from=path)
        writer.encrypt(password, algorithm="RC4-128")
        writer.write(path)


def test_pages_of_a_single_pdf_are_its_numbers(tmp_path: Path) -> None:
    make_pdf(tmp_path / "guide.pdf", ["first page", "", "third page"])
    for _ in range(2):  # the second time from the cache
        pages = read_corpus(tmp_path)
        assert [(page.id, page.text.strip()) for page in pages] == [
            ("1", "first page"),
            ("2", ""),
            ("3", "third page"),
        ]


def test_several_documents_and_every_style_of_id(tmp_path: Path) -> None:
    make_pdf(tmp_path / "a.pdf", ["one", "two"])
    (tmp_path / "b.txt").write_text("alpha\fbeta")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.md").write_bytes("\ufeff# Café\r\ntext".encode())
    assert [page.id for page in read_corpus(tmp_path)] == [
        "a.pdf#1",
        "a.pdf#2",
        "b.txt#1",
        "b.txt#2",
        "deep/c.md",
    ]
    assert [page.id for page in read_corpus(tmp_path, "document")] == [
        "a.pdf",
        "a.pdf",
        "b.txt",
        "b.txt",
        "deep/c.md",
    ]
    assert [page.id for page in read_corpus(tmp_path, "page")] == ["1", "2", "1", "2", "deep/c.md"]


def test_a_beir_folder(tmp_path: Path) -> None:
    rows = [
        {"_id": " 7 ", "title": "Title", "text": "body"},
        {"_id": "8", "title": "", "text": "more"},
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text("{}")
    assert [(page.id, page.text) for page in read_corpus(tmp_path)] == [
        ("7", "Title\nbody"),
        ("8", "more"),
    ]


@pytest.mark.parametrize("wrap", [list, lambda rows: {"chunks": rows}], ids=["list", "object"])
def test_a_json_file_of_chunks(tmp_path: Path, wrap) -> None:
    rows = [
        {"page_content": "alpha", "metadata": {"source": "a.pdf", "page": 1}},
        {"id": "b", "text": "beta"},
    ]
    (tmp_path / "chunks.json").write_text(json.dumps(wrap(rows)))
    assert [(page.id, page.text) for page in read_corpus(tmp_path / "chunks.json")] == [
        ("a.pdf#1", "alpha"),
        ("b", "beta"),
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{}", "expected a list"),
        ("[3]", "record 1"),
        ('[{"text": "x"}]', "record 1: no id"),
        ("[", "chunks.json"),
    ],
)
def test_a_json_file_without_chunks(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "chunks.json").write_text(content)
    with pytest.raises(InputError, match=says):
        read_corpus(tmp_path / "chunks.json")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: make_pdf(folder / "x.pdf", ["secret"], "key"), "encrypted"),
        (lambda folder: make_pdf(folder / "x.pdf", ["", ""]), "scanned"),
        (lambda folder: (folder / "x.pdf").write_bytes(b"not a pdf"), "not a PDF"),
        (lambda folder: (folder / "x.png").write_bytes(b""), "holds no document"),
        (lambda folder: None, "holds no document"),
        (lambda folder: (folder / "x.jsonl").write_text('{"text": "no id"}'), "line 1"),
    ],
)
def test_bad_documents_are_one_clear_line(tmp_path: Path, make, says: str) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match=says) as caught:
        read_corpus(tmp_path)
    assert "\n" not in str(caught.value)


def test_sections_by_heading_with_code_fences_left_whole() -> None:
    text = "intro words\n# One\nalpha\n```\n# not a heading\n```\n## Two\nbeta"
    chunks = cut_pages([Page("g.md", text, "g.md")], Chunking("heading"))
    assert [chunk.text for chunk in chunks] == [
        "intro words",
        "# One\nalpha\n```\n# not a heading\n```",
        "## Two\nbeta",
    ]
    assert [chunk.id for chunk in chunks] == ["g.md:1", "g.md:2", "g.md:3"]


@settings(max_examples=80, deadline=None)
@given(
    text=st.text(alphabet="ab \n", max_size=200), size=st.integers(1, 9), overlap=st.integers(0, 8)
)
def test_windows_cover_every_word_in_order(text: str, size: int, overlap: int) -> None:
    if overlap >= size:
        table = {"documents": "d", "chunk_size": size, "chunk_overlap": overlap}
        with pytest.raises(AnswerkeyError, match="chunk_overlap"):
            read_table(RetrievalTable, table, "[retrieval]")
        return
    chunks = cut_pages([Page("1", text, "d")], Chunking("words", size, overlap))
    seen: list[str] = []
    for n, chunk in enumerate(chunks):
        words = chunk.text.split()
        assert 0 < len(words) <= size
        assert text[chunk.start : chunk.end] == chunk.text
        seen += words if n == 0 else words[overlap:]
    assert seen == text.split()


def test_results_of_earlier_runs_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / "manual.txt").write_text("Lunch is at noon.\n", encoding="utf-8")
    run = tmp_path / "results" / "manual_20260102_030405"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}", encoding="utf-8")
    (run / "report.txt").write_text("1 of 1 passed\n", encoding="utf-8")
    assert [file.name for file in corpus_files(tmp_path)] == ["manual.txt"]
