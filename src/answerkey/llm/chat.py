"""The interface of language models: messages in, a reply out; what calls used; many calls at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from answerkey.errors import EXIT_INCOMPLETE, AnswerkeyError

Message = Mapping[str, str]
Schema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply. Unknown tokens and cost are None, never 0.

    `reasoning` is the trace that the endpoint reports apart from the text; `truncated` says that the model
    was cut off at the token limit; `rung` is how structured output was asked for; `yes_probability` is the probability of
    "yes" against "no" in a reply to `answer_yes_no`, where the endpoint reports log-probabilities.
    """

    text: str
    reasoning: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    truncated: bool = False
    refusal: str = ""
    cost: float | None = None
    rung: str = ""
    yes_probability: float | None = None


class Chat(Protocol):
    """A language model. `complete` may be called from several threads at once.

    It raises `CallFailed` when this call failed and another may not, and `EndpointError` when no call can
    succeed (no key, no such model, quota used up). A chat with a token limit names it in `max_tokens`, and takes
    another one for a single call. A chat that can report log-probabilities has a method `answer_yes_no` besides.
    """

    @property
    def model(self) -> str: ...

    def complete(self, messages: Sequence[Message], schema: Schema | None = None) -> Reply: ...

    def fingerprint(self) -> str:
        """A hash of all that shapes a reply besides the messages; the key is no part of it."""
        ...

    def close(self) -> None: ...


class CallFailed(AnswerkeyError):
    """One call got no usable reply after all tries; `raw` is what came instead."""

    exit_code = EXIT_INCOMPLETE

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw
