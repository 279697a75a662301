"""A new run from the answers of an earlier one, scored with another profile, judge or metrics. Nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from answerkey.config.declare import TomlTable
from answerkey.errors import InputError
from answerkey.runs.control import Finished, Options, Stop, Watch
from answerkey.runs.execute import run_prepared
from answerkey.runs.manifest import Manifest
from answerkey.runs.prepare import prepare
from answerkey.runs.resume import run_to_resume
from answerkey.runs.store import open_index, read_manifest
from answerkey.runs.suite import Suite, load_suite, suite_of
from answerkey.types import Case


def rescore(
    folder: Path,
    changes: TomlTable,
    out: Path | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
    *,
    resume: bool = False,
) -> Finished:
    """`changes` are suite settings by name (profile, judge, embedding, metrics); the rest stays as it was.

    With `resume`, the newest unfinished rescore of this run is continued; `folder` may be that rescore itself.
    """
    manifest = read_manifest(folder)
    resumed = folder if resume and manifest.rescore_of and manifest.partial else None
    source = Path(manifest.rescore_of) if resumed and manifest.rescore_of else folder
    suite = _suite(folder, manifest, changes, as_stored=resumed is not None)
    suite = suite.writing_to(out or folder.parent)
    if resume and resumed is None:
        resumed = run_to_resume(suite, rescored=source)
    index = open_index(source)

    def answered() -> Iterator[tuple[int, Case]]:
        for n, outcome in enumerate(index.outcomes(unscored=True)):
            yield n, replace(outcome.case, recorded=outcome.response)

    def attempts() -> Iterator[tuple[int, Case]]:
        times = suite.run.repeats
        for n, outcome in enumerate(index.outcomes(unscored=True)):
            for repeat, attempt in enumerate(outcome.attempts):
                yield n * times + repeat, replace(attempt.case, recorded=attempt.response)

    with closing(prepare(suite, cases=answered, new=False)) as made:
        # The answers come from the target of the earlier run, and so does the hash of its settings.
        made.fingerprint["settings"] = manifest.fingerprint.get("settings", "none")
        stored = attempts if suite.run.repeats > 1 else None
        prepared = replace(made, rescore_of=str(source.resolve()), stored=stored)
        return run_prepared(prepared, Options(resume=resumed), watch or Watch(), Stop() if stop is None else stop)


def _suite(folder: Path, manifest: Manifest, changes: TomlTable, *, as_stored: bool) -> Suite:
    """The suite as run.json has it; modules with the user's own metrics come from the suite's file, if it still exists."""
    path = Path(manifest.suite) if manifest.suite else None
    beside = load_suite(path) if path and path.is_file() else None
    settings, profile = manifest.settings, manifest.load_profile()
    judged = settings if as_stored or beside is None else beside
    table = {
        "name": manifest.name,
        "cases": list(settings.cases) or ["-"],
        "profile": manifest.profile,
        "metrics": [name for name in manifest.metrics if profile is None or name not in profile.metrics],
        "judge": judged.judge,
        "embedding": judged.embedding or {},
        "modules": list(beside.modules) if beside else [],
        "gate": {"require": list(manifest.gate)},
        "statistics": {"cluster": settings.statistics.cluster},
        **{key: value for key, value in changes.items() if value is not None},
        "run": {"repeats": settings.run.repeats, "require": settings.run.require, **changes.get("run", {})},
    }
    if not table["metrics"] and table["profile"] is None:
        raise InputError(f"{folder}: this run has no profile; give one with --profile")
    given = {key: value for key, value in table.items() if value is not None}
    suite = suite_of(given, beside.folder if beside else Path.cwd())
    criteria = {each.name: each for each in (*manifest.criteria, *(beside.criteria if beside else ()))}
    return replace(suite, path=path, settings=beside.settings if beside else {}, criteria=tuple(criteria.values()))
