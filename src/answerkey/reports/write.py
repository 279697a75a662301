"""The files of a run and of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from answerkey.comparison.comparison import Comparison, comparison_json
from answerkey.errors import StorageError
from answerkey.files import json_line, json_text, replacing, write_file
from answerkey.profiles import load_profile
from answerkey.reports.charts.comparison_charts import case_chart, metric_chart
from answerkey.reports.charts.style import data_address, png, svg
from answerkey.reports.comparison import SHOWN_CASES, comparison_markdown, comparison_page, comparison_text
from answerkey.reports.csv import ResultsCsv
from answerkey.reports.failure_screen import failure_screen
from answerkey.reports.junit import JunitFile
from answerkey.reports.markdown import markdown_report
from answerkey.reports.text import text_report
from answerkey.runs.engines.parts import PARTS, PartsIndex, merged, worst_positions
from answerkey.runs.gates import answer_gates, parse_gates
from answerkey.runs.records import result_line
from answerkey.runs.store import (
    JournalIndex,
    in_parts,
    open_index,
    read_manifest,
    write_manifest,
)
from answerkey.runs.summary import RunInfo, summary_of
from answerkey.runs.tally import RunTally
from answerkey.types import Json, Outcome, Profile, Status

MOST_DRAWN = 100_000  # the page holds a row a case in memory
MOST_FROM_PARTS = 1_000  # failures told in full of a run that is Parquet


def write_reports(folder: Path, *, pictures: bool = True) -> Json:
    """Write every report of the run and return the summary. Parquet parts are themselves the rows, and are not written again."""
    manifest = read_manifest(folder)
    profile = load_profile(manifest["profile"]) if manifest.get("profile") else None
    if in_parts(folder):
        tally, worst = merged(folder), worst_positions(folder, MOST_FROM_PARTS)
    else:
        tally, worst = _write_rows(folder, manifest)
    summary = summary_of(tally, profile, RunInfo.of_manifest(manifest))
    gates = answer_gates(parse_gates(manifest.get("gate", [])), summary)
    figures = replace(summary, gates=tuple(gates)).to_json()
    drawn = pictures and tally.all.count <= MOST_DRAWN
    if pictures and not drawn:
        figures["notes"] = [
            *figures["notes"],
            f"report.html and the plots are left out above {MOST_DRAWN:,} cases",
        ]
    write_manifest(folder, {**manifest, "fingerprint": figures["fingerprint"]})
    write_file(folder / "summary.json", json_text(figures))
    write_file(folder / "report.txt", text_report(figures))
    write_file(folder / "report.md", markdown_report(figures))
    failed = tally.all.count - tally.all.passed - tally.all.statuses[Status.SCORED]
    write_failures(open_index(folder), worst, failed, profile)
    if drawn:
        _pictures(folder, figures)
    return figures


def _write_rows(folder: Path, manifest: Json) -> tuple[RunTally, list[int]]:
    """The reports with a row a case, from one pass over the journals; the summary, and where the failed are, worst first."""
    tally, index = RunTally(), JournalIndex(folder)
    failing: list[tuple[float, int]] = []
    with ExitStack() as stack:
        lines = stack.enter_context(replacing(folder / "results.jsonl"))
        table = ResultsCsv(
            stack.enter_context(replacing(folder / "results.csv")), manifest.get("metrics", [])
        )
        junit = JunitFile(stack.enter_context(replacing(folder / "junit.xml")), manifest["name"])
        for n, outcome in index.numbered():
            tally.add(outcome)
            line = result_line(outcome)
            lines.write(json_line(line).decode() + "\n")
            table.add(line)
            junit.add(outcome)
            if not outcome.verdict.passed and outcome.verdict.status != "SCORED":
                failing.append((badness(outcome), n))
        junit.finish(manifest.get("partial", ""))
    return tally, [n for _, n in sorted(failing)]


def badness(outcome: Outcome) -> float:
    """What sorts failures worst first: an error before the lowest score."""
    return -1.0 if outcome.verdict.score is None else outcome.verdict.score


def _pictures(folder: Path, figures: Json) -> None:
    """The page and the plots, by the parts that draw; they are heavy, and loaded only here."""
    from answerkey.reports.html import write_page

    write_page(folder, figures)


def write_failures(
    index: JournalIndex | PartsIndex, worst_first: Sequence[int], total: int, profile: Profile | None
) -> None:
    """`worst_first` are the places of the failed cases, or of the worst of `total` where there are very many."""
    path = index.folder / "failures.txt"
    if not worst_first:
        path.unlink(missing_ok=True)
        return
    with path.open("w", encoding="utf-8", errors="replace") as file:
        file.write(f"{total} failed, worst first\n")
        if total > len(worst_first):
            file.write(
                f"the {len(worst_first)} worst are shown; every one is in the Parquet files of {PARTS}/\n"
            )
        for outcome in index.at(worst_first):
            file.write(f"\n{'=' * 88}\n{failure_screen(outcome, profile)}\n")


def write_comparison(comparison: Comparison, folder: Path, cases: int = SHOWN_CASES) -> list[Path]:
    """Write them all and return their paths."""
    drawn = pictures(comparison)
    data = comparison_json(comparison, cases)
    files: dict[str, str | bytes] = {
        "comparison.txt": comparison_text(comparison, cases),
        "comparison.md": comparison_markdown(comparison, cases),
        "comparison.json": json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "comparison.html": page(comparison, drawn, cases),
        **{f"plots/{name}.png": png(picture) for name, picture in drawn.items()},
    }
    try:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            plain = content.encode("utf-8", "replace") if isinstance(content, str) else content
            (folder / name).write_bytes(plain)
    except OSError as error:
        problem = error.strerror or error
        raise StorageError(
            f"{folder}: cannot be written: {problem}; choose another place with --out"
        ) from None
    return [folder / name for name in files]


def pictures(comparison: Comparison) -> dict[str, str]:
    """The charts as SVG, by name; those with nothing to show are left out."""
    charts = {"compare_cases": case_chart(comparison), "compare_metrics": metric_chart(comparison)}
    return {name: svg(spec) for name, spec in charts.items() if spec is not None}


def page(comparison: Comparison, drawn: Mapping[str, str], cases: int = SHOWN_CASES) -> str:
    """The page with its pictures inside."""
    titles = {"compare_cases": "Case by case", "compare_metrics": "Metric by metric"}
    inside = [(titles[name], data_address(picture)) for name, picture in drawn.items()]
    return comparison_page(comparison, inside, cases)
