"""`audit.json` beside the cases: the findings of the last audit, for the page of the viewer."""

from __future__ import annotations

from pathlib import Path

import msgspec

from answerkey.errors import StorageError
from answerkey.files import json_text, read_as, write_file
from answerkey.testsets.audit.findings import Audit, CaseFinding

SAVED_AUDIT = "audit.json"


class SavedAudit(msgspec.Struct, frozen=True):
    """The sentence about the test set, and its findings, worst first."""

    sentence: str = ""
    cases: int = 0
    findings: tuple[CaseFinding, ...] = ()


def save_audit(folder: Path, audit: Audit) -> Path:
    """Write the findings into the folder of the cases."""
    path = folder / SAVED_AUDIT
    saved = SavedAudit(audit.sentence, audit.cases, audit.findings)
    write_file(path, json_text(msgspec.to_builtins(saved)))
    return path


def read_saved_audit(folder: Path) -> SavedAudit:
    """The findings of the last audit; an error where the file is damaged."""
    try:
        return read_as((folder / SAVED_AUDIT).read_bytes(), SavedAudit)
    except (OSError, ValueError) as error:
        # Only the folder's name: the message is shown on a page.
        raise StorageError(f"{folder.name}/{SAVED_AUDIT}: cannot be read: {error}") from None
