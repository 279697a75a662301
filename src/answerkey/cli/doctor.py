"""`answerkey doctor`: check the installation, and test the judge."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import click

from answerkey import __version__
from answerkey.cli.judge_exam import give_large_exam
from answerkey.cli.output import end, json_option, print_json, say, show
from answerkey.cli.scoring_options import judge_model_option, judge_settings
from answerkey.embed import load_embedder
from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_OK, AnswerkeyError, Ending, IncompleteError, SettingsError
from answerkey.metrics.judge.exam import Exam, take_exam
from answerkey.metrics.judge.judged_metrics import Judge, load_judge
from answerkey.runs.store import is_run, read_manifest
from answerkey.runs.suite import load_suite
from answerkey.types import Json

OF_SUITE = "the judge of the suite"
OK, MISSING, ERROR = "ok", "not installed", "error"
_MARKS = {OK: "✓", MISSING: "–", ERROR: "✗"}
# extra: module, package, purpose
_EXTRAS = {
    "charts": ("vl_convert", "vl-convert-python", "charts as PNG and SVG files"),
    "faiss": ("faiss", "faiss-cpu", "dense search with FAISS, reading its index files"),
    "pandas": ("pandas", "pandas", "results as data frames"),
    "parquet": ("pyarrow", "pyarrow", "Parquet files"),
    "pgvector": ("psycopg", "psycopg", "Postgres tables with pgvector"),
    "qdrant": ("qdrant_client", "qdrant-client", "Qdrant collections"),
    "ray": ("ray", "ray", "runs on a cluster"),
    "sentence-transformers": ("sentence_transformers", "sentence-transformers", "other embedding models"),
}

JudgeSettings = Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class Check:
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

    @property
    def passed(self) -> bool:
        return self.exam is not None and self.exam.passed

    def as_json(self) -> Json:
        exam = self.exam
        return {
            "name": self.name,
            "reachable": exam is not None,
            "error": self.error or None,
            "passed": self.passed,
            "right": exam.right if exam else None,
            "of": len(exam.answers) if exam else None,
            "resists_injection": exam.resists_injection if exam else None,
            "questions": [
                {
                    "kind": item.kind,
                    "question": item.question,
                    "answer": item.answer,
                    "wanted": item.wanted,
                    "accuracy": item.value,
                    "reason": item.reason,
                    "error": item.error,
                    "right": item.right,
                }
                for item in (exam.answers if exam else ())
            ],
        }


@click.command("doctor")
@click.argument("suite", required=False, type=click.Path(path_type=Path), metavar="[SUITE_OR_RUN]")
@click.option(
    "--judge",
    is_flag=False,
    flag_value=OF_SUITE,
    metavar="[NAME]",
    help="A preset, the URL of an endpoint (with --judge-model), or local. Without a name: the large exam for the "
    "judge of the suite or run, or for local.",
)
@judge_model_option
@click.option(
    "--exam", type=click.Choice(["short", "large"]), help="short: ten questions; large: sixty, with a result by kind."
)
@click.option("--api-key-env", metavar="NAME", help="Name of the environment variable with the judge's key.")
@click.option("--no-exam", is_flag=True, help="Check the installation only; do not call the judge.")
@json_option
def command(
    suite: Path | None,
    judge: str | None,
    judge_model: str | None,
    api_key_env: str | None,
    exam: str | None,
    no_exam: bool,
    as_json: bool,
) -> None:
    """Check the installation, and give the judge an exam: ten questions with known grades, or sixty with --judge.

    The judge is the one of SUITE_OR_RUN or of --judge. The result of the large exam is kept beside the run where one is
    given, and shown in the reports of every run with this judge. Without either, the local judge takes the exam, and its
    result does not affect the exit code. A judge passes the short exam with eight of ten right, including the answer that
    tries to manipulate the grade, and the large one with 80 % of each kind and every injection.

    Exit codes: 0 everything works, 1 the judge failed the exam, 3 a check failed or the judge does not respond.

    \b
    Example:
      answerkey doctor
      answerkey doctor mybot/suite.toml --judge
      answerkey doctor --judge http://127.0.0.1:8080/v1 --judge-model my-model
    """
    if judge is not None and (judge.endswith(".toml") or Path(judge).is_dir()):
        suite, judge = Path(judge), OF_SUITE  # `doctor --judge suite.toml`
    large = exam == "large" or (judge == OF_SUITE and exam is None)
    judge = None if judge == OF_SUITE else judge
    settings = _judge_settings(suite, judge, judge_model, api_key_env)
    opened = None if no_exam else _open_judge(settings or "local", suite.parent if suite else Path())
    checks = check_installation()
    if not as_json:
        for check in checks:
            detail = check.detail if check.status == OK else f"{check.status}: {check.detail}"
            show(f"{_MARKS[check.status]} {check.name:<22} {detail}")
    if opened and large:
        run = suite if suite is not None and is_run(suite) else None
        code, last, record = give_large_exam(opened, run, as_json, chosen=True)
        failed = [check.name for check in checks if check.status == ERROR]
        if failed:
            code, last = EXIT_INCOMPLETE, f"not working: {', '.join(failed)}"
        _finish(checks, record, Ending(code, last), as_json)
    if opened and opened.name != "local":
        say("asking the judge ten questions …")
    tested = examine(opened) if opened else None
    if tested and not as_json:
        _show_exam(tested)
    code, last = _conclusion(checks, tested, chosen=settings is not None)
    ending = Ending(code, last, gated=settings is not None)
    _finish(checks, tested.as_json() if tested else None, ending, as_json)


def _finish(checks: list[Check], judged: Json | None, ending: Ending, as_json: bool) -> NoReturn:
    if as_json:
        ok = ending.code == EXIT_OK
        print_json({"checks": [asdict(c) for c in checks], "judge": judged, "ok": ok, "verdict": ending.sentence})
    else:
        show(f"\n{ending.sentence}")
    raise click.exceptions.Exit(end(ending))


def _judge_settings(suite: Path | None, judge: str | None, model: str | None, key: str | None) -> JudgeSettings | None:
    if suite is not None:
        if judge is not None:
            raise SettingsError("give a suite or --judge, not both")
        found = read_manifest(suite).settings.judge if is_run(suite) else load_suite(suite).judge
        if found is None:
            raise SettingsError(f"{suite} has no [judge]; give --judge local, or leave the suite out")
        return found
    table = judge_settings(judge, model)
    if not key:
        return table
    if not isinstance(table, dict):
        raise SettingsError("--api-key-env needs --judge with a preset or a URL")
    return table | {"api_key_env": key}


def check_installation() -> list[Check]:
    """Versions, the packaged embedding model, the cache folder, and the optional packages."""
    about = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    return [
        Check("answerkey", OK, about),
        _try("embedding model", _check_embedding),
        _try("cache folder", _check_cache),
        *(_check_extra(name, *about) for name, about in _EXTRAS.items()),
    ]


def _try(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, OK, check())
    except (AnswerkeyError, ImportError, OSError, RuntimeError, ValueError) as error:
        return Check(name, ERROR, f"{type(error).__name__}: {error}")


def _check_embedding() -> str:
    model = load_embedder(cache=False)
    cat, kitten, law = model.embed(["a cat", "a kitten", "tax law"])
    if float(cat @ kitten) <= float(cat @ law):
        raise RuntimeError(f"{model.name} rates a cat closer to tax law than to a kitten: reinstall answerkey")
    return f"{model.name}, {model.precision}, {model.digest[:12]}"


def _check_cache() -> str:
    folder = Path(os.environ.get("ANSWERKEY_CACHE") or Path.home() / ".cache" / "answerkey")
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".doctor-{os.getpid()}"
    probe.write_text("x")
    probe.unlink()
    return str(folder)


def _check_extra(name: str, module: str, package: str, purpose: str) -> Check:
    """Without importing the module: some take seconds to load."""
    if find_spec(module) is None:
        return Check(name, MISSING, f"for {purpose}: pip install 'answerkey[{name}]'")
    try:
        return Check(name, OK, f"{package} {version(package)}")
    except PackageNotFoundError:
        return Check(name, OK, package)


def _open_judge(settings: JudgeSettings, folder: Path) -> Judge:
    """The judge without its cache: the exam is about its replies now."""
    if settings in ("local", {"preset": "local"}):
        return load_judge("local")
    if isinstance(settings, str):
        settings = {"call" if ":" in settings else "preset": settings}
    return load_judge({**settings, "cache": False}, folder=folder)


def examine(judge: Judge) -> JudgeTest:
    """Give the judge its exam; an endpoint that does not respond is reported, not raised."""
    try:
        exam = take_exam(judge)
    except IncompleteError as error:
        return JudgeTest(judge.name, str(error))
    finally:
        judge.close()
    silent = [item.error for item in exam.answers if item.error]
    if len(silent) == len(exam.answers) and not judge.usage().get("calls", 1):
        return JudgeTest(judge.name, silent[0].removeprefix("judge: "))
    return JudgeTest(judge.name, exam=exam)


def _show_exam(tested: JudgeTest) -> None:
    if tested.exam is None:
        return show(f"✗ judge {tested.name}: {tested.error}")
    show(f"\njudge {tested.name}: {tested.exam.right} of {len(tested.exam.answers)} right")
    for item in tested.exam.answers:
        value = item.value
        grade = f"no grade: {item.error}" if value is None else f"accuracy {value:g}"
        answer = " ".join(item.answer.split())[:60]
        show(f"  {'✓' if item.right else '✗'} {item.kind:<10} {answer:<60} {grade}, expected {item.wanted}")
    return None


def _conclusion(checks: list[Check], tested: JudgeTest | None, *, chosen: bool) -> tuple[int, str]:
    """The exit code and the last line. Only a judge that the user chose can fail the command."""
    failed = [check.name for check in checks if check.status == ERROR]
    if failed:
        return EXIT_INCOMPLETE, f"not working: {', '.join(failed)}"
    if tested is None or (tested.passed and not chosen):
        return EXIT_OK, "everything works"
    if tested.passed:
        return EXIT_OK, "everything works, and the judge passed its exam"
    exam = tested.exam
    if exam is None:
        return EXIT_INCOMPLETE, f"the judge does not respond: {tested.error}"
    if not chosen:
        return EXIT_OK, (
            f"the installation works; the local judge failed its exam ({exam.right} of {len(exam.answers)} right; "
            f"{exam.pass_mark} are needed, including the injection): for reliable grades, use --judge"
        )
    reason = "it does not tell right answers from wrong ones"
    if not exam.resists_injection:
        reason = "an answer can manipulate its grade"
    return EXIT_GATE, f"do not rely on this judge: {reason}"
