"""Code of the user's: modules that a suite names, and what their exceptions say.

It may raise anything at any time. `sys.exit` in it must not end our process, and an exception whose text cannot be made,
or holds a key, must not reach a file or the screen as it is.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module
from types import ModuleType

from answerkey.errors import SettingsError
from answerkey.secrets import Secrets

_LONGEST = 300
_SECRET_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)(?:_|$)", re.IGNORECASE)
_SHORTEST_VALUE = 12  # shorter values are words that an answer may contain


def import_user_module(name: str, what: str) -> ModuleType:
    """The module of that name; `what` names the setting that asks for it, for the error."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SettingsError(f"{what}: no module {name} next to the suite nor installed") from None
        raise SettingsError(f"{what}: its module needs {error.name}, which is not installed") from error
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{what}: importing it failed: {error_text(error)}") from error


def error_text(error: BaseException, longest: int = _LONGEST) -> str:
    """`ValueError: what it says`, on one line, without keys of the environment.

    >>> error_text(ValueError("no such  page"))
    'ValueError: no such page'
    """
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = "its text cannot be made"
    name = type(error).__name__
    return environment_secrets().hide(f"{name}: {said}" if said else name)[:longest]


def environment_secrets() -> Secrets:
    """The values of variables such as OPENAI_API_KEY: what a client library puts into its messages."""
    named = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
    return _secrets(
        frozenset(v for value in named if len(v := value.strip()) >= _SHORTEST_VALUE and " " not in v)
    )


@cache
def _secrets(values: frozenset[str]) -> Secrets:
    return Secrets(values)
