"""Every way to name a judge: "local", a preset, settings, "module:function", a function, several of them as a jury."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar, cast

from answerkey.cache import digest
from answerkey.coerce.values import is_list, is_mapping, table_of
from answerkey.config.declare import read_table
from answerkey.config.tables import PRESETS, JudgeTable
from answerkey.embed import Embedder
from answerkey.errors import IncompleteError, SettingsError
from answerkey.llm.chat import (
    FUNCTION_TIMEOUT,
    CallTotals,
    FunctionChat,
    ReplyCache,
    in_threads,
    total,
)
from answerkey.llm.cost_limit import CostLimit
from answerkey.metrics.judge.judged_metrics import Judge, of_all_calls
from answerkey.metrics.judge.model_judge import ModelJudge
from answerkey.metrics.judge.prompt import Frame, read_frame
from answerkey.metrics.judge.questions import Duel
from answerkey.metrics.registry import OWN_CRITERION
from answerkey.types import Pair, Requirement, Score
from answerkey.user_code import load_object

log = logging.getLogger("answerkey.judge")

T = TypeVar("T")
LOCAL = ("local", {"preset": "local"})
_OF_ALL = (
    "votes",
    "cache",
    "prompt",
    "context_window",
    "concurrency",
)  # of a jury: they count for each of its judges


def make_judge(given: object, embed: Embedder | None, folder: Path) -> Judge:
    """The judge that `given` names; raises SettingsError for anything else."""
    if hasattr(given, "rubric") and hasattr(given, "judge"):
        return cast("Judge", given)
    if isinstance(given, str) and ":" in given and "://" not in given:
        given = {"call": given}
    if isinstance(given, str):
        given = {"preset": given}
    if not is_mapping(given):
        return function_judge(given)
    table = dict(given)
    per_metric = table.pop("per_metric", None)
    if per_metric:
        others = {
            str(name): make_judge(each, embed, folder)
            for name, each in table_of(per_metric).items()
        }
        return JudgePerMetric(make_judge(table, embed, folder), others)
    if "jury" in table:
        return _jury(table, embed, folder)
    if table.get("preset") == "local":
        extra = next((key for key in table if key != "preset"), None)
        if extra is not None:
            raise SettingsError(f'the local judge has no settings, found "{extra}"')
        from answerkey.metrics.judge.local_judge import (
            LocalJudge,
        )  # brings models, which other judges do without

        return LocalJudge(embed)
    if "call" in table:
        spec = str(table.pop("call"))
        read = read_table(JudgeTable, table, "[judge]", folder)
        name = spec.rpartition(":")[2]
        return function_judge(
            load_object(spec, folder, "[judge] call"), name, read, _frame(table, folder)
        )
    return _endpoint_judge(table, folder)


def _endpoint_judge(table: Mapping[str, object], folder: Path) -> Judge:
    from answerkey.llm.endpoint import (
        Endpoint,
        read_chat,
    )  # brings the HTTP stack, which the local judge does without

    read = read_chat(table, JudgeTable, "[judge]", known=("local", *PRESETS))
    return ModelJudge(
        Endpoint(read),
        votes=read.votes,
        concurrency=read.concurrency,
        cache=ReplyCache() if read.cache else None,
        frame=_frame(table, folder),
        window=read.context_window,
    )


def function_judge(
    function: object, name: str = "", settings: JudgeTable | None = None, frame: Frame | None = None
) -> Judge:
    """A judge from a function of the prompt, sync or async, or from a chat model with `invoke`. Its replies are not cached."""
    if inspect.isroutine(function):
        called = function
    else:
        called = getattr(function, "invoke", function)
    if not callable(called) or isinstance(function, type):
        raise SettingsError(
            f'judge: found {type(function).__name__}, expected "local", a preset, settings, or a function of the prompt'
        )
    read = settings or JudgeTable(timeout=FUNCTION_TIMEOUT)
    chat = FunctionChat(called, name or name_of(function), read.timeout)
    return ModelJudge(
        chat,
        votes=read.votes,
        concurrency=read.concurrency,
        frame=frame,
        window=read.context_window,
    )


def name_of(thing: object) -> str:
    """How a function or object is called in reports."""
    return str(getattr(thing, "__name__", None) or type(thing).__name__)


def _jury(table: Mapping[str, object], embed: Embedder | None, folder: Path) -> Judge:
    members = table["jury"]
    others = {key: value for key, value in table.items() if key != "jury"}
    if not is_list(members) or len(members) < 2:
        raise SettingsError(
            '[judge] jury: expected a list of two judges or more, such as ["groq", "ollama"]'
        )
    for key in others:
        if key not in _OF_ALL:
            raise SettingsError(
                f"[judge] {key} has no meaning beside jury; give it in the table of one of its judges"
            )
    judges: list[Judge] = []
    for member in members:
        if isinstance(member, str) and ":" not in member:
            named = {"preset": member}
        else:
            named = member
        if isinstance(named, str):
            named = {"call": named}
        else:
            named = named
        local = named in LOCAL
        judges.append(
            make_judge(
                {**others, **named} if is_mapping(named) and not local else named, embed, folder
            )
        )
    return Jury(judges)


def _frame(table: Mapping[str, object], folder: Path) -> Frame | None:
    given = table.get("prompt")
    if given:
        return read_frame(folder / str(given))
    return None


def limit_judges(judges: Iterable[object], limit: CostLimit) -> None:
    """Make judges share one limit of cost; one that costs nothing has none."""
    for judge in judges:
        limit_cost = getattr(judge, "limit_cost", None)
        if limit_cost is not None:
            limit_cost(limit)


class JudgePerMetric:
    """One judge for most metrics, others for those that are named: `rubric`, `judge.safety`, `criterion.tone`, `prefer`."""

    def __init__(self, usual: Judge, others: Mapping[str, Judge]) -> None:
        self.usual = usual
        self.others = dict(others)
        self.name = usual.name
        self.concurrency: int = getattr(usual, "concurrency", 0)

    def limit_cost(self, limit: CostLimit) -> None:
        limit_judges((self.usual, *self.others.values()), limit)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        return self._for("rubric").rubric(pairs)

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        # The prompt for answers without passages belongs to the same metric.
        metric = f"judge.{name.removesuffix('_to_expected')}"
        return self._for(metric).judge(name, pairs)

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        """Each judge gets the requirements that are its own."""
        table: list[dict[int, Score]] = [{} for _ in pairs]
        for judge in {id(each): each for each in (self.usual, *self.others.values())}.values():
            own = [
                [
                    m
                    for m, each in enumerate(wanted)
                    if self._for(f"{OWN_CRITERION}{each.name}", "criteria") is judge
                ]
                for wanted in requirements
            ]
            asked = [n for n, places in enumerate(own) if places]
            if not asked:
                continue
            given = judge.criteria(
                [pairs[n] for n in asked],
                [[requirements[n][m] for m in own[n]] for n in asked],
                together,
            )
            for n, scores in zip(asked, given, strict=True):
                table[n] |= dict(zip(own[n], scores, strict=True))
        return [[row[m] for m in sorted(row)] for row in table]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        return self._for("prefer").prefer(duels)

    def usage(self) -> CallTotals | None:
        return self.usual.usage()

    def fingerprint(self) -> str:
        others = ", ".join(
            f"{name}: {judge.fingerprint()}" for name, judge in sorted(self.others.items())
        )
        return f"{self.usual.fingerprint()} ({others})"

    def close(self) -> None:
        for judge in (self.usual, *self.others.values()):
            judge.close()

    def _for(self, *names: str) -> Judge:
        return next((self.others[name] for name in names if name in self.others), self.usual)


@dataclass(frozen=True, slots=True)
class JuryTotals(CallTotals):
    """Also the totals of each judge, and why a judge was left out."""

    judges: Mapping[str, CallTotals | None] = field(default_factory=dict[str, CallTotals | None])
    lost: Mapping[str, str] = field(default_factory=dict[str, str])


class Jury:
    """Asks all its judges and gives one score. A judge that stops working is left out for the rest of the run.

    >>> Jury([load_judge("groq"), load_judge("ollama")]).name  # doctest: +SKIP
    'jury of llama-3.3-70b-versatile, llama3.2'
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        self.judges = tuple(judges)
        self.names = _distinct_names([judge.name for judge in judges])
        self.name = f"jury of {', '.join(self.names)}"
        self.concurrency = max((getattr(judge, "concurrency", 0) for judge in judges), default=0)
        self._lost: dict[str, str] = {}
        self._lock = threading.Lock()

    def limit_cost(self, limit: CostLimit) -> None:
        limit_judges(self.judges, limit)

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]:
        tables = self._ask(lambda judge: judge.rubric(pairs))
        return [
            {
                name: self._merged({who: rows[n][name] for who, rows in tables.items()})
                for name in row
            }
            for n, row in enumerate(next(iter(tables.values())))
        ]

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]:
        return self._columns(self._ask(lambda judge: judge.judge(name, pairs)))

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]:
        tables = self._ask(lambda judge: judge.criteria(pairs, requirements, together))
        return [
            [
                self._merged(
                    {who: rows[n][m] for who, rows in tables.items()}, majority=each.kind == "pass"
                )
                for m, each in enumerate(wanted)
            ]
            for n, wanted in enumerate(requirements)
        ]

    def prefer(self, duels: Sequence[Duel]) -> list[Score]:
        return self._columns(self._ask(lambda judge: judge.prefer(duels)))

    def usage(self) -> JuryTotals:
        each = {name: judge.usage() for name, judge in zip(self.names, self.judges, strict=True)}
        used = [usage for usage in each.values() if usage]
        return JuryTotals(
            calls=sum(usage.calls for usage in used),
            failed_calls=sum(usage.failed_calls for usage in used),
            cached=sum(usage.cached for usage in used),
            prompt_tokens=total(usage.prompt_tokens for usage in used),
            completion_tokens=total(usage.completion_tokens for usage in used),
            cost=total(usage.cost for usage in used),
            judges=each,
            lost=dict(self._lost),
        )

    def fingerprint(self) -> str:
        return f"{self.name} {digest([judge.fingerprint() for judge in self.judges])[:16]}"

    def close(self) -> None:
        for judge in self.judges:
            judge.close()

    def _ask(self, call: Callable[[Judge], T]) -> dict[str, T]:
        """What each judge gives, by its name; raises only when no judge is left."""
        able = [
            (name, judge)
            for name, judge in zip(self.names, self.judges, strict=True)
            if name not in self._lost
        ]

        def attempt(who: tuple[str, Judge]) -> T | None:
            try:
                return call(who[1])
            except IncompleteError as error:
                with self._lock:
                    if who[0] not in self._lost:
                        self._lost[who[0]] = str(error)
                        log.warning("the jury continues without %s: %s", who[0], error)
                return None

        if able:
            given = in_threads(attempt, able, len(able))
        else:
            given = []
        results = {
            name: result
            for (name, _), result in zip(able, given, strict=True)
            if result is not None
        }
        if not results:
            raise IncompleteError(
                "no judge of the jury works: "
                + "; ".join(f"{n}: {e}" for n, e in self._lost.items())
            )
        return results

    def _columns(self, columns: dict[str, list[Score]]) -> list[Score]:
        count = len(next(iter(columns.values())))
        return [
            self._merged({who: scores[n] for who, scores in columns.items()}) for n in range(count)
        ]

    def _merged(self, scores: dict[str, Score], majority: bool = False) -> Score:
        """One score from those of the judges; an error only where no judge has a value and one has an error."""
        values = {who: score.value for who, score in scores.items() if score.value is not None}
        errors = {
            who: score.error for who, score in scores.items() if score.error is not None
        } | self._lost
        details = _details(scores) | {"jury": {who: values.get(who) for who in self.names}}
        if errors:
            details["jury_errors"] = errors
        if not values:
            if errors:
                return Score.failed(
                    "; ".join(f"{who}: {error}" for who, error in errors.items()), **details
                )
            return next(iter(scores.values()))
        middle = median(values.values())
        spread = max(values.values()) - min(values.values())
        details["spread"] = spread
        nearest = min(values, key=lambda who: abs(values[who] - middle))
        reason = scores[nearest].reason
        if majority and middle == 0.5:
            middle = 0.0
            reason = f"the jury is split evenly: {reason}"
        elif spread:
            grades = ", ".join(f"{who} {value:g}" for who, value in values.items())
            reason = f"{reason} (the jury disagrees: {grades})"
        if "quote" in scores[nearest].details:
            details["quote"] = scores[nearest].details["quote"]
        return Score(middle, reason, details=details)


def _details(scores: dict[str, Score]) -> dict[str, object]:
    """What all calls used together; their replies by judge."""
    asked = [score.details for score in scores.values() if score.details.get("call")]
    return {
        "raw": {who: score.details.get("raw", "") for who, score in scores.items()},
        "model": ", ".join(scores),
        **of_all_calls(asked),
        "call": digest([each["call"] for each in asked])[:16] if asked else "",
        "flags": sorted(
            {flag for score in scores.values() for flag in score.details.get("flags", ())}
        ),
    }


def _distinct_names(names: Sequence[str]) -> list[str]:
    """The same model twice gets a number."""
    seen: dict[str, int] = {}
    made: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return made
