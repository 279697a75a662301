"""Calls to the judge, each paid once: a journal beside the cases keeps every reply."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from answerkey.cache import digest
from answerkey.coerce.values import is_mapping
from answerkey.files import json_line, read_json
from answerkey.llm.chat import Chat, Reply
from answerkey.llm.loose_json import find_objects
from answerkey.llm.usage import CallTotals, Usage
from answerkey.llm.verdict import split_reasoning


class ModelCalls:
    """A judge with a journal. A reply that is in the journal is not asked for again.

    The journal is a file of its own, not the reply cache: it also serves functions and models
    without a fingerprint, and it is deleted when the generation is complete.
    """

    def __init__(self, chat: Chat, system: str, journal: Path | None) -> None:
        self.chat = chat
        self._system = system
        self._journal = journal
        self._lock = threading.Lock()
        self._usage = Usage()
        self._replies: dict[str, str] = {}
        if journal is not None and journal.is_file():
            self._replies = _read_journal(journal)

    def ask(self, prompt: str) -> Mapping[str, object] | None:
        """The JSON object of the reply; None where it has none."""
        # The model and the instructions are part of the key: another model must be asked anew.
        key = digest(self.chat.fingerprint(), self._system, prompt)
        with self._lock:
            text = self._replies.get(key)
        if text is not None:
            self._usage.add_cached()
        else:
            text = self._call(key, prompt)
        # Models think aloud and write drafts; the last object is the answer.
        objects, _ = find_objects(split_reasoning(text)[1])
        return objects[-1].value if objects else None

    def _call(self, key: str, prompt: str) -> str:
        messages = [
            {"role": "system", "content": self._system.strip()},
            {"role": "user", "content": prompt.strip()},
        ]
        try:
            reply: Reply = self.chat.complete(messages)
        except Exception:
            self._usage.add_failed()
            raise
        self._usage.add(reply)
        # Written at once, one line per reply: a kill loses at most the replies on their way.
        with self._lock:
            self._replies[key] = reply.text
            if self._journal is not None:
                with self._journal.open("ab") as file:
                    file.write(json_line({"key": key, "reply": reply.text}) + b"\n")
        return reply.text

    def totals(self) -> CallTotals:
        return self._usage.totals()

    def finish(self) -> None:
        """Delete the journal: everything in it is in the cases now."""
        if self._journal is not None:
            self._journal.unlink(missing_ok=True)


def _read_journal(path: Path) -> dict[str, str]:
    """The replies by key; a last line that a kill cut short is dropped."""
    replies: dict[str, str] = {}
    for line in path.read_bytes().splitlines():
        try:
            record = read_json(line)
        except ValueError:
            continue
        if is_mapping(record) and isinstance(record.get("reply"), str):
            replies[str(record.get("key"))] = str(record["reply"])
    return replies
