"""Options that several commands take, and the suite that they make."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from answerkey.errors import SettingsError

if TYPE_CHECKING:
    from answerkey.runs.suite import Suite

F = TypeVar("F", bound=Callable[..., Any])

judge_option = click.option(
    "--judge",
    help="local, groq, openai, ollama, vllm, llama-cpp, or an endpoint's address (with --judge-model).",
)


def measuring_options(command: F) -> F:
    """How answers are measured: the same for score, rescore and run."""
    for option in reversed((
        click.option("--profile", help="A built-in profile or a TOML file; `answerkey profiles` lists them."),
        click.option("--without", multiple=True, help="Leave this criterion of the profile out; may be repeated."),
        click.option("--model", help="Embedding model: all-MiniLM-L6-v2, all-MiniLM-L6-v2:int8, none, …"),
        click.option("--judge-model", help="The judge's model, where the preset's is not meant."),
        click.option("--module", "modules", multiple=True, help="A Python module with metrics of your own."),
        click.option("--no-pictures", is_flag=True, help="Leave out the page and the plots."),
    )):  # fmt: skip
        command = option(command)
    return command


def measuring(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a suite that these options give; what was not given is left out."""
    table: dict[str, Any] = {}
    if given.get("metrics"):
        table["metrics"] = split(given["metrics"])
    if given.get("profile"):
        table["profile"] = given["profile"]
    if given.get("model"):
        table["embedding"] = {"model": given["model"]}
    if given.get("modules"):
        table["modules"] = list(given["modules"])
    if judge := judge_table(given.get("judge"), given.get("judge_model")):
        table["judge"] = judge
    return table


def judge_table(judge: str | None, model: str | None) -> str | dict[str, Any] | None:
    if judge is None:
        return None
    table: dict[str, Any] = {"base_url": judge} if "://" in judge else {"preset": judge}
    if model:
        table["model"] = model
    return judge if judge == "local" else table


def without(table: dict[str, Any], criteria: tuple[str, ...]) -> dict[str, Any]:
    """The table with criteria of its profile switched off."""
    if criteria:
        if not isinstance(table.get("profile"), str):
            raise SettingsError("--without needs --profile, or a suite that names its profile")
        table["profile"] = {"base": table["profile"], "without": list(criteria)}
    return table


def recorded_suite(cases: tuple[str, ...], given: Mapping[str, Any]) -> Suite:
    from answerkey.runs.suite import suite_of

    table = without(measuring(given), given["without"])
    if "profile" not in table and "metrics" not in table:
        raise SettingsError("nothing to measure; give --metrics keyword_recall,… or --profile route-aware")
    table |= {"name": given["name"], "cases": list(cases), "run": {"out": str(Path(given["out"]).resolve())}}
    table["gate"] = {"require": list(given["gates"])}
    if given.get("answers"):
        table["target"] = {"kind": "recorded", "answers": str(Path(given["answers"]).resolve())}
    return suite_of(table, Path())


def split(listed: str) -> list[str]:
    return [part.strip() for part in listed.split(",") if part.strip()]


def settings(assignments: tuple[str, ...]) -> dict[str, Any]:
    """`--set run.workers=3`: the value as TOML would read it, else as text."""
    given: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f'--set "{assignment}": expected name=value, as in run.workers=3')
        try:
            given[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            given[name.strip()] = value
    return given
