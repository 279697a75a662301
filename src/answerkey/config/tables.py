"""Every setting of the tables [run], [gate], [judge], [embedding] and [entailment]."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from answerkey.config import declare
from answerkey.config.declare import Table, TomlTable, about, web_address

DEFAULT_MODEL = "all-MiniLM-L6-v2"
INT8_MODEL = f"{DEFAULT_MODEL}:int8"
PACKAGED_NAME = "packaged"  # the entailment model of the installation
PYTHON_PREFIX = "python:"  # begins the name of a function in place of a model
# A factory, because one dict as the default would be shared by all tables.
EMPTY = msgspec.field(default_factory=TomlTable)

# Endpoints of language models by name: address, default model, variable with the key.
PRESETS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    (files("answerkey.config") / "presets.toml").read_text(encoding="utf-8")
)

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
            about(
                "Processes that score recorded answers. Default: one per core for many cases.",
                ge=1,
                le=256,
            ),
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
    max_equal_errors: Annotated[
        int, about("Stop after this many equal errors in a row; 0: never.", ge=0)
    ] = 10
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


class VariantsTable(Table, frozen=True):
    """[variants]: the same questions as people type or speak them, asked after the run."""

    kinds: Annotated[
        tuple[str, ...],
        about(
            "`typos`, `keywords`, `spoken`, `lowercase`, `greeting`, `injection`, `distractor`, "
            "`module:function`; with a judge `paraphrase` and `translate:de`."
        ),
    ] = ()
    per_case: Annotated[int, about("Variants of each kind for each case.", ge=1, le=100)] = 1
    seed: Annotated[int, about("Another seed makes other variants.")] = 0
    language: Annotated[
        str, about("Language of the questions: its keyboard, fillers and greetings.")
    ] = "en"


class UserTable(Table, frozen=True):
    """[user]: a simulated user, played by the judge's model; each case becomes a conversation."""

    goal: Annotated[
        str,
        about(
            "What the user wants. Default: the column `goal` of a case, or else its question, "
            "which is always the first message."
        ),
    ] = ""
    persona: Annotated[str, about("Who the user is and how they write.")] = ""
    max_turns: Annotated[int, about("Most messages of the user.", ge=1, le=100)] = 10


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
    scored: Annotated[
        float,
        about(
            "Share of the cases that must be scored; below it, a gate on a pass rate fails.",
            ge=0,
            le=1,
        ),
    ] = 0.9


class ChatTable(Table, frozen=True):
    """A language model: where it is and how it is asked."""

    preset: Annotated[
        str | None,
        about(f"`{'`, `'.join(PRESETS)}`; of a judge `local`."),
    ] = None
    base_url: Annotated[
        str, about("Address of an OpenAI-compatible endpoint, up to `/v1`."), web_address
    ] = ""
    model: Annotated[Line, about("The model's name; overrides the preset's model.")] = ""
    api_key_env: Annotated[
        Variable, about("Name of the environment variable with the key, never the key itself.")
    ] = ""
    api: Annotated[
        Literal["openai", "anthropic", "gemini"], about("The form of requests and replies.")
    ] = "openai"
    key_header: Annotated[
        Line, about("Header of the key, where it is not `Authorization`: `api-key` for Azure.")
    ] = ""
    structured_output: Annotated[
        Literal["json_schema", "json_object", "tool", "prompt"] | None,
        about(
            "How JSON is asked for first. Default: by schema; what is refused is asked otherwise."
        ),
    ] = None
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
    mode: Annotated[
        Literal["json", "yes-no"],
        about(
            "`yes-no`: one question per criterion; a score is the probability of yes where the endpoint "
            "reports log-probabilities."
        ),
    ] = "json"
    when: Annotated[
        Literal["always", "unsure"],
        about("`unsure`: ask only where the local models are not sure."),
    ] = "always"
    unsure: (
        Annotated[
            tuple[float, float],
            about(
                "Probabilities between which the judge is asked. Default: those on the card of the "
                "entailment model, otherwise 0.15 and 0.85."
            ),
        ]
        | None
    ) = None
    check_share: Annotated[
        float,
        about(
            'Share of the other answers that is asked about as well with `when = "unsure"`, to '
            "measure the agreement.",
            ge=0,
            le=1,
        ),
    ] = 0.05

    @property
    def is_yes_no(self) -> bool:
        return self.mode == "yes-no"


