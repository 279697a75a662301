"""A limit on what the calls of a judge may cost together, also when many are made at once."""

from __future__ import annotations

import logging
import threading

log = logging.getLogger("answerkey.llm")

UNKNOWN_COST = (
    "max_cost cannot limit the judge: the cost of its calls is unknown; set price_in and price_out "
    "in [judge], and use an endpoint that reports tokens"
)


class CostLimit:
    """Lets a call begin only while the limit allows it and all calls under way.

    A call is taken to cost as much as the dearest so far. The first one runs alone, because its cost
    is not known yet. So the limit is passed by the cost of one call at most.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.spent = 0.0
        self._under_way = 0
        self._dearest: float | None = None
        self._changed = threading.Condition()

    def begin(self) -> bool:
        """Wait until the call fits the limit; False if the limit is used up."""
        with self._changed:
            # Twenty calls at once passed a limit of 0.5 by a factor of 17 when each looked only at what was spent.
            while not self._fits():
                if self.spent >= self.most:
                    return False
                self._changed.wait()
            self._under_way += 1
            return True

    def end(self, cost: float | None) -> None:
        """A call ended; None for an unknown cost."""
        with self._changed:
            if cost is None and self._dearest is None:
                log.warning("%s", UNKNOWN_COST)
            self._under_way -= 1
            self.spent += cost or 0.0
            self._dearest = max(self._dearest or 0.0, cost or 0.0)
            self._changed.notify_all()

    def fail(self) -> None:
        """A call ended without a reply."""
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def describe(self) -> str:
        return f"not judged: max_cost = {self.most:g} is used up, {self.spent:g} spent"

    def _fits(self) -> bool:
        if self.spent >= self.most:
            return False
        if not self._under_way:
            return True
        if self._dearest is None:
            return False
        return self.spent + (self._under_way + 1) * self._dearest <= self.most
