"""Every benchmark can be imported: what it uses of the package still exists."""

from importlib import import_module

import pytest
from benchmarks.table import BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_can_be_imported(name):
    try:
        module = import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("answerkey", "benchmarks")):
            raise
        pytest.skip(f"needs {error.name}")
    assert callable(module.main)
