"""The report of a sweep for people: as text, as Markdown, and its files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from answerkey.experiments.choice import Best, Conclusions, setting_name
from answerkey.experiments.plan import METRICS, NAMED
from answerkey.experiments.sweep import Setting, Sweep
from answerkey.experiments.sweep_files import readings, search_times, write_files
from answerkey.files import json_text, write_file
from answerkey.reports.markdown import escape_markdown
from answerkey.reports.plots import can_draw, write_plots
from answerkey.reports.tables import align_columns
from answerkey.retrieval.search_words import AUTO

REPORT_TEXT = "report.txt"
REPORT_MARKDOWN = "report.md"
_TIMES = ["ms mean ± sd", "p95"]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and a table whose first row names the columns."""

    title: str
    lines: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    def text_lines(self) -> list[str]:
        return ["", self.title, "-" * len(self.title), *self.lines, *align_columns(self.rows)]

    def markdown_lines(self) -> list[str]:
        lines = [f"## {escape_markdown(self.title)}", ""]
        lines += [f"{escape_markdown(line)}\n" for line in self.lines]
        if not self.rows:
            return lines
        first, *rest = (
            f"| {' | '.join(escape_markdown(cell) for cell in row)} |" for row in self.rows
        )
        return [*lines, first, "|---|" + "---:|" * (len(self.rows[0]) - 1), *rest, ""]


def write_sweep(sweep: Sweep, conclusions: Conclusions, folder: Path, plots: bool = True) -> bool:
    """Write every file of a sweep; False where images of the charts need a missing extra."""
    write_files(sweep, conclusions, folder)
    sections = sweep_sections(sweep, conclusions)
    markdown = [line for section in sections for line in section.markdown_lines()]
    write_file(folder / REPORT_TEXT, sweep_text(sweep, conclusions) + "\n")
    write_file(folder / REPORT_MARKDOWN, "\n".join(markdown) + "\n")
    if not plots:
        return True
    from answerkey.reports.sweep_charts import sweep_charts

    charts = sweep_charts(sweep, conclusions)
    write_file(folder / "charts.json", json_text(charts))  # the viewer draws these
    if can_draw():
        write_plots(folder / "plots", charts)
    return can_draw()


def sweep_text(sweep: Sweep, conclusions: Conclusions) -> str:
    """The report as plain text."""
    sections = sweep_sections(sweep, conclusions)
    # The first line is blank, as it separates sections.
    return "\n".join([line for section in sections for line in section.text_lines()][1:])


def sweep_sections(sweep: Sweep, conclusions: Conclusions) -> list[Section]:
    """The conclusions first, then the figures behind them."""
    sections = [
        _best_section(sweep, conclusions),
        _readings_section(sweep, conclusions.best),
        _methods_section(sweep, conclusions),
        _alpha_section(sweep, conclusions),
        _topk_section(sweep, conclusions),
    ]
    if conclusions.setups:
        sections.append(_setups_section(sweep, conclusions))
    if conclusions.types:
        sections.append(_types_section(sweep, conclusions))
    if sweep.check.warnings:
        sections.append(Section("Labels", sweep.check.warnings))
    return sections


def _best_section(sweep: Sweep, conclusions: Conclusions) -> Section:
    settings = sweep.settings
    index = sweep.setups[0]
    language = index.language
    if settings.language == AUTO:
        language = f"{language} detected"
    if index.dense is None:
        dense = "none"
    else:
        dense = index.dense_search
    scored = f"scored {int(sweep.labelled.sum())}/{len(sweep.cases)} queries"
    lines = [
        conclusions.best.sentence,
        f"chosen by {sweep.plan.select_name}; {scored}; {index.source}, {len(index.pages)} pages",
        f"BM25 {settings.bm25} (k1 = {settings.k1:g}, b = {settings.b:g}, language: {language}); "
        f"dense: {dense}",
    ]
    without_id = sum(not chunk.page for chunk in index.chunks)
    if without_id:
        lines.append(
            f"{without_id} of {len(index.chunks)} chunks have no page (N/A or empty): they stay "
            "apart and can never be a hit"
        )
    return Section("Best setting", lines)


def _readings_section(sweep: Sweep, best: Best) -> Section:
    """F1, hit rate and MRR of the best setting, each beside the usual minimum."""
    rows = [["metric", "value", "enough above", "reading"]]
    for name, reading in readings(sweep, best).items():
        if reading["is_enough"]:
            verdict = "enough"
        else:
            verdict = "low: see `answerkey diagnose`"
        rows.append([name, f"{reading['value']:.4f}", f"{reading['enough_above']}", verdict])
    return Section("Readings", [f"of {setting_name(sweep, best.winner)}"], rows)


