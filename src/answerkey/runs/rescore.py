"""Scores the answers of an earlier run again, with another profile, judge, model or metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from answerkey.config.declare import TomlTable, read_table
from answerkey.config.tables import EntailmentTable
from answerkey.errors import InputError, SettingsError
from answerkey.runs.control import Finished, Options, Stop, Watch
from answerkey.runs.execute import run_prepared
from answerkey.runs.manifest import Manifest
from answerkey.runs.prepare import prepare
from answerkey.runs.resume import run_to_resume
from answerkey.runs.store import open_reader, read_manifest
from answerkey.runs.suite import Suite, load_suite, suite_of
from answerkey.types import Case
from answerkey.user_code import names_code


def rescore(
    folder: Path,
    changes: TomlTable,
    out: Path | None = None,
    watch: Watch | None = None,
    stop: Stop | None = None,
    *,
    resume: bool = False,
    allow_code: bool = False,
) -> Finished:
    """`changes` are suite settings by name (profile, judge, embedding, metrics); the rest stays as it was.

    With `resume`, the newest unfinished rescore of this run is continued; `folder` may be that rescore itself. A finished
    rescore without `changes` and without an unfinished one of its own raises `AlreadyFinished`.
    Without `allow_code`, a run that names Python code is refused: its folder may be somebody else's.
    """
    manifest = read_manifest(folder)
    # Checked before anything of the run is loaded, since loading a module runs it.
    if not allow_code:
        _refuse_code_of_run(folder, manifest, changes)
    source = folder
    resumed = None
    suite = _suite_to_rescore(folder, manifest, changes, as_stored=False).writing_to(
        out or folder.parent
    )
    unfinished_itself = bool(manifest.rescore_of and manifest.partial)
    if resume and not unfinished_itself:
        resumed = run_to_resume(suite, rescored=folder)
    unchanged = all(value is None for key, value in changes.items() if key != "run")
    if resume and resumed is None and manifest.rescore_of and (unfinished_itself or unchanged):
        source = Path(manifest.rescore_of)
        resumed = folder
        suite = _suite_to_rescore(folder, manifest, changes, as_stored=True).writing_to(
            out or folder.parent
        )
    reader = open_reader(source)

    def read_answers() -> Iterator[tuple[int, Case]]:
        # Answers that were never scored are scored now.
        for n, outcome in enumerate(reader.outcomes(unscored=True)):
            yield n, replace(outcome.case, recorded=outcome.response)

    def attempts() -> Iterator[tuple[int, Case]]:
        times = suite.run.repeats
        for n, outcome in enumerate(reader.outcomes(unscored=True)):
            for repeat, attempt in enumerate(outcome.attempts):
                yield n * times + repeat, replace(attempt.case, recorded=attempt.response)

    with closing(prepare(suite, cases=read_answers, new=False)) as made:
        # The answers come from the target of the earlier run, and so does the hash of its settings.
        made.fingerprint["settings"] = manifest.fingerprint.get("settings", "none")
        stored = attempts if suite.run.repeats > 1 else None
        prepared = replace(made, rescore_of=str(source.resolve()), stored=stored)
        return run_prepared(
            prepared, Options(resume=resumed), watch or Watch(), Stop() if stop is None else stop
        )


def suite_of_run(folder: Path, *, allow_code: bool = False) -> Suite:
    """The scoring settings of a run, to score other answers as it did; code is refused as by `rescore`."""
    manifest = read_manifest(folder)
    if not allow_code:
        _refuse_code_of_run(folder, manifest, {})
    # Other answers are scored once each, however often the run asked its cases.
    return _suite_to_rescore(folder, manifest, {"run": {"repeats": 1}}, as_stored=False)


def _refuse_code_of_run(folder: Path, manifest: Manifest, changes: TomlTable) -> None:
    """A run folder is data. Code that it names runs only when the user asks for it."""
    code: list[str] = []
    if changes.get("judge") is None and names_code(manifest.settings.judge):
        code.append(f"judge {manifest.settings.judge}")
    # Read through the table's own checks: run.json may have been edited.
    entailment = read_table(EntailmentTable, manifest.settings.entailment or {}, "[entailment]")
    if changes.get("entailment") is None and entailment.runs_code:
        code.append(f"entailment model {entailment.model}")
    if manifest.suite:
        suite_path = Path(manifest.suite)
    else:
        suite_path = None
    if suite_path and suite_path.is_file():
        code += [f"module {module}" for module in load_suite(suite_path).modules]
    if code:
        raise SettingsError(
            f"{folder}: run.json names Python code ({', '.join(code)}), and a run folder may come "
            "from somebody else; add --allow-code if you trust it"
        )


def _suite_to_rescore(
    folder: Path, manifest: Manifest, changes: TomlTable, *, as_stored: bool
) -> Suite:
    """The suite as run.json has it; modules with the user's own metrics come from the suite's file, if it still exists."""
    if manifest.suite:
        path = Path(manifest.suite)
    else:
        path = None
    if path and path.is_file():
        beside = load_suite(path)
    else:
        beside = None
    settings = manifest.settings
    profile = manifest.load_profile()
    if as_stored or beside is None:
        judged = settings
    else:
        judged = beside
    table = {
        "name": manifest.name,
        # A suite needs cases; the answers come from the run, so any name will do.
        "cases": list(settings.cases) or ["-"],
        "profile": manifest.profile,
        # The profile brings its own metrics; those of another profile must not stay behind.
        "metrics": [
            name for name in manifest.metrics if profile is None or name not in profile.metrics
        ],
        "judge": judged.judge,
        "embedding": judged.embedding or {},
        "entailment": judged.entailment or {},
        "modules": list(beside.modules) if beside else [],
        "gate": {"require": list(manifest.gate)},
        "statistics": {"cluster": settings.statistics.cluster},
        **{key: value for key, value in changes.items() if value is not None},
        # After the changes: a change of `run` adds to the repeats and does not replace them.
        "run": {
            "repeats": settings.run.repeats,
            "require": settings.run.require,
            **changes.get("run", {}),
        },
    }
    if not table["metrics"] and table["profile"] is None:
        raise InputError(f"{folder}: this run has no profile; give one with --profile")
    set_keys = {key: value for key, value in table.items() if value is not None}
    suite = suite_of(set_keys, beside.folder if beside else Path.cwd())
    criteria = {
        each.name: each for each in (*manifest.criteria, *(beside.criteria if beside else ()))
    }
    return replace(
        suite,
        path=path,
        settings=beside.settings if beside else {},
        criteria=tuple(criteria.values()),
    )
