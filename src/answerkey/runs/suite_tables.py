"""Tables that only some commands use are checked with the suite: a slip must not wait for the run that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from answerkey.errors import SettingsError, did_you_mean


def check_judge(given: Any) -> None:
    """A name, or a table of known keys."""
    if given is None or isinstance(given, str):
        return
    from answerkey.llm.settings import KEYS
    from answerkey.metrics.judge.judged_metrics import JUDGE_KEYS

    _check("judge", given, KEYS | JUDGE_KEYS | {"api_key"}, 'a name such as "local"')


def check_embedding(given: Mapping[str, Any]) -> None:
    if set(given) <= {"model"}:
        return
    from answerkey.embed.models import Options

    _check("embedding", given, ["model", *(field.name for field in fields(Options))], "a model's name")


def check_retrieval(given: Mapping[str, Any]) -> None:
    if not given:
        return
    from answerkey.retrieval.settings import RetrievalSettings

    _check("retrieval", given, [field.name for field in fields(RetrievalSettings)], "nothing")


def _check(name: str, given: Any, known: Iterable[str], instead: str) -> None:
    if not isinstance(given, Mapping):
        raise SettingsError(f"{name} is {given!r}, expected a table [{name}] or {instead}")
    names = sorted(known)
    for key in given:
        if key not in names:
            hint = did_you_mean(key, names) or f"; it takes {', '.join(names)}"
            raise SettingsError(f'[{name}] has an unknown key "{key}"{hint}')
