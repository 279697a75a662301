"""A finished run as a Python object: outcomes, summary, tables, files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, overload

from answerkey.display import data_frame, html_bars, html_table, html_text, rate_text
from answerkey.errors import InputError, StorageError, did_you_mean
from answerkey.reports.failures import badness
from answerkey.reports.write import write_reports
from answerkey.runs.gates import answer_gates, parse_gates
from answerkey.runs.manifest import Manifest, write_manifest
from answerkey.runs.records import result_line
from answerkey.runs.store import (
    FolderStore,
    Scored,
    new_folder,
    read_manifest,
    read_outcomes,
    sealed,
)
from answerkey.runs.summary import RunInfo, Summary, summarise
from answerkey.text import format_count
from answerkey.types import Json, Outcome, Profile, Status

if TYPE_CHECKING:
    import pandas

_WORST_SHOWN = 5


class Run:
    """All outcomes of one evaluation. `evaluate`, `run_suite` and `open_run` return it.

    >>> run = answerkey.evaluate(rows, metrics=["token_f1"])  # doctest: +SKIP
    >>> run.summary.mean["token_f1"], len(run), run["q17"].response.answer  # doctest: +SKIP
    (0.83, 50, '30 days')
    """

    def __init__(
        self,
        manifest: Manifest,
        outcomes: Sequence[Outcome] | None = None,
        folder: Path | None = None,
    ):
        self.manifest, self.folder, self._given = manifest, folder, outcomes

    @cached_property
    def outcomes(self) -> Sequence[Outcome]:
        """Case, response, scores and verdict of every case, in order."""
        if self._given is not None:
            return self._given
        return list(read_outcomes(self.folder or Path()))

    @cached_property
    def profile(self) -> Profile | None:
        """The scoring profile, if there is one."""
        return self.manifest.load_profile()

    @cached_property
    def summary(self) -> Summary:
        """The figures: `summary.pass_rate`, `summary.mean["token_f1"]`, `summary.gates` and more."""
        summary = summarise(self.outcomes, self.profile, RunInfo.of_manifest(self.manifest))
        gates = answer_gates(parse_gates(self.manifest.gate), summary)
        return replace(summary, gates=tuple(gates))

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def partial(self) -> str:
        """Why the run is incomplete; empty if it is complete."""
        return self.manifest.partial

    @property
    def passed(self) -> bool:
        """Whether every gate holds and no case ended in an error."""
        gates = all(gate.passed for gate in self.summary.gates)
        return gates and not self.partial and not self.summary.figures.totals.errors

    def failures(self) -> list[Outcome]:
        """The outcomes that did not pass or ended in an error, worst first."""
        failed = (
            o for o in self.outcomes if not o.verdict.passed and o.verdict.status != Status.SCORED
        )
        return sorted(failed, key=badness)

    def to_dicts(self) -> list[Json]:
        """One dict per case, as in results.jsonl."""
        return [result_line(outcome) for outcome in self.outcomes]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per case: id, question, answer, status, score, and a column per metric."""
        return data_frame([_table_row(outcome) for outcome in self.outcomes])

    def save(self, out: str | Path = "results") -> Path:
        """Write a run folder with all reports into `out`, and return its path; `answerkey view` shows it."""
        if self.folder is not None:
            target = Path(out) / self.folder.name
            if target.resolve() != self.folder.resolve():
                shutil.copytree(self.folder, target)
            return target
        folder = new_folder(Path(out), self.name)
        self._write(folder)
        write_reports(folder)
        return folder

    def to_html(self, path: str | Path) -> Path:
        """Write the report as one HTML page, and return its path."""
        with TemporaryDirectory() as temporary:
            folder = self.folder or Path(temporary)
            if self.folder is None:
                self._write(folder)
            if not (folder / "report.html").is_file():
                write_reports(folder)
            try:
                shutil.copyfile(folder / "report.html", path)
            except OSError as error:
                raise StorageError(
                    f"{path}: cannot be written: {error.strerror}; choose another path"
                ) from None
        return Path(path)

    def _write(self, folder: Path) -> None:
        write_manifest(folder, self.manifest)
        store = FolderStore(folder)
        try:
            times = max(len(outcome.attempts) for outcome in self.outcomes) if self.outcomes else 1
            numbered = [
                (n * max(times, 1) + repeat, attempt)
                for n, outcome in enumerate(self.outcomes)
                for repeat, attempt in enumerate(outcome.attempts or (outcome,))
            ]
            store.add_answers([(n, outcome.case, outcome.response) for n, outcome in numbered])
            store.add_scores([Scored(n, outcome) for n, outcome in numbered])
        finally:
            store.close()
        write_manifest(folder, sealed(folder, self.manifest))

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {outcome.case.id: n for n, outcome in enumerate(self.outcomes)}

    @overload
    def __getitem__(self, key: str | int) -> Outcome: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, key: str | int | slice) -> Outcome | Sequence[Outcome]:
        """The outcome of a case id or position; a slice gives several."""
        if not isinstance(key, str):
            return self.outcomes[key]
        if key not in self._places:
            raise InputError(f'no case "{key}" in this run{did_you_mean(key, self._places)}')
        return self.outcomes[self._places[key]]

    def __repr__(self) -> str:
        """Three lines: how many passed, the means, the worst cases."""
        worst = ", ".join(f"{o.case.id} ({_reason(o, 60)})" for o in self.failures()[:3])
        none = (
            "no failures"
            if self.profile is not None
            else "not known; a profile decides which cases pass"
        )
        means = [
            f"{name} {'-' if m.mean is None else f'{m.mean:.3f}'} ({m.n}/{m.of})"
            for name, m in self.summary.figures.average_scores.items()
        ]
        return "\n".join(
            [self._headline(), "  mean: " + ", ".join(means), f"  worst: {worst or none}"]
        )

    def _headline(self) -> str:
        figures = self.summary.figures
        passed = ""
        if self.profile is not None:
            rate = rate_text(figures.pass_rate, figures.pass_rate_ci95)
            passed = f", {figures.totals.passed} passed, {rate}"
        errors = (
            f", {format_count(figures.totals.errors, 'error')}" if figures.totals.errors else ""
        )
        partial = f"; incomplete: {self.partial}" if self.partial else ""
        return f"Run {self.name}: {format_count(len(self), 'case')}{passed}{errors}{partial}"

    def _repr_html_(self) -> str:
        """The pass rate with its interval, the metrics, and the worst cases."""
        figures = self.summary.figures
        metrics = [
            (
                name,
                m.mean,
                f"{m.ci95[0]:.3f} to {m.ci95[1]:.3f}" if m.ci95 else "",
                f"{m.n}/{m.of}",
                m.errors or "",
            )
            for name, m in figures.average_scores.items()
        ]
        worst = [
            (
                o.case.id,
                o.verdict.score,
                o.case.question[:80],
                (o.response.answer or "")[:120],
                _reason(o, 200),
            )
            for o in self.failures()[:_WORST_SHOWN]
        ]
        parts = [f"<b>{html_text(self._headline())}</b>"]
        if self.summary.bands:
            parts.append(html_bars(self.summary.bands))
        parts.append(html_table(metrics, ("metric", "mean", "95% CI", "scored", "errors")))
        if worst:
            parts += [
                "<b>worst cases</b>",
                html_table(worst, ("case", "score", "question", "answer", "reason")),
            ]
        return "<div>" + "".join(parts) + "</div>"


def open_run(path: str | Path) -> Run:
    """The run in a folder, as `evaluate(out=…)`, `Run.save` and `answerkey run` write it.

    >>> open_run("results/support-bot_20260102_030405").summary.pass_rate  # doctest: +SKIP
    0.92
    """
    return Run(read_manifest(Path(path)), folder=Path(path))


def _reason(outcome: Outcome, longest: int) -> str:
    text = outcome.response.error or outcome.verdict.justification or outcome.verdict.status
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _table_row(outcome: Outcome) -> dict[str, object]:
    case, verdict = outcome.case, outcome.verdict
    expected = case.expected[0] if len(case.expected) == 1 else list(case.expected) or None
    return {
        "id": case.id,
        "question": case.question,
        "expected": expected,
        "answer": outcome.response.answer,
        "status": str(verdict.status),
        "score": verdict.score,
        "passed": None if verdict.status == Status.SCORED else verdict.passed,
        **{name: score.value for name, score in outcome.scores.items()},
        "error": outcome.response.error,
    }
