"""The KPI bot: figures checked against plain Python over the same tables; routes, periods, spelling, hostile text."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from answerkey.config.target_tables import SKILLS
from answerkey.demo import FOLDER
from answerkey.demo.kpi_catalog import read_catalog
from answerkey.demo.kpi_database import find_period, month_of, shift_period
from answerkey.demo.routed_kpi import RoutedKpiBot, make_routed_kpi
from answerkey.errors import AnswerkeyError, InputError, SettingsError
from answerkey.text import numbers
from answerkey.types import Question, Response

TABLES = {"kind": "routed-kpi", "tables": "tables", "kpis": "kpis.toml"}
CATALOG = read_catalog(FOLDER / "kpis.toml")


@pytest.fixture(scope="module")
def bot() -> Iterator[RoutedKpiBot]:
    made = make_routed_kpi(TABLES, FOLDER)
    yield made
    made.close()


def ask(bot: RoutedKpiBot, question: str) -> Response:
    return bot.ask(Question("q", question))


def figure(response: Response) -> float:
    """The number of the first line, after the colon."""
    assert response.answer is not None
    return numbers(response.answer.split("\n")[0].rsplit(":", 1)[1])[0].value


def rows(table: str) -> list[dict[str, str]]:
    with (FOLDER / "tables" / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def total(column: str, keep: Callable[[dict[str, str]], bool]) -> float:
    return sum(float(row[column]) for row in rows("sales") if keep(row))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was total revenue in December 2025?", lambda: total("revenue_rm", lambda r: r["month"] == "2025-12-01")),
        ("revenue in Sabah in Q2 2025", lambda: total("revenue_rm", lambda r: r["state"] == "Sabah" and r["month"][:7] in ("2025-04", "2025-05", "2025-06"))),
        ("How many units of Toys were sold last year?", lambda: total("units", lambda r: r["product"] == "Toys" and r["month"][:4] == "2024")),
        ("gross margin on Clothing in 2025", lambda: 100 - 100 * total("cost_rm", lambda r: r["product"] == "Clothing" and r["month"][:4] == "2025") / total("revenue_rm", lambda r: r["product"] == "Clothing" and r["month"][:4] == "2025")),
        ("How many people resigned in 2025?", lambda: sum(r["left_on"][:4] == "2025" for r in rows("staff"))),
        ("new hires in 2024", lambda: sum(r["joined"][:4] == "2024" for r in rows("staff"))),
        ("How many employees do we have?", lambda: sum(r["left_on"] == "" or r["left_on"] >= "2025-12-01" for r in rows("staff"))),
    ],
)  # fmt: skip
def test_figures_equal_plain_python(
    bot: RoutedKpiBot, question: str, expected: Callable[[], float]
) -> None:
    assert figure(ask(bot, question)) == pytest.approx(expected(), abs=0.06)


@pytest.mark.parametrize(
    ("question", "route", "kpi"),
    [
        ("What was the revenue last month?", "sales_kpi", "revenue"),
        ("How many staff are in the Sales department?", "hr_kpi", "headcount"),
        ("staff turnover in 2025", "hr_kpi", "leavers"),
        ("units sold in Perak", "sales_kpi", "units"),
        ("Berapa jualan di Johor bulan lepas?", "sales_kpi", "revenue"),
        ("How many days of annual leave may staff take?", "rag_docs", None),
        ("What is the refund policy for sales?", "rag_docs", None),
    ],
)
def test_the_route_is_reported_with_a_confidence(
    bot: RoutedKpiBot, question: str, route: str, kpi: str | None
) -> None:
    response = ask(bot, question)
    assert response.route == route
    assert response.extra.get("kpi") == kpi
    assert 0 < response.extra["confidence"] < 1


def test_an_executive_answer_has_figure_benchmark_trend_and_insight(bot: RoutedKpiBot) -> None:
    answer = ask(bot, "Revenue in Selangor in December 2025?").answer or ""
    assert answer.startswith("**Revenue, Selangor, December 2025: RM ")
    for part in (
        "Benchmark:",
        "average state",
        "ranking 1 of 6",
        "Trend:",
        "year-over-year",
        "Insight:",
        "driver",
    ):
        assert part in answer


@pytest.mark.parametrize(
    ("question", "winner"),
    [
        ("Which state had the highest revenue in 2025?", "Selangor"),
        ("Which state had the lowest revenue in 2025?", "Perak"),
        ("best product by gross margin in 2025", "Clothing"),
        ("Which department has the highest average salary?", "IT"),
    ],
)
def test_rankings(bot: RoutedKpiBot, question: str, winner: str) -> None:
    assert winner in (ask(bot, question).answer or "").split("\n")[0]


def test_several_that_are_named_are_ranked_among_themselves(bot: RoutedKpiBot) -> None:
    answer = ask(bot, "Compare revenue of Perak and Johor in December 2025").answer or ""
    assert answer.startswith(
        "**Highest revenue, Johor and Perak, December 2025: Johor, RM 2,658,706.63"
    )
    assert "Perak RM 1,189,489.31" in answer
    assert "Selangor" not in answer


@pytest.mark.parametrize(
    "question", ["Show me the numbers", "How are we doing?", "Who is the best?"]
)
def test_unclear_questions_are_asked_back(bot: RoutedKpiBot, question: str) -> None:
    answer = ask(bot, question).answer or ""
    assert "Which figure" in answer
    assert "specify" in answer


def test_a_period_without_data_is_told_and_not_zero(bot: RoutedKpiBot) -> None:
    assert (ask(bot, "revenue in 2019").answer or "").startswith("No data")
    assert (ask(bot, "highest revenue by state in 2030").answer or "").startswith("No data")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("in december 2025", "December 2025"), ("in december", "December 2025"), ("q3 2025", "Q3 2025"),
        ("the second quarter of 2024", "Q2 2024"), ("in 2024", "2024"), ("last month", "December 2025"),
        ("this year", "2025"), ("last year", "2024"), ("march last year", "March 2024"), ("in may 2025", "May 2025"),
        ("may i ask", None), ("bulan lepas", "December 2025"), ("", None),
    ],
)  # fmt: skip
def test_periods(text: str, label: str | None) -> None:
    found = find_period(text, CATALOG, date(2025, 12, 1))
    assert (found.label if found else None) == label


def test_shifting_a_period_keeps_its_length() -> None:
    assert shift_period(month_of(date(2025, 1, 1)), -1).label == "December 2024"
    quarter = find_period("q1 2025", CATALOG, date(2025, 12, 1))
    assert quarter is not None
    assert shift_period(quarter, -3).months == 3
    assert shift_period(quarter, -12).first == date(2024, 1, 1)


@pytest.mark.parametrize(
    "question",
    [
        "revenue in Selangor'; DROP TABLE sales; --",
        'revenue in "state" or 1=1',
        "revenue " * 500,
        "",
        "\x00revenue",
        "%s {0}",
    ],
)
def test_hostile_questions_do_no_harm(bot: RoutedKpiBot, question: str) -> None:
    before = figure(ask(bot, "revenue in 2025"))
    assert ask(bot, question).answer
    assert figure(ask(bot, "revenue in 2025")) == before


def test_each_skill_can_be_left_out() -> None:
    plain = make_routed_kpi({**TABLES, "skills": []}, FOLDER)
    assert "\n" not in (ask(plain, "Revenue in Selangor in 2024").answer or "")
    assert "December 2025" in (ask(plain, "Revenue in Selangor in 2024").answer or "")
    assert ask(plain, "reveneu in Selngor").route == "rag_docs"
    assert "Revenue" in (ask(plain, "Show me the numbers").answer or "")
    for skill in SKILLS:
        make_routed_kpi({**TABLES, "skills": [skill]}, FOLDER).close()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tables": "none"}, "no such file or folder"),
        ({"kpis": "faq.csv"}, "not valid TOML"),
        ({"skills": ["speling"]}, 'did you mean "spelling"'),
        ({"table": "tables"}, 'did you mean "tables"'),
    ],
)
def test_bad_settings(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        make_routed_kpi({**TABLES, **settings}, FOLDER)


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("", "no \\[\\[kpi\\]\\]"),
        ('[[kpi]]\nname="a"', "needs title"),
        ('[[kpi]]\nname="a"\nmesure="x"', 'did you mean "measure"'),
        ('[[kpi]]\nname="a"\ntitle="A"\nroute="r"\nfrom="t; drop"\nmeasure="1"\nwords=["a"]', "expected the name of a table"),
        ('[[kpi]]\nname="a"\ntitle="A"\nroute="r"\nfrom="t"\nmeasure="sum(nothing)"\nwords=["a"]', "kpi a:"),
        ('[[kpi]]\nname="a"\ntitle="A"\nroute="r"\nfrom="t"\nmeasure="(select 1 from read_csv(\'/etc/passwd\'))"\nwords=["a"]', "kpi a:"),
    ],
)  # fmt: skip
def test_bad_catalogues_are_named(tmp_path: Path, toml: str, told: str) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "t.csv").write_text("month,x\n2025-01-01,1\n")
    (tmp_path / "kpis.toml").write_text(toml)
    with pytest.raises(AnswerkeyError, match=told):
        make_routed_kpi({"tables": "t", "kpis": "kpis.toml"}, tmp_path)


def test_an_empty_folder_of_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.csv or \.parquet"):
        make_routed_kpi({"tables": str(tmp_path), "kpis": "kpis.toml"}, FOLDER)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", r"^t\.csv: the file is empty"), ("month,x\n", "^no row with a month in t$")],
)
def test_a_table_without_rows_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "t.csv").write_text(text)
    (tmp_path / "kpis.toml").write_text(
        '[[kpi]]\nname="a"\ntitle="A"\nroute="r"\nfrom="t"\nmeasure="sum(x)"\nwords=["a"]'
    )
    with pytest.raises(InputError, match=told):
        make_routed_kpi({"tables": "t", "kpis": "kpis.toml"}, tmp_path)
