"""Work in several processes."""

from __future__ import annotations

import pytest

from answerkey.errors import SettingsError
from answerkey.files import read_json
from answerkey.processes import Processes


def make_work(setup):
    """In the process: refuses odd numbers, doubles even ones."""

    def work(line):
        number = read_json(line)
        if number % 2:
            raise SettingsError(f"{number} is odd, {setup}")
        return number * 2

    return work


def test_a_process_works_on_after_an_error():
    processes = Processes(1, f"{__name__}:make_work", "as expected")
    try:
        results = [processes.begin(number) for number in (1, 2, 3, 4)]
        with pytest.raises(SettingsError, match="1 is odd, as expected"):
            results[0].result(60)
        assert results[1].result(60) == b"4\n"
        with pytest.raises(SettingsError, match="3 is odd"):
            results[2].result(60)
        assert results[3].result(60) == b"8\n"
    finally:
        processes.close()
