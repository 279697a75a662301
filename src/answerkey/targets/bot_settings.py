"""How a bot reads its part of the suite: a wrong key or path is told before the first question."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError, did_you_mean


def check_settings(bot: str, settings: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise on a key that the bot does not take; `kind` is always there."""
    for key in settings:
        if key != "kind" and key not in known:
            hint = did_you_mean(key, known) or f"; it takes {', '.join(sorted(known))}"
            raise SettingsError(f'[target] kind "{bot}" has no setting "{key}"{hint}')


def path_of(bot: str, settings: Mapping[str, Any], key: str, folder: Path) -> Path:
    """The file or folder that `key` names, relative to the suite's folder; it must be there."""
    given = settings.get(key)
    if not isinstance(given, str | Path) or not str(given):
        raise SettingsError(f'[target] kind "{bot}" needs {key} = "PATH"')
    path = (folder / given).resolve()
    if not path.exists():
        raise SettingsError(f'[target] {key} = "{given}": no such file or folder: {path}')
    return path
