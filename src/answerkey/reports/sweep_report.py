"""The report of a sweep for people: as text, as Markdown, and its files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from answerkey.experiments.choice import Best, Conclusions, setting_name
from answerkey.experiments.grid import METRICS, NAMED
from answerkey.experiments.sweep import Sweep
from answerkey.experiments.sweep_files import times, write_files
from answerkey.files import json_text, write_file
from answerkey.reports.markdown import escape_markdown
from answerkey.reports.plots import can_draw, write_plots
from answerkey.reports.tables import align_columns
from answerkey.retrieval.bm25 import AUTO

REPORT_TEXT, REPORT_MARKDOWN = "report.txt", "report.md"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and a table whose first row names the columns."""

    title: str
    lines: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def write_sweep(sweep: Sweep, found: Conclusions, folder: Path, plots: bool = True) -> bool:
    """Every file of a sweep; False where image files of the charts need an extra that is missing."""
    write_files(sweep, found, folder)
    sections = sweep_sections(sweep, found)
    write_file(folder / REPORT_TEXT, "\n".join(_text(sections)) + "\n")
    lines: list[str] = []
    for section in sections:
        lines += [
            f"## {escape_markdown(section.title)}",
            "",
            *(f"{escape_markdown(line)}\n" for line in section.lines),
        ]
        if section.rows:
            first, *rest = (
                f"| {' | '.join(escape_markdown(text) for text in row)} |" for row in section.rows
            )
            lines += [first, "|---|" + "---:|" * (len(section.rows[0]) - 1), *rest, ""]
    write_file(folder / REPORT_MARKDOWN, "\n".join(lines) + "\n")
    if not plots:
        return True
    from answerkey.reports.sweep_charts import sweep_charts

    charts = sweep_charts(sweep, found)
    write_file(folder / "charts.json", json_text(charts))  # the viewer draws these
    if can_draw():
        write_plots(folder / "plots", charts)
    return can_draw()


def sweep_text(sweep: Sweep, found: Conclusions) -> str:
    return "\n".join(_text(sweep_sections(sweep, found)))


def sweep_sections(sweep: Sweep, found: Conclusions) -> list[Section]:
    """What was found first, then the figures behind it."""
    settings, index = sweep.settings, sweep.setups[0]
    scored = f"scored {int(sweep.labelled.sum())}/{len(sweep.cases)} queries; {index.source}, {len(index.pages)} pages"
    language = f"{index.language}{' detected' if settings.language == AUTO else ''}"
    how = f"BM25 {settings.bm25} (k1 = {settings.k1:g}, b = {settings.b:g}, language: {language})"
    how = f"{how}; dense: {index.dense_search if index.dense is not None else 'none'}"
    row, by_k = sweep.topk[found.setup], [["K", *METRICS]]
    for column in (column for n, column in sweep.places if n == row):
        means = sweep.values[row, column, sweep.labelled].mean(axis=0)
        by_k.append([str(sweep.ks[column]), *(f"{value:.4f}" for value in means)])
    sections = [
        Section(
            "Best setting",
            [found.best.sentence, f"chosen by {sweep.plan.select_name}; {scored}", how],
        ),
        _methods(sweep, found),
        Section("α", [found.alpha.sentence]),
        Section(
            f"Top K at {setting_name(sweep, (row, 0), with_k=False)}", [found.topk.sentence], by_k
        ),
    ]
    if found.setups:
        rows = [["index", "best setting", sweep.plan.select_name, "unseen"]]
        rows += [
            [
                sweep.setup_name(n),
                setting_name(sweep, best.winner).replace(f" on {sweep.setup_name(n)}", ""),
                f"{best.value:.4f}",
                _unseen(best),
            ]
            for n, best in enumerate(found.setups)
        ]
        sections.append(Section("Chunking and model", [], rows))
    if found.types:
        rows = [
            ["question type", "queries", "best setting", sweep.plan.select_name, "unseen", "note"]
        ]
        rows += [
            [
                one.type,
                str(one.best.queries),
                setting_name(sweep, one.best.winner),
                f"{one.best.value:.4f}",
                _unseen(one.best),
                one.note or ("keep the default" if one.best.keep_default else ""),
            ]
            for one in found.types
        ]
        sections.append(
            Section("By question type", [found.routing.sentence] if found.routing else [], rows)
        )
    if warnings := sweep.check.warnings:
        sections.append(Section("Labels", warnings))
    return sections


def _unseen(best: Best) -> str:
    return "-" if best.unseen is None else f"{best.unseen:.4f}"


def _methods(sweep: Sweep, found: Conclusions) -> Section:
    """The methods at the main K, best first."""
    rows = [[f"K = {sweep.ks[sweep.main]}", *METRICS, "ms mean ± sd", "p95"]]
    chosen = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1)
    means = sweep.values[:, sweep.main][:, sweep.labelled].mean(axis=1)
    for row in sorted(sweep.method_rows(found.setup), key=lambda row: -chosen[row]):
        taken = times(sweep, row)
        spent = (
            [f"{taken['mean']:.1f} ± {taken['sd']:.1f}", f"{taken['p95']:.1f}"]
            if taken
            else ["-", "-"]
        )
        rows.append([sweep.variants[row].name, *(f"{value:.4f}" for value in means[row]), *spent])
    lines = [found.method.sentence]
    dense = next(name for name, alpha in NAMED.items() if alpha == 1.0)
    if any(row[0] == dense for row in rows):
        lines.append(
            f"{dense} is dense search alone; here: {sweep.setups[found.setup].dense_search}"
        )
    return Section("Methods", lines, rows)


def _text(sections: Sequence[Section]) -> list[str]:
    lines: list[str] = []
    for section in sections:
        lines += [
            "",
            section.title,
            "-" * len(section.title),
            *section.lines,
            *align_columns(section.rows),
        ]
    return lines[1:]
