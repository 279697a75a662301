"""Running figures against numpy, and the law that makes shards agree with one machine."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.runs.number_tally import NumberTally
from answerkey.runs.tally import tally_from_json, tally_to_json

VALUES = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 0.5]), max_size=60)


def tally(values):
    made = NumberTally()
    for value in values:
        made.add(value)
    return made


@given(VALUES)
def test_figures_equal_numpy(values):
    found = tally(values).figure()
    assert found.n == len(values)
    if not values:
        assert found.mean is None
        return
    assert found.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert (found.min, found.max) == (min(values), max(values))
    assert tally(values).quantile(0.95) == pytest.approx(
        np.quantile(values, 0.95), rel=1e-9, abs=1e-9
    )
    if len(values) > 1:
        assert found.sd == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-4)
        assert found.ci95[0] <= found.ci95[1]


@given(VALUES, st.integers(0, 60), st.randoms())
def test_any_split_and_order_gives_the_same_to_the_last_digit(values, cut, random):
    whole, left, right = tally(values), tally(values[:cut]), tally(values[cut:])
    left.merge(right)
    shuffled = list(values)
    random.shuffle(shuffled)
    assert whole.figure() == left.figure() == tally(shuffled).figure()


def test_many_values_are_not_kept_and_their_quantiles_are_near():
    values = np.random.default_rng(1).exponential(size=20_000)
    found = tally(values.tolist())
    assert found.values is None
    assert found.figure().ci95_method == "t"
    for share in (0.05, 0.5, 0.95, 0.99):
        assert found.quantile(share) == pytest.approx(np.quantile(values, share), rel=0.02)
    parts = [tally(part.tolist()) for part in np.array_split(values, 7)]
    merged = NumberTally()
    for part in reversed(parts):
        merged.merge(part)
    assert merged.figure() == found.figure()
    assert merged.quantile(0.95) == found.quantile(0.95)


@pytest.mark.parametrize(
    ("values", "sd"),
    [
        ([0.1] * 3, 0.0),
        ([1 / 3] * 7, 0.0),
        ([1e9, 1e9 + 1, 1e9 + 2], 1.0),
        ([0.9999999] * 100, 0.0),
    ],
)
def test_the_deviation_loses_nothing_to_a_large_mean(values, sd):
    assert tally(values).figure().sd == sd
    left = tally_from_json(NumberTally, tally_to_json(tally(values[:1])))
    left.merge(tally(values[1:]))
    assert left.figure() == tally(values).figure()


def test_a_number_past_all_sense_does_not_end_a_run():
    found = tally([1e200, 1.0, -1e300, math.inf]).figure()
    assert (found.min, found.max) == (-1e100, 1e100)
    assert all(math.isfinite(getattr(found, name)) for name in ("mean", "sd"))


def test_figures_stored_in_the_older_form_are_read():
    values = [0.25, 0.5, 1.0]
    record = tally_to_json(tally(values))
    older = {**record, "squares": record["squared"] >> 60}
    del older["squared"]
    assert tally_from_json(NumberTally, older).figure() == tally(values).figure()
