"""A note and tags that readers give a run: `note.json` in the run folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from answerkey.coerce.values import is_list
from answerkey.errors import InputError
from answerkey.files import json_text, read_json, write_file

NOTE_FILE = "note.json"
LONGEST_NOTE = 2000
_MOST_TAGS = 10
_LONGEST_TAG = 40


@dataclass(frozen=True, slots=True)
class RunNote:
    """What a reader wrote about a run; `tags` are short words to filter the list of runs by."""

    note: str = ""
    tags: tuple[str, ...] = ()


def read_note(folder: Path) -> RunNote:
    """An empty note for a run without one, and for a damaged file."""
    with suppress(OSError, ValueError, AttributeError):
        row = read_json((folder / NOTE_FILE).read_bytes())
        tags = row.get("tags")
        names = [str(tag)[:_LONGEST_TAG] for tag in tags] if is_list(tags) else []
        return RunNote(str(row.get("note") or "")[:LONGEST_NOTE], tuple(names[:_MOST_TAGS]))
    return RunNote()


def write_note(folder: Path, note: str, tags: str) -> None:
    """Keep a note; `tags` are comma-separated. An empty note without tags removes the file."""
    names = tuple(dict.fromkeys(name.strip() for name in tags.split(",") if name.strip()))
    text = " ".join(note.split())
    if len(text) > LONGEST_NOTE:
        raise InputError(f"note: {len(text):,} characters, at most {LONGEST_NOTE:,}")
    if len(names) > _MOST_TAGS or any(len(name) > _LONGEST_TAG for name in names):
        raise InputError(f"tags: at most {_MOST_TAGS}, each with at most {_LONGEST_TAG} characters")
    path = folder / NOTE_FILE
    if text or names:
        write_file(path, json_text(asdict(RunNote(text, names))))
    else:
        path.unlink(missing_ok=True)
