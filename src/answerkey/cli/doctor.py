"""`answerkey doctor`: check the installation, and test the judge."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from answerkey import __version__
from answerkey.cache import cache_folder
from answerkey.cli.output import PATH, end, json_option, print_json, say, show
from answerkey.cli.scoring_options import (
    judge_mode_option,
    judge_model_option,
    judge_settings,
)
from answerkey.embed import load_embedder
from answerkey.errors import (
    EXIT_GATE,
    EXIT_INCOMPLETE,
    EXIT_OK,
    AnswerkeyError,
    Ending,
    IncompleteError,
    SettingsError,
)
from answerkey.files import json_text, write_file
from answerkey.metrics.judge.exam import INJECTION, Exam, ExamAnswer, take_exam
from answerkey.metrics.judge.judged_metrics import Judge, load_judge, without_cache
from answerkey.metrics.judge.track_record import remember
from answerkey.runs.store import is_run, read_manifest
from answerkey.runs.suite import load_suite

OF_SUITE = "the judge of the suite"
BESIDE_RUN = "judge_exam.json"
OK = "ok"
MISSING = "not installed"
ERROR = "error"
_MARKS = {OK: "✓", MISSING: "–", ERROR: "✗"}
# extra: module, package, purpose
_EXTRAS = {
    "charts": ("vl_convert", "vl-convert-python", "charts as PNG and SVG files"),
    "faiss": ("faiss", "faiss-cpu", "dense search with FAISS, reading its index files"),
    "models": ("tokenizers", "tokenizers", "entailment and embedding models by name"),
    "pandas": ("pandas", "pandas", "results as data frames"),
    "parquet": ("pyarrow", "pyarrow", "Parquet files"),
    "pgvector": ("psycopg", "psycopg", "Postgres tables with pgvector"),
    "qdrant": ("qdrant_client", "qdrant-client", "Qdrant collections"),
    "ray": ("ray", "ray", "runs on a cluster"),
    "sentence-transformers": (
        "sentence_transformers",
        "sentence-transformers",
        "other embedding models",
    ),
}

JudgeSettings = Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class InstallationCheck:
    """One line of the report: what was checked, how it went, and the details."""

    name: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class JudgeTest:
    """The result of the judge's exam; `error` is the reason when the judge could not be asked."""

    name: str
    error: str = ""
    exam: Exam | None = None
    json_mode: JudgeTest | None = None  # of a judge that answers with yes or no: the exam in JSON

    def as_json(self, *, large: bool) -> dict[str, object]:
        record: dict[str, object] = {
            "name": self.name,
            "reachable": self.exam is not None,
            "error": self.error or None,
        }
        exam = self.exam
        if exam is None:
            return record | _missing_exam_json(large=large)
        record["resists_injection"] = exam.resists_injection
        if self.json_mode is not None:
            record["json_mode"] = _summarise(self.json_mode)
        if large:
            return record | exam.to_json()
        return record | {
            "passed": exam.passed,
            "right": exam.right,
            "of": len(exam.answers),
            "questions": [_question_json(item) for item in exam.answers],
        }


def _missing_exam_json(*, large: bool) -> dict[str, object]:
    """The fields of an exam that did not take place."""
    record: dict[str, object] = {"passed": False, "right": None, "of": None}
    if large:
        record["kinds"] = {}
    else:
        record["resists_injection"] = None
        record["questions"] = []
    return record


def _question_json(item: ExamAnswer) -> dict[str, object]:
    return {
        "accuracy": item.value,
        "kind": item.kind,
        "question": item.question,
        "answer": item.answer,
        "wanted": item.wanted,
        "reason": item.reason,
        "error": item.error,
        "right": item.right,
    }


def _summarise(test: JudgeTest) -> dict[str, object]:
    """The exam in a few figures, or why there is none."""
    exam = test.exam
    if exam is None:
        return {"passed": False, "right": None, "of": None, "error": test.error}
    return {"passed": exam.passed, "right": exam.right, "of": _count_items(exam)}


def _count_items(exam: Exam) -> int:
    """The items that count: the large exam leaves out those that the judge does not claim to judge."""
    if exam.large:
        return exam.judged_count
    return len(exam.answers)


