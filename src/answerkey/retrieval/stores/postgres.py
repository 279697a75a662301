"""An existing Postgres table with pgvector: its rows are read once (text, page), its vectors are searched where they are."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import EndpointError, InputError, MissingPackage, SettingsError
from answerkey.retrieval.chunks import Chunk
from answerkey.retrieval.fuse import Top, Vectors
from answerkey.retrieval.search_index import DenseSearch, OpenedStore
from answerkey.retrieval.stores import stored_chunks, stored_passage, top_of

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.abc import QueryNoTemplate as Query
    from psycopg.rows import TupleRow

_IDS = ("id", "uuid", "langchain_id", "chunk_id", "doc_id")
_COLUMNS = """SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""


def open_postgres(settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    """The chunks of the table, ordered by page, and a search over it by cosine."""
    try:
        import psycopg
    except ImportError:
        raise MissingPackage("psycopg", "pgvector") from None
    try:
        connection = psycopg.connect(
            settings.store.postgres_url or "", autocommit=True, connect_timeout=30
        )
    except psycopg.Error as error:
        raise EndpointError(f"Postgres does not answer: {_first_line(error)}") from None
    try:
        chunks, search = _read(connection, settings, dimension)
    except BaseException:
        connection.close()
        raise
    weakref.finalize(search, connection.close)
    return f"Postgres table {settings.store.postgres_table}", chunks, search, None


def _read(
    connection: Connection, settings: RetrievalTable, dimension: int | None
) -> tuple[Sequence[Chunk], DenseSearch]:
    from psycopg import sql
    from psycopg.rows import dict_row

    name = settings.store.postgres_table or ""
    table = sql.Identifier(*name.split("."))
    # An approximate index looks at 40 rows unless it is asked for more.
    _fetched(
        connection,
        "SELECT set_config('hnsw.ef_search', %s, false)",
        (str(min(max(settings.pool, 40), 1000)),),
    )
    columns: dict[str, str] = dict(_fetched(connection, _COLUMNS, (table.as_string(connection),)))
    if not columns:
        raise SettingsError(f'Postgres has no table "{name}"')
    vectors = [column for column, kind in columns.items() if "vector" in kind]
    vector = _one_of(columns, settings.store.vector_field, vectors, "vector_field")
    key = _one_of(columns, settings.store.id_field, [c for c in _IDS if c in columns], "id_field")
    others = [sql.Identifier(column) for column in columns if column != vector]
    first = sql.SQL("SELECT vector_dims({}::vector) FROM {} LIMIT 1").format(
        sql.Identifier(vector), table
    )
    size = _fetched(connection, first)
    if not size:
        raise InputError(f'the Postgres table "{name}" is empty')
    if dimension not in (None, size[0][0]):
        raise SettingsError(
            f'the Postgres table "{name}" has vectors of {size[0][0]} numbers, the embedding model gives {dimension}: '
            "set [embedding] to the model that made the table"
        )
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(
            sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(others), table)
        ).fetchall()
    keys = [str(row[key]) for row in rows]
    if len(set(keys)) < len(keys):
        raise SettingsError(
            f'the Postgres table "{name}": the ids in "{key}" are not unique; set id_field'
        )
    passages = [
        stored_passage(row, settings, f'row {one} of "{name}"')
        for row, one in zip(rows, keys, strict=True)
    ]
    chunks, place = stored_chunks(passages, keys)
    query = sql.SQL(
        "SELECT {}, 1 - ({v} <=> %s::vector) FROM {t} ORDER BY {v} <=> %s::vector LIMIT %s"
    ).format(sql.Identifier(key), v=sql.Identifier(vector), t=table)

    def search(vectors: Vectors, pool: int) -> Top:
        """The connection takes the queries of all threads in turn."""
        hits: list[list[tuple[float, int]]] = []
        for vector in vectors:
            given = f"[{','.join(map(str, vector.tolist()))}]"
            found = _fetched(connection, query, (given, given, pool))
            known = [(cosine, place[str(key)]) for key, cosine in found if str(key) in place]
            hits.append([hit for hit in known if hit[0] == hit[0]])  # a zero vector has no cosine
        return top_of(hits, pool)

    return chunks, search


def _one_of(
    columns: Mapping[str, str], wanted: str | None, candidates: list[str], setting: str
) -> str:
    if wanted in columns or (wanted is None and candidates):
        return wanted or candidates[0]
    found = f'no column "{wanted}"' if wanted else "not found"
    raise SettingsError(f"[retrieval] {setting}: {found} among {', '.join(columns)}; set {setting}")


def _fetched(
    connection: Connection, query: Query, values: tuple[object, ...] = ()
) -> list[TupleRow]:
    import psycopg

    try:
        return connection.execute(query, values).fetchall()
    except psycopg.OperationalError as error:
        raise EndpointError(f"Postgres does not answer: {_first_line(error)}") from None
    except psycopg.Error as error:
        raise InputError(f"Postgres: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
