"""Settings, stores and the retriever that bots use."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from answerkey.config.declare import read_table
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import AnswerkeyError, EndpointError, InputError, SettingsError
from answerkey.retrieval.retriever import open_retriever

PAGES = {
    "1": "the red fox jumps",
    "2": "a blue whale sings",
    "3": "grey wolves run at night",
    "4": "red apples and pears",
}


class Tiny:
    name, digest, precision, dimension = "tiny", "tiny", "fp32", 32

    def embed(self, texts):
        rows = np.full((len(texts), 32), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                rows[row, hashlib.sha256(word.encode()).digest()[0] % 32] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def chunks(tmp_path: Path) -> Path:
    path = tmp_path / "chunks.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": f"c{page}", "page": page, "text": text}) + "\n"
            for page, text in PAGES.items()
        )
    )
    return path


def faiss_file(folder: Path, kind: str, dimension: int = 32) -> Path:
    import faiss

    index = faiss.IndexFlatL2(dimension) if kind == "l2" else faiss.IndexFlatIP(dimension)
    vectors = (
        Tiny().embed(list(PAGES.values()))
        if dimension == 32
        else np.ones((4, dimension), np.float32)
    )
    index.add(vectors)
    faiss.write_index(index, str(folder / "index.faiss"))
    return folder / "index.faiss"


@pytest.mark.parametrize("kind", ["ip", "l2"])
def test_a_faiss_file_gives_what_the_documents_give(
    tmp_path: Path, chunks: Path, kind: str
) -> None:
    table = {"index": str(faiss_file(tmp_path, kind)), "chunks": str(chunks), "ks": [2]}
    stored = open_retriever(table, Tiny())(["red fox", "whale"], 2)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "all.txt").write_text("\f".join(PAGES.values()))
    built = open_retriever({"documents": str(tmp_path / "docs")}, Tiny())(["red fox", "whale"], 2)
    assert [[p.page for p in row] for row in stored] == [[p.page for p in row] for row in built]
    assert stored[0][0].page == "1"
    assert [p.score for p in stored[0]] == pytest.approx([p.score for p in built[0]], abs=1e-5)


def langchain_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, extra: object = None) -> Path:
    import sys
    import types

    named = {"Document": "langchain_core", "InMemoryDocstore": "langchain_community"}
    made = {}
    for name, module in named.items():
        made[name] = type(name, (), {"__module__": module})
        fake = types.ModuleType(module)
        setattr(fake, name, made[name])
        monkeypatch.setitem(sys.modules, module, fake)

    def instance(name: str, **state: object) -> object:
        one = made[name]()
        one.__dict__.update(state)
        return one

    documents = {
        f"id-{page}": instance(
            "Document",
            page_content=text,
            metadata={"page_number": page, "page": int(page) - 1, "x": extra},
        )
        for page, text in PAGES.items()
    }
    store = instance("InMemoryDocstore", _dict=documents)
    faiss_file(folder, "l2")
    (folder / "index.pkl").write_bytes(pickle.dumps((store, dict(enumerate(documents)))))
    for module in named.values():
        monkeypatch.delitem(sys.modules, module)
    return folder


def test_a_folder_that_langchain_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = langchain_folder(tmp_path, monkeypatch)
    for given in (folder, folder / "index.faiss"):
        found = open_retriever({"index": str(given)}, Tiny())(["red fox", "whale sings"], 2)
        assert [row[0].page for row in found] == ["1", "2"]  # page_number, not the 0-based page


class _Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return len, ("this must never run",)


def test_a_pickle_with_anything_else_is_refused_with_how_to_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = langchain_folder(tmp_path, monkeypatch, extra=_Harmful())
    with pytest.raises(InputError, match=r"builtins\.len, which could run code; export its chunks"):
        open_retriever({"index": str(folder)}, Tiny())
    assert capsys.readouterr().out == ""
    (folder / "index.pkl").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InputError, match="not a docstore of LangChain"):
        open_retriever({"index": str(folder)}, Tiny())


def test_chunks_with_text_and_page_alone(tmp_path: Path) -> None:
    rows = [{"text": text, "page": page} for page, text in PAGES.items()]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = {"index": str(faiss_file(tmp_path, "ip")), "chunks": str(tmp_path / "c.jsonl")}
    assert open_retriever(table, Tiny())(["red fox"], 1)[0][0].page == "1"


def test_qdrant_collection_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    qdrant_client = pytest.importorskip("qdrant_client")
    from qdrant_client import models

    client = qdrant_client.QdrantClient(":memory:")
    client.create_collection(
        "docs", vectors_config=models.VectorParams(size=32, distance=models.Distance.COSINE)
    )
    vectors = Tiny().embed(list(PAGES.values()))
    client.upsert(
        "docs",
        [
            models.PointStruct(id=n, vector=v.tolist(), payload={"text": text, "page": int(page)})
            for n, (v, (page, text)) in enumerate(zip(vectors, PAGES.items(), strict=True))
        ],
    )
    monkeypatch.setattr("answerkey.retrieval.stores.qdrant._connect", lambda settings: client)
    table = {"qdrant_url": "http://127.0.0.1:6333", "qdrant_collection": "docs"}
    found = open_retriever(table, Tiny())(["red fox", "whale sings"], 2)
    assert [row[0].page for row in found] == ["1", "2"]
    with pytest.raises(InputError, match="text_field"):
        open_retriever({**table, "text_field": "body"}, Tiny())
    with pytest.raises(SettingsError, match="Qdrant has no"):
        open_retriever({**table, "qdrant_collection": "other"}, Tiny())
    wide = Tiny()
    wide.dimension = 384
    with pytest.raises(SettingsError, match="384"):
        open_retriever(table, wide)
    client.close()


@pytest.mark.network
def test_an_unreachable_qdrant_is_one_line() -> None:
    pytest.importorskip("qdrant_client")
    with pytest.raises(EndpointError, match="Qdrant does not answer") as caught:
        open_retriever({"qdrant_url": "http://127.0.0.1:9", "qdrant_collection": "docs"}, Tiny())
    assert "\n" not in str(caught.value)


def test_an_index_of_another_dimension(tmp_path: Path, chunks: Path) -> None:
    table = {"index": str(faiss_file(tmp_path, "ip", 8)), "chunks": str(chunks)}
    with pytest.raises(SettingsError, match=r"8 numbers.*gives 32"):
        open_retriever(table, Tiny())


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"documents": "d", "alphas": [0.5, 1.2]}, "alphas"),
        ({"documents": "d", "alpha": -0.1}, "alpha = -0.1"),
        ({"documents": "d", "ks": [0, 5]}, r"ks = \[0, 5\]"),
        ({"documents": "d", "ks": [500]}, "pool = 100"),
        ({"documents": "d", "ks": ["5"]}, "whole number"),
        ({"documents": "d", "alfas": [0.5]}, 'did you mean "alphas"'),
        ({"documents": "d", "fusion": "rff"}, 'did you mean "rrf"'),
        ({"documents": "d", "chunk_by": "headings"}, 'did you mean "heading"'),
        ({"documents": "d", "chunk_overlap": 200}, "less than chunk_size"),
        ({"documents": "d", "bm25": "robertsn"}, 'did you mean "robertson"'),
        ({}, "one of documents"),
        ({"documents": "d", "index": "i"}, "one of documents"),
        ({"index": "i"}, "needs chunks"),
        ({"qdrant_url": "http://x"}, "needs both"),
        ({"documents": "nowhere"}, "no documents at"),
        ({"documents": ".", "reranker": "nothing"}, "module:function"),
    ],
)
def test_bad_settings_are_one_clear_line(
    tmp_path: Path, table: dict[str, object], says: str
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("text")
    with pytest.raises(AnswerkeyError, match=says) as caught:
        open_retriever(
            read_table(
                RetrievalTable,
                {
                    **table,
                    **({"documents": str(tmp_path / "d")} if table.get("documents") == "." else {}),
                },
                "[retrieval]",
                tmp_path,
            ),
            Tiny(),
        )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "setting", [{"alpha": 0.0}, {"alpha": 0.5}, {"alpha": 1.0}, {"fusion": "rrf"}], ids=str
)
def test_passages_carry_the_score_that_ranked_them(
    tmp_path: Path, setting: dict[str, object]
) -> None:
    (tmp_path / "all.txt").write_text("\f".join(PAGES.values()))
    found = open_retriever({"documents": str(tmp_path), **setting}, Tiny())(
        ["red fox whale apples"], 4
    )[0]
    scores = [passage.score for passage in found if passage.score is not None]
    assert len(scores) == len(found) > 1
    assert scores == sorted(scores, reverse=True)
    if setting.get("alpha") == 0.5:
        assert max(scores) <= 1.0


def test_rewriter_and_reranker_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "all.txt").write_text("\f".join(PAGES.values()))
    (tmp_path / "own_stages.py").write_text(
        "def rewrite(question):\n    return question.replace('rouge', 'red')\n"
        "def rerank(question, passages):\n    return [float('apples' in p.text) for p in passages]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    table = {
        "documents": str(tmp_path / "docs"),
        "rewriter": "own_stages:rewrite",
        "reranker": "own_stages:rerank",
    }
    found = open_retriever(table, Tiny())(["rouge fox"], 2)[0]
    assert [(passage.page, passage.score) for passage in found] == [("4", 1.0), ("1", 0.0)]
    assert open_retriever(table, Tiny())([], 2) == []