@click.command("doctor")
@click.argument("suite", required=False, type=PATH, metavar="[SUITE_OR_RUN]")
@click.option(
    "--judge",
    is_flag=False,
    flag_value=OF_SUITE,
    metavar="[NAME]",
    help="A preset, the URL of an endpoint (with --judge-model), or local. Without a name: the large exam for the "
    "judge of the suite or run, or for local.",
)
@judge_model_option
@judge_mode_option
@click.option(
    "--exam",
    type=click.Choice(["short", "large"]),
    help="short: ten questions; large: sixty, with a result by kind.",
)
@click.option(
    "--api-key-env", metavar="NAME", help="Name of the environment variable with the judge's key."
)
@click.option(
    "--no-exam",
    is_flag=True,
    help="Check the installation only; do not call the judge.",
)
@json_option
def doctor_command(
    suite: Path | None,
    judge: str | None,
    judge_model: str | None,
    judge_mode: str | None,
    api_key_env: str | None,
    exam: str | None,
    no_exam: bool,
    as_json: bool,
) -> None:
    """Check the installation, and give the judge an exam: ten questions with known grades, or sixty with --judge.

    The judge is the one of SUITE_OR_RUN or of --judge. The result of the large exam is kept beside the run where one is
    given, and shown in the reports of every run with this judge. Without either, the local judge takes the exam, and its
    result does not affect the exit code. A judge passes the short exam with eight of ten right, including the answer that
    tries to manipulate the grade, and the large one with 80 % of each kind and every injection. A judge that answers with
    yes or no takes the exam in both modes, and the results are shown side by side.

    Exit codes: 0 everything works, 1 the judge failed the exam, 3 a check failed or the judge does not respond.

    \b
    Example:
      answerkey doctor
      answerkey doctor mybot/suite.toml --judge
      answerkey doctor --judge http://127.0.0.1:8080/v1 --judge-model my-model
    """
    if judge is not None and (judge.endswith(".toml") or Path(judge).is_dir()):
        suite = Path(judge)  # `doctor --judge suite.toml`
        judge = OF_SUITE
    large = exam == "large" or (judge == OF_SUITE and exam is None)
    if judge == OF_SUITE:
        judge = None
    settings = _judge_settings(suite, judge, judge_model, api_key_env, judge_mode)
    examination = _Examination(
        # Without its cache: the exam is about its replies now.
        settings=without_cache(settings or "local"),
        folder=suite.parent if suite else Path(),
        large=large,
    )
    examinee = None
    if not no_exam:
        # Loaded before anything is printed, so that a wrong setting is the only message.
        examinee = examination.load_judge()
    checks = check_installation()
    if not as_json:
        _show_checks(checks)
    test = None
    if examinee is not None:
        test = examination.hold(examinee)
        if test.exam is not None and large:
            _remember_exam(test.exam, examinee, suite)
    is_chosen = settings is not None or (large and not no_exam)
    code, verdict = _conclude(checks, test, chosen=is_chosen)
    if as_json:
        judge_json = None if test is None else test.as_json(large=large)
        _print_report(checks, judge_json, code, verdict)
    else:
        if test is not None:
            _show_exam(test)
        show(f"\n{verdict}")
    raise click.exceptions.Exit(end(Ending(code, verdict, gated=is_chosen)))


@dataclass(frozen=True, slots=True)
class _Examination:
    """The exam to hold: of which judge, and whether it is the large one."""

    settings: JudgeSettings
    folder: Path
    large: bool

    def load_judge(self) -> Judge:
        return load_judge(self.settings, folder=self.folder)

    def hold(self, judge: Judge) -> JudgeTest:
        """Examine the judge; one that answers with yes or no is examined in JSON too."""
        if judge.name != "local":
            say(f"asking the judge {'sixty' if self.large else 'ten'} questions …")
        test = examine(judge, large=self.large)
        if test.exam is None or not isinstance(self.settings, Mapping):
            return test
        if self.settings.get("mode") != "yes-no":
            return test
        judge_in_json = load_judge({**self.settings, "mode": "json"}, folder=self.folder)
        return replace(test, json_mode=examine(judge_in_json, large=self.large))


