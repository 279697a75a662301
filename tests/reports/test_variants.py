"""Reports and the page of a run have a table of its variants; a damaged file is left out."""

from __future__ import annotations

import json
from pathlib import Path

from answerkey.reports.variants import COLUMNS, variant_rows
from answerkey.robustness.record import read_variants


def read_variant_rows(folder: Path) -> list[dict[str, str]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in variant_rows(read_variants(folder))]


def test_each_kind_is_a_row(tmp_path: Path) -> None:
    figures = {
        "pairs": 12,
        "pass_rate_original": 1.0,
        "pass_rate_variant": 0.75,
        "drop": 0.25,
        "drop_ci95": [0.1, 0.4],
        "p": 0.03,
        "consistency": {"n": 12, "mean": 0.8, "ci95": None},
        "newly_failing": [f"q{n}~typos" for n in range(10)],
    }
    (tmp_path / "variants.json").write_text(json.dumps({"kinds": {"typos": figures}}))
    (row,) = read_variant_rows(tmp_path)
    assert row["kind"] == "typos"
    assert row["drop (95 %)"] == "25 points (10 to 40)"
    assert row["agreement of the answers"] == "0.8"
    assert row["same passages"] == "–"
    assert row["newly failing"].endswith("and 2 more")


def test_without_variants_or_with_a_damaged_file_there_is_no_row(tmp_path: Path) -> None:
    assert read_variant_rows(tmp_path) == []
    for text in ("{", "[]", '{"kinds": 5}', '{"kinds": []}'):
        (tmp_path / "variants.json").write_text(text)
        assert read_variant_rows(tmp_path) == []
    (tmp_path / "variants.json").write_text('{"kinds": {"typos": [1]}}')
    assert read_variant_rows(tmp_path)[0]["drop (95 %)"] == "–"
