"""The probability of "yes" against "no", from the log-probabilities that an endpoint reports for each token."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Iterable

from answerkey.coerce.values import is_list, is_mapping, table_of

log = logging.getLogger("answerkey.llm")

# How many alternatives per token are asked for, the most first: OpenAI and vLLM allow 20, others 5, many none at all.
ALTERNATIVES = (20, 5, 0)
_TOKENS_READ = 8  # a reply may begin with a quote, a blank line or "Answer:" before the word
_NOT_LETTERS = re.compile(r"[\W\d_▁Ġ]+")


class LogProbabilities:
    """How many log-probabilities an endpoint gives: fewer are asked for after each refusal, and then none."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._step = 0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        return ALTERNATIVES[self._step]

    def lower(self, sent: int, why: str) -> bool:
        """After a refusal of `sent` alternatives: whether the request is to be sent again with fewer.

        Other calls may have found out in the meantime; then this one is simply sent again.
        """
        if not sent or "logprobs" not in why.lower():
            return False
        with self._lock:
            if sent == self.count:
                self._step += 1
                if not self.count:
                    log.warning(
                        "%s reports no log-probabilities: yes and no are read from the text",
                        self._model,
                    )
        return True


def request_alternatives(count: int) -> dict[str, object]:
    """The fields of a request in OpenAI's form; none where no log-probability is asked for."""
    if not count:
        return {}
    return {"logprobs": True, "top_logprobs": count}


def read_yes_probability(logprobs: object) -> float | None:
    """The probability of "yes" at the first token that is "yes" or "no"; None where there is none.

    >>> read_yes_probability({"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": []}]})
    1.0
    """
    content = table_of(logprobs).get("content")
    if not is_list(content):
        return None
    for entry in content[:_TOKENS_READ]:
        if not is_mapping(entry) or _plain_word(entry.get("token")) not in ("yes", "no"):
            continue
        top = entry.get("top_logprobs")
        alternatives = [each for each in top if is_mapping(each)] if is_list(top) else []
        return _share_of_yes(alternatives or [entry])
    return None


def _share_of_yes(alternatives: Iterable[object]) -> float | None:
    """All spellings count: `Yes`, ` yes` and `YES` are different tokens."""
    sums = {"yes": 0.0, "no": 0.0}
    for each in alternatives:
        table = table_of(each)
        number = table.get("logprob")
        word = _plain_word(table.get("token"))
        if word in sums and isinstance(number, (int, float)) and number <= 0:
            sums[word] += math.exp(number)
    whole = sums["yes"] + sums["no"]
    if not whole:
        return None
    return sums["yes"] / whole


def _plain_word(token: object) -> str:
    return _NOT_LETTERS.sub("", str(token or "")).casefold()