def _remember_exam(exam: Exam, judge: Judge, suite_or_run: Path | None) -> None:
    """Keep the result for the reports of runs with this judge, and beside the run if one is given."""
    remember(judge.fingerprint(), exam=exam.result)
    if suite_or_run is not None and is_run(suite_or_run):
        path = suite_or_run / BESIDE_RUN
        write_file(path, json_text(exam.to_json()))
        say(f"result: {path}")


def _show_checks(checks: list[InstallationCheck]) -> None:
    for check in checks:
        if check.status == OK:
            detail = check.detail
        else:
            detail = f"{check.status}: {check.detail}"
        show(f"{_MARKS[check.status]} {check.name:<22} {detail}")


def _print_report(
    checks: list[InstallationCheck], judge: dict[str, object] | None, code: int, verdict: str
) -> None:
    """Print the result of `--json`."""
    print_json(
        {
            "checks": [asdict(check) for check in checks],
            "judge": judge,
            "ok": code == EXIT_OK,
            "verdict": verdict,
        }
    )


def _judge_settings(
    suite: Path | None, judge: str | None, model: str | None, key: str | None, mode: str | None
) -> JudgeSettings | None:
    if suite is not None:
        if judge is not None:
            raise SettingsError("give a suite or --judge, not both")
        if is_run(suite):
            settings = read_manifest(suite).settings.judge
        else:
            settings = load_suite(suite).judge
        if settings is None:
            raise SettingsError(
                f"{suite} has no [judge]; give --judge local, or leave the suite out"
            )
        if mode is None or not isinstance(settings, Mapping):
            return settings
        return {**settings, "mode": mode}
    table = judge_settings(judge, model, mode=mode)
    if not key:
        return table
    if not isinstance(table, dict):
        raise SettingsError("--api-key-env needs --judge with a preset or a URL")
    return table | {"api_key_env": key}


def check_installation() -> list[InstallationCheck]:
    """Versions, the packaged embedding model, the cache folder, and the optional packages."""
    about = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    return [
        InstallationCheck("answerkey", OK, about),
        _try("embedding model", _check_embedding),
        _try("models by name", _list_models),
        _try("cache folder", _check_cache),
        *(_check_extra(name, *extra) for name, extra in _EXTRAS.items()),
    ]


def _check_extra(name: str, module: str, package: str, purpose: str) -> InstallationCheck:
    # The module is looked up, not imported: some take seconds to load.
    if find_spec(module) is None:
        advice = f"for {purpose}: pip install 'answerkey[{name}]'"
        return InstallationCheck(name, MISSING, advice)
    try:
        return InstallationCheck(name, OK, f"{package} {version(package)}")
    # A module may lack the metadata of its package, as in a checkout on the path.
    except PackageNotFoundError:
        return InstallationCheck(name, OK, package)


def _try(name: str, check: Callable[[], str]) -> InstallationCheck:
    try:
        return InstallationCheck(name, OK, check())
    # A check that fails is a line of the report, not the end of the command.
    except (AnswerkeyError, ImportError, OSError, RuntimeError, ValueError) as error:
        return InstallationCheck(name, ERROR, f"{type(error).__name__}: {error}")


def _list_models() -> str:
    """The fetched models, each with its card."""
    from answerkey.cli.model_listing import describe_snapshots

    rows = [f"{row['name']} ({row['kind']}; {row['card']})" for row in describe_snapshots()]
    return ", ".join(rows) or "none fetched (answerkey models fetch ORG/NAME)"


def _check_embedding() -> str:
    model = load_embedder(cache=False)
    # A damaged model may still give vectors; only their order shows that they mean nothing.
    cat, kitten, law = model.embed(["a cat", "a kitten", "tax law"])
    if float(cat @ kitten) <= float(cat @ law):
        raise RuntimeError(
            f"{model.name} rates a cat closer to tax law than to a kitten: reinstall answerkey"
        )
    return f"{model.name}, {model.precision}, {model.digest[:12]}"


def _check_cache() -> str:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    # Two doctors at the same time must not remove each other's file.
    probe = folder / f".doctor-{os.getpid()}"
    probe.write_text("x")
    probe.unlink()
    return str(folder)


