"""The figures of a run by any of its columns, counted by DuckDB where the rows lie: of millions, none is held."""

from __future__ import annotations

from pathlib import Path

from answerkey.errors import InputError, SettingsError, did_you_mean
from answerkey.runs.engines.parts import list_parts
from answerkey.runs.store import in_parts
from answerkey.types import Json

COLUMNS = {
    "route": "route",
    "expected_route": "expected_route",
    "type": "type",
    "source_file": "source_file",
    "status": "verdict.status",
    "band": "verdict.band",
}
_QUERY = """
    SELECT {column} AS name, count(*) AS cases, count(verdict.score) AS scored,
        count(*) FILTER (WHERE verdict.passed) AS passed, count(*) FILTER (WHERE verdict.status = 'ERROR') AS errors,
        avg(verdict.score) AS mean_score, avg(response_time) AS mean_response_time
    FROM {rows} GROUP BY name ORDER BY cases DESC, name
"""


def grouped(folder: Path, column: str) -> list[Json]:
    """A row a value of the column, most cases first; the mean score is of the `scored` cases."""
    if column not in COLUMNS:
        known = ", ".join(COLUMNS)
        raise SettingsError(f'cannot group by "{column}"{did_you_mean(column, COLUMNS)}; there are {known}')
    import duckdb

    if in_parts(folder):
        rows, files = "read_parquet(?)", [str(path) for path in list_parts(folder)]
    else:
        rows, files = "read_json(?, format = 'newline_delimited')", [str(folder / "results.jsonl")]
    if not files or not Path(files[0]).is_file():
        raise InputError(f"{folder}: no results yet; write them with `answerkey report {folder}`")
    found = duckdb.execute(_QUERY.format(column=COLUMNS[column], rows=rows), [files])
    names = [about[0] for about in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def grouped_text(table: list[Json], column: str) -> str:
    """The same for people."""
    names = ["(none)" if row["name"] is None else " ".join(str(row["name"]).split()) for row in table]
    width = max(map(len, (column, *names)))
    lines = [
        f"{column:<{width}}  {'cases':>9}  {'scored':>9}  {'passed':>9}  {'errors':>7}  {'mean score':>10}"
    ]
    for name, row in zip(names, table, strict=True):
        mean = "-" if row["mean_score"] is None else f"{row['mean_score']:.3f}"
        lines.append(
            f"{name:<{width}}  {row['cases']:>9,}  {row['scored']:>9,}  {row['passed']:>9,}  {row['errors']:>7,}  {mean:>10}"
        )
    return "\n".join(lines)
