"""`Run.to_pandas()`: the user's rows with what was found about each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from answerkey.api.rows import UserFrame
from answerkey.display import data_frame
from answerkey.reports.result_columns import ResultColumns
from answerkey.runs.manifest import Manifest
from answerkey.types import Outcome

if TYPE_CHECKING:
    import pandas


def result_frame(
    outcomes: Sequence[Outcome], manifest: Manifest, frame: UserFrame | None = None
) -> pandas.DataFrame:
    """A row per case; with a data frame of the user its rows, index and types as they are.

    A row whose case was left out has empty results.
    """
    columns = ResultColumns.of_manifest(manifest)
    titles = columns.titles()
    rows = [dict(zip(titles, columns.row(outcome), strict=True)) for outcome in outcomes]
    table = data_frame(rows).reindex(columns=titles)
    ids = [outcome.case.id for outcome in outcomes]
    # Outcomes of whole conversations have no row in the user's data.
    if frame is None or not set(ids) <= set(frame.ids):
        return table
    results = table.set_axis(ids).reindex(frame.ids)
    own = frame.rows.copy()
    # What the data do not have yet: our results, and the answers of a target.
    for title in titles:
        if title not in own.columns:
            own[title] = results[title].to_numpy()
    return own
