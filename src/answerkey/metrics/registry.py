"""The registry of metrics: built-in, from a user's module, or from an installed package.

A metric is a plain function of one (case, response):

    @metric("shouting", needs=("answer",), better="lower", empty="0 for an answer with no letter")
    def shouting(case: Case, response: Response) -> float:
        "Share of the letters that are capitals."

With `batch=True` it takes a list of pairs and returns a list of the same length. `metric_group` registers a function
that computes several metrics in one pass. Anything else that a function needs is a keyword-only argument
(`embed`, `pair_model`, `judge`, `criteria`, `words`, `routes`, or a setting of its own), bound once in `Plan`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypedDict, TypeVar, Unpack, overload

from answerkey.errors import SettingsError, did_you_mean
from answerkey.types import Better
from answerkey.user_code import import_user_module

BUILTIN_MODULES = (  # in the order of their weight: a metric is looked for in one after the other
    "overlap",
    "cost",
    "recorded_scores",
    "ranking.rank",
    "refusal",
    "judge.judged_metrics",
    "criteria",
    "route",
    "tools.tool_metrics",
    "tools.tool_use",
    "semantic",
    "judge.own_criteria",
    "entailment.entailed",
    "grounding.groundedness",
    "agreement.answer_agreement",
    "facts",
    "citations",
    "leak",
    "conversation.conversation_metrics",
)
RECORDED = "recorded."  # `recorded.quality_score` is a score of an earlier tool
OWN_CRITERION = "criterion."  # `criterion.tone` is the suite's [[criteria]] of that name
ENTRY_POINT_GROUP = "answerkey.metrics"
PROVIDED = frozenset({"embed", "pair_model", "judge", "criteria", "words", "routes", "names"})

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Facts:
    """The description of a metric. A name that ends in `@k` stands for every cut-off.

    Where a field in `needs` is missing from the pair the metric is not applicable; fields in `uses` may be
    missing, and `empty` says what the value is then. `family` is the heading of the metric in a report.
    """

    name: str
    summary: str = ""
    low: float | None = 0.0
    high: float | None = 1.0
    better: Better = "higher"
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    empty: str = ""
    version: int = 1
    unit: str = ""
    family: str = "other"


class MetricOptions(TypedDict, total=False):
    """The facts that `@metric` takes."""

    low: float | None
    high: float | None
    better: Better
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    empty: str
    version: int
    unit: str
    family: str


@dataclass(frozen=True, slots=True)
class Metric:
    facts: Facts
    function: Callable[..., Any]
    shape: str  # "single", "batch" or "group": what the function takes and returns
    module: str = ""

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def package(self) -> str:
        """The part of `answerkey.metrics` that defines it, such as `ranking`; for a user's metric, the user's module."""
        return self.module.removeprefix("answerkey.metrics.").split(".")[0]

    def keywords(self) -> dict[str, bool]:
        """Keyword-only arguments of the function, and whether each must be given."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default is p.empty for p in parameters if p.kind is p.KEYWORD_ONLY}


_METRICS: dict[str, Metric] = {}
_OF_THIS_CALL: ContextVar[Mapping[str, Metric] | None] = ContextVar(
    "metrics of this call", default=None
)
_loaded = False


@overload
def metric(name: F) -> F: ...


@overload
def metric(
    name: str, *, batch: bool = False, **facts: Unpack[MetricOptions]
) -> Callable[[F], F]: ...


def metric(
    name: str | F, *, batch: bool = False, **facts: Unpack[MetricOptions]
) -> F | Callable[[F], F]:
    """Register a function as the metric `name`, or a plain `@metric` under its own name; the facts are those of `Facts`."""
    if not isinstance(name, str):
        return metric(getattr(name, "__name__", type(name).__name__))(name)

    def register(function: F) -> F:
        about = Facts(name, summary=_first_line(function), **facts)
        _add(Metric(about, function, "batch" if batch else "single", function.__module__))
        return function

    return register


def metric_group(*group: Facts) -> Callable[[F], F]:
    """Register a function of (pairs, *, names) that returns `{name: scores}` for the names asked for."""

    def register(function: F) -> F:
        for facts in group:
            if facts.summary:
                about = facts
            else:
                about = replace(facts, summary=_first_line(function))
            _add(Metric(about, function, "group", function.__module__))
        return function

    return register


@contextmanager
def additional_metrics(metrics: Iterable[Metric]) -> Generator[None]:
    """While it holds, `find` finds these metrics too, in this thread only: functions that are not registered."""
    token = _OF_THIS_CALL.set({metric.name: metric for metric in metrics})
    try:
        yield
    finally:
        _OF_THIS_CALL.reset(token)


