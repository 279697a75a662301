"""`answerkey verify`: chunks on the wrong page of a PDF are found, all of them and no others."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.retrieval.test_corpus import make_pdf

Cli = Callable[..., Any]
LETTERS = "bcdfghklmnprstvw"


def page_words(seed: int, count: int = 90) -> list[str]:
    """Made words, with some phrases that every page has."""
    picker = random.Random(seed)
    made = [
        "".join(picker.choices(LETTERS, k=2)) + picker.choice("aeiou") + picker.choice(LETTERS)
        for _ in range(count)
    ]
    return ["Operating", "manual", "of", "the", "pump", *made, "see", "also", "the", "next", "page"]


def chunks_of(documents: dict[str, list[list[str]]]) -> list[dict[str, str]]:
    """Windows of forty words over the running text of each document, under the page where they begin."""
    found: list[dict[str, str]] = []
    for name, pages in documents.items():
        running = [(word, number) for number, page in enumerate(pages, start=1) for word in page]
        for start in range(0, len(running) - 20, 25):
            window = running[start : start + 40]
            found.append(
                {
                    "document": name,
                    "page": str(window[0][1]),
                    "text": " ".join(word for word, _ in window),
                }
            )
    return found


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    documents = {
        name: [page_words(n * 100 + p) for p in range(20)]
        for n, name in enumerate(("pump.pdf", "valve.pdf"))
    }
    (tmp_path / "pdfs").mkdir()
    for name, pages in documents.items():
        make_pdf(tmp_path / "pdfs" / name, [" ".join(page) for page in pages])
    write_chunks(tmp_path, chunks_of(documents))
    (tmp_path / "cases.jsonl").write_text('{"id": "q", "question": "x"}\n')
    path = tmp_path / "suite.toml"
    path.write_text(
        'cases = ["cases.jsonl"]\n[retrieval]\ndocuments = "chunks.jsonl"\noriginals = "pdfs"\n'
    )
    return path


def write_chunks(folder: Path, chunks: list[dict[str, str]]) -> None:
    rows = [
        {"id": f"c{n}", "source": c["document"], "page_number": c["page"], "text": c["text"]}
        for n, c in enumerate(chunks)
    ]
    (folder / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_chunks(folder: Path) -> list[dict[str, str]]:
    rows = map(json.loads, (folder / "chunks.jsonl").read_text().splitlines())
    return [
        {"document": row["source"], "page": row["page_number"], "text": row["text"]} for row in rows
    ]


def test_right_pages_pass(cli: Cli, suite: Path) -> None:
    shown = cli("verify", suite)
    assert shown.code == 0, shown.err
    assert shown.err.splitlines()[-1].startswith("PASS: ")
    assert "(100.0%) stand on the page they name" in shown.err


def test_a_tenth_of_wrong_pages_is_found_and_no_other(cli: Cli, suite: Path) -> None:
    chunks = read_chunks(suite.parent)
    picker = random.Random(4)
    wrong = set(picker.sample(range(len(chunks)), len(chunks) // 10))
    for n in wrong:
        moved = [page for page in range(1, 21) if abs(page - int(chunks[n]["page"])) > 1]
        chunks[n]["page"] = str(picker.choice(moved))
    write_chunks(suite.parent, chunks)
    shown = cli("verify", suite, "--json")
    assert shown.code == 1
    assert {chunk["chunk"].split(":")[0] for chunk in shown.json["wrong"]} == {
        f"c{n}" for n in wrong
    }
    assert shown.json["lost"] == shown.json["unreadable"] == []
    assert shown.json["right"] == len(chunks) - len(wrong)


def test_the_shift_that_fixes_them_is_given(cli: Cli, suite: Path) -> None:
    chunks = [{**chunk, "page": str(int(chunk["page"]) - 1)} for chunk in read_chunks(suite.parent)]
    write_chunks(suite.parent, [chunk for chunk in chunks if chunk["page"] != "0"])
    shown = cli("verify", suite)
    assert shown.code == 1
    assert "with +1 added to their page, they match" in shown.err
    assert "→ pump#3" in shown.out


def test_texts_of_no_page_and_unknown_documents_are_told_apart(cli: Cli, suite: Path) -> None:
    chunks = read_chunks(suite.parent)
    chunks[0]["text"] = (
        "This text was written by somebody else and stands on no page of the manual at all."
    )
    chunks[1]["document"] = "other.pdf"
    write_chunks(suite.parent, chunks)
    told = cli("verify", suite, "--json").json
    assert [chunk["chunk"].split(":")[0] for chunk in told["lost"]] == ["c0"]
    assert [chunk["chunk"].split(":")[0] for chunk in told["unreadable"]] == ["c1"]


def test_without_a_pdf_it_says_what_to_give(cli: Cli, suite: Path) -> None:
    suite.write_text(suite.read_text().replace('originals = "pdfs"', ""))
    shown = cli("verify", suite)
    assert shown.code == 2
    assert "holds no PDF: give the PDFs" in shown.err
