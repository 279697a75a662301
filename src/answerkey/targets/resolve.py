"""From the suite's `[target]` table to something that can be asked: recorded answers, or a live target."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import sleep

from answerkey.config.declare import read_table, settings_of, toml_text
from answerkey.config.target_tables import TARGET_TABLES, LiveTable, PythonTable, RecordedTable
from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.targets.function import object_target
from answerkey.targets.respond import content_error, flag_error_text
from answerkey.types import Case, Question, Response, Target
from answerkey.user_code import load_object

# The built-in bots are made as a user's own `make = "module:function"` is.
BOTS = {
    "rag": "answerkey.targets.bots:make_rag",
    "faq": "answerkey.targets.bots:make_faq",
    "full-context": "answerkey.targets.bots:make_full_context",
    "routed-kpi": "answerkey.demo.routed_kpi:make_routed_kpi",
}
# Imported when a suite asks for one: most runs need a single kind.
_MAKERS = {
    "python": ("answerkey.targets.function", "make_python_target"),
    "http": ("answerkey.targets.http", "make_http_target"),
    "command": ("answerkey.targets.command", "make_command_target"),
}
KINDS = ("recorded", *_MAKERS, *BOTS)
_IMPLIED = {
    "url": "http",
    "openai": "http",
    "chat": "http",
    "gradio": "http",
    "call": "python",
    "make": "python",
    "run": "command",
    "answers": "recorded",
}

_LIVE_SETTINGS = settings_of(LiveTable)
Settings = Mapping[str, object]


def make_target(
    table: Settings,
    folder: Path,
    read_responses: ReadResponses | None = None,
    timeout: float = 30.0,
) -> Target:
    """The target of a suite in `folder`. Wrong settings are found here, before the first question.

    `timeout` holds where the table has none of its own; `read_responses` reads a file of recorded answers.
    """
    kind = kind_of(table)
    if kind == "recorded":
        answers = read_table(RecordedTable, table, "[target]").answers
        return read_recorded(folder / answers, read_responses) if answers else Recorded()
    live = read_table(
        LiveTable, {key: table[key] for key in table if key in _LIVE_SETTINGS}, "[target]"
    )
    timeout, spec = live.timeout or timeout, BOTS.get(kind, "")
    if kind == "python" and table.get("make"):
        others = [key for key in table if key not in settings_of(PythonTable)]
        spec = read_table(PythonTable, table, "[target]", others=others).make
    if spec:  # the maker checks its own settings: the table without ours
        own = {key: value for key, value in table.items() if key not in (*_LIVE_SETTINGS, "make")}
        return Live(
            object_target(load_object(spec, folder, "[target] make")(own, folder), timeout, spec),
            live,
        )
    module, maker = _MAKERS[kind]
    make: Callable[[Settings, Path, float], Target] = getattr(import_module(module), maker)
    return Live(make(table, folder, timeout), live)


def check_target(table: Settings, folder: Path) -> None:
    """Check the settings of a target without importing, starting or asking the user's bot."""
    kind = kind_of(table)
    protocols = (
        {"openai": "http, openai", "chat": "http, openai", "gradio": "http, gradio"}
        if kind == "http"
        else {}
    )
    declared = TARGET_TABLES[next((protocols[key] for key in protocols if key in table), kind)]
    own = {
        key: value for key, value in table.items() if kind not in BOTS or key not in _LIVE_SETTINGS
    }
    if kind != "recorded":
        read_table(
            LiveTable, {key: table[key] for key in table if key in _LIVE_SETTINGS}, "[target]"
        )
    if kind == "python" and table.get("make"):
        own = {key: value for key, value in own.items() if key in settings_of(PythonTable)}
    read_table(declared, own, "[target]", folder)
    for key in ("call", "make"):
        if (
            kind == "python"
            and table.get(key)
            and not re.fullmatch(r"[\w.]+:[\w.]+", str(table[key]))
        ):
            raise SettingsError(
                f'[target] {key} = {toml_text(table[key])}: expected "module:function"'
            )


def kind_of(table: Settings) -> str:
    """The table's kind, or else the one that its other keys imply; an empty table is `recorded`."""
    implied = next((_IMPLIED[key] for key in table if key in _IMPLIED), "")
    kind = read_table(LiveTable, {"kind": table.get("kind", implied)}, "[target]").kind
    if not kind and table:
        raise SettingsError(f"[target] needs a kind: {', '.join(KINDS)}")
    if kind and kind not in KINDS:
        raise SettingsError(
            f'[target] kind = "{kind}": expected one of {", ".join(KINDS)}{did_you_mean(kind, KINDS)}'
        )
    return kind or "recorded"


ReadResponses = Callable[[Path], Iterable[tuple[str, Response]]]


class Recorded:
    """Looks answers up. `answers` holds those of the second file by case id, where there is one."""

    def __init__(self, answers: dict[str, Response] | None = None) -> None:
        self.answers = answers

    def lookup(self, case: Case) -> Response:
        """The case's recorded response; an error where it has none."""
        return self._given(
            case.id, case.recorded if self.answers is None else self.answers.get(case.id)
        )

    def ask(self, question: Question) -> Response:
        return self._given(question.id, (self.answers or {}).get(question.id))

    def close(self) -> None:
        """Nothing is held open."""

    def _given(self, case_id: str, response: Response | None) -> Response:
        given = response or Response()
        if (
            given.answer is None
            and given.retrieved is None
            and not given.error
            and not given.passages
        ):
            return content_error("no answer recorded", f'case "{case_id}"')
        return flag_error_text(given, case_id)


def read_recorded(path: Path, read: ReadResponses | None) -> Recorded:
    """The answers of a second file; the same id twice is an error."""
    if read is None:
        raise SettingsError(
            f"[target] answers = {str(path)!r}: this caller cannot read a file of answers"
        )
    if not path.is_file():
        raise SettingsError(f"[target] answers: no file {path}")
    answers: dict[str, Response] = {}
    for case_id, response in read(path):
        if case_id in answers:
            raise InputError(f'{path}: two answers for case "{case_id}"; keep one')
        answers[case_id] = response
    if not answers:
        raise InputError(f"{path}: no answer in it, expected one per case with its id")
    return Recorded(answers)


class Live:
    """Applies concurrency, retries and a warm-up. Waiting for a turn is never part of `Response.seconds`."""

    def __init__(self, target: Target, settings: LiveTable) -> None:
        self._target, self._settings = target, settings
        self._turn = (
            threading.Semaphore(settings.concurrency) if settings.concurrency else nullcontext()
        )
        self._warming = threading.Lock()
        self._cold = settings.warmup

    def ask(self, question: Question) -> Response:
        # With questions that are in no suite, so that no case is answered from a cache; what comes back is dropped.
        with self._warming:
            for number in range(self._cold):
                self._target.ask(Question(f"warmup-{number + 1}", self._settings.warmup_question))
            self._cold = 0
        with self._turn:
            response = self._target.ask(question)
            tries = 1
            while tries <= self._settings.retries and response.error_kind == "infrastructure":
                sleep(self._settings.retry_wait * 2 ** (tries - 1))
                response = self._target.ask(question)
                tries += 1
        response = flag_error_text(response, question.id)
        return (
            response if tries == 1 else replace(response, extra={**response.extra, "tries": tries})
        )

    def close(self) -> None:
        self._target.close()
