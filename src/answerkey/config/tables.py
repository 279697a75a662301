"""Every setting of the tables [run], [gate], [judge], [embedding] and [retrieval]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from answerkey.config import declare
from answerkey.config.declare import Table, TomlTable, about, sorted_values, web_address
from answerkey.errors import SettingsError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
INT8_MODEL = f"{DEFAULT_MODEL}:int8"
EMPTY = msgspec.field(default_factory=TomlTable)

PRESETS: Mapping[str, Mapping[str, str]] = {
    "groq": {
        "base_url": "https://api.groq.com/openai/v1",
        "model": "llama-3.3-70b-versatile",
        "api_key_env": "GROQ_API_KEY",
    },
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "model": "gpt-4.1-mini",
        "api_key_env": "OPENAI_API_KEY",
    },
    "ollama": {"base_url": "http://127.0.0.1:11434/v1"},
    "vllm": {"base_url": "http://127.0.0.1:8000/v1"},
    "llama-cpp": {"base_url": "http://127.0.0.1:8080/v1", "model": "default"},
}

ChunkBy = Literal["page", "heading", "sentence", "fixed", "words"]
IdStyle = Literal["auto", "page", "document", "document#page"]
Bm25Formula = Literal["robertson", "lucene", "atire", "bm25l", "bm25+"]
AtLeast0 = Annotated[int, about("", ge=0)]
AtLeast1 = Annotated[int, about("", ge=1)]
Share = Annotated[float, about("", ge=0, le=1)]
Line = Annotated[str, declare.one_line]
OptionalLine = Annotated[str | None, declare.one_line]
Variable = Annotated[str, declare.variable_name]


class ExecutionTable(Table, frozen=True):
    """[run]: how the run goes."""

    workers: Annotated[int, about("Questions asked at the same time.", ge=1)] = 5
    timeout: Annotated[float, about("Seconds to wait for one answer.", ge=0.001)] = 30.0
    jobs: (
        Annotated[
            int,
            about("Processes for the metrics. Default: one per core for many cases.", ge=1, le=256),
        ]
        | None
    ) = None
    stop_below: Annotated[
        float | None, about("Stop at the first case below this score of the profile's scale.")
    ] = None
    stop_on_fail: Annotated[
        bool, about("Stop at the first case that fails, as `--stop-on-fail` does.")
    ] = False
    out: Annotated[str, about("Folder for the run folders, relative to the suite.")] = "results"
    max_cost: (
        Annotated[float, about("Stop when answers and judge together have cost this much.", ge=0)]
        | None
    ) = None
    max_minutes: Annotated[float, about("Stop after this many minutes.", ge=0)] | None = None
    repeats: Annotated[int, about("Ask each case this many times.", ge=1, le=1000)] = 1
    require: Annotated[
        str, about('How many of the repeats must pass, as in `"3 of 5"`. Default: more than half.')
    ] = ""


class StatisticsTable(Table, frozen=True):
    """[statistics]: how intervals and comparisons are computed."""

    cluster: Annotated[
        str,
        about(
            "Column of the cluster of dependent cases, or `none`. Default: `cluster`, or the conversation."
        ),
    ] = ""


class FactsTable(Table, frozen=True):
    """[facts]: how the facts metrics decide."""

    judge: Annotated[
        bool, about("The judge decides which facts an answer states, not the entailment model.")
    ] = False


class GateTable(Table, frozen=True):
    """[gate]: what a run must reach."""

    require: Annotated[
        tuple[str, ...], about("Conditions such as `user_satisfaction >= 0.70`.")
    ] = ()


class ChatTable(Table, frozen=True):
    """A language model: where it is and how it is asked."""

    preset: Annotated[
        str | None, about("`groq`, `openai`, `ollama`, `vllm`, `llama-cpp`; of a judge `local`.")
    ] = None
    base_url: Annotated[
        str, about("Address of an OpenAI-compatible endpoint, up to `/v1`."), web_address
    ] = ""
    model: Annotated[Line, about("The model's name; overrides the preset's model.")] = ""
    api_key_env: Annotated[
        Variable, about("Name of the environment variable with the key, never the key itself.")
    ] = ""
    concurrency: Annotated[int, about("Requests at the same time.", ge=1)] = 20
    requests_per_minute: Annotated[int, about("Requests per minute; 0 is no limit.", ge=0)] = 0
    timeout: Annotated[float, about("Seconds for one reply.", ge=0.001)] = 30.0
    temperature: Annotated[float, about("Sampling temperature.", ge=0)] = 0.0
    max_tokens: Annotated[int, about("Longest reply, in tokens.", ge=1)] = 2048
    price_in: Annotated[float, about("Price per million prompt tokens.", ge=0)] | None = None
    price_out: Annotated[float, about("Price per million completion tokens.", ge=0)] | None = None


class JudgeTable(ChatTable, frozen=True):
    """[judge]: a language model that scores answers."""

    votes: Annotated[int, about("Ask this many times and take the median.", ge=1, le=99)] = 1
    cache: Annotated[bool, about("`false` keeps no reply on disk.")] = True
    call: Annotated[
        Line, about("`module:function` from prompt to text, sync or async, instead of an endpoint.")
    ] = ""
    jury: Annotated[
        tuple[Any, ...],
        about(
            "Several judges, each a name or a table: the majority counts, the median for numbers."
        ),
    ] = ()
    per_metric: Annotated[
        TomlTable,
        about('Another judge for some metrics: `"criterion.tone" = "ollama"`, `rubric = "groq"`.'),
    ] = EMPTY
    prompt: Annotated[
        Path | None,
        about(
            "A file with your prompt: `{question}`, `{expected}`, `{answer}`, `{contexts}`, `{instructions}`."
        ),
    ] = None
    context_window: (
        Annotated[int, about("Tokens that the model reads; longer passages are cut.", ge=256)]
        | None
    ) = None


class EmbeddingTable(Table, frozen=True):
    """[embedding]: the model that turns text into vectors."""

    model: Annotated[
        str,
        about(
            "`all-MiniLM-L6-v2` (packaged), `all-MiniLM-L6-v2:int8`, `org/model`, that of an endpoint, or `none`."
        ),
    ] = DEFAULT_MODEL
    backend: Annotated[
        Literal["minilm", "sentence-transformers", "http"] | None,
        about("Default: chosen by the model's name."),
    ] = None
    base_url: Annotated[
        str | None, about("An OpenAI-compatible endpoint with `/embeddings`."), web_address
    ] = None
    api_key_env: Annotated[Variable, about("Name of the environment variable with its key.")] = ""
    timeout: Annotated[float, about("Seconds for one request.", ge=0.001)] = 30.0
    threads: (
        Annotated[int, about("Threads of the packaged model. Default: one per core.", ge=1)] | None
    ) = None
    cache: Annotated[bool, about("`false` keeps no vector on disk.")] = True


class RetrievalTable(Table, frozen=True):
    """[retrieval]: what `sweep` and `diagnose` search, how it is chunked and how it is ranked."""

    documents: Annotated[
        Path | None, about("File or folder (text, Markdown, PDF), JSON chunks, BEIR folder.")
    ] = None
    ids: Annotated[
        IdStyle, about("How labels name pages: `auto`, `page`, `document` or `document#page`.")
    ] = "auto"
    chunk_by: Annotated[
        ChunkBy,
        about("`page`, `heading`, `sentence` or `fixed` (a number of words; also `words`)."),
    ] = "page"
    chunk_size: Annotated[int, about("Words per chunk.", ge=1)] = 200
    chunk_overlap: Annotated[int, about("Words that a chunk shares with the next.", ge=0)] = 40
    by: Annotated[
        tuple[ChunkBy, ...] | ChunkBy,
        about("For `sweep`: several values of `chunk_by` to compare."),
    ] = ()
    chunk_sizes: Annotated[
        tuple[AtLeast1, ...], about("For `sweep`: several `chunk_size`."), sorted_values
    ] = ()
    overlaps: Annotated[
        tuple[AtLeast0, ...], about("For `sweep`: several `chunk_overlap`."), sorted_values
    ] = ()
    models: Annotated[
        tuple[str, ...], about("For `sweep`: several embedding models, instead of `[embedding]`.")
    ] = ()
    quote_share: Annotated[
        float, about("Share of a case's `quote` that a relevant chunk holds.", gt=0, le=1)
    ] = 0.5
    originals: Annotated[
        Path | None, about("For `verify`: the PDF file or folder that the chunks come from.")
    ] = None
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
    retriever: Annotated[
        OptionalLine,
        about("`module:function` of a question and k that returns passages, for any other store."),
    ] = None
    alphas: Annotated[
        tuple[Share, ...],
        about(
            "Weights of dense search to try: 0 is BM25 only, 1 is dense only. Default: the standard tests.",
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
    route: Annotated[
        dict[str, float], about("The α of question types: `{factual = 0.3}`; others use `alpha`.")
    ] = EMPTY
    alpha: Annotated[float, about("Weight of dense search for the `rag` bot.", ge=0, le=1)] = 0.5
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
    reranker: Annotated[OptionalLine, about("`module:function` that scores passages again.")] = None
    rewriter: Annotated[
        OptionalLine, about("`module:function` that rewrites questions before the search.")
    ] = None

    def __post_init__(self) -> None:
        qdrant = [self.qdrant_url, self.qdrant_path, self.qdrant_client]
        sources = [self.documents, self.index, self.postgres_url, self.retriever, *qdrant]
        if sum(source is not None for source in sources) != 1:
            raise SettingsError(
                "[retrieval] needs one of documents, index (with chunks), qdrant_url, qdrant_path, qdrant_client, "
                "postgres_url or retriever"
            )
        if all(source is None for source in qdrant) != (self.qdrant_collection is None):
            raise SettingsError(
                "[retrieval] needs both qdrant_url (or qdrant_path) and qdrant_collection, or neither"
            )
        if (self.postgres_url is None) != (self.postgres_table is None):
            raise SettingsError(
                "[retrieval] needs both postgres_url and postgres_table, or neither"
            )
        beside = self.index is not None and (
            self.index.is_dir() or self.index.with_suffix(".pkl").is_file()
        )
        if self.index is not None and self.chunks is None and not beside:
            raise SettingsError(
                "[retrieval] index needs chunks: a JSONL file with the page and text of each row"
            )
        if self.pool < max(self.ks, default=0):
            raise SettingsError(
                f"[retrieval] pool = {self.pool}: expected at least the largest K, {max(self.ks)}"
            )
        if self.chunk_overlap >= self.chunk_size:
            found = f"[retrieval] chunk_overlap = {self.chunk_overlap}"
            raise SettingsError(f"{found}: expected less than chunk_size, {self.chunk_size}")
        for kind, alpha in self.route.items():
            if not 0 <= alpha <= 1:
                raise SettingsError(
                    f"[retrieval] route.{kind} = {alpha}: expected a number from 0 to 1"
                )


class SuiteTable(Table, frozen=True):
    """The top of the file."""

    name: Annotated[str, about("Name of the run folders. Default: the file's name.")] = ""
    cases: Annotated[
        tuple[str, ...] | str, about("Files, folders or globs of cases, relative to the suite.")
    ] = ()
    profile: Annotated[
        str | TomlTable | None, about("A built-in profile, a TOML file, or a `[profile]` table.")
    ] = None
    metrics: Annotated[tuple[str, ...], about("Extra metrics, besides those of the profile.")] = ()
    criteria: Annotated[
        tuple[Any, ...],
        about(
            'Criteria in words: `[[criteria]]` with `name`, `ask` and `kind` (`"pass"` or `"0-5"`).'
        ),
    ] = ()
    modules: Annotated[
        tuple[str, ...], about("Modules with your own metrics, beside the suite or installed.")
    ] = ()
    target: Annotated[TomlTable, about("The system under test: see `[target]`.")] = EMPTY
    judge: Annotated[
        str | TomlTable | None,
        about('A judge: `"local"`, a preset, `"module:function"`, or a `[judge]` table.'),
    ] = None
    embedding: Annotated[str | TomlTable, about("A model's name, or an `[embedding]` table.")] = (
        DEFAULT_MODEL
    )
    run: Annotated[ExecutionTable, about("Workers, timeout and limits: see `[run]`.")] = (
        ExecutionTable()
    )
    gate: Annotated[
        GateTable, about('What must hold: `require = ["user_satisfaction >= 0.70"]`.')
    ] = GateTable()
    statistics: Annotated[StatisticsTable, about('Dependent cases: `cluster = "customer"`.')] = (
        StatisticsTable()
    )
    facts: Annotated[
        FactsTable, about("`judge = true`: the judge decides the facts, not the entailment model.")
    ] = FactsTable()
    retrieval: Annotated[
        TomlTable, about("What `sweep` and `diagnose` search: see `[retrieval]`.")
    ] = EMPTY
    settings: Annotated[
        dict[str, TomlTable],
        about('Settings of metrics: `[settings."number_close"]` with `tolerance = 0.02`.'),
    ] = EMPTY
