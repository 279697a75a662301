"""Make the tables and the PDF of the shipped example world again: `python tools/make_world.py`.

The figures come from a fixed seed, so the files never change unless this program does.
"""

from __future__ import annotations

import csv
import math
import random
import textwrap
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

WORLD = Path(__file__).resolve().parents[1] / "src" / "answerkey" / "demo" / "world"
MONTHS = [date(year, month, 1) for year in (2024, 2025) for month in range(1, 13)]
STATE_COSTS = {
    "Sabah": 1.05,
    "Sarawak": 1.04,
    "Penang": 0.98,
}  # freight to the east, a port in the north
STATES = {
    "Selangor": 1.6,
    "Johor": 1.25,
    "Penang": 1.0,
    "Sarawak": 0.75,
    "Perak": 0.7,
    "Sabah": 0.6,
}
# Product: (transactions a month, units each, price, cost share, December peak)
PRODUCTS = {
    "Groceries": (9000, 6.0, 7.4, 0.78, 1.12),
    "Electronics": (700, 1.2, 640.0, 0.84, 1.45),
    "Clothing": (2300, 1.8, 58.0, 0.52, 1.35),
    "Homeware": (1500, 2.1, 46.0, 0.58, 1.15),
    "Toys": (900, 1.6, 52.0, 0.61, 1.9),
}
DEPARTMENTS = {
    "Store operations": 2500,
    "Sales": 3300,
    "Logistics": 2900,
    "Finance": 5200,
    "IT": 6400,
    "Marketing": 4600,
}
ROLES = ("assistant", "specialist", "lead")


def sales_rows(rng: random.Random) -> Iterable[Sequence[object]]:
    for number, month in enumerate(MONTHS):
        for state, size in STATES.items():
            for product, (visits, units_each, price, cost, peak) in PRODUCTS.items():
                season = (
                    peak if month.month == 12 else 1 + 0.05 * math.sin(month.month * math.pi / 6)
                )
                growth = 1 + (0.006 if state != "Perak" else -0.004) * number
                transactions = round(visits * size * season * growth * rng.uniform(0.94, 1.06))
                units = round(transactions * units_each * rng.uniform(0.97, 1.03))
                revenue = units * price * rng.uniform(0.98, 1.02)
                yield (
                    month,
                    state,
                    product,
                    transactions,
                    units,
                    f"{revenue:.2f}",
                    f"{revenue * cost * STATE_COSTS.get(state, 1) * rng.uniform(0.98, 1.02):.2f}",
                )


def staff_rows(rng: random.Random) -> Iterable[Sequence[object]]:
    shares = {
        "Store operations": 70,
        "Sales": 34,
        "Logistics": 26,
        "Finance": 12,
        "IT": 10,
        "Marketing": 8,
    }
    number = 0
    for department, people in shares.items():
        for _ in range(people):
            number += 1
            role = rng.choices(ROLES, weights=(6, 3, 1))[0]
            salary = round(
                DEPARTMENTS[department] * (1 + 0.35 * ROLES.index(role)) * rng.uniform(0.9, 1.15),
                -1,
            )
            joined = date(2016, 1, 4) + timedelta(days=rng.randrange(0, 3620))
            left: object = ""
            if rng.random() < 0.2:
                earliest = max(joined + timedelta(days=60), date(2024, 1, 1))
                left = min(earliest + timedelta(days=rng.randrange(0, 700)), date(2025, 12, 30))
                left = left if left > joined else ""
            state = rng.choices(list(STATES), weights=list(STATES.values()))[0]
            yield (f"S{number:03}", department, state, role, int(salary), joined, left)


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def page_stream(text: str) -> bytes:
    """The drawing commands of one page: a larger first line, then paragraphs of 80 characters a line."""
    lines: list[str] = []
    for paragraph in text.strip().split("\n"):
        lines += textwrap.wrap(paragraph, 80) or [""]
    escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
    commands = [
        "BT",
        "/F1 16 Tf",
        "1 0 0 1 72 760 Tm",
        f"({escaped[0]}) Tj",
        "/F1 11 Tf",
        "0 -30 Td",
    ]
    for line in escaped[1:]:
        commands += [f"({line}) Tj", "0 -16 Td"]
    return "\n".join([*commands, "ET"]).encode("latin-1")


def make_pdf(pages: Sequence[str]) -> bytes:
    """A plain PDF 1.4 with one text block a page, in Helvetica."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        stream = page_stream(page)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    out = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)


def main() -> None:
    rng = random.Random(7)
    columns = ("month", "state", "product", "transactions", "units", "revenue_rm", "cost_rm")
    write_csv(WORLD / "tables" / "sales.csv", columns, sales_rows(rng))
    columns = ("staff_id", "department", "state", "role", "salary_rm", "joined", "left_on")
    write_csv(WORLD / "tables" / "staff.csv", columns, staff_rows(rng))
    pages = (Path(__file__).parent / "handbook.txt").read_text(encoding="utf-8").split("\n---\n")
    (WORLD / "handbook" / "handbook.pdf").write_bytes(make_pdf(pages))


if __name__ == "__main__":
    main()
