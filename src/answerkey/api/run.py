"""A finished run as a Python object: outcomes, summary, tables, files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, overload

from answerkey.errors import InputError, SettingsError, StorageError, did_you_mean
from answerkey.types import Json, Outcome, Profile, Status

if TYPE_CHECKING:
    import pandas

    from answerkey.api.rows import UserFrame
    from answerkey.reports.svg_bars import Plot
    from answerkey.robustness.run import VariantReport
    from answerkey.runs.manifest import Manifest
    from answerkey.runs.summary import Summary

_UNDECIDED = (Status.SCORED, Status.UNSCORED)


class Run:
    """All outcomes of one evaluation. `evaluate`, `run_suite` and `open_run` return it.

    >>> run = answerkey.evaluate(rows)  # doctest: +SKIP
    >>> run.summary.mean["groundedness"], len(run), run["q17"].verdict.why  # doctest: +SKIP
    (0.83, 50, 'Says 28 days, expected 25 days.')
    """

    def __init__(
        self,
        manifest: Manifest | Callable[[], Manifest],
        outcomes: Sequence[Outcome] | None = None,
        folder: Path | None = None,
        frame: UserFrame | None = None,
    ):
        self._manifest = manifest
        self._outcomes = outcomes
        self._frame = frame  # the user's data frame, whose rows `to_pandas` gives back
        self.folder = folder
        # The figures of the variants, where `evaluate` asked them.
        self.variants: VariantReport | None = None

    @cached_property
    def manifest(self) -> Manifest:
        """The settings and versions that made the run, as in run.json."""
        if callable(self._manifest):
            return self._manifest()
        return self._manifest

    @cached_property
    def outcomes(self) -> Sequence[Outcome]:
        """Case, response, scores and verdict of every case, in order."""
        if self._outcomes is not None:
            return self._outcomes
        from answerkey.runs.store import read_outcomes

        return list(read_outcomes(self.folder or Path()))

    @cached_property
    def profile(self) -> Profile | None:
        """The scoring profile, if there is one."""
        return self.manifest.load_profile()

    @cached_property
    def summary(self) -> Summary:
        """The figures: `summary.pass_rate`, `summary.mean["token_f1"]`, `summary.gates` and more."""
        from answerkey.runs.gates import answer_gates, parse_gates
        from answerkey.runs.summary import RunInfo, summarise

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
    def passed(self) -> bool | None:
        """Whether every gate holds and no case ended in an error; None without gates."""
        # Errors and an early stop fail the run, whatever its gates say.
        if self.partial or self.summary.figures.totals.errors:
            return False
        # Without a condition there is nothing to hold, however many cases fail.
        if not self.summary.gates:
            return None
        return all(gate.passed for gate in self.summary.gates)

    def failures(self) -> list[Outcome]:
        """The outcomes that did not pass or ended in an error, worst first.

        Raises `AnswerkeyError` for a run without a profile: nothing passes or fails there.
        """
        if self.profile is None:
            raise SettingsError(
                "this run has no profile, so that no case passes or fails; run.worst(10) lists "
                "the lowest scores, and evaluate(data) without metrics chooses a profile"
            )
        return self._list_failures()

    def _list_failures(self) -> list[Outcome]:
        from answerkey.reports.failures import badness

        decided = (o for o in self.outcomes if o.verdict.status not in _UNDECIDED)
        return sorted((o for o in decided if not o.verdict.passed), key=badness)

    def worst(self, count: int = 10) -> list[Outcome]:
        """The lowest outcomes first: errors, then by the profile's score, or by the mean of the metrics."""
        from answerkey.api.worst import order_worst_first

        return order_worst_first(self.outcomes)[:count]

    def to_dicts(self) -> list[Json]:
        """One dict per case, as in results.jsonl."""
        from answerkey.runs.records import result_line

        return [result_line(outcome) for outcome in self.outcomes]

    def to_pandas(self) -> pandas.DataFrame:
        """Your rows with all their columns, then passed, why, kind, cause, score and a column per metric."""
        from answerkey.api.frame import result_frame

        return result_frame(self.outcomes, self.manifest, self._frame)

    def plot(self) -> Plot:
        """Charts for a notebook: how many passed, the kinds of failures, the mean of each metric."""
        from answerkey.api.notebook import run_plot

        return run_plot(self)

    def save(self, out: str | Path = "results") -> Path:
        """Write a run folder with all reports into `out`, and return its path; `answerkey view` shows it."""
        from answerkey.reports.write import write_reports
        from answerkey.runs.store import new_folder

        if self.folder is not None:
            target = Path(out) / self.folder.name
            # Saved to the place where it is, the folder would be copied onto itself.
            if target.resolve() != self.folder.resolve():
                shutil.copytree(self.folder, target)
            return target
        folder = new_folder(Path(out), self.name)
        self._write(folder)
        write_reports(folder)
        return folder

    def to_html(self, path: str | Path) -> Path:
        """Write the report as one HTML page, and return its path."""
        from answerkey.files import read_json
        from answerkey.reports.html import run_page_html
        from answerkey.reports.write import write_reports
        from answerkey.runs.store import open_reader
        from answerkey.runs.stored_table import read_stored_table
        from answerkey.runs.summary import Summary

        with TemporaryDirectory() as temporary:
            folder = self.folder or Path(temporary)
            if self.folder is None:
                self._write(folder)
            if not (folder / "summary.json").is_file():
                write_reports(folder, charts=False)
            summary = Summary.of_json(read_json((folder / "summary.json").read_bytes()))
            # Not a copy of report.html: its links lead to files that are not beside `path`.
            page = run_page_html(folder, summary, read_stored_table(open_reader(folder)))
            try:
                Path(path).write_text(page, encoding="utf-8")
            except OSError as error:
                raise StorageError(
                    f"{path}: cannot be written: {error.strerror}; choose another path"
                ) from None
        return Path(path)

    def _write(self, folder: Path) -> None:
        from answerkey.runs.manifest import write_manifest
        from answerkey.runs.store import FolderStore, with_record_counts

        # The store needs a run folder; the number of its records is known only at the end.
        write_manifest(folder, self.manifest)
        with closing(FolderStore(folder, self.manifest)) as store:
            store.add_outcomes(enumerate(self.outcomes))
        write_manifest(folder, with_record_counts(folder, self.manifest))

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
        """The outcome of a case id or position, a card in a notebook; a slice gives several."""
        if not isinstance(key, str):
            return self.outcomes[key]
        if key not in self._places:
            raise InputError(f'no case "{key}" in this run{did_you_mean(key, self._places)}')
        return self.outcomes[self._places[key]]

    def __repr__(self) -> str:
        """How many passed, the means, and the worst cases with the reason."""
        from answerkey.api.notebook import run_text

        return run_text(self)

    def _repr_html_(self) -> str:
        """The pass rate with its interval, the metrics, and the worst cases."""
        from answerkey.api.notebook import run_html

        return run_html(self)


def open_run(path: str | Path) -> Run:
    """The run in a folder, as `evaluate(out=…)`, `Run.save` and `answerkey run` write it.

    A folder of runs, or a suite, stands for its newest complete run.

    >>> open_run("results").summary.pass_rate  # doctest: +SKIP
    0.92
    """
    from answerkey.runs.newest import find_run
    from answerkey.runs.store import read_manifest

    folder = find_run(Path(path))
    return Run(read_manifest(folder), folder=folder)
