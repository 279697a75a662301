"""Judged metrics: what only a reader can tell, asked of a language model or of the local judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from answerkey.errors import SettingsError, did_you_mean
from answerkey.metrics.registry import Facts, metric, metric_group
from answerkey.types import Json, Pair, Score

JUDGE_KEYS = frozenset({"votes", "cache"})


class Judge(Protocol):
    """Gives scores with reasons. `name` is the model, or `local`; `fingerprint` begins with it."""

    name: str

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]: ...

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]: ...

    def usage(self) -> Json: ...

    def fingerprint(self) -> str: ...

    def close(self) -> None: ...


def load_judge(settings: Mapping[str, Any] | str, embed: Any = None) -> Judge:
    """A judge from a suite's [judge] table, the name of a preset, or "local", which uses `embed` where given."""
    table: Mapping[str, Any] = {"preset": settings} if isinstance(settings, str) else settings
    if table.get("preset") == "local":
        from answerkey.metrics.judge.local_judge import LocalJudge

        if len(table) > 1:
            raise SettingsError(
                f'the local judge takes no settings, got "{next(k for k in table if k != "preset")}"'
            )
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
    Facts(
        "rubric.completeness",
        "How much of the expected answer is there? Judged, 0 to 5.",
        high=5.0,
        **_RUBRIC,
    ),
    Facts(
        "rubric.citation_quality",
        "Are sources given where they should be? Judged, 0 to 5.",
        high=5.0,
        **_RUBRIC,
    ),
    Facts("rubric.coherence", "Is it easy to follow? Judged, 0 to 3.", high=3.0, **_RUBRIC),
)
def rubric(pairs: Sequence[Pair], *, names: Sequence[str], judge: Judge) -> dict[str, list[Score]]:
    """The four criteria of the rubric from one call a pair."""
    table = judge.rubric(pairs)
    columns = {name: [scores[name.removeprefix("rubric.")] for scores in table] for name in names}
    return {
        name: columns[name] if name == names[0] else [_free(score) for score in columns[name]]
        for name in names
    }


def _free(score: Score) -> Score:
    """The cost of the one call is kept with the first of its scores, so that a sum over scores counts it once."""
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
    """Does the answer hold up against slips, traps and false premises in the question? Judged, 0 to 1."""
    return judge.judge("robustness", pairs)
