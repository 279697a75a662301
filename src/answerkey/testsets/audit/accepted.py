"""Decisions of a person about findings: `audit.jsonl` beside the cases, one line per decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from answerkey.cases.loader import AUDIT_FILE, case_files
from answerkey.coerce.values import is_mapping
from answerkey.errors import InputError, did_you_mean
from answerkey.files import json_line, read_json
from answerkey.testsets.audit.findings import CaseFinding, FindingKind

Key = tuple[str, FindingKind]


class AuditDecision(StrEnum):
    """The decision about a finding. ACCEPT and CLUSTER keep it quiet, REOPEN takes all back."""

    ACCEPT = "accept"
    FIX = "fix"
    CLUSTER = "cluster"
    REOPEN = "reopen"


def audit_file(patterns: Sequence[str | Path]) -> Path:
    """`audit.jsonl` in the folder of the first case file, or in the BEIR folder."""
    first = case_files(patterns, Path())[0]
    folder = first if first.is_dir() else first.parent
    return folder / AUDIT_FILE


def read_accepted(path: Path) -> frozenset[Key]:
    """The case and kind of every accepted finding; the last decision about one counts."""
    # Later lines overwrite earlier ones, as the file is only appended to.
    decisions = {key: record.get("accepted") is not False for key, record in _read_records(path)}
    return frozenset(key for key, is_accepted in decisions.items() if is_accepted)


def read_notes(path: Path) -> dict[Key, str]:
    """The last note about each finding."""
    return {key: str(record.get("note") or "") for key, record in _read_records(path)}


def _read_records(path: Path) -> Iterator[tuple[Key, Mapping[str, object]]]:
    if not path.is_file():
        return
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = read_json(line)
            if not is_mapping(record):
                raise ValueError
            key = (str(record["id"]), FindingKind(str(record["finding"])))
        except (ValueError, LookupError):
            raise InputError(
                f'{path}, line {number}: expected {{"id": …, "finding": …}} of an accepted '
                "finding; correct or delete the line"
            ) from None
        yield key, record


def read_decisions(path: Path) -> dict[Key, AuditDecision]:
    """The last decision about each finding; lines of earlier versions only say `accepted`."""
    decisions: dict[Key, AuditDecision] = {}
    for key, record in _read_records(path):
        name = str(record.get("decision") or "")
        if name in set(AuditDecision):
            decisions[key] = AuditDecision(name)
        elif record.get("accepted") is False:
            decisions[key] = AuditDecision.REOPEN
        else:
            decisions[key] = AuditDecision.ACCEPT
    return decisions


def store_decision(
    path: Path, finding: CaseFinding, note: str = "", decision: AuditDecision = AuditDecision.ACCEPT
) -> None:
    """Add a line with a decision."""
    record = {
        "id": finding.id,
        "finding": finding.kind.value,
        "decision": decision.value,
        # Earlier versions know only this key.
        "accepted": decision in (AuditDecision.ACCEPT, AuditDecision.CLUSTER),
        "note": note,
        "evidence": finding.evidence,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    # Appended, never rewritten: two people may decide at the same time, and the last line counts.
    with path.open("ab") as file:
        file.write(json_line(record) + b"\n")


def choose_findings(findings: Iterable[CaseFinding], wanted: str) -> list[CaseFinding]:
    """The findings that `--accept` or `--fix` names: `q17`, or `q17:near duplicate`."""
    listed = list(findings)
    # Ids may contain a colon, so the whole text is tried first.
    by_id = [finding for finding in listed if finding.id == wanted]
    if by_id:
        return by_id
    case, _, kind = wanted.rpartition(":")
    chosen = [finding for finding in listed if finding.id == case and finding.kind.value == kind]
    if not chosen:
        names = {finding.id for finding in listed}
        names |= {f"{finding.id}:{finding.kind.value}" for finding in listed}
        raise InputError(f'no finding "{wanted[:80]}"{did_you_mean(wanted, names)}')
    return chosen
