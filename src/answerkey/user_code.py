"""Code of the user's: modules that a suite names, and what their exceptions say.

It may raise anything at any time. `sys.exit` in it must not end our process, and an exception whose text cannot be made,
or holds a key, must not reach a file or the screen as it is.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

from answerkey.errors import SettingsError, did_you_mean
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


def load_object(spec: str, folder: Path, setting: str) -> Any:
    """What `spec` names as `module:function`; `setting` is where it was found, for errors.

    A module beside the suite wins over an installed one of the same name.
    """
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name or not name:
        raise SettingsError(f'{setting} = "{spec}": expected "module:function"')
    module = _import_module(module_name, folder, f'{setting} = "{spec}"')
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [n for n in dir(found) if not n.startswith("_")]
            where = getattr(module, "__file__", module_name)
            raise SettingsError(f'{setting} = "{spec}": no "{part}" in {where}{did_you_mean(part, public)}')
        found = getattr(found, part)
    return found


def _import_module(name: str, folder: Path, what: str) -> Any:
    top = name.partition(".")[0]
    beside = any((folder / entry).exists() for entry in (f"{top}.py", top)) and top not in sys.stdlib_module_names
    if beside:
        _forget_other(top, folder)
        import_from(folder)
    return import_user_module(name, what)


def import_from(folder: Path) -> None:
    """Modules in this folder can be imported from now on: a bot may import its neighbours later, inside a function."""
    if (path := str(folder.resolve())) not in sys.path:
        sys.path.insert(0, path)
    invalidate_caches()


def _forget_other(top: str, folder: Path) -> None:
    """A module of the same name from another suite's folder is not the one that is meant."""
    loaded = sys.modules.get(top)
    origin = getattr(loaded, "__file__", None)
    if loaded is None or (origin and Path(origin).resolve().is_relative_to(folder.resolve())):
        return
    for name in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
        del sys.modules[name]


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
    return _secrets(frozenset(v for value in named if len(v := value.strip()) >= _SHORTEST_VALUE and " " not in v))


@cache
def _secrets(values: frozenset[str]) -> Secrets:
    return Secrets(values)
