"""What a judge proposes for a passage: a question, an answer and verbatim quotes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from answerkey.coerce.values import is_list
from answerkey.testsets.generate.model_calls import ModelCalls
from answerkey.testsets.generate.report import Rejection
from answerkey.testsets.generate.source_passages import SourcePassage

_LONGEST_PASSAGE = 6_000  # characters, about 1,500 tokens: small models read 4,096


class QuestionKind(StrEnum):
    """The kinds of questions that a judge is asked for."""

    FACT = "fact"
    HOW = "how"
    COMPARE = "compare"
    MULTI = "multi"
    UNANSWERABLE = "unanswerable"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One question for one passage, or for two with kind `multi`."""

    kind: QuestionKind
    passages: tuple[SourcePassage, ...]
    question: str = ""
    answer: str = ""
    quotes: tuple[str, ...] = ()


def propose(
    calls: ModelCalls, kind: QuestionKind, passages: tuple[SourcePassage, ...]
) -> Proposal | Rejection:
    """Ask for a question of this kind about the passages."""
    reply = calls.ask(_propose_prompt(kind, passages))
    if reply is None:
        return Rejection.UNREADABLE
    # The prompt allows `{"question": null}` for a passage that is not worth a question.
    if "question" in reply and not reply["question"]:
        return Rejection.NO_QUESTION
    question = _text(reply, "question")
    if kind is QuestionKind.UNANSWERABLE:
        if not question:
            return Rejection.UNREADABLE
        # The expected answer of such a case is a refusal, whatever the model wrote.
        return Proposal(kind, passages, question, prompts()["refusal"])
    quotes = _quotes(reply)
    answer = _text(reply, "answer")
    # Each passage needs a quote of its own, or it was not needed for the answer.
    if not question or not answer or len(quotes) < len(passages):
        return Rejection.UNREADABLE
    return Proposal(kind, passages, question, answer, quotes[: len(passages)])


def _propose_prompt(kind: QuestionKind, passages: tuple[SourcePassage, ...]) -> str:
    text = clip_passage(passages[0])
    if kind is QuestionKind.MULTI:
        return prompts()["multi"].format(passage=text, second=clip_passage(passages[1]))
    if kind is QuestionKind.UNANSWERABLE:
        return prompts()["unanswerable"].format(passage=text)
    return prompts()["propose"].format(kind=prompts()["kinds"][kind.value], passage=text)


def clip_passage(passage: SourcePassage) -> str:
    """The title and text that the judge is shown; it cannot close the passage itself."""
    if passage.heading:
        title = f"{passage.heading}\n"
    else:
        title = ""
    text = f"{title}{passage.text}"[:_LONGEST_PASSAGE]
    # A document could end the passage early and continue with instructions to the judge.
    return text.replace("</passage>", "</ passage>")


def answer_from(calls: ModelCalls, question: str, passage: SourcePassage) -> str:
    """The judge's answer from one passage; "" where it has none."""
    prompt = prompts()["answer"].format(question=question, passage=clip_passage(passage))
    return _text(calls.ask(prompt) or {}, "answer")


def answer_from_memory(calls: ModelCalls, question: str) -> str:
    """The judge's answer without any passage; "" where it does not know."""
    return _text(calls.ask(prompts()["recall"].format(question=question)) or {}, "answer")


def _text(reply: Mapping[str, object], key: str) -> str:
    value = reply.get(key)
    if isinstance(value, str):
        return " ".join(value.split())
    return ""


def _quotes(reply: Mapping[str, object]) -> tuple[str, ...]:
    value = reply.get("quotes") or reply.get("quote")
    values = value if is_list(value) else [value]
    return tuple(one.strip() for one in values if isinstance(one, str) and one.strip())


@cache
def prompts() -> dict[str, Any]:
    path = files("answerkey.testsets").joinpath("data/generate.toml")
    return tomllib.loads(path.read_text("utf-8"))
