"""Figures with units, and dates in several notations."""

import pytest

from answerkey.language.dates import Date, dates
from answerkey.language.figure_match import figures_agree
from answerkey.language.quantities import figures
from answerkey.metrics.criteria import number_close
from answerkey.types import Case, Response

SAME = [
    ("3 km", "3000 m"), ("90 min", "1.5 h"), ("90 minutes", "an hour and a half"), ("12 %", "0.12"), ("half an hour", "30 minutes"),
    ("$1.2 billion", "US$ 1,200 million"), ("RM 250", "250 ringgit"), ("€5", "5 euros"), ("2 years", "24 months"), ("4 g", "4,000 mg"),
    ("180 °C", "356 °F"), ("300 km/h", "186 mph"), ("5 GB", "5,000 MB"), ("ten days", "10 days"), ("10 pounds", "£10"), ("30", "30 days"),
    ("8 pm", "20:00"), ("9:30 am", "half past nine in the morning"), ("at noon", "12 pm"), ("at 9", "9:00"), ("20 %", "a fifth of it"),
    ("twice a year", "every six months"), ("€9 per month", "9 euros a month"), ("25 basis points", "0.25 percentage points"),
    ("2 hours 15 minutes", "135 minutes"), ("250 kg", "0.25 tonnes"), ("a dozen", "12"), ("second quarter", "Q2"),
    ("$0.42", "42 cents"), ("1.2 Gbit/s", "1200 Mbit/s"), ("quarterly", "every three months"), ("three times an hour", "every 20 minutes"),
    ("twice a day", "two times daily"), ("CHF 9,800", "9800 francs"),
    ("two and a half years", "30 months"), ("1.5 million people", "1,500,000"), ("500 mg", "half a gram"), ("€500,000", "half a million euros"), ("6", "half a dozen"),
    ("2.5 hours", "2½ hours"), ("150 minutes", "2 ½ hours"), ("15 GB a month", "15 GB per billing month"),
]  # fmt: skip
OTHER = [
    ("8 pm", "8 in the morning"), ("17:45", "7:45 pm"), ("3.5 % per year", "3.5 percent a month"), ("twice a year", "twice a month"),
    ("20 cents per day", "20 cents per week"), ("Q1", "Q4"), ("2.4 bar", "2.4 psi"), ("CHF 50", "€50"), ("$4", "40 cents"), ("page 3", "page 4"),
    ("250 kg", "250 lbs"), ("20 %", "a quarter of it"), ("12 km", "12 miles"), ("90 minutes", "90 seconds"), ("RM 250", "USD 250"), ("€250", "$250"), ("30 days", "30 hours"),
    ("4 g", "4 mg"), ("180 °C", "180 °F"), ("12 %", "12 km"), ("$1.2 billion", "$1.2 million"), ("5 GB", "5 TB"), ("8 hours", "10 hours"),
    ("15 GB per billing month", "15 GB a day"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_quantity_in_another_unit_agrees(one, other):
    found = [figures_agree(a, b) for a in figures(one) for b in figures(other)]
    assert any(found)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_unit_or_currency_is_another_value(one, other):
    found = [figures_agree(a, b) for a in figures(one) for b in figures(other)]
    assert not any(found)


def test_the_first_of_a_range_has_the_unit_of_the_second():
    assert [figure.dimension for figure in figures("2 to 8 °C")] == ["temperature"] * 2


@pytest.mark.parametrize(
    "text", ["3 July 2020", "July 3rd, 2020", "2020-07-03", "03.07.2020", "3/7/2020", "7/3/2020"]
)
def test_a_date_is_read_in_several_notations(text):
    assert Date(2020, 7, 3) in dates(text)


@pytest.mark.parametrize(
    ("expected", "answer", "value"),
    [
        ("12 %", "a share of 0.12", 1), ("3 km", "about 3000 m", 1), ("90 min", "1.5 h", 1), ("RM 100", "RM 98", 1),
        ("3 km", "3 miles", 0), ("RM 100", "USD 100", 0), ("100", "104", 1), ("100", "106", 0), ("12%", "12", 1),
    ],
)  # fmt: skip
def test_number_close_knows_units(expected, answer, value):
    found = number_close(Case("c", "q", expected=(expected,)), Response(answer))
    assert found.value == value
    if "USD" in answer:
        assert "the unit differs" in found.reason


@pytest.mark.parametrize(
    ("wanted", "given", "agree"),
    [
        ("4711234", "4711243", False), ("10115", "10117", False), ("99.99", "99.95", False), ("12.14 million", "12.15 million", False),
        ("83,149,300", "83,000,000", True), ("45,678", "45,700", True), ("12,145,231.87", "12,145,231.88", True),
        ("12,145,231.87", "12.1 million", True), ("99,852.83", "99,853", True), ("99.99", "100", True),
    ],
)  # fmt: skip
def test_figures_of_one_precision_agree_only_where_they_are_the_same(
    wanted: str, given: str, agree: bool
) -> None:
    assert figures_agree(figures(wanted)[0], figures(given)[0]) is agree
