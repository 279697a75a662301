"""`Run.to_pandas()`: the user's rows with what was found about each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from answerkey.display import data_frame
from answerkey.reports.result_columns import ResultColumns
from answerkey.runs.manifest import Manifest
from answerkey.types import Outcome

if TYPE_CHECKING:
    import pandas


def result_frame(
    outcomes: Sequence[Outcome], manifest: Manifest, frame: object = None
) -> pandas.DataFrame:
    """A row per case. Of a data frame that is still there, rows, index and types stay as they are."""
    columns = ResultColumns.of_manifest(manifest)
    titles = columns.titles()
    rows = [dict(zip(titles, columns.row(outcome), strict=True)) for outcome in outcomes]
    table = data_frame(rows)
    original = cast("Any", frame)
    if original is None or len(original) < len(table):
        return table.reindex(columns=titles)
    # With `limit`, only the first rows were evaluated.
    own = original.iloc[: len(table)].copy()
    # What the data do not have yet: our results, and the answers of a target.
    for title in titles:
        if title not in own.columns:
            own[title] = table[title].to_numpy()
    return own
