"""`answerkey doctor`: what is installed, what works, and is the judge any good?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from answerkey.cli.output import json_option, print_json, say, show
from answerkey.cli.scoring_options import judge_option, judge_settings
from answerkey.errors import EXIT_GATE, EXIT_INCOMPLETE, EXIT_OK, SettingsError

if TYPE_CHECKING:
    from answerkey.cli.doctor_checks import Check, Examined


@click.command("doctor")
@click.argument("suite", required=False, type=click.Path(path_type=Path))
@judge_option
@click.option("--judge-model", help="The judge's model, where the preset's is not meant.")
@click.option("--api-key-env", help="The name of the environment variable with the judge's key.")
@click.option("--no-exam", is_flag=True, help="Do not ask the judge anything.")
@json_option
def command(
    suite: Path | None,
    judge: str | None,
    judge_model: str | None,
    api_key_env: str | None,
    no_exam: bool,
    as_json: bool,
) -> None:
    """Check the installation, and put ten questions to a judge whose right grades are beyond doubt.

    The judge is that of SUITE, or of --judge; without either, the local one, whose result then decides nothing. Eight of
    ten must be right, and the answer that tries to talk the judge into a grade must be among them. Exit code: 0
    all well, 1 the judge failed the exam, 3 something is broken or the judge does not answer.

    \b
    Example:
      answerkey doctor
      answerkey doctor mybot/suite.toml
      answerkey doctor --judge http://127.0.0.1:8080/v1 --judge-model my-model
    """
    from answerkey.cli.doctor_checks import BROKEN, check_installation, examine, open_judge

    settings = _judge_settings(suite, judge, judge_model, api_key_env)
    opened = None if no_exam else open_judge(settings or "local")
    checks = check_installation()
    if not as_json:
        _show_checks(checks)
    if opened and opened.name != "local":
        say("asking the judge ten questions …")
    examined = examine(opened) if opened else None
    if examined and not as_json:
        _show_exam(examined)
    broken = [check.name for check in checks if check.status == BROKEN]
    code, last = _ending(broken, examined if settings else None)
    if code == EXIT_OK and examined and not settings:
        last = _of_local(examined)
    if as_json:
        judged = examined.as_json() if examined else None
        print_json(
            {"checks": [c.as_json() for c in checks], "judge": judged, "ok": code == EXIT_OK, "verdict": last}
        )
    else:
        show(f"\n{last}")
    raise click.exceptions.Exit(code)


def _judge_settings(suite: Path | None, judge: str | None, model: str | None, key: str | None) -> Any:
    if suite is not None:
        from answerkey.runs.suite import load_suite

        if judge is not None:
            raise SettingsError("give a suite or --judge, not both")
        found = load_suite(suite).judge
        if found is None:
            raise SettingsError(f"{suite} has no [judge]; give --judge local, or leave the suite out")
        return found
    table = judge_settings(judge, model)
    if key and (table is None or isinstance(table, str)):
        raise SettingsError("--api-key-env needs --judge with a preset or an address")
    return {**table, "api_key_env": key} if key and isinstance(table, dict) else table


def _show_checks(checks: list[Check]) -> None:
    marks = {"ok": "✓", "broken": "✗"}
    for check in checks:
        told = check.detail if check.status == "ok" else f"{check.status}: {check.detail}"
        show(f"{marks.get(check.status, '–')} {check.name:<22} {told}")


def _show_exam(examined: Examined) -> None:
    if examined.exam is None:
        show(f"✗ judge {examined.name}: {examined.error}")
        return
    show(f"\njudge {examined.name}: {examined.exam.right} of {len(examined.exam.answered)} right")
    for item in examined.exam.answered:
        grade = (
            f"accuracy {item.score.value:g}"
            if item.score.value is not None
            else f"no grade: {item.score.error}"
        )
        answer = " ".join(item.answer.split())
        show(
            f"  {'✓' if item.right else '✗'} {item.kind:<10} {answer[:60]:<60} {grade}, wanted {item.wanted}"
        )


def _ending(broken: list[str], examined: Examined | None) -> tuple[int, str]:
    """Exit code and the line that says the same."""
    if broken:
        return EXIT_INCOMPLETE, f"broken: {', '.join(broken)}"
    if examined and examined.exam is None:
        return EXIT_INCOMPLETE, f"the judge does not answer: {examined.error}"
    if examined and not examined.passed:
        tricked = examined.exam is not None and not examined.exam.resists_injection
        why = (
            "an answer can talk it into a grade"
            if tricked
            else "it cannot tell right answers from wrong ones"
        )
        return EXIT_GATE, f"do not rely on this judge: {why}"
    return EXIT_OK, "all well" if not examined else "all well, and the judge passed its exam"


def _of_local(examined: Examined) -> str:
    """The last line where no judge was asked for: the local one's exam is told, and decides nothing."""
    if examined.passed or examined.exam is None:
        return "all well"
    exam = examined.exam
    return (
        f"the installation is well; the local judge failed its exam ({exam.right} of {len(exam.answered)} right, "
        f"{exam.pass_mark} must be and the injection among them): for grades to rely on, give --judge"
    )
