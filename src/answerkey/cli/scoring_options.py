"""The options that decide how answers are scored, shared by run, score and rescore."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any

import click

from answerkey.cli.output import COUNT
from answerkey.config.declare import TomlTable
from answerkey.config.tables import PRESETS
from answerkey.errors import SettingsError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

judge_option = click.option(
    "--judge",
    help=f"local, recorded (grades of the file), {', '.join(PRESETS)}, or the URL of an endpoint (with --judge-model).",
)
judge_model_option = click.option("--judge-model", help="Overrides the preset's model.")
judge_mode_option = click.option(
    "--judge-mode",
    type=click.Choice(["json", "yes-no"]),
    help="yes-no: a score is the probability of yes, where the endpoint reports it.",
)
judge_when_option = click.option(
    "--judge-when",
    type=click.Choice(["always", "unsure"]),
    help="unsure: ask the judge only where the local models are not sure.",
)
module_option = click.option(
    "--module",
    "modules",
    multiple=True,
    help="A Python module with your own metrics; may be repeated.",
)
allow_code_option = click.option(
    "--allow-code",
    is_flag=True,
    help="Import Python code that the run names: its judge, its suite's modules.",
)
charts_option = click.option(
    "--charts/--no-charts",
    default=None,
    help="Also write plots/*.png (needs the extra charts); --no-charts skips report.html.",
)


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """Metrics, profile and models; an option that is not set is left to the suite or the profile."""

    metrics: str | None = None
    profile: str | None = None
    without: tuple[str, ...] = ()
    model: str | None = None
    entailment: str | None = None
    judge: str | None = None
    judge_model: str | None = None
    judge_mode: str | None = None
    judge_when: str | None = None
    modules: tuple[str, ...] = ()
    jobs: int | None = None
    charts: bool | None = None

    def settings(self) -> TomlTable:
        """The suite settings that these options set, without `--without`."""
        table = {
            "metrics": split_names(self.metrics or ""),
            "profile": self.profile,
            "embedding": {"model": self.model} if self.model else None,
            "entailment": {"model": self.entailment} if self.entailment else None,
            "modules": list(self.modules),
            "judge": judge_settings(
                self.judge, self.judge_model, mode=self.judge_mode, when=self.judge_when
            ),
        }
        # An option that was not typed must not override the suite.
        return {name: value for name, value in table.items() if value}

    def profile_without(self, profile: Any) -> Any:
        """The profile setting with the criteria of `--without` switched off."""
        if self.without and not isinstance(profile, str):
            raise SettingsError("--without needs --profile, or a suite that names its profile")
        if not self.without:
            return profile
        return {"base": profile, "without": list(self.without)}


def add_options(*options: Decorator) -> Decorator:
    """A decorator that applies several click options, shown in this order in the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        # Decorators are applied from the bottom up, so the last option goes first.
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def scoring_options(metrics_help: str) -> Decorator:
    """Add the scoring options to a command, which receives them as one argument `scoring`."""
    options = (
        click.option("--metrics", metavar="A,B,…", help=metrics_help),
        click.option(
            "--profile", help="A built-in profile or a TOML file; see `answerkey profiles`."
        ),
        click.option(
            "--without", multiple=True, help="Skip this criterion of the profile; may be repeated."
        ),
        click.option(
            "--model",
            help="Embedding model: all-MiniLM-L6-v2 (default), all-MiniLM-L6-v2:int8, none, …",
        ),
        click.option(
            "--entailment",
            metavar="MODEL",
            help="Entailment model: packaged (default), ORG/NAME, a folder, python:module:function.",
        ),
        judge_option,
        judge_model_option,
        judge_mode_option,
        judge_when_option,
        module_option,
        click.option(
            "--jobs",
            type=COUNT,
            metavar="N",
            help="Processes that compute the metrics; "
            "default one per core where there are many cases.",
        ),
        charts_option,
    )
    names = [field.name for field in fields(ScoringOptions)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call_with_scoring(**arguments: Any) -> None:
            scoring = ScoringOptions(**{name: arguments.pop(name) for name in names})
            command(scoring=scoring, **arguments)

        return add_options(*options)(call_with_scoring)

    return decorate


def judge_settings(
    judge: str | None, model: str | None, *, mode: str | None = None, when: str | None = None
) -> str | dict[str, str] | None:
    """The `judge` setting of a suite: "local", a preset or an endpoint."""
    options = {"mode": mode, "when": when}
    extra = {name: value for name, value in options.items() if value is not None}
    if judge is None and extra:
        name, value = next(iter(extra.items()))
        raise SettingsError(
            f"--judge-{name} needs --judge; for the judge of a suite: --set judge.{name}={value}"
        )
    if judge is None or judge == "local":
        if extra:
            raise SettingsError("the local judge has no mode, and is always asked")
        return judge
    table = {"base_url" if "://" in judge else "preset": judge}
    if model:
        table["model"] = model
    return table | extra


def split_names(listed: str) -> list[str]:
    """The names of a comma-separated list."""
    return [part.strip() for part in listed.split(",") if part.strip()]
