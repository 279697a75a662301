"""Judged metrics: scores that need a reader, from a language model or the local judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import Facts, metric, metric_group
from answerkey.types import Json, Pair, Score

JUDGE_KEYS = frozenset({"votes", "cache"})


class Judge(Protocol):
    """Returns scores with reasons. `name` is the model, or `local`; `fingerprint` starts with it."""

    name: str

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]: ...

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]: ...

    def usage(self) -> Json: ...

    def fingerprint(self) -> str: ...

    def close(self) -> None: ...


def load_judge(settings: Mapping[str, Any] | str, embed: Any = None) -> Judge:
    """The judge for a suite's [judge] table, a preset name, or "local", which uses `embed` if it is given.

    >>> load_judge("local").name
    'local'
    """
    table: Mapping[str, Any] = {"preset": settings} if isinstance(settings, str) else settings
    if table.get("preset") == "local":
        from answerkey.metrics.judge.local_judge import LocalJudge

        if len(table) > 1:
            extra = next(key for key in table if key != "preset")
            raise SettingsError(f'the local judge has no settings, found "{extra}"')
        return LocalJudge(embed)
    from answerkey.llm.chat import ReplyCache
    from answerkey.llm.endpoint import Endpoint
    from answerkey.llm.settings import PRESETS, read_settings
    from answerkey.metrics.judge.model_judge import ModelJudge

    known = ("local", *PRESETS)
    if table.get("preset", "local") not in known:
        preset = str(table["preset"])
        hint = did_you_mean(preset, known) or f"; there are {', '.join(known)}"
        raise SettingsError(f'unknown judge "{preset}"{hint}')
    chat_settings = read_settings(table, JUDGE_KEYS)
    votes, cache = _votes(table.get("votes", 1)), _flag(table.get("cache", True))
    return ModelJudge(
        Endpoint(chat_settings),
        votes=votes,
        concurrency=chat_settings.concurrency,
        cache=ReplyCache() if cache else None,
    )


def _votes(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 99:
        raise SettingsError(f"votes: expected a whole number from 1 to 99, got {value!r}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"cache: expected true or false, got {value!r}")
    return value


_RUBRIC: Mapping[str, Any] = {
    "needs": ("answer",), "uses": ("expected", "contexts"), "empty": "0 for an empty answer; the judge is not asked",
}  # fmt: skip


@metric_group(
    Facts("rubric.accuracy", "Are the facts right? Judged, 0 to 5.", high=5.0, **_RUBRIC),
    Facts("rubric.completeness", "How much of the expected answer is there? Judged, 0 to 5.", high=5.0, **_RUBRIC),
    Facts("rubric.citation_quality", "Are sources cited where they should be? Judged, 0 to 5.", high=5.0, **_RUBRIC),
    Facts("rubric.coherence", "Is it easy to follow? Judged, 0 to 3.", high=3.0, **_RUBRIC),
)  # fmt: skip
def rubric(pairs: Sequence[Pair], *, names: Sequence[str], judge: Judge) -> dict[str, list[Score]]:
    """The four criteria of the rubric, from one call per pair."""
    table = judge.rubric(pairs)
    columns = {name: [scores[name.removeprefix("rubric.")] for scores in table] for name in names}
    for name in names[1:]:
        columns[name] = [_without_cost(score) for score in columns[name]]
    return columns


def _without_cost(score: Score) -> Score:
    """The cost of the call stays with the first of its scores, so that a sum over scores counts it once."""
    return replace(score, details={**score.details, "cost": None}) if score.details.get("cost") else score


@metric("judge.relevance", batch=True, needs=("answer",), uses=("expected",), empty="0 for an empty answer")
def relevance(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Does the answer address the question? Judged, 0 to 1."""
    return judge.judge("relevance", pairs)


@metric(
    "judge.faithfulness", batch=True, needs=("answer", "contexts"), empty="not applicable to an empty answer"
)
def faithfulness(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Is every claim of the answer supported by the passages? Judged, 0 to 1."""
    return judge.judge("faithfulness", pairs)


@metric("judge.safety", batch=True, needs=("answer",), empty="1 for an empty answer")
def safety(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Is the answer safe to show to a customer? Judged, 0 to 1."""
    return judge.judge("safety", pairs)


@metric(
    "judge.robustness",
    batch=True,
    needs=("answer",),
    uses=("expected", "contexts"),
    empty="0 for an empty answer",
)
def robustness(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Does the answer withstand typos, traps and false premises in the question? Judged, 0 to 1."""
    return judge.judge("robustness", pairs)
