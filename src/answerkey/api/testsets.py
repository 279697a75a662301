"""`ak.audit`: is the test set right?"""

from __future__ import annotations

from pathlib import Path

from answerkey.api.rows import cases_of
from answerkey.embed import load_embedder
from answerkey.testsets.audit.accepted import Key, audit_file, read_accepted
from answerkey.testsets.audit.document_set import find_documents, read_documents
from answerkey.testsets.audit.findings import REPORTED_FROM, Audit
from answerkey.testsets.audit.run_audit import audit_cases


def audit(
    cases: object,
    documents: object = None,
    *,
    at_least: float = REPORTED_FROM,
    embedding: str = "",
) -> Audit:
    """Check a test set: wrong labels, contradictions, duplicates, questions that name nothing.

    - `cases`: a list of dicts or of `Case`, a data frame, a path or a glob. Findings that were
      accepted in `audit.jsonl` beside a path are left out.
    - `documents`: what the answers come from: a folder of text, Markdown or PDF, a BEIR folder, a
      JSON file of chunks, a suite with [retrieval], or a list of passages. Without it only the
      questions and expected answers are compared.
    - `at_least`: the lowest probability of a finding to report.
    - `embedding`: a model name; "none" compares words only.

    >>> rows = [{"question": "How long is it?", "expected": "30 days"}]
    >>> [finding.kind.value for finding in audit(rows).findings]
    ['names nothing']
    """
    accepted: frozenset[Key] = frozenset()
    if isinstance(cases, (str, Path)):
        accepted = read_accepted(audit_file([cases]))
        documents = documents or find_documents([cases])
    embed = None
    if embedding != "none":
        embed = load_embedder(embedding) if embedding else load_embedder()
    return audit_cases(
        cases_of(cases, None),
        documents=None if documents is None else read_documents(documents),
        embed=embed,
        accepted=accepted,
        at_least=at_least,
    )