class EmbeddingTable(Table, frozen=True):
    """[embedding]: the model that turns text into vectors."""

    model: Annotated[
        str,
        about(
            "`all-MiniLM-L6-v2` (packaged), `all-MiniLM-L6-v2:int8`, `org/model`, a folder, that of an endpoint, "
            "`python:module:object`, or `none`."
        ),
    ] = DEFAULT_MODEL
    backend: Annotated[
        Literal["minilm", "onnx", "sentence-transformers", "http"] | None,
        about("Default: chosen by the model's name."),
    ] = None
    revision: Annotated[Line, about("Branch, tag or commit of a model from a hub.")] = "main"
    prefix: Annotated[
        str | None, about("Put before texts to compare. Default: as the model's repository says.")
    ] = None
    query_prefix: Annotated[str | None, about("Put before questions, as in `query: `.")] = None
    passage_prefix: Annotated[str | None, about("Put before passages, as in `passage: `.")] = None
    base_url: Annotated[
        str | None, about("An OpenAI-compatible endpoint with `/embeddings`."), web_address
    ] = None
    api_key_env: Annotated[Variable, about("Name of the environment variable with its key.")] = ""
    timeout: Annotated[float, about("Seconds for one request.", ge=0.001)] = 30.0
    threads: (
        Annotated[int, about("Threads of the packaged model. Default: one per core.", ge=1)] | None
    ) = None
    cache: Annotated[bool, about("`false` keeps no vector on disk.")] = True


class EntailmentTable(Table, frozen=True):
    """[entailment]: the model that says whether a text supports a statement."""

    model: Annotated[
        Line,
        about("`packaged`, `org/name` of a hub, a folder, or `python:module:function`."),
    ] = PACKAGED_NAME
    revision: Annotated[Line, about("Branch, tag or commit of a model from a hub.")] = "main"
    labels: Annotated[
        tuple[str, ...],
        about(
            "The classes of a model that does not name them, in its order, as in "
            '`["contradicted", "neutral", "supported"]`.'
        ),
    ] = ()
    card: Annotated[
        Path | None,
        about("A card written by `answerkey models check`. Default: the one kept on this machine."),
    ] = None
    allow_code: Annotated[
        bool,
        about("Run the code in the model's repository; needs `revision` to be a commit."),
    ] = False
    cache: Annotated[bool, about("`false` keeps no result on disk.")] = True

    @property
    def runs_code(self) -> bool:
        """Whether it names code: a function, or a repository whose code is allowed."""
        return self.allow_code or self.model.startswith(PYTHON_PREFIX)


class SuiteTable(Table, frozen=True):
    """The top of the file."""

    name: Annotated[str, about("Name of the run folders. Default: the file's name.")] = ""
    cases: Annotated[
        tuple[str, ...] | str, about("Files, folders or globs of cases, relative to the suite.")
    ] = ()
    profile: Annotated[
        str | TomlTable | None, about("A built-in profile, a TOML file, or a `[profile]` table.")
    ] = None
    metrics: Annotated[
        tuple[str, ...] | dict[str, float],
        about(
            "Extra metrics, besides those of the profile. With numbers, as in "
            "`{groundedness = 0.7}`, a profile in one line: each must reach its number."
        ),
    ] = ()
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
    targets: Annotated[
        tuple[TomlTable, ...],
        about("Several systems under test: `[[targets]]` with a `name` each; a run per target."),
    ] = ()
    prompts: Annotated[
        tuple[TomlTable, ...],
        about("Several prompts: `[[prompts]]` with `name` and `system` or `template`."),
    ] = ()
    judge: Annotated[
        str | TomlTable | None,
        about(
            'A judge: `"local"`, `"recorded"` (grades of the file), a preset, `"module:function"`, or a `[judge]` table.'
        ),
    ] = None
    embedding: Annotated[str | TomlTable, about("A model's name, or an `[embedding]` table.")] = (
        DEFAULT_MODEL
    )
    entailment: Annotated[
        str | TomlTable, about("An entailment model's name, or an `[entailment]` table.")
    ] = PACKAGED_NAME
    run: Annotated[ExecutionTable, about("Workers, timeout and limits: see `[run]`.")] = (
        ExecutionTable()
    )
    gate: Annotated[
        GateTable, about('What must hold: `require = ["user_satisfaction >= 0.70"]`.')
    ] = GateTable()
    statistics: Annotated[StatisticsTable, about('Dependent cases: `cluster = "customer"`.')] = (
        StatisticsTable()
    )
    variants: Annotated[
        VariantsTable, about('Variants of the questions: `kinds = ["typos"]`; see `[variants]`.')
    ] = VariantsTable()
    user: Annotated[
        UserTable | None,
        about("A simulated user instead of single questions: see `[user]`."),
    ] = None
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
