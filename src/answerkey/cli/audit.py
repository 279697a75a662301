"""`answerkey audit`: is the test set right?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from answerkey.cli.output import (
    COUNT,
    PATH,
    SHARE,
    end,
    json_option,
    print_json,
    quiet_option,
    say,
    show,
)
from answerkey.errors import EXIT_GATE, EXIT_OK, Ending, InputError
from answerkey.percentages import format_percent
from answerkey.testsets.audit.findings import REPORTED_FROM, Audit, CaseFinding, FindingKind
from answerkey.text import format_count

if TYPE_CHECKING:
    from answerkey.embed import Embedder
    from answerkey.testsets.audit.accepted import AuditDecision, Key
    from answerkey.types import Case

_LISTED = 40


@click.command("audit")
@click.argument("cases", nargs=-1, required=True)
@click.option(
    "--documents",
    metavar="DIR",
    help="Where the answers come from: a folder of text, Markdown or PDF, a BEIR folder, a JSON "
    "file of chunks, or a suite with [retrieval].",
)
@click.option(
    "--at-least",
    type=SHARE,
    default=REPORTED_FROM,
    help=f"Lowest probability of a finding to report; default {REPORTED_FROM:g}.",
)
@click.option(
    "--accept",
    "accepted_names",
    multiple=True,
    metavar="ID[:FINDING]",
    help="Accept the findings of a case; they stay quiet. May be repeated.",
)
@click.option("--note", default="", help="With --accept: the reason, kept in audit.jsonl.")
@click.option(
    "--fix",
    "fixed_names",
    multiple=True,
    metavar="ID[:FINDING]",
    help="Mark the findings of a case to be fixed by --fixed. May be repeated.",
)
@click.option(
    "--fixed",
    type=PATH,
    help="Write a .jsonl copy of the cases with the marked labels and clusters corrected.",
)
@click.option("--model", metavar="NAME", help='Embedding model; "none" compares words only.')
@click.option(
    "--entailment",
    metavar="MODEL",
    help="Entailment model: packaged (default), ORG/NAME, a folder, python:module:function.",
)
@click.option("--most", type=COUNT, default=_LISTED, help=f"Findings to print; default {_LISTED}.")
@click.option("--gate", is_flag=True, help="Exit 1 if there is a finding.")
@click.option(
    "--save", is_flag=True, help="Write audit.json beside the cases, a page of `answerkey view`."
)
@quiet_option
@json_option
def audit_command(
    cases: tuple[str, ...],
    documents: str | None,
    at_least: float,
    accepted_names: tuple[str, ...],
    note: str,
    fixed_names: tuple[str, ...],
    fixed: Path | None,
    model: str | None,
    entailment: str | None,
    most: int,
    gate: bool,
    save: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check a test set: wrong labels, contradictions, duplicates, questions that name nothing.

    Findings come worst first, each with its evidence and a suggested fix. The ones you accept are
    kept in audit.jsonl beside the cases and are not shown again.

    \b
    Example:
      answerkey audit cases.csv --documents docs --gate
      answerkey audit cases.csv --accept q17 --note "both are right"
      answerkey audit cases.csv --documents docs --fix q17 --fixed corrected.jsonl
    """
    from answerkey.cases import read_cases
    from answerkey.entailment.load import load_pair_model
    from answerkey.testsets.audit.accepted import audit_file, read_accepted, read_decisions
    from answerkey.testsets.audit.document_set import find_documents, read_documents
    from answerkey.testsets.audit.run_audit import audit_cases

    store = audit_file(cases)
    embed = _load_embedder(model)
    source = documents or find_documents(cases)
    case_list = list(read_cases(cases))
    audit = audit_cases(
        case_list,
        documents=None if source is None else read_documents(source),
        embed=embed,
        accepted=read_accepted(store),
        at_least=at_least,
        step=_ignore if quiet else say,
        pair_model=load_pair_model(entailment) if entailment else None,
    )
    if accepted_names:
        audit = _accept(audit, accepted_names, note, store)
    if fixed_names:
        _mark_to_fix(audit, fixed_names, store)
    if fixed is not None:
        _write_fixed(fixed, case_list, audit, read_decisions(store))
    if save:
        _save(audit, store.parent)
    if as_json:
        print_json(audit.as_json())
    elif not quiet:
        show(describe_audit(audit, most))
    is_failed = gate and bool(audit.findings)
    code = EXIT_GATE if is_failed else EXIT_OK
    raise click.exceptions.Exit(end(Ending(code, audit.sentence, gated=gate)))


def _load_embedder(model: str | None) -> Embedder | None:
    """The embedding model of `--model`; None for "none", and the packaged one without a name."""
    from answerkey.embed import load_embedder

    if model == "none":
        return None
    if not model:
        return load_embedder()
    return load_embedder(model)


def _ignore(_: str) -> None:
    """Drop the progress."""


def _accept(audit: Audit, names: tuple[str, ...], note: str, store: Path) -> Audit:
    """Store the decisions, and return the findings that are left."""
    from dataclasses import replace

    from answerkey.testsets.audit.accepted import choose_findings, store_decision

    chosen = [finding for name in names for finding in choose_findings(audit.findings, name)]
    for finding in chosen:
        store_decision(store, finding, note)
    left = tuple(finding for finding in audit.findings if finding not in chosen)
    return replace(audit, findings=left, accepted=audit.accepted + len(chosen))


def _mark_to_fix(audit: Audit, names: tuple[str, ...], store: Path) -> None:
    """Store that these findings are to be fixed by `--fixed`."""
    from answerkey.testsets.audit.accepted import AuditDecision, choose_findings, store_decision

    for name in names:
        for finding in choose_findings(audit.findings, name):
            store_decision(store, finding, f"to fix: {finding.fix}", AuditDecision.FIX)


def _write_fixed(
    path: Path, cases: Sequence[Case], audit: Audit, decisions: Mapping[Key, AuditDecision]
) -> None:
    """Write the corrected copy, and say what is left for a person."""
    from answerkey.testsets.audit.apply_fixes import apply_fixes

    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise InputError(f"--fixed {path}: expected a .jsonl file")
    result = apply_fixes(cases, audit.every_finding, decisions)
    result.write(path)
    say(f"{format_count(result.applied, 'fix', 'fixes')} applied, written to {path}")
    for finding in result.left:
        say(f"to fix by hand: {finding.id}  {finding.kind.value}: {finding.fix}")


def _save(audit: Audit, folder: Path) -> None:
    """Write audit.json, and say how to look at it."""
    from answerkey.testsets.audit.saved_audit import save_audit

    path = save_audit(folder, audit)
    say(f"findings written to {path}; look at them: answerkey view {path.parent}")


def describe_audit(audit: Audit, most: int = _LISTED) -> str:
    """The findings as text: a line per finding, its evidence, and its fix."""
    lines: list[str] = []
    for finding in audit.findings[:most]:
        lines += _describe_finding(finding)
    if len(audit.findings) > most:
        lines.append(f"… and {len(audit.findings) - most} more; --most N shows more of them")
    lines += [f"not checked: {reason}" for reason in audit.skipped]
    return "\n".join(lines)


def _describe_finding(finding: CaseFinding) -> list[str]:
    return [
        f"{finding.id}  {finding.kind.value}  {format_percent(finding.probability)}",
        f"  {finding.evidence}",
        f"  Fix: {finding.fix}",
        "",
    ]


def finding_rules() -> list[tuple[str, str]]:
    """Every kind of finding with its rule, for the reference."""
    return [(kind.value, kind.rule) for kind in FindingKind]
