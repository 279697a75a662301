"""What metrics need besides a case and a response: models and word lists, loaded only when a metric takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from answerkey.errors import AnswerkeyError, SettingsError
from answerkey.metrics.plan import Plan, make_plan
from answerkey.metrics.registry import Metric, find, load_modules, provided_for
from answerkey.profiles.load import load_profile
from answerkey.runs.suite import Suite
from answerkey.types import Profile

NO_MODEL = frozenset({"none", "off", ""})


@dataclass(frozen=True, slots=True)
class Tools:
    """The bound plan, with the identity of each model that had a part in it, and notes for the reports."""

    plan: Plan
    judge: str = "none"
    embedding: str = "none"
    notes: tuple[str, ...] = ()
    closing: tuple[Any, ...] = field(default=(), repr=False)

    def close(self) -> None:
        for tool in self.closing:
            tool.close()


def make_tools(suite: Suite, profile: Profile | None, judge_made: Any = None) -> Tools:
    """Everything is loaded and checked here, before the first question. `judge_made` stands in for the suite's judge."""
    load_modules_beside(suite)
    names = [*(profile.metrics if profile else ()), *suite.metrics]
    if not names:
        raise SettingsError(
            'nothing to measure; give metrics = ["keyword_recall"] or a profile (`answerkey metrics`, `answerkey profiles`)'
        )
    metrics = [find(name) for name in dict.fromkeys(names)]
    wanted = provided_for(metrics)
    rules = profile or load_profile("route-aware")
    provided: dict[str, Any] = {"words": rules.words, "routes": rules.routes}
    notes: list[str] = []
    judge, embedding, closing = "none", "none", list[Any]()
    local = suite.judge in ("local", {"preset": "local"}) and "judge" in wanted
    if ("embed" in wanted or local) and (embed := _embedder(suite.embedding, metrics, notes)) is not None:
        provided["embed"] = embed
        embedding = f"{embed.name} {embed.digest[:16]} {embed.precision}"
    if "judge" in wanted:
        made = judge_made or _judge(suite, provided.get("embed"))
        provided["judge"] = made
        judge = made.fingerprint()
        closing.append(made)
    if local:
        notes.append("judged by `local`, a deterministic judge with no language model")
    settings = {**(profile.settings if profile else {}), **suite.settings}
    return Tools(make_plan(names, provided, settings), judge, embedding, tuple(notes), tuple(closing))


def load_modules_beside(suite: Suite) -> None:
    """Metrics of the user's own: the suite's folder comes first while its modules are imported."""
    import sys

    if not suite.modules:
        return
    sys.path.insert(0, str(suite.folder.resolve()))
    try:
        load_modules(suite.modules)
    finally:
        sys.path.pop(0)


def _embedder(settings: Mapping[str, Any], metrics: list[Metric], notes: list[str]) -> Any:
    """The embedding model; None where it is switched off or broken and every metric can do without."""
    must = [metric.name for metric in metrics if metric.keywords().get("embed")]
    if str(settings["model"]).lower() in NO_MODEL:
        notes.append("without embeddings: words are compared instead")
        return None
    from answerkey.embed import load_embedder

    options = {key: value for key, value in settings.items() if key != "model"}
    try:
        embed = load_embedder(settings["model"], **options)
        if not must:
            embed.embed(["Does the model work?"])
        return embed
    except AnswerkeyError as error:
        if must or isinstance(error, SettingsError):  # a wrong name is the user's to mend
            raise
        notes.append(f"without embeddings ({error}): words are compared instead")
        return None


def _judge(suite: Suite, embed: Any) -> Any:
    from answerkey.metrics.judge.judged_metrics import load_judge

    if suite.judge is None:
        raise SettingsError(
            'a metric needs a judge: give judge = "local" or a [judge] table in the suite, or --judge local'
        )
    return load_judge(suite.judge, embed)