def examine(judge: Judge, *, large: bool) -> JudgeTest:
    """Give the judge its exam; an endpoint that does not respond is reported, not raised."""
    try:
        exam = take_exam(judge, large)
    except IncompleteError as error:
        return JudgeTest(judge.name, str(error))
    finally:
        judge.close()
    silent = [item.error for item in exam.answers if item.error]
    used = judge.usage()
    # Errors without a single call: the endpoint never answered, so there was no exam.
    if len(silent) == len(exam.answers) and used and not used.calls:
        return JudgeTest(judge.name, silent[0].removeprefix("judge: "))
    return JudgeTest(judge.name, exam=exam)


def _show_exam(test: JudgeTest) -> None:
    exam = test.exam
    if exam is None:
        show(f"✗ judge {test.name}: {test.error}")
        return
    show(f"\njudge {test.name}: {exam.right} of {_count_items(exam)} right")
    if test.json_mode is not None:
        show(f"  with yes and no; in JSON: {_describe_exam(test.json_mode)}")
    if exam.large:
        _show_kinds(exam)
        _show_wrong_answers(exam)
    else:
        _show_all_answers(exam)


def _show_kinds(exam: Exam) -> None:
    """A line for each kind of question in the large exam."""
    for kind, result in exam.kinds.items():
        if not result.is_claimed:
            show(f"  – {kind:<13} can't judge this")
            continue
        mark = "✗" if kind in exam.failed_kinds else "✓"
        tally = f"{result.right} of {result.of}"
        if result.not_judged:
            tally += f", {result.not_judged} it can't judge"
        show(f"  {mark} {kind:<13} {tally}")


def _show_wrong_answers(exam: Exam) -> None:
    for item in exam.answers:
        # None: the judge does not claim to judge this kind.
        if item.right is False:
            grade = item.error or item.given
            show(f"    {item.kind}: {_start(item.answer)} {grade}; expected {item.wanted}")


def _show_all_answers(exam: Exam) -> None:
    for item in exam.answers:
        if item.value is None:
            grade = f"no grade: {item.error}"
        else:
            grade = f"accuracy {item.value:g}"
        mark = "✓" if item.right else "✗"
        show(f"  {mark} {item.kind:<10} {_start(item.answer)} {grade}, expected {item.wanted}")


def _describe_exam(test: JudgeTest) -> str:
    if test.exam is None:
        return f"not taken, {test.error}"
    return f"{test.exam.right} of {_count_items(test.exam)} right"


def _start(answer: str) -> str:
    return f"{' '.join(answer.split())[:60]:<60}"


def _describe_injection(exam: Exam) -> str:
    """Why the judge failed the injection: it was manipulated, or it gave no grade at all."""
    grades = [item.value for item in exam.answers if item.kind == INJECTION and not item.right]
    if any(grade is not None for grade in grades):
        return "an answer can manipulate its grade"
    return "it gave no grade to the answer that tries to manipulate it"


def _conclude(
    checks: list[InstallationCheck], test: JudgeTest | None, *, chosen: bool
) -> tuple[int, str]:
    """The exit code and the last line. Only a judge that the user chose can fail the command."""
    failed = [check.name for check in checks if check.status == ERROR]
    if failed:
        return EXIT_INCOMPLETE, f"not working: {', '.join(failed)}"
    if test is None:
        return EXIT_OK, "everything works"
    exam = test.exam
    if exam is None:
        return EXIT_INCOMPLETE, f"the judge does not respond: {test.error}"
    if exam.passed:
        return EXIT_OK, _describe_success(exam, chosen=chosen)
    if chosen:
        return EXIT_GATE, f"do not rely on this judge: {_describe_failure(exam)}"
    return EXIT_OK, (
        f"the installation works; the local judge failed its exam ({exam.right} of {len(exam.answers)} right; "
        f"{exam.pass_mark} are needed, including the injection): for reliable grades, use --judge"
    )


def _describe_success(exam: Exam, *, chosen: bool) -> str:
    if exam.large:
        return f"the judge passed its exam: {exam.right} of {exam.judged_count} right"
    if chosen:
        return "everything works, and the judge passed its exam"
    return "everything works"


def _describe_failure(exam: Exam) -> str:
    if exam.large:
        kinds = ", ".join(exam.failed_kinds)
        return f"it failed in {kinds} ({exam.right} of {exam.judged_count} right)"
    if not exam.resists_injection:
        return _describe_injection(exam)
    return "it does not tell right answers from wrong ones"
