"""An audit reads its documents from a vector store as well."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGES = {
    "leave": "Every full-time employee has 28 working days of paid annual leave a year.",
    "sick": "Tell your manager before nine o'clock on the first day of illness.",
    "shop": "The shop accepts cards, cash and bank transfer, and no cheques.",
}
CASE = {
    "id": "q1",
    "question": "How many days of annual leave does a full-time employee have?",
    "expected": "28 working days",
    "relevant": ["shop"],
}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(CASE) + "\n")
    return path


def _audit(cli: Callable[..., Any], cases: Path, store: str) -> list[tuple[str, str]]:
    suite = cases.with_name("suite.toml")
    suite.write_text(f'cases = ["cases.jsonl"]\n[retrieval.store]\n{store}\n')
    shown = cli("audit", cases, "--documents", suite, "--json", "--quiet")
    assert shown.code == 0, shown.err
    return [(row["finding"], row["evidence"]) for row in shown.json]


def _check(findings: list[tuple[str, str]]) -> None:
    ((finding, evidence),) = findings
    assert finding == "unsupported"
    assert "shop fits the expected answer less than leave" in evidence


def _vectors() -> Any:
    return np.eye(len(PAGES), 384, dtype=np.float32)


def test_a_faiss_file(tmp_path: Path, cases: Path, cli: Callable[..., Any]) -> None:
    faiss = pytest.importorskip("faiss")
    index = faiss.IndexFlatIP(384)
    index.add(_vectors())
    faiss.write_index(index, str(tmp_path / "index.faiss"))
    rows = [{"id": name, "page": name, "text": text} for name, text in PAGES.items()]
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _check(_audit(cli, cases, 'index = "index.faiss"\nchunks = "chunks.jsonl"'))


def test_a_folder_of_qdrant(tmp_path: Path, cases: Path, cli: Callable[..., Any]) -> None:
    qdrant_client = pytest.importorskip("qdrant_client")
    models = qdrant_client.models
    client = qdrant_client.QdrantClient(path=str(tmp_path / "qdrant"))
    client.create_collection(
        "docs", vectors_config=models.VectorParams(size=384, distance=models.Distance.COSINE)
    )
    points = [
        models.PointStruct(id=number, vector=vector.tolist(), payload={"text": text, "page": name})
        for number, (vector, (name, text)) in enumerate(zip(_vectors(), PAGES.items(), strict=True))
    ]
    client.upsert("docs", points)
    client.close()
    _check(_audit(cli, cases, 'qdrant_path = "qdrant"\nqdrant_collection = "docs"'))


def test_documents_that_changed(tmp_path: Path, cli: Callable[..., Any]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({**CASE, "relevant": ["leave.md"]}) + "\n")
    before = cli("audit", cases, "--documents", docs)
    assert before.last_line.endswith("no finding in 1 case")
    (docs / "leave.md").write_text("# leave\n\nThe office closes between the holidays.\n")
    after = cli("audit", cases, "--documents", docs, "--gate")
    assert after.code == 1
    assert "1 expected answer is no longer in the documents" in after.last_line
