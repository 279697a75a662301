"""FAISS indexes as people have them: chunk files, and folders that LangChain saved."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.langchain_store import pickle_of_langchain
from tests.support.own_files import Cli, Write, results

TEXTS = {"12": "Refunds are paid within 30 days.", "34": "The warranty lasts two years."}


@pytest.fixture
def faiss_recall(cli: Cli, write: Write, tmp_path: Path) -> Callable[[str], Any]:
    """A FAISS index of two pages in `store`; asks for them with these settings and returns the recall, or the message."""
    faiss = pytest.importorskip("faiss")
    from answerkey.embed import load_embedder

    vectors = load_embedder().embed(list(TEXTS.values()))
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    (tmp_path / "store").mkdir()
    faiss.write_index(index, str(tmp_path / "store" / "index.faiss"))
    asked = {"12": "When are refunds paid?", "34": "How long is the warranty?"}
    write(
        "cases.jsonl",
        [{"question": question, "relevant": [page]} for page, question in asked.items()],
    )

    def run(settings: str) -> Any:
        table = f'[target]\nkind = "rag"\nk = 1\n{settings}\n'
        suite = write("suite.toml", f'cases = ["cases.jsonl"]\nmetrics = ["recall@1"]\n{table}')
        shown = cli(
            "run", suite, "--no-charts", "--quiet", "--out", tmp_path / "out" / str(len(settings))
        )
        found = shown.code == 0 and results(tmp_path / "out" / str(len(settings)))
        return [line["scores"]["recall@1"]["value"] for line in found] if found else shown.err

    return run


def test_faiss_chunks_with_text_and_page(faiss_recall: Callable[[str], Any], write: Write) -> None:
    rows = [{"text": text, "page": int(page)} for page, text in TEXTS.items()]
    write("chunks.jsonl", rows)
    write("all_chunks.json", rows)
    assert faiss_recall('index = "store/index.faiss"\nchunks = "chunks.jsonl"') == [1.0, 1.0]
    assert faiss_recall('index = "store/index.faiss"\nchunks = "all_chunks.json"') == [1.0, 1.0]


def test_a_faiss_folder_that_langchain_saved(
    faiss_recall: Callable[[str], Any], tmp_path: Path
) -> None:
    (tmp_path / "store" / "index.pkl").write_bytes(
        pickle_of_langchain(
            [(text, {"page_number": page, "page": int(page) - 1}) for page, text in TEXTS.items()]
        )
    )
    assert faiss_recall('index = "store"') == [1.0, 1.0]


def test_a_pickle_that_could_run_code_is_refused_with_the_way_to_export(
    faiss_recall: Callable[[str], Any], tmp_path: Path
) -> None:
    (tmp_path / "store" / "index.pkl").write_bytes(pickle.dumps((len, {})))
    message = faiss_recall('index = "store"')
    assert "it holds builtins.len, which could run code" in message
    snippet = message.partition("export its chunks instead: ")[2].partition("; then set")[0]
    compile(snippet, "snippet", "exec")
    assert "writelines" in snippet
