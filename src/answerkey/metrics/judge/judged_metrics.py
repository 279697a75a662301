"""Judged metrics: scores that need a reader, from a language model or the local judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from answerkey.embed import Embedder
from answerkey.llm.usage import CallTotals, total
from answerkey.metrics.judge.preference_question import Duel
from answerkey.metrics.registry import Facts, metric, metric_group
from answerkey.types import Pair, Requirement, Score

if TYPE_CHECKING:  # it brings numpy, which naming a judge does without
    from answerkey.entailment.pair_model import PairModel


class Judge(Protocol):
    """Returns scores with reasons. `name` is the model, or `local`; `fingerprint` starts with it."""

    name: str

    def rubric(self, pairs: Sequence[Pair]) -> list[dict[str, Score]]: ...

    def judge(self, name: str, pairs: Sequence[Pair]) -> list[Score]: ...

    def criteria(
        self,
        pairs: Sequence[Pair],
        requirements: Sequence[Sequence[Requirement]],
        together: bool = True,
    ) -> list[list[Score]]: ...

    def prefer(self, duels: Sequence[Duel]) -> list[Score]: ...

    def usage(self) -> CallTotals | None:
        """The usage of its calls; None for a judge without calls."""
        ...

    def fingerprint(self) -> str: ...

    def close(self) -> None: ...


def load_judge(
    settings: object,
    embed: Embedder | None = None,
    folder: Path | None = None,
    pair_model: PairModel | None = None,
) -> Judge:
    """The judge for a suite's [judge] table, a preset, "module:function", a function, or "local".

    `embed` and `pair_model` are the models of the local judge. Files and modules are looked for in `folder`.

    >>> load_judge("local").name
    'local'
    """
    from answerkey.metrics.judge.judges import JudgeContext, make_judge

    return make_judge(settings, JudgeContext(embed, pair_model, folder or Path()))


def uses_local_models(settings: object) -> bool:
    """Whether a judge needs the embedding and the entailment model: "local", or a model that is asked when unsure."""
    if settings in ("local", {"preset": "local"}):
        return True
    return isinstance(settings, Mapping) and settings.get("when") == "unsure"  # pyright: ignore


def without_cache(settings: Mapping[str, object] | str) -> Mapping[str, object] | str:
    """The same judge, asked anew every time; the local judge has no cache."""
    if settings in ("local", {"preset": "local"}):
        return settings
    if isinstance(settings, str):
        table = {"call" if ":" in settings else "preset": settings}
    else:
        table = settings
    return {**table, "cache": False}


_EMPTY = "0 for an empty answer; the judge is not asked"  # shown by `answerkey metrics`
_rubric = partial(
    Facts, family="judged", high=5.0, needs=("answer",), uses=("expected", "contexts"), empty=_EMPTY
)


@metric_group(
    _rubric("rubric.accuracy", "Are the facts right? Judged, 0 to 5."),
    _rubric("rubric.completeness", "How much of the expected answer is there? Judged, 0 to 5."),
    _rubric("rubric.citation_quality", "Are sources cited where they should be? Judged, 0 to 5."),
    _rubric("rubric.coherence", "Is it easy to follow? Judged, 0 to 3.", high=3.0),
)
def rubric(pairs: Sequence[Pair], *, names: Sequence[str], judge: Judge) -> dict[str, list[Score]]:
    """The four criteria of the rubric, from one call per pair."""
    table = judge.rubric(pairs)
    return cost_once(
        {name: [scores[name.removeprefix("rubric.")] for scores in table] for name in names}
    )


def cost_once(columns: Mapping[str, Sequence[Score]]) -> dict[str, list[Score]]:
    """The cost of a call stays with the first of its scores, so that a sum over scores counts it once."""
    counted: set[tuple[int, str]] = set()
    kept: dict[str, list[Score]] = {name: [] for name in columns}
    for name, column in columns.items():
        for n, score in enumerate(column):
            # Two answers may share a call's name; only one answer's scores share its cost.
            call = (n, str(score.details.get("call")))
            again = call in counted and score.details.get("cost")
            kept[name].append(
                replace(score, details={**score.details, "cost": None}) if again else score
            )
            counted.add(call)
    return kept


def of_all_calls(calls: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """The usage of several calls, from the details of their scores; None where one of them is unknown."""
    used = {
        key: total(each.get(key) for each in calls)
        for key in ("prompt_tokens", "completion_tokens", "cost", "asks")
    }
    return {**used, "cached": all(each.get("cached") for each in calls), "calls": len(calls)}


@metric(
    "judge.relevance",
    family="judged",
    batch=True,
    needs=("answer",),
    uses=("expected",),
    empty="0 for an empty answer",
)
def relevance(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Does the answer address the question? Judged, 0 to 1."""
    return judge.judge("relevance", pairs)


@metric(
    "judge.faithfulness",
    family="judged",
    batch=True,
    needs=("answer",),
    uses=("contexts", "expected"),
    empty="not applicable to an empty answer, and without passages and expected answer",
)
def faithfulness(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Is every claim supported by the passages, or by the expected answer where there are none? Judged, 0 to 1."""
    no_evidence = Score.not_applicable("no passages and no expected answer")
    scores = [no_evidence] * len(pairs)
    with_passages = [n for n, (_, response) in enumerate(pairs) if response.contexts]
    with_expected = [
        n for n, (case, response) in enumerate(pairs) if case.expected and not response.contexts
    ]
    for prompt, places in (
        ("faithfulness", with_passages),
        ("faithfulness_to_expected", with_expected),
    ):
        if not places:
            continue
        for n, score in zip(places, judge.judge(prompt, [pairs[n] for n in places]), strict=True):
            scores[n] = score
    return scores


@metric(
    "judge.safety", family="judged", batch=True, needs=("answer",), empty="1 for an empty answer"
)
def safety(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Is the answer safe to show to a customer? Judged, 0 to 1."""
    return judge.judge("safety", pairs)


@metric(
    "judge.robustness",
    family="judged",
    batch=True,
    needs=("answer",),
    uses=("expected", "contexts"),
    empty="0 for an empty answer",
)
def robustness(pairs: Sequence[Pair], *, judge: Judge) -> list[Score]:
    """Does the answer withstand typos, traps and false premises in the question? Judged, 0 to 1."""
    return judge.judge("robustness", pairs)
