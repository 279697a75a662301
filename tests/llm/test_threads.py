"""Many calls at once: order, the first error, nothing to do."""

from __future__ import annotations

import pytest

from answerkey.errors import EndpointError
from answerkey.llm.threads import in_threads


def test_threads_raise_the_first_error_and_leave_the_rest() -> None:
    done: list[int] = []

    def work(n: int) -> int:
        if n == 3:
            raise EndpointError("no key")
        done.append(n)
        return n

    with pytest.raises(EndpointError, match="no key"):
        in_threads(work, range(10_000), 2)
    assert len(done) < 10_000
    assert in_threads(lambda n: n * n, range(50), 7) == [n * n for n in range(50)]
    assert in_threads(lambda n: n, [], 7) == []
