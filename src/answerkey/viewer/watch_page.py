"""The series of a watch: evidence, means per look, alarms, and new questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from answerkey.errors import InputError, did_you_mean
from answerkey.reports.chart_style import Spec, add_title, load_chart
from answerkey.text import short_label
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond
from answerkey.watch.observe import Look, SeriesPoint
from answerkey.watch.state import read_state

_MOST_LOOKS = 100  # the newest ones are drawn: four days of an hourly watch
_MOST_NEW = 20
_LEAST_EVIDENCE = 0.01  # the lowest point of the chart; a logarithmic axis has no 0
_MOST_EVIDENCE = 1e6  # a line that leaves the chart says as much as one that reaches 1e13


def watch_page(request: Request) -> Response:
    library: RunLibrary = request.app.state.library
    states = {library.key(folder): folder for folder in library.watches()}
    if not states:
        raise InputError("no watch here; `answerkey watch` writes its state to results/watch")
    name = request.query_params.get("state", next(iter(states)))
    if name not in states:
        raise InputError(f'no watch "{name}" here{did_you_mean(name, states)}')
    looks = read_looks(states[name])
    newest = looks[-1] if looks else None
    data = {
        "state": name,
        "states": list(states),
        "looks": looks[-_MOST_LOOKS:][::-1],
        "points": newest.points if newest else [],
        "alarms": newest.alarms if newest else [],
        "new_questions": _new_questions(looks),
        "charts": watch_charts(looks[-_MOST_LOOKS:]),
    }
    return respond(request, "watch.html", data, newest=newest)


def read_looks(folder: Path) -> list[Look]:
    """All looks of a state folder, oldest first."""
    with read_state(folder) as state:
        return state.looks(Look)


def _new_questions(looks: Sequence[Look]) -> list[str]:
    """The newest questions that are far from the baseline, each once."""
    questions = [new.question for look in reversed(looks) for new in look.new_questions]
    return list(dict.fromkeys(questions))[:_MOST_NEW]


def watch_charts(looks: Sequence[Look]) -> dict[str, Spec]:
    """The evidence of all series, and the main series; empty for fewer than two looks."""
    if len(looks) < 2:
        return {}
    # A logarithmic axis: evidence multiplies, and a clear change brings it to millions.
    values = [
        {"look": look.number, "value": min(max(look.evidence, _LEAST_EVIDENCE), _MOST_EVIDENCE)}
        for look in looks
    ]
    evidence = load_chart(
        "watch", values=values, limit=looks[-1].limit, title="evidence", format=",~r", scale="log"
    )
    subtitle = "dashed: the alarm; at most 5 % of watches without a change ever reach it"
    charts = {"evidence": add_title("Evidence of a change", evidence, subtitle)}
    if looks[-1].points:
        main = looks[-1].points[0]
    else:
        main = None
    if main is not None:
        charts["main"] = _series_chart(main, looks)
    return charts


def _series_chart(main: SeriesPoint, looks: Sequence[Look]) -> Spec:
    values: list[Spec] = [
        {"look": look.number, "value": point.mean}
        for look in looks
        for point in look.points
        if point.name == main.name and point.mean is not None
    ]
    title = short_label(main.name, 40)
    spec = load_chart(
        "watch", values=values, limit=main.baseline, title=title, format=".0%", scale="linear"
    )
    return add_title(f"{title} per look", spec, "dashed: the baseline")
