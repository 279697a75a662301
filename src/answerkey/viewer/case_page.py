"""One case, with everything that led to its verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.calibrate.labels import column_label, read_run_labels
from answerkey.errors import InputError
from answerkey.reports.case_details import describe_case
from answerkey.reports.word_marks import WordMarks, compare_words
from answerkey.runs.case_list import count_cases, places_of, position_of_place
from answerkey.runs.run_reader import RunReader
from answerkey.runs.store import open_reader, profile_of
from answerkey.types import Outcome
from answerkey.viewer.case_query import read_query, select_positions
from answerkey.viewer.corrections import CORRECTIONS, add_correction, read_corrections
from answerkey.viewer.forms import labeller_name, read_form
from answerkey.viewer.library import requested_run
from answerkey.viewer.regression import REGRESSIONS, add_regression_case, regression_answer
from answerkey.viewer.render import respond, wants_json
from answerkey.viewer.rich_text import render_markdown

# Characters of an answer or passage on a page. A text of a megabyte makes a browser slow, and
# nobody reads it there; "Show the full text" and the JSON have all of it.
LONGEST_TEXT = 20_000


def case_page(request: Request) -> Response:
    """Long texts are cut on the page, but not with `full`; the JSON is always complete."""
    library, _ = requested_run(request)
    folder, outcome, n = requested_case(request)
    query = read_query(request.query_params)
    is_whole = wants_json(request) or "full" in request.query_params
    longest = None if is_whole else LONGEST_TEXT
    reader = open_reader(folder)
    matching = select_positions(folder, query)
    position = position_of_place(reader, n)
    place = matching.index(position) if position in matching else None
    case_id = outcome.case.id
    data: dict[str, object] = {
        "run": library.key(folder),
        "n": n,
        "case": describe_case(outcome, profile_of(folder), longest),
        "label": read_run_labels(folder).of(case_id, labeller_name(request)),
        "place": place,  # among the cases of the present filter
        "found": len(matching),
        "previous": _neighbour(reader, matching, place, -1),
        "next": _neighbour(reader, matching, place, 1),
        "query": query.address(),
        "saved": "saved" in request.query_params,
        "correction": read_corrections(folder).get(case_id),
        "corrections_file": str(folder / CORRECTIONS),
        "data_label": column_label(outcome.case),
        "regression": regression_answer(library.root, case_id),
        "regression_file": str(library.root / REGRESSIONS),
    }
    return respond(request, "case.html", data, **_texts(request, outcome, longest))


def _texts(request: Request, outcome: Outcome, longest: int | None) -> dict[str, Any]:
    """Expected answer and answer as the page shows them: marked, and rendered if they are Markdown.

    `text=raw` in the address shows Markdown as it was written.
    """
    is_raw = request.query_params.get("text") == "raw"
    expected = "\n\n".join(outcome.case.expected)[:longest]
    answer = (outcome.response.answer or "")[:longest]
    expected_marks, answer_marks = compare_words(expected, answer, outcome.case.question)
    if outcome.response.answer is None:  # nothing to compare with
        expected_marks = WordMarks({})
    rendered_answer = render_markdown(answer, answer_marks)
    rendered_expected = render_markdown(expected, expected_marks)
    has_markdown = rendered_answer is not None or rendered_expected is not None
    if is_raw:
        rendered_answer = None
        rendered_expected = None
    kinds = {*expected_marks.kinds.values(), *answer_marks.kinds.values()}
    return {
        "expected_marks": expected_marks,
        "answer_marks": answer_marks,
        "rendered_expected": rendered_expected,
        "rendered_answer": rendered_answer,
        "has_markdown": has_markdown,
        "is_raw": is_raw,
        "mark_kinds": kinds,
        "expected_text": "\n".join(outcome.case.expected),
        "rendered_turns": [
            None if is_raw else render_markdown(turn.answer or "")
            for turn in outcome.response.turns
        ],
    }


async def correct_expected(request: Request) -> Response:
    """Keep the expected answer of the form in corrections.jsonl; an empty one takes it back."""
    folder, outcome, _ = requested_case(request)
    form = await read_form(request)
    person = labeller_name(request)
    add_correction(folder, outcome.case, form.get("expected", ""), person)
    address = read_query(request.query_params).address()
    case_address = request.url.path.removesuffix("/expected")
    return RedirectResponse(f"{case_address}{address}#expected", 303)


async def keep_regression_case(request: Request) -> Response:
    """Write the case with the expected answer of the form to regressions.jsonl."""
    library, _ = requested_run(request)
    folder, outcome, _ = requested_case(request)
    form = await read_form(request)
    source = f"{library.key(folder)}, case {outcome.case.id}"
    add_regression_case(library.root, outcome.case, form.get("expected", ""), source)
    address = read_query(request.query_params).address()
    return RedirectResponse(f"{request.url.path.removesuffix('/regression')}{address}", 303)


def _neighbour(reader: RunReader, positions: list[int], at: int | None, step: int) -> int | None:
    """The place of the case before or after this one in the present order."""
    if at is None or not 0 <= at + step < len(positions):
        return None
    return places_of(reader, [positions[at + step]])[0]


def requested_case(request: Request) -> tuple[Path, Outcome, int]:
    """The run, the case in the address, and its place among those that were run."""
    _, folder = requested_run(request)
    n = int(request.path_params["n"])
    reader = open_reader(folder)
    position = position_of_place(reader, n)
    if position is None:
        raise InputError(f"no case {n} here: the run has {count_cases(reader)}")
    (outcome,) = reader.at([position])
    return folder, outcome, n