def _methods_section(sweep: Sweep, conclusions: Conclusions) -> Section:
    """The methods at the main K, best first."""
    chosen = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1)
    methods = sorted(sweep.method_rows(conclusions.setup), key=lambda row: -chosen[row])
    rows = [[f"K = {sweep.ks[sweep.main]}", *METRICS, *_TIMES]]
    for row in methods:
        name = sweep.variants[row].name
        rows.append([name, *_mean_cells(sweep, (row, sweep.main)), *_time_cells(sweep, row)])
    lines = [conclusions.method.sentence]
    dense = next(name for name, alpha in NAMED.items() if alpha == 1.0)
    index = sweep.setups[conclusions.setup]
    if index.dense is not None and any(row[0] == dense for row in rows):
        lines.append(f"{dense} is dense search alone; here: {index.dense_search}")
    return Section("Methods", lines, rows)


def _alpha_section(sweep: Sweep, conclusions: Conclusions) -> Section:
    rows = [["α", *METRICS, *_TIMES]]
    for row in sweep.alpha_rows(conclusions.setup):
        alpha = sweep.variants[row].alpha
        if alpha is not None:
            cells = _mean_cells(sweep, (row, sweep.main))
            rows.append([f"{alpha:g}", *cells, *_time_cells(sweep, row)])
    title = f"α at K = {sweep.ks[sweep.main]}"
    return Section(title, [conclusions.alpha.sentence], rows if len(rows) > 1 else ())


def _topk_section(sweep: Sweep, conclusions: Conclusions) -> Section:
    row = sweep.topk[conclusions.setup]
    rows = [["K", *METRICS]]
    rows += [
        [str(sweep.ks[place[1]]), *_mean_cells(sweep, place)]
        for place in sweep.topk_settings(conclusions.setup)
    ]
    title = f"Top K at {setting_name(sweep, (row, 0), with_k=False)}"
    lines = [conclusions.topk.sentence, f"K is compared by {sweep.plan.topk_name}"]
    return Section(title, lines, rows)


def _setups_section(sweep: Sweep, conclusions: Conclusions) -> Section:
    rows = [["index", "best setting", sweep.plan.select_name, "unseen"]]
    for setup, best in enumerate(conclusions.setups):
        name = sweep.setup_name(setup)
        setting = setting_name(sweep, best.winner).replace(f" on {name}", "")
        rows.append([name, setting, f"{best.value:.4f}", _unseen(best)])
    return Section("Chunking and model", [], rows)


def _types_section(sweep: Sweep, conclusions: Conclusions) -> Section:
    header = ["question type", "queries", "best setting", sweep.plan.select_name, "unseen"]
    rows = [[*header, "best α", "best K", "note"]]
    for choice in conclusions.types:
        best = choice.best
        alpha = sweep.variants[choice.alpha.winner[0]].alpha
        note = choice.note
        if not note and best.keep_default:
            note = "keep the default"
        rows.append(
            [
                choice.type,
                str(best.queries),
                setting_name(sweep, best.winner),
                f"{best.value:.4f}",
                _unseen(best),
                "-" if alpha is None else f"{alpha:g}",
                str(sweep.ks[choice.k.winner[1]]),
                note,
            ]
        )
    routings = (conclusions.routing, conclusions.k_routing)
    lines = [routing.sentence for routing in routings if routing is not None]
    return Section("By question type", lines, rows)


def _mean_cells(sweep: Sweep, place: Setting) -> list[str]:
    """Mean ± standard deviation of every metric over the labelled queries."""
    table = sweep.values[place][sweep.labelled]
    means = table.mean(axis=0).tolist()
    if len(table) < 2:
        return [f"{mean:.4f}" for mean in means]
    spreads = table.std(axis=0, ddof=1).tolist()
    return [f"{mean:.4f} ± {sd:.2f}" for mean, sd in zip(means, spreads, strict=True)]


def _time_cells(sweep: Sweep, row: int) -> list[str]:
    taken = search_times(sweep, row)
    if taken is None:
        return ["-", "-"]
    return [f"{taken['mean']:.1f} ± {taken['sd']:.1f}", f"{taken['p95']:.1f}"]


def _unseen(best: Best) -> str:
    if best.unseen is None:
        return "-"
    return f"{best.unseen:.4f}"
