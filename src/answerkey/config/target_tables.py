"""Every setting of the [target] table, one declaration per kind of target."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from answerkey.config.declare import Table, TomlTable, about
from answerkey.config.retrieval_tables import RetrievalTable
from answerkey.config.tables import DEFAULT_MODEL, EMPTY, Variable

Skill = Literal["periods", "spelling", "clarify", "executive"]
SKILLS: tuple[Skill, ...] = ("periods", "spelling", "clarify", "executive")
Model = str | TomlTable


def http_method(value: str) -> str:
    """A check: one of the methods that can carry a question."""
    if value.upper() not in {"GET", "POST", "PUT", "PATCH"}:
        raise ValueError("GET, POST, PUT or PATCH")
    return value.upper()


class LiveTable(Table, frozen=True):
    """Settings of every target that is called during the run."""

    kind: Annotated[
        str,
        about(
            "`recorded`, `python`, `http`, `command`, `rag`, `faq`, `full-context` or `routed-kpi`; often implied."
        ),
    ] = ""
    name: Annotated[str, about("The name of the bot in reports and tables.")] = ""
    timeout: (
        Annotated[float, about("Seconds for one answer. Default: that of `[run]`.", gt=0)] | None
    ) = None
    concurrency: Annotated[
        int, about("Questions asked at the same time; 0 is no limit besides the workers.", ge=0)
    ] = 0
    retries: (
        Annotated[
            int,
            about(
                "Times to ask again after a network error. Default: 2 after HTTP 429 and 503, "
                "otherwise 0.",
                ge=0,
            ),
        ]
        | None
    ) = None
    retry_wait: Annotated[
        float, about("Seconds before the first retry, doubled each time.", gt=0)
    ] = 1.0
    warmup: Annotated[
        int, about("Questions asked and discarded before the first that counts.", ge=0)
    ] = 0
    warmup_question: Annotated[str, about("The question asked for the warm-up.")] = "Hello"


class RecordedTable(Table, frozen=True):
    """kind = "recorded": answers that were given before."""

    kind: Annotated[str, about("`recorded`.")] = "recorded"
    name: Annotated[str, about("The name of the bot in reports and tables.")] = ""
    answers: Annotated[
        str, about("A second file with `id` and `answer`. Default: the answers in the cases.")
    ] = ""


class PythonTable(LiveTable, frozen=True):
    """kind = "python": a function of yours."""

    call: Annotated[
        str, about("`module:function` beside the suite or installed, of question and `history`.")
    ] = ""
    make: Annotated[
        str,
        about("`module:function` of table and folder that makes an object with `ask`, `close`."),
    ] = ""
    collection: Annotated[
        str,
        about(
            "Passed to a function that has a parameter `collection`; `--collection` replaces it."
        ),
    ] = ""


class ReplyTable(LiveTable, frozen=True):
    """JSON paths of the parts of a reply of an `http` or `command` target.

    `$.text re:Route: (\\w+)` takes the part of a text that a regular expression finds; a pattern
    without a path reads the whole reply.
    """

    answer: Annotated[str, about("The answer, such as `$.answer`.")] = ""
    passages: Annotated[
        str, about("The passages: `$.sources[*].text`, or objects with text, id, score and page.")
    ] = ""
    route: Annotated[str, about("The route that the bot took.")] = ""
    sources: Annotated[str, about("The sources that it names.")] = ""
    retrieved: Annotated[str, about("The ranking of page or document ids.")] = ""
    prompt_tokens: Annotated[str, about("Prompt tokens.")] = ""
    completion_tokens: Annotated[str, about("Completion tokens.")] = ""
    cost: Annotated[str, about("The cost of the answer.")] = ""
    error: Annotated[str, about("An error reported inside a reply.")] = ""
    tools: Annotated[
        str, about("The tool calls: objects with name, arguments, result and error.")
    ] = ""


class EndpointTable(ReplyTable, frozen=True):
    """The settings that every kind of HTTP endpoint takes."""

    headers: Annotated[
        dict[str, str], about("`${NAME}` is read from the environment, and kept out of files.")
    ] = EMPTY
    api_key_env: Annotated[
        Variable, about("Name of the environment variable with the key, a bearer token.")
    ] = ""


class HttpTable(EndpointTable, frozen=True):
    """kind = "http" with `url`: any JSON endpoint."""

    url: Annotated[str, about("The address; it may contain `{question}`.")] = ""
    method: Annotated[
        str, about("Default: POST, or GET where the question is in the address."), http_method
    ] = ""
    body: Annotated[
        Any,
        about(
            "Sent as JSON, with `{question}`, `{history}`, `{id}`, `{image}`, `{image_data}` and "
            "`{files}` filled in."
        ),
    ] = None
    params: Annotated[TomlTable, about("Query parameters, filled in the same way.")] = EMPTY


class OpenAiTable(EndpointTable, frozen=True):
    """kind = "http" with `openai`: an OpenAI-compatible chat endpoint."""

    openai: Annotated[str, about("Base address of the endpoint, up to `/v1`.")] = ""
    chat: Annotated[str, about("Another name for `openai`.")] = ""
    model: Annotated[str, about("The model. Default: the first that the endpoint lists.")] = ""
    system: Annotated[str, about("The system message.")] = ""
    body: Annotated[
        TomlTable, about("More fields of the request: `{temperature = 0, max_tokens = 300}`.")
    ] = EMPTY


class GradioTable(EndpointTable, frozen=True):
    """kind = "http" with `gradio`: a Gradio app."""

    gradio: Annotated[str, about("Address of the app.")] = ""
    api_name: Annotated[str, about("The function to call.")] = "/predict"
    data: Annotated[
        Any,
        about(
            "The inputs of the function: a list, or JSON text where one is null. `{image}` and "
            "`{files}` are those of the case."
        ),
    ] = ("{question}",)


class CommandTable(ReplyTable, frozen=True):
    """kind = "command": a program that reads and writes JSON lines."""

    run: Annotated[
        str | list[str],
        about("The program; reads a JSON line per question, writes one per answer."),
    ] = ""
    processes: Annotated[int, about("Copies of the program that run at the same time.", ge=1)] = 1


class FaqTable(Table, frozen=True):
    """kind = "faq": the answer of the nearest known question."""

    faq: Annotated[Path, about("A CSV, JSON or JSONL file with the columns question and answer.")]
    minimum: Annotated[float, about("Cosine below which the bot finds no match.", ge=0, le=1)] = 0.0


class RagTable(RetrievalTable, frozen=True):
    """kind = "rag": answers from documents; takes every setting of `[retrieval]` as well."""

    k: Annotated[int, about("Passages per answer.", ge=1)] = 5
    minimum: Annotated[
        float, about("Without a model: the least cosine of a sentence that is an answer.")
    ] = 0.35
    llm: Annotated[
        Model | None,
        about(
            "A language model that writes the answer, a preset or a table like `[judge]`. Default: none."
        ),
    ] = None
    embedding: Annotated[
        Model, about("The embedding model: a name or a table like `[embedding]`.")
    ] = DEFAULT_MODEL


class FullContextTable(Table, frozen=True):
    """kind = "full-context": all documents in one prompt."""

    llm: Annotated[Model, about("The language model: a preset or a table like `[judge]`.")]
    knowledge: Annotated[
        Path | None,
        about(
            "A file or a folder of text that goes into the prompt as a whole. Without it, "
            "`template` must have no place for it."
        ),
    ] = None
    template: Annotated[
        Path | None,
        about(
            "A file with `{knowledge}` (or `$domain_knowledge`) and `{question}` (or `$question`), "
            "for your own prompt."
        ),
    ] = None


class RoutedKpiTable(Table, frozen=True):
    """kind = "routed-kpi": figures from tables, other questions from documents."""

    tables: Annotated[Path, about("A folder of CSV or Parquet tables.")]
    kpis: Annotated[
        Path,
        about(
            "The catalogue: the figures, their SQL measures, and the words that people ask with."
        ),
    ]
    documents: Annotated[
        str | None, about("A folder of documents for all other questions, as for `rag`.")
    ] = None
    documents_route: Annotated[str, about("The name of their route.")] = "rag_docs"
    skills: Annotated[
        tuple[Skill, ...] | Skill, about("`periods`, `spelling`, `clarify`, `executive`.")
    ] = SKILLS
    k: Annotated[int, about("As for `rag`.", ge=1)] = 5
    alpha: Annotated[float, about("As for `rag`.", ge=0, le=1)] = 0.5
    minimum: Annotated[float, about("As for `rag`.")] = 0.35
    llm: Annotated[Model | None, about("As for `rag`.")] = None
    embedding: Annotated[Model | None, about("As for `rag`.")] = None


TARGET_TABLES: Mapping[str, type[Table]] = {
    "recorded": RecordedTable,
    "python": PythonTable,
    "http": HttpTable,
    "http, openai": OpenAiTable,
    "http, gradio": GradioTable,
    "command": CommandTable,
    "faq": FaqTable,
    "rag": RagTable,
    "full-context": FullContextTable,
    "routed-kpi": RoutedKpiTable,
}
