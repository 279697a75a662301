"""The page of an audit: findings with their evidence, to accept, to fix, or to cluster."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from answerkey.cases.loader import AUDIT_FILE
from answerkey.errors import InputError, did_you_mean
from answerkey.testsets.audit.accepted import (
    AuditDecision,
    read_accepted,
    read_notes,
    store_decision,
)
from answerkey.testsets.audit.findings import FindingKind
from answerkey.testsets.audit.saved_audit import read_saved_audit
from answerkey.viewer.forms import read_form
from answerkey.viewer.library import RunLibrary
from answerkey.viewer.render import respond

_LONGEST_NOTE = 2_000


def audit_page(request: Request) -> Response:
    """The open findings, those of one kind with `?kind=`, and how many are accepted."""
    library: RunLibrary = request.app.state.library
    folder = library.audit(request.path_params["audit"])
    saved = read_saved_audit(folder)
    store = folder / AUDIT_FILE
    accepted = read_accepted(store)
    notes = read_notes(store)
    kind = request.query_params.get("kind", "")
    if kind and kind not in set(FindingKind):
        raise InputError(f'kind: no "{kind[:40]}"{did_you_mean(kind, FindingKind)}')
    rows: list[dict[str, object]] = []
    kinds: dict[str, int] = {}
    for number, finding in enumerate(saved.findings):
        key = (finding.id, finding.kind)
        if key not in accepted:
            kinds[finding.kind.value] = kinds.get(finding.kind.value, 0) + 1
        if kind in ("", finding.kind.value):
            rows.append(
                {
                    "n": number,
                    **finding.as_json(),
                    "rule": finding.kind.rule,
                    "cluster": finding.cluster,
                    "accepted": key in accepted,
                    "note": notes.get(key, ""),
                }
            )
    data = {
        "audit": library.key(folder),
        "sentence": saved.sentence,
        "cases": saved.cases,
        "kind": kind,
        "kinds": kinds,
        "rows": [row for row in rows if not row["accepted"]],
        "accepted": [row for row in rows if row["accepted"]],
    }
    return respond(request, "audit.html", data)


async def decide_finding(request: Request) -> Response:
    """Keep a decision in `audit.jsonl` beside the cases, then show the page again."""
    library: RunLibrary = request.app.state.library
    folder = library.audit(request.path_params["audit"])
    findings = read_saved_audit(folder).findings
    number = int(request.path_params["n"])
    if number >= len(findings):
        raise InputError(f"no finding {number} here: the audit has {len(findings)}")
    form = await read_form(request)
    value = form.get("decision", "")
    if value not in set(AuditDecision):
        raise InputError(f'decision: expected {", ".join(AuditDecision)}, got "{value[:40]}"')
    decision = AuditDecision(value)
    note = form.get("note", "").strip()[:_LONGEST_NOTE]
    finding = findings[number]
    if decision is AuditDecision.FIX:
        note = note or f"to fix: {finding.fix}"
    elif decision is AuditDecision.CLUSTER:
        note = f'cluster = "{finding.cluster}"'
    # Only a file beside the cases is written, whatever the saved audit contains.
    store_decision(folder / AUDIT_FILE, finding, note, decision)
    return RedirectResponse(request.url.path.rpartition("/finding/")[0], 303)
