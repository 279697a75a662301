"""Questions that a judge answers with yes or no, scored by the probability of "yes" where the endpoint reports it.

A graded reply is one of a few numbers that the model writes. The probability of the word "yes" has any number of steps, needs one
token, and no JSON that can be wrong. It gives no reason and no quote; the exam of `doctor` shows in which mode a model is better.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from answerkey.cache import digest
from answerkey.llm.chat import Reply
from answerkey.llm.verdict import Read, Scale, split_reasoning
from answerkey.metrics.judge.prompt import (
    Frame,
    JudgePrompt,
    JudgeQuestion,
    read_prompt_file,
    shown_parts,
)
from answerkey.types import Pair, Requirement

MET_FROM = 0.5  # the probability of "yes" from which a criterion of two values is met
_FIRST_WORD = re.compile(r"[\W_]*(yes|no)\b", re.IGNORECASE)
_CLOSING = "Now answer the question with yes or no."


def yes_no_question(prompt: JudgePrompt, criterion: str, pair: Pair, frame: Frame) -> JudgeQuestion:
    """One criterion of a prompt as a question; the value is on the scale of the criterion."""
    ask = _questions()["ask"][prompt.name][criterion]
    return _make_question(ask, criterion, prompt.shows, prompt.scales[criterion], pair, frame)


def yes_no_criterion(requirement: Requirement, pair: Pair, frame: Frame) -> JudgeQuestion:
    """A criterion in words as a question; the value is 1 where it is met, otherwise 0."""
    ask = _questions()["criterion"].format(ask=requirement.ask)
    shows = tuple(read_prompt_file("criteria")[0]["shows"])
    return _make_question(ask, "c1", shows, (0.0, 1.0), pair, frame, is_rounded=True)


def yes_no_digest() -> str:
    """A hash of all questions, for the fingerprint of a judge."""
    return digest(_questions())


def _make_question(
    ask: str,
    name: str,
    shows: tuple[str, ...],
    scale: Scale,
    pair: Pair,
    frame: Frame,
    *,
    is_rounded: bool = False,
) -> JudgeQuestion:
    def read(reply: Reply, marker: str) -> Read:
        return _read_yes_no(reply, name, scale, is_rounded=is_rounded)

    return JudgeQuestion(
        names=(name,),
        schema=None,
        instructions=_questions()["instructions"].strip().replace("{ask}", ask),
        frame=frame,
        closing=_CLOSING,
        wanted="the single word yes or no",
        parts=lambda longest: shown_parts(shows, pair, longest),
        read=read,
        scales={name: scale},
    )


def _read_yes_no(reply: Reply, name: str, scale: Scale, *, is_rounded: bool) -> Read:
    """The probability that the endpoint reports, or else 1 or 0 by the word that the reply begins with."""
    thought, text = split_reasoning(reply.text)
    reasoning = "\n".join(part for part in (reply.reasoning, thought) if part)
    if reply.refusal:
        return Read({}, {name: f"the judge refused: {reply.refusal[:200]}"}, reasoning=reasoning)
    probability = reply.yes_probability
    word = _FIRST_WORD.match(text)
    # The probability wins over the word: it is finer and can't be misread.
    if probability is not None:
        reason = f"yes with probability {probability:.2f}"
    elif word is not None:
        probability = float(word[1].lower() == "yes")
        reason = f"{word[1].lower()}; the endpoint reports no log-probabilities"
    else:
        problem = f"the reply is neither yes nor no: {text.strip()[:80]!r}"
        return Read({}, {name: problem}, reasoning=reasoning)
    low, high = scale
    value = low + probability * (high - low)
    if is_rounded:
        value = high if probability >= MET_FROM else low
    return Read({name: value}, {}, reason, reasoning, probabilities={name: probability})


@cache
def _questions() -> dict[str, Any]:
    source = files("answerkey.metrics.judge").joinpath("prompts", "yes_no.toml")
    return tomllib.loads(source.read_text("utf-8"))
