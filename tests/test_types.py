"""The types print as something a person can read."""

import doctest

from answerkey import types


def test_an_outcome_prints_on_one_line() -> None:
    done = doctest.testmod(types)
    assert done.attempted
    assert not done.failed
