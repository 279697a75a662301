"""An existing Postgres table with pgvector: rows are read once, vectors are searched there."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.errors import EndpointError, InputError, MissingPackage, SettingsError
from answerkey.retrieval.chunks import Chunk
from answerkey.retrieval.fuse import Top, Vectors
from answerkey.retrieval.search_index import DenseSearch, OpenedStore
from answerkey.retrieval.stores import make_chunks, passage_of_row, top_of_hits

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.abc import QueryNoTemplate as Query
    from psycopg.rows import TupleRow
    from psycopg.sql import Identifier

_ID_COLUMNS = ("id", "uuid", "langchain_id", "chunk_id", "doc_id")
_COLUMNS = """SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_LEAST_EXAMINED = 40  # pgvector's own default for an approximate index
_MOST_EXAMINED = 1000  # pgvector allows no more


def open_postgres(settings: RetrievalTable, dimension: int | None) -> OpenedStore:
    """The chunks of the table, ordered by page, and a search over it by cosine."""
    try:
        import psycopg
    except ImportError:
        raise MissingPackage("psycopg", "pgvector") from None
    try:
        # Without autocommit, one failed query makes all later ones fail.
        connection = psycopg.connect(
            settings.store.postgres_url or "", autocommit=True, connect_timeout=30
        )
    except psycopg.Error as error:
        raise EndpointError(f"Postgres does not answer: {_first_line(error)}") from None
    try:
        chunks, search = _read_table(connection, settings, dimension)
    # Ctrl-C must close the connection, too.
    except BaseException:
        connection.close()
        raise
    # Nobody closes an index; the connection ends with the search that uses it.
    weakref.finalize(search, connection.close)
    return OpenedStore(f"Postgres table {settings.store.postgres_table}", chunks, search, None)


def _read_table(
    connection: Connection, settings: RetrievalTable, dimension: int | None
) -> tuple[Sequence[Chunk], DenseSearch]:
    from psycopg import sql
    from psycopg.rows import dict_row

    store = settings.store
    name = store.postgres_table or ""
    # A schema may stand before the name: `public.chunks`.
    table = sql.Identifier(*name.split("."))
    # An approximate index returns no more rows than it examines: the pool must fit.
    examined = min(max(settings.pool, _LEAST_EXAMINED), _MOST_EXAMINED)
    _fetch(connection, "SELECT set_config('hnsw.ef_search', %s, false)", (str(examined),))
    # to_regclass needs the quoted name: without quotes it folds capitals.
    columns: dict[str, str] = dict(_fetch(connection, _COLUMNS, (table.as_string(connection),)))
    if not columns:
        raise SettingsError(f'Postgres has no table "{name}"')
    # `halfvec` and `sparsevec` are types of pgvector, too.
    vector_columns = [column for column, kind in columns.items() if "vector" in kind]
    id_columns = [column for column in _ID_COLUMNS if column in columns]
    vector = _choose_column(columns, store.vector_field, vector_columns, "vector_field")
    key = _choose_column(columns, store.id_field, id_columns, "id_field")
    _check_dimension(connection, table, vector, dimension, name)
    # The vectors stay in the database, where they are searched.
    others = [sql.Identifier(column) for column in columns if column != vector]
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
        passage_of_row(row, store, f'row {row_key} of "{name}"')
        for row, row_key in zip(rows, keys, strict=True)
    ]
    chunks, place = make_chunks(passages, keys, settings.ids)
    query = sql.SQL(
        "SELECT {}, 1 - ({v} <=> %s::vector) FROM {t} ORDER BY {v} <=> %s::vector LIMIT %s"
    ).format(sql.Identifier(key), v=sql.Identifier(vector), t=table)

    def search(vectors: Vectors, pool: int) -> Top:
        """The connection takes the queries of all threads in turn."""
        hits: list[list[tuple[float, int]]] = []
        for row in vectors:
            literal = f"[{','.join(map(str, row.tolist()))}]"
            rows = _fetch(connection, query, (literal, literal, pool))
            # A row that was added after the table was read has no chunk.
            pairs = [(cosine, place[str(key)]) for key, cosine in rows if str(key) in place]
            # A zero vector has no cosine: Postgres gives NaN.
            hits.append([pair for pair in pairs if pair[0] == pair[0]])
        return top_of_hits(hits, pool)

    return chunks, search


def _check_dimension(
    connection: Connection, table: Identifier, vector: str, dimension: int | None, name: str
) -> None:
    from psycopg import sql

    first_row = sql.SQL("SELECT vector_dims({}::vector) FROM {} LIMIT 1").format(
        sql.Identifier(vector), table
    )
    size = _fetch(connection, first_row)
    if not size:
        raise InputError(f'the Postgres table "{name}" is empty')
    if dimension not in (None, size[0][0]):
        raise SettingsError(
            f'the Postgres table "{name}" has vectors of {size[0][0]} numbers, the embedding model '
            f"gives {dimension}: set [embedding] to the model that made the table"
        )


def _choose_column(
    columns: Mapping[str, str], chosen: str | None, candidates: list[str], setting: str
) -> str:
    """The column that the setting names, or else the first candidate."""
    if chosen in columns:
        return chosen or ""
    if chosen is None and candidates:
        return candidates[0]
    if chosen:
        problem = f'no column "{chosen}"'
    else:
        problem = "not found"
    raise SettingsError(
        f"[retrieval] {setting}: {problem} among {', '.join(columns)}; set {setting}"
    )


def _fetch(connection: Connection, query: Query, values: tuple[object, ...] = ()) -> list[TupleRow]:
    import psycopg

    try:
        return connection.execute(query, values).fetchall()
    except psycopg.OperationalError as error:
        raise EndpointError(f"Postgres does not answer: {_first_line(error)}") from None
    except psycopg.Error as error:
        raise InputError(f"Postgres: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
