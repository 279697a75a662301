"""Bare page labels (`34`) over passages of several PDFs: `ids = "page"` works in every store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.langchain_store import pickle_of_langchain

import answerkey as ak
from answerkey.embed import load_embedder

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]

ROWS = [
    ("a.pdf", "12", "Refunds are paid within 30 days of the return."),
    ("a.pdf", "34", "The warranty of the washing machine lasts two years."),
    ("b.pdf", "56", "Our shop in Penang opens at nine in the morning."),
    ("b.pdf", "78", "Staff receive twenty days of annual leave."),
    ("a.pdf", "N/A", "Contents of this book."),
    ("a.pdf", "N/A", "Index of words."),
]
CASES = [
    {"id": "a", "question": "When are refunds paid?", "relevant": ["12"]},
    {"id": "b", "question": "How long is the warranty?", "relevant": ["34"]},
    {"id": "c", "question": "How many days of annual leave?", "relevant": [78]},
]
CHUNKS = [
    {"chunk_id": f"c{n}", "source": document, "page_number": page, "text": text}
    for n, (document, page, text) in enumerate(ROWS)
]


def _vectors() -> Any:
    return load_embedder().embed([text for _, _, text in ROWS])


def _documents(write: Write, tmp_path: Path) -> str:
    write("chunks.jsonl", CHUNKS)
    return 'documents = "chunks.jsonl"'


def _own_ids(write: Write, tmp_path: Path) -> str:
    write("chunks.jsonl", [{"id": chunk["chunk_id"], **chunk} for chunk in CHUNKS])
    return 'documents = "chunks.jsonl"'


def _faiss(write: Write, tmp_path: Path) -> str:
    faiss = pytest.importorskip("faiss")
    vectors = _vectors()
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    (tmp_path / "store").mkdir()
    faiss.write_index(index, str(tmp_path / "store" / "index.faiss"))
    write("chunks.jsonl", CHUNKS)
    return 'index = "store/index.faiss"\nchunks = "chunks.jsonl"'


def _langchain(write: Write, tmp_path: Path) -> str:
    _faiss(write, tmp_path)
    rows = [
        (text, {"source": document, "page_number": page, "page": 0})
        for document, page, text in ROWS
    ]
    (tmp_path / "store" / "index.pkl").write_bytes(pickle_of_langchain(rows))
    return 'index = "store"'


def _qdrant(write: Write, tmp_path: Path) -> str:
    qdrant_client = pytest.importorskip("qdrant_client")
    from qdrant_client import models

    client = qdrant_client.QdrantClient(path=str(tmp_path / "store"))
    params = models.VectorParams(size=384, distance=models.Distance.COSINE)
    client.create_collection("docs", vectors_config=params)
    points = [
        models.PointStruct(id=n, vector=vector.tolist(), payload=chunk)
        for n, (vector, chunk) in enumerate(zip(_vectors(), CHUNKS, strict=True))
    ]
    client.upsert("docs", points)
    client.close()
    return 'qdrant_path = "store"\nqdrant_collection = "docs"'


@pytest.fixture
def postgres_url(tmp_path: Path) -> Iterator[str]:
    pgserver = pytest.importorskip(
        "pgserver", reason="the pgserver wheel has no build for this Python"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
        try:
            server = pgserver.get_server(str(tmp_path / "postgres"))
        except Exception as error:
            pytest.skip(f"Postgres does not start here: {error}")
        columns = "id int, text text, page_number text, source text, embedding vector(384)"
        server.psql(f"CREATE EXTENSION vector; CREATE TABLE docs ({columns})")
        for n, (row, vector) in enumerate(zip(ROWS, _vectors().tolist(), strict=True)):
            document, page, text = row
            server.psql(
                f"INSERT INTO docs VALUES ({n}, '{text}', '{page}', '{document}', '{vector}')"
            )
        yield server.get_uri()
        server.cleanup()


STORES = {
    "documents": _documents,
    "own ids": _own_ids,
    "FAISS": _faiss,
    "LangChain": _langchain,
    "Qdrant": _qdrant,
}


def _check_commands(cli: Cli, write: Write, tmp_path: Path, store: str) -> None:
    """Sweep, diagnose and run: first a stated reason, then with `ids = "page"` the full recall."""
    write("cases.json", CASES)
    suite = f'cases = ["cases.json"]\nmetrics = ["recall@1"]\n[retrieval]\n{store}\n'
    bot = (
        f'cases = ["cases.json"]\nmetrics = ["recall@1"]\n[target]\nkind = "rag"\nk = 3\n{store}\n'
    )
    plain = write("plain.toml", suite)
    refused = cli("sweep", plain, "--no-plots", "--ks", "1")
    assert refused.code == 2
    assert 'with ids = "page" in [retrieval] they match' in refused.last_line
    shown = cli("diagnose", plain).out
    assert 'set ids = "page" in [retrieval]' in shown
    assert "not in the index" not in shown

    by_page = write("page.toml", suite + 'ids = "page"\n')
    best = cli("sweep", by_page, "--no-plots", "--ks", "1", "--json").json["best"]
    assert best["value"] == 1.0
    shown = cli("diagnose", by_page).out
    assert "ndcg@5 is 1.000 over 3 queries" in shown
    assert "2 of 6 (33%) chunks of the index have no page or id" in shown
    ended = cli("run", write("bot.toml", bot + 'ids = "page"\n'), "-q", "--no-charts")
    assert ended.code == 0, ended.err
    (path,) = tmp_path.glob("results/*/summary.json")
    assert json.loads(path.read_text())["average_scores"]["recall@1"]["mean"] == 1.0


@pytest.mark.parametrize("kind", STORES)
def test_page_labels_in_every_store(kind: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    _check_commands(cli, write, tmp_path, STORES[kind](write, tmp_path))


@pytest.mark.slow
def test_page_labels_in_postgres(postgres_url: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    store = f'postgres_url = "{postgres_url}"\npostgres_table = "docs"'
    _check_commands(cli, write, tmp_path, store)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("FAISS", '[settings."recall@1"] ids = "page"'),
        ("own ids", 'set ids = "page" in [target]'),
    ],
)
def test_a_run_names_the_setting_instead_of_a_silent_zero(
    kind: str, setting: str, cli: Cli, write: Write, tmp_path: Path, caplog: Any
) -> None:
    write("cases.json", CASES)
    store = STORES[kind](write, tmp_path)
    bot = (
        f'cases = ["cases.json"]\nmetrics = ["recall@1"]\n[target]\nkind = "rag"\nk = 3\n{store}\n'
    )
    assert cli("run", write("bot.toml", bot), "-q", "--no-charts").code == 0
    assert any(setting in record.getMessage() for record in caplog.records)


def test_page_labels_in_evaluate_and_rank(cli: Cli, write: Write) -> None:
    contexts = [{"text": text, "source": document, "page": page} for document, page, text in ROWS]
    rows = [{**case, "answer": "x", "contexts": contexts} for case in CASES]
    run = ak.evaluate(rows, ["recall@5"], settings={"recall@5": {"ids": "page"}}, progress=False)
    assert [outcome.scores["recall@5"].value for outcome in run] == [1.0, 1.0, 1.0]

    table = "query_id,retrieved_pages,relevant_pages\n"
    table += "a,\"['a.pdf#12', 'b.pdf#1', 'N/A']\",\"['12']\"\nb,\"['N/A', 'b.pdf#34', 'a.pdf#2', 'N/A']\",\"['34']\"\n"
    path = write("rankings.csv", table)
    shown = cli("rank", "--run", path, "--metrics", "recall@3")
    assert "with --ids page they match" in shown.err
    shown = cli("rank", "--run", path, "--metrics", "recall@3,mrr", "--ids", "page", "--json")
    assert shown.json["mean"] == {"recall@3": 1.0, "mrr": 0.75}
    assert shown.json["places_without_id"] == 3


def test_the_page_wins_over_the_chunk_id(cli: Cli, write: Write) -> None:
    rows = [
        {"chunk_id": f"c{n}", "page_number": page, "text": text}
        for n, (_, page, text) in enumerate(ROWS)
    ]
    write("chunks.json", rows)
    write("cases.json", CASES)
    suite = write("s.toml", 'cases = ["cases.json"]\n[retrieval]\ndocuments = "chunks.json"\n')
    assert cli("sweep", suite, "--no-plots", "--ks", "1", "--json").json["best"]["value"] == 1.0
    assert "2 of 6 (33%) chunks of the index have no page or id" in cli("diagnose", suite).out
