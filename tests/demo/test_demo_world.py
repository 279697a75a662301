"""The shipped world is consistent: its cases load, their figures are those of the tables, its labels are pages."""

from __future__ import annotations

import csv
import importlib.util
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfReader

from answerkey.cases import read_cases
from answerkey.demo import FOLDER
from answerkey.types import Case

ROOT = Path(__file__).resolve().parents[2]
ROUTED = {case.id: case for case in read_cases(["cases/route_aware.json"], FOLDER)}


def rows(table: str) -> list[dict[str, str]]:
    with (FOLDER / "tables" / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


SALES, STAFF = rows("sales"), rows("staff")
Keep = Callable[[dict[str, str]], bool]


def total(column: str, keep: Keep) -> float:
    return sum(float(row[column]) for row in SALES if keep(row))


def margin(keep: Keep) -> float:
    return 100 - 100 * total("cost_rm", keep) / total("revenue_rm", keep)


def employed(month: str, keep: Keep = lambda row: True) -> list[dict[str, str]]:
    last = f"{month}-31"
    return [
        r
        for r in STAFF
        if keep(r) and r["joined"] <= last and (not r["left_on"] or r["left_on"] >= f"{month}-01")
    ]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


EXPECTED: dict[str, Callable[[], float]] = {
    "S01": lambda: total("revenue_rm", lambda r: r["month"] == "2025-12-01"),
    "S02": lambda: total("revenue_rm", lambda r: r["month"] == "2025-12-01" and r["state"] == "Selangor"),
    "S03": lambda: total("revenue_rm", lambda r: r["month"][:4] == "2025"),
    "S04": lambda: total("revenue_rm", lambda r: r["month"][:4] == "2024"),
    "S05": lambda: total("revenue_rm", lambda r: r["month"][:4] == "2025" and r["state"] == "Selangor"),
    "S06": lambda: total("revenue_rm", lambda r: r["month"][:4] == "2025" and r["state"] == "Perak"),
    "S07": lambda: total("revenue_rm", lambda r: r["month"] == "2025-12-01" and r["product"] == "Electronics"),
    "S08": lambda: margin(lambda r: r["month"] == "2025-12-01" and r["product"] == "Clothing"),
    "S09": lambda: margin(lambda r: r["month"] == "2025-12-01" and r["state"] == "Sabah"),
    "S10": lambda: total("units", lambda r: "2025-07" <= r["month"][:7] <= "2025-09" and r["product"] == "Toys"),
    "S11": lambda: total("revenue_rm", lambda r: r["month"] == "2025-11-01" and r["product"] == "Electronics" and r["state"] == "Penang"),
    "S12": lambda: total("revenue_rm", lambda r: r["month"] == "2025-08-01" and r["state"] == "Johor")
    / total("transactions", lambda r: r["month"] == "2025-08-01" and r["state"] == "Johor"),
    "S13": lambda: total("revenue_rm", lambda r: "2025-04" <= r["month"][:7] <= "2025-06" and r["state"] == "Sabah"),
    "S14": lambda: 100 - 100 * total("revenue_rm", lambda r: r["month"][:4] == "2025" and r["state"] == "Perak")
    / total("revenue_rm", lambda r: r["month"][:4] == "2024" and r["state"] == "Perak"),
    "S15": lambda: total("units", lambda r: r["month"] == "2025-03-01" and r["product"] == "Groceries"),
    "H01": lambda: len(employed("2025-12")),
    "H02": lambda: len(employed("2025-12", lambda r: r["department"] == "Sales")),
    "H03": lambda: len(employed("2025-12", lambda r: r["state"] == "Johor")),
    "H04": lambda: mean([float(r["salary_rm"]) for r in employed("2025-12")]),
    "H05": lambda: mean([float(r["salary_rm"]) for r in employed("2025-12", lambda r: r["department"] == "IT")]),
    "H06": lambda: sum(r["left_on"][:4] == "2025" for r in STAFF),
    "H07": lambda: sum(r["joined"][:4] == "2025" for r in STAFF),
    "H09": lambda: len(employed("2025-06", lambda r: r["department"] == "Logistics")),
    "H10": lambda: sum(r["left_on"][:4] == "2025" and r["department"] == "Store operations" for r in STAFF),
    "R06": lambda: total("revenue_rm", lambda r: r["month"] == "2025-12-01" and r["state"] == "Selangor"),
    "R07": lambda: len(employed("2025-12", lambda r: r["state"] == "Penang")),
    "R08": lambda: total("revenue_rm", lambda r: r["month"] == "2025-12-01" and r["state"] == "Johor"),
}  # fmt: skip


def test_fifty_cases_in_four_categories() -> None:
    assert Counter(case.type for case in ROUTED.values()) == {
        "sales": 15,
        "hr": 10,
        "documents": 16,
        "robustness": 9,
    }
    assert {case.expected_route for case in ROUTED.values()} == {"sales_kpi", "hr_kpi", "rag_docs"}
    assert sum(case.criteria.clarification_expected for case in ROUTED.values()) == 3
    assert sum(case.criteria.out_of_scope for case in ROUTED.values()) == 2


@pytest.mark.parametrize("case_id", EXPECTED)
def test_expected_figures_are_those_of_the_tables(case_id: str) -> None:
    stated = ROUTED[case_id].criteria.expected_value
    assert stated == pytest.approx(EXPECTED[case_id](), rel=2e-3)


@pytest.mark.parametrize(
    "case", [c for c in ROUTED.values() if c.type == "documents"], ids=lambda c: c.id
)
def test_expected_facts_are_in_the_documents(case: Case) -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in (FOLDER / "documents").glob("*.md")
    )
    for fact in case.criteria.must_contain:
        assert fact in text


def test_labels_name_pages_that_hold_the_answer() -> None:
    pages = {
        str(n): page.extract_text()
        for n, page in enumerate(PdfReader(FOLDER / "handbook" / "handbook.pdf").pages, 1)
    }
    for case in read_cases(["cases/handbook.csv"], FOLDER):
        assert case.relevant
        assert set(case.relevant) <= set(pages), case.id
        numbers = [word for word in case.expected[0].split() if word.isdigit()]
        found = " ".join(" ".join(pages[page].split()) for page in case.relevant)
        assert all(number in found for number in numbers), case.id


def test_the_world_is_small() -> None:
    size = sum(
        path.stat().st_size
        for path in FOLDER.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert size < 1_000_000


def test_the_tables_and_the_pdf_are_what_their_program_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("make_world", ROOT / "tools" / "make_world.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    for name in ("tables", "handbook"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(program, "WORLD", tmp_path)
    program.main()
    for name in ("tables/sales.csv", "tables/staff.csv", "handbook/handbook.pdf"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()