def registered_name(function: object) -> str | None:
    """The name under which a function is registered, if it is."""
    return next((name for name, match in _METRICS.items() if match.function is function), None)


def find(name: str) -> Metric:
    """The metric of that name: `recall@5` is found under `recall@k`, `criterion.tone` under `criterion.NAME`."""
    if own := (_OF_THIS_CALL.get() or {}).get(name):
        return own
    # One after the other, so that a light metric does not load the models of a heavy one.
    for module in BUILTIN_MODULES:
        import_module(f"answerkey.metrics.{module}")
        match = _look_up(name)
        # A user's module may be loaded already; ours of the same name must be found first.
        if match and match.module.startswith("answerkey."):
            return match
    _load()
    if match := _look_up(name):
        return match
    bare = name.removesuffix("@k")
    if f"{bare}@k" in _METRICS:
        raise SettingsError(f'unknown metric "{name}"; add the cut-off, as in "{bare}@5"')
    hint = did_you_mean(name, [other.replace("@k", "@5") for other in _METRICS])
    raise SettingsError(f'unknown metric "{name}"{hint or "; `answerkey metrics` lists them"}')


def _look_up(name: str) -> Metric | None:
    """The metric of that name among those of the modules loaded so far."""
    if name in _METRICS and not name.endswith("@k"):
        return _METRICS[name]
    cut = re.fullmatch(r"(.+)@(\d+)", name)
    if cut and int(cut[2]) < 1 and f"{cut[1]}@k" in _METRICS:
        raise SettingsError(f'metric "{name}": the cut-off after @ must be 1 or more')
    many = f"{cut[1]}@k" if cut else ""
    for prefix in (OWN_CRITERION, RECORDED):
        if name.startswith(prefix) and name != prefix:
            many = f"{prefix}NAME"
    pattern = _METRICS.get(many)
    return pattern and replace(pattern, facts=replace(pattern.facts, name=name))


def is_metric(name: str) -> bool:
    try:
        return bool(find(name))
    except SettingsError:
        return False


def all_metrics() -> list[Metric]:
    _load()
    return sorted(_METRICS.values(), key=lambda m: (m.package, m.name))


def load_modules(names: Iterable[str]) -> None:
    """Import the modules that a suite names, so that their decorators run."""
    for name in names:
        import_user_module(name, f'modules: "{name}"')


def provided_for(metrics: Iterable[Metric]) -> frozenset[str]:
    """The names of `PROVIDED` that the metrics take, so that only the models in use are loaded."""
    return PROVIDED.intersection(*[{keyword for m in metrics for keyword in m.keywords()}])


def bind(
    metric: Metric, provided: Mapping[str, object], settings: Mapping[str, object]
) -> dict[str, object]:
    """The keyword arguments for the metric's function; an error where one is missing or unknown."""
    keywords = metric.keywords()
    own = {key for key in keywords if key not in PROVIDED}
    for key in settings:
        if key not in own:
            accepted = f"; it takes {', '.join(sorted(own)) or 'none'}"
            raise SettingsError(
                f'metric "{metric.name}" has no setting "{key}"{did_you_mean(key, own) or accepted}'
            )
    arguments = {key: provided[key] for key in keywords if key in provided}
    # A judge that the setting does not ask for must not cost anything.
    if "by_judge" in keywords and not settings.get("by_judge"):
        arguments.pop("judge", None)
    arguments |= settings
    for key, is_required in keywords.items():
        if is_required and key not in arguments and key != "names":
            raise SettingsError(f'metric "{metric.name}" needs {_HOW_TO_GIVE.get(key, key)}')
    return arguments


_HOW_TO_GIVE = {
    "embed": "an embedding model: add [embedding] to the suite, or --model",
    "judge": "a judge: add [judge] to the suite, or --judge local",
}


def _add(new: Metric) -> None:
    old = _METRICS.get(new.name)
    # A module that is imported again, as notebooks do, registers the same function once more.
    if old and (old.module, old.function.__qualname__) != (new.module, new.function.__qualname__):
        raise SettingsError(
            f'metric "{new.name}" is registered twice: in {old.module} and in {new.module}'
        )
    _METRICS[new.name] = new


def _load() -> None:
    global _loaded
    if _loaded:
        return
    # Set first: a module that is being loaded may ask for all metrics.
    _loaded = True
    for module in BUILTIN_MODULES:
        import_module(f"answerkey.metrics.{module}")
    for point in entry_points(group=ENTRY_POINT_GROUP):
        point.load()


def _first_line(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]
