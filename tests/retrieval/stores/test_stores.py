"""Vector stores that exist already, through the command line: Qdrant, Postgres with pgvector, and any other by a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.retrieval.test_corpus import make_pdf

from answerkey.embed import load_embedder

Cli = Callable[..., Any]
Write = Callable[..., Path]
TEXTS = {
    "12": "Refunds are paid within 30 days of the return.",
    "34": "The warranty of the washing machine lasts two years.",
    "56": "Our shop in Penang opens at nine in the morning.",
}
CASES = [
    {"id": "a", "question": "When are refunds paid?", "relevant": ["12"]},
    {"id": "b", "question": "How long is the warranty?", "relevant": ["34"]},
]


def vectors() -> list[list[float]]:
    return [vector.tolist() for vector in load_embedder().embed(list(TEXTS.values()))]


@pytest.fixture
def retrieved(cli: Cli, write: Write, tmp_path: Path) -> Callable[..., Any]:
    """Run a `rag` bot with these settings: the recall of each case, or what the command printed where it failed."""

    def run(table: str, *options: str) -> Any:
        write("cases.jsonl", CASES)
        suite = write(
            "suite.toml",
            f'cases = ["cases.jsonl"]\nmetrics = ["recall@1"]\n[target]\nkind = "rag"\nk = 1\nalpha = 1.0\n{table}\n',
        )
        shown = cli("run", suite, "--no-charts", "--quiet", *options)
        if shown.code:
            return shown.err
        lines = max(tmp_path.glob("results/*/results.jsonl")).read_text().splitlines()
        return [json.loads(line)["scores"]["recall@1"]["value"] for line in lines]

    return run


@pytest.fixture
def collection(tmp_path: Path) -> Callable[..., None]:
    """Fill a collection of a Qdrant folder; `named` gives it a dense and a sparse vector under names."""
    qdrant_client = pytest.importorskip("qdrant_client")
    from qdrant_client import models

    def fill(
        name: str,
        payload: Callable[[str, str], dict[str, Any]],
        named: bool = False,
        distance: str = "Cosine",
    ) -> None:
        client = qdrant_client.QdrantClient(path=str(tmp_path / "store"))
        params = models.VectorParams(size=384, distance=models.Distance(distance))
        client.create_collection(
            name,
            vectors_config={
                "dense": params,
                "title": models.VectorParams(size=4, distance=models.Distance.DOT),
            }
            if named
            else params,
            sparse_vectors_config={"words": models.SparseVectorParams()} if named else None,
        )
        points = []
        for number, ((page, text), vector) in enumerate(zip(TEXTS.items(), vectors(), strict=True)):
            sparse = models.SparseVector(indices=[number], values=[1.0])
            points.append(
                models.PointStruct(
                    id=number,
                    vector={"dense": vector, "words": sparse} if named else vector,
                    payload=payload(page, text),
                )
            )
        client.upsert(name, points)
        client.close()

    return fill


PAYLOADS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "plain": lambda page, text: {"text": text, "page": int(page)},
    "LangChain": lambda page, text: {"page_content": text, "metadata": {"page": int(page) - 1, "page_label": page, "source": "m.pdf"}},
    "LlamaIndex": lambda page, text: {"text": text, "page_label": page, "file_name": "m.pdf", "doc_id": "x"},
}  # fmt: skip


@pytest.mark.parametrize("shape", PAYLOADS)
def test_a_qdrant_folder_with_the_usual_payloads(
    shape: str, retrieved: Any, collection: Any
) -> None:
    collection("docs", PAYLOADS[shape])
    assert retrieved('qdrant_path = "store"\nqdrant_collection = "docs"') == [1.0, 1.0]


def test_fields_of_the_payload_are_settings(retrieved: Any, collection: Any) -> None:
    collection("docs", lambda page, text: {"body": text, "about": {"sheet": int(page)}})
    table = 'qdrant_path = "store"\nqdrant_collection = "docs"'
    assert 'point 0 of "docs" has the fields body, about' in retrieved(table)
    assert retrieved(f'{table}\ntext_field = "body"\npage_field = "about.sheet"') == [1.0, 1.0]
    assert 'expected "about.page": set page_field' in retrieved(
        f'{table}\ntext_field = "body"\npage_field = "about.page"'
    )


def test_the_collection_can_be_chosen_on_the_command_line(
    cli: Cli, retrieved: Any, collection: Any, write: Write
) -> None:
    collection("wrong", lambda page, text: {"text": text, "page": 7})
    collection("right", PAYLOADS["plain"])
    table = 'qdrant_path = "store"\nqdrant_collection = "wrong"'
    assert retrieved(table) == [0.0, 0.0]
    assert retrieved(table, "--collection", "right") == [1.0, 1.0]
    assert 'Qdrant has no collection "none"' in retrieved(table, "--collection", "none")
    suite = write("sweep.toml", f'cases = ["cases.jsonl"]\n[retrieval]\n{table}\nks = [1]\n')
    wrong = cli("sweep", suite, "--no-plots", "--json")
    assert wrong.code == 2
    assert "none of the expected ids (2) is in the index" in wrong.err
    assert (
        cli("sweep", suite, "--no-plots", "--json", "--collection", "right").json["best"]["value"]
        == 1.0
    )
    assert "2 of 2 (100%) expected pages are not in the index" in cli("diagnose", suite).out
    assert "not in the index" not in cli("diagnose", suite, "--collection", "right").out


def test_verify_checks_the_collection_of_the_command_line(
    cli: Cli, collection: Any, write: Write, tmp_path: Path
) -> None:
    make_pdf(tmp_path / "m.pdf", [*TEXTS.values(), "An empty page."])
    pages = list(TEXTS)
    collection(
        "shifted",
        lambda page, text: {"text": text, "page": pages.index(page) + 2, "source": "m.pdf"},
    )
    collection(
        "right", lambda page, text: {"text": text, "page": pages.index(page) + 1, "source": "m.pdf"}
    )
    write("cases.jsonl", CASES)
    table = 'qdrant_path = "store"\nqdrant_collection = "shifted"\noriginals = "m.pdf"'
    suite = write("suite.toml", f'cases = ["cases.jsonl"]\n[retrieval]\n{table}\n')
    assert cli("verify", suite).code == 1
    found = cli("verify", suite, "--collection", "right")
    assert found.code == 0, found.err + found.out


@pytest.mark.parametrize("distance", ["Euclid", "Dot"])
def test_other_distances_rank_alike(distance: str, retrieved: Any, collection: Any) -> None:
    collection("docs", PAYLOADS["plain"], distance=distance)
    assert retrieved('qdrant_path = "store"\nqdrant_collection = "docs"') == [1.0, 1.0]


def test_named_vectors_dense_and_sparse(retrieved: Any, collection: Any, write: Write) -> None:
    collection("docs", PAYLOADS["plain"], named=True)
    table = 'qdrant_path = "store"\nqdrant_collection = "docs"\n'
    assert retrieved(table) == [1.0, 1.0]
    assert retrieved(f'{table}qdrant_vector = "dense"') == [1.0, 1.0]
    assert 'has no vector "body"; it has dense of 384 numbers' in retrieved(
        f'{table}qdrant_vector = "body"'
    )
    # The encoder is wrong on purpose: with α = 0 its ranking is the one that counts.
    write(
        "encoder.py",
        "def encode(question): return {2: 1.0} if 'refunds' in question else {1: 1.0}\n",
    )
    sparse = f'{table}sparse_encoder = "encoder:encode"\n'.replace("alpha = 1.0", "")
    assert retrieved(sparse, "--set", "target.alpha=0.0") == [0.0, 1.0]
    assert "set qdrant_sparse_vector" in retrieved(f'{sparse}qdrant_sparse_vector = "other"')


def test_a_client_of_your_own_in_memory(retrieved: Any, write: Write) -> None:
    pytest.importorskip("qdrant_client")
    write(
        "store.py",
        "from qdrant_client import QdrantClient, models\nfrom answerkey.embed import load_embedder\n"
        f"TEXTS = {TEXTS!r}\n"
        "def client():\n"
        "    made = QdrantClient(':memory:')\n"
        "    made.create_collection('docs', vectors_config=models.VectorParams(size=384, distance=models.Distance.COSINE))\n"
        "    vectors = load_embedder().embed(list(TEXTS.values()))\n"
        "    made.upsert('docs', [models.PointStruct(id=n, vector=v.tolist(), payload={'text': t, 'page': p})\n"
        "        for n, (v, (p, t)) in enumerate(zip(vectors, TEXTS.items()))])\n"
        "    return made\n",
    )
    assert retrieved('qdrant_client = "store:client"\nqdrant_collection = "docs"') == [1.0, 1.0]
    assert "set qdrant_client" in retrieved('qdrant_path = ":memory:"\nqdrant_collection = "docs"')


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real Postgres with pgvector, on a Unix socket."""
    pgserver = pytest.importorskip(
        "pgserver", reason="the pgserver wheel has no build for this Python"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        try:
            server = pgserver.get_server(str(tmp_path_factory.mktemp("postgres")))
        except Exception as error:
            pytest.skip(f"Postgres does not start here: {error}")
        server.psql("CREATE EXTENSION vector")
        yield server
        server.cleanup()


def fill(server: Any, table: str, columns: str, rows: list[str]) -> None:
    server.psql(
        f"CREATE TABLE {table} ({columns});"
        + "".join(f"INSERT INTO {table} VALUES ({row});" for row in rows)
    )


@pytest.mark.slow
def test_a_postgres_table_with_pgvector(postgres: Any, retrieved: Any) -> None:
    made = [
        (page, text, vector) for (page, text), vector in zip(TEXTS.items(), vectors(), strict=True)
    ]
    fill(postgres, "docs", "id int PRIMARY KEY, content text, page int, embedding vector(384)",
         [f"{n}, '{text}', {page}, '{vector}'" for n, (page, text, vector) in enumerate(made)])  # fmt: skip
    postgres.psql("CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops)")
    fill(postgres, "langchain", "uuid text, document text, cmetadata jsonb, embedding vector",
         [f"'u{n}', '{text}', '{json.dumps({'page': int(page) - 1, 'page_label': page, 'source': 'm.pdf'})}', '{vector}'"
          for n, (page, text, vector) in enumerate(made)])  # fmt: skip
    fill(postgres, "odd", "nr int, body text, sheet text, v vector(384)",
         [f"{n}, '{text}', '{page}', '{vector}'" for n, (page, text, vector) in enumerate(made)])  # fmt: skip
    fill(postgres, "small", "id int, content text, embedding vector(3)", ["1, 'x', '[1,2,3]'"])
    fill(postgres, "empty", "id int, content text, embedding vector(384)", [])
    url = f'postgres_url = "{postgres.get_uri()}"\n'
    assert retrieved(f'{url}postgres_table = "docs"') == [1.0, 1.0]
    assert retrieved(f'{url}postgres_table = "docs"', "--collection", "public.langchain") == [
        1.0,
        1.0,
    ]
    assert "set id_field" in retrieved(f'{url}postgres_table = "odd"')
    odd = (
        f'{url}postgres_table = "odd"\nid_field = "nr"\ntext_field = "body"\npage_field = "sheet"\n'
    )
    assert retrieved(f'{odd}vector_field = "v"') == [1.0, 1.0]
    assert 'no column "w" among nr, body, sheet, v' in retrieved(f'{odd}vector_field = "w"')
    assert 'Postgres has no table "nothing"' in retrieved(f'{url}postgres_table = "nothing"')
    assert "vectors of 3 numbers" in retrieved(f'{url}postgres_table = "small"')
    assert "is empty" in retrieved(f'{url}postgres_table = "empty"')
    assert "Postgres does not answer" in retrieved(
        'postgres_url = "postgresql:///x?host=/nowhere"\npostgres_table = "docs"'
    )


def test_a_database_password_stays_out_of_the_suite(retrieved: Any) -> None:
    shown = retrieved('postgres_url = "postgresql://me:hidden@host/db"\npostgres_table = "docs"')
    assert "PGPASSWORD" in shown
    assert "hidden" not in shown


RETRIEVERS = {
    "function": "def search(question, k):\n    return FOUND[question][:k]\n",
    "one argument": "def search(question):\n    return FOUND[question]\n",
    "async": "async def search(question, k=4):\n    return FOUND[question]\n",
    "LangChain": "class R:\n    def invoke(self, question, config=None): return FOUND[question]\nsearch = R()\n",
    "LlamaIndex": "class R:\n    def retrieve(self, question): return FOUND[question]\nsearch = R()\n",
}


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_any_store_through_a_function(kind: str, retrieved: Any, write: Write) -> None:
    write(
        "store.py",
        "class Document:\n    def __init__(self, text, page): self.page_content, self.metadata = text, {'page': page}\n"
        "FOUND = {'When are refunds paid?': [{'text': 'Refunds are paid within 30 days.', 'page': 12}, 'more'],\n"
        "         'How long is the warranty?': [(Document('It lasts two years.', 34), 0.7)]}\n"
        + RETRIEVERS[kind],
    )
    assert retrieved('retriever = "store:search"') == [1.0, 1.0]


def test_a_retriever_that_fails(retrieved: Any, write: Write, cli: Cli, tmp_path: Path) -> None:
    assert "no module nothing" in retrieved('retriever = "nothing:search"')
    write("store.py", "limit = 5\ndef search(question, k): return [object()]\n")
    assert "expected a function of (question, k)" in retrieved('retriever = "store:limit"')
    retrieved('retriever = "store:search"')
    lines = max(tmp_path.glob("results/*/results.jsonl")).read_text()
    assert (
        'retriever \\"store:search\\", column \\"passages\\": found a passage of type object'
        in lines
    )
    suite = write(
        "sweep.toml", 'cases = ["cases.jsonl"]\n[retrieval]\nretriever = "store:search"\n'
    )
    assert 'kind = "rag"' in cli("sweep", suite).err
