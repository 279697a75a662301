"""Every setting of [retrieval] and of its tables: chunks, sweep and store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from answerkey.config import declare
from answerkey.config.declare import Table, TomlTable, about, sorted_values
from answerkey.config.tables import EMPTY, Line, OptionalLine, Variable
from answerkey.errors import SettingsError

ChunkBy = Literal["page", "heading", "sentence", "fixed", "words"]
IdStyle = Literal["auto", "page", "document", "document#page"]
Bm25Formula = Literal["robertson", "lucene", "atire", "bm25l", "bm25+"]
AtLeast0 = Annotated[int, about("", ge=0)]
AtLeast1 = Annotated[int, about("", ge=1)]
Share = Annotated[float, about("", ge=0, le=1)]


class ChunkTable(Table, frozen=True):
    """[retrieval.chunks]: how documents are cut. `sweep` compares every value of a list."""

    by: Annotated[
        tuple[ChunkBy, ...] | ChunkBy | None,
        about(
            "`page`, `heading`, `sentence` or `fixed` (a number of words; also `words`), or a list "
            "of these. Default: `page`; `fixed` where `size` or `overlap` is a list."
        ),
    ] = None
    size: Annotated[tuple[AtLeast1, ...] | AtLeast1, about("Words per chunk, or a list.")] = 200
    overlap: Annotated[
        tuple[AtLeast0, ...] | AtLeast0,
        about("Words that a chunk shares with the next, or a list."),
    ] = 40


class SweepTable(Table, frozen=True):
    """[retrieval.sweep]: what `sweep` tries and what chooses."""

    alphas: Annotated[
        tuple[Share, ...],
        about(
            "Weights of dense search to try: 0 is BM25 only, 1 is dense only. "
            "Default: the standard tests.",
            min_length=1,
        ),
        sorted_values,
    ] = ()
    ks: Annotated[
        tuple[AtLeast1, ...],
        about("Numbers of passages to try. Default: the standard tests.", min_length=1),
        sorted_values,
    ] = ()
    named: Annotated[
        bool, about("With `alphas` or `ks`: also the five named settings at K = 5.")
    ] = False
    rrf: Annotated[bool, about("With `alphas` or `ks`: also reciprocal rank fusion.")] = False
    topk_alpha: (
        Annotated[float, about("The α of the top-K analysis. Default: the best one.", ge=0, le=1)]
        | None
    ) = None
    select: Annotated[
        Line, about("Metric that chooses, as `ndcg@5` or `f1`. Default: nDCG at the largest K.")
    ] = ""
    models: Annotated[
        tuple[str, ...], about("Several embedding models to compare, instead of `[embedding]`.")
    ] = ()


class StoreTable(Table, frozen=True):
    """[retrieval.store]: an existing vector index to search instead of documents."""

    index: Annotated[
        Path | None, about("A FAISS index with `chunks`, or a folder that LangChain saved.")
    ] = None
    chunks: Annotated[
        Path | None, about("A JSONL file with the page and text of each row of the index.")
    ] = None
    qdrant_url: Annotated[
        OptionalLine, about("An existing Qdrant server, with `qdrant_collection`.")
    ] = None
    qdrant_path: Annotated[
        Path | None, about("A folder of Qdrant's local mode, instead of a server.")
    ] = None
    qdrant_client: Annotated[
        OptionalLine, about("`module:function` that returns a client, as one in memory.")
    ] = None
    qdrant_collection: Annotated[
        OptionalLine, about("The collection; `--collection` overrides it.")
    ] = None
    qdrant_api_key_env: Annotated[
        Variable, about("Name of the environment variable with its key.")
    ] = ""
    qdrant_vector: Annotated[
        OptionalLine, about("Name of the dense vector. Default: the one that fits.")
    ] = None
    qdrant_sparse_vector: Annotated[
        OptionalLine, about("Vector for `sparse_encoder`. Default: the only one.")
    ] = None
    sparse_encoder: Annotated[
        OptionalLine,
        about("`module:function` from a question to `{index: weight}`, instead of our BM25."),
    ] = None
    postgres_url: Annotated[
        str | None,
        about("A Postgres database with pgvector; its password comes from `PGPASSWORD`."),
        declare.without_password,
    ] = None
    postgres_table: Annotated[
        OptionalLine, about("The table or view; `--collection` overrides it.")
    ] = None
    vector_field: Annotated[
        OptionalLine, about("Its column of vectors. Default: the only one.")
    ] = None
    id_field: Annotated[
        OptionalLine, about("Its column of unique ids. Default: `id` or `uuid`.")
    ] = None
    text_field: Annotated[
        OptionalLine,
        about(
            "Field with the text, such as `metadata.body`. Default: `text` and other usual names."
        ),
    ] = None
    page_field: Annotated[
        OptionalLine, about("The page's field. Default: `page_number`, `page_label`, `page`.")
    ] = None

    @property
    def is_qdrant(self) -> bool:
        qdrant = (self.qdrant_url, self.qdrant_path, self.qdrant_client)
        return any(source is not None for source in qdrant)

    def check(self) -> None:
        """Raise for settings that need each other; the paths are resolved by now."""
        if self.is_qdrant != (self.qdrant_collection is not None):
            raise SettingsError(
                "[retrieval] needs both qdrant_url (or qdrant_path) and qdrant_collection, "
                "or neither"
            )
        if (self.postgres_url is None) != (self.postgres_table is None):
            raise SettingsError(
                "[retrieval] needs both postgres_url and postgres_table, or neither"
            )
        if self.index is None or self.chunks is not None:
            return
        # LangChain keeps the texts in a .pkl file beside the index, so that `chunks` is not needed.
        if not self.index.is_dir() and not self.index.with_suffix(".pkl").is_file():
            raise SettingsError(
                "[retrieval] index needs chunks: a JSONL file with the page and text of each row"
            )


class RetrievalTable(Table, frozen=True):
    """[retrieval]: what `sweep` and `diagnose` search, and how it is ranked."""

    documents: Annotated[
        Path | None, about("File or folder (text, Markdown, PDF), JSON chunks, BEIR folder.")
    ] = None
    ids: Annotated[
        IdStyle, about("How labels name pages: `auto`, `page`, `document` or `document#page`.")
    ] = "auto"
    retriever: Annotated[
        OptionalLine,
        about("`module:function` of a question and k that returns passages, for any other store."),
    ] = None
    alpha: Annotated[float, about("Weight of dense search for the `rag` bot.", ge=0, le=1)] = 0.5
    route: Annotated[
        dict[str, float], about("The α of question types: `{factual = 0.3}`; others use `alpha`.")
    ] = EMPTY
    route_k: Annotated[
        dict[str, AtLeast1],
        about("The number of passages of question types: `{procedural = 10}`; others use `k`."),
    ] = EMPTY
    pool: Annotated[int, about("Candidates per search that are fused.", ge=1)] = 100
    fusion: Annotated[Literal["weighted", "rrf"], about("`weighted` or `rrf`.")] = "weighted"
    bm25: Annotated[
        Bm25Formula, about("Formula: `lucene`, `robertson`, `atire`, `bm25l` or `bm25+`.")
    ] = "lucene"
    k1: Annotated[float, about("k1 of BM25.", ge=0)] = 1.5
    b: Annotated[float, about("b of BM25.", ge=0, le=1)] = 0.75
    language: Annotated[
        str, about("Language for BM25, as `de`; `auto` detects it, `none` stems nothing.")
    ] = "auto"
    unit: Annotated[
        Literal["page", "chunk"],
        about("`page` merges the chunks of a page before measuring; `chunk` counts each."),
    ] = "page"
    quote_share: Annotated[
        float, about("Share of a case's `quote` that a relevant chunk holds.", gt=0, le=1)
    ] = 0.5
    rewriter: Annotated[
        OptionalLine,
        about(
            "Rewrites questions before the search: `spell`, `expand`, `llm` or `module:function`."
        ),
    ] = None
    reranker: Annotated[
        OptionalLine, about("Scores passages again: `cross-encoder`, `llm` or `module:function`.")
    ] = None
    reranker_model: Annotated[
        OptionalLine, about("The model of `cross-encoder`: a folder or a name.")
    ] = None
    llm: Annotated[
        str | TomlTable | None,
        about("The language model of `llm` above: a preset or a table like `[judge]`."),
    ] = None
    originals: Annotated[
        Path | None, about("For `verify`: the PDF file or folder that the chunks come from.")
    ] = None
    chunks: Annotated[ChunkTable, about("How documents are cut: see `[retrieval.chunks]`.")] = (
        ChunkTable()
    )
    sweep: Annotated[SweepTable, about("What `sweep` tries: see `[retrieval.sweep]`.")] = (
        SweepTable()
    )
    store: Annotated[StoreTable, about("A vector index: see `[retrieval.store]`.")] = StoreTable()

    # Suites of earlier versions have all settings in one table.
    moved: ClassVar[Mapping[str, str]] = {
        "chunk_by": "chunks.by",
        "by": "chunks.by",
        "chunk_size": "chunks.size",
        "chunk_sizes": "chunks.size",
        "chunk_overlap": "chunks.overlap",
        "overlaps": "chunks.overlap",
        **{name: f"sweep.{name}" for name in declare.settings_of(SweepTable)},
        **{name: f"store.{name}" for name in declare.settings_of(StoreTable)},
    }

    def __post_init__(self) -> None:
        if self._sources() != 1:
            raise SettingsError(
                "[retrieval] needs one of documents, index (with chunks), qdrant_url, "
                "qdrant_path, qdrant_client, postgres_url or retriever"
            )
        self.store.check()
        # A ranking is no longer than the pool: a larger K would measure the same list again.
        most = max(self.sweep.ks, default=0)
        if self.pool < most:
            raise SettingsError(
                f"[retrieval] pool = {self.pool}: expected at least the largest K, {most}"
            )
        self._check_overlap()
        # The type of `route` has no limits, so each α is checked here.
        for kind, alpha in self.route.items():
            if not 0 <= alpha <= 1:
                raise SettingsError(
                    f"[retrieval] route.{kind} = {alpha}: expected a number from 0 to 1"
                )

    def _sources(self) -> int:
        store = self.store
        single = (self.documents, self.retriever, store.index, store.postgres_url)
        qdrant = (store.qdrant_url, store.qdrant_path, store.qdrant_client)
        return sum(source is not None for source in (*single, *qdrant))

    def _check_overlap(self) -> None:
        size = self.chunks.size
        overlap = self.chunks.overlap
        # Lists are checked by `chunkings`, which leaves out the pairs that do not fit.
        if isinstance(size, int) and isinstance(overlap, int) and overlap >= size:
            raise SettingsError(
                f"[retrieval] chunk_overlap = {overlap}: expected less than chunk_size, {size}"
            )
