"""Code of the user's: modules that a suite names, and what their exceptions say.

It may raise anything at any time. `sys.exit` in it must not end our process, and an exception whose text cannot be made,
or holds a key, must not reach a file or the screen as it is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module, invalidate_caches
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from answerkey.errors import SettingsError, did_you_mean
from answerkey.secrets import Secrets

_LONGEST = 300
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)(?:_|$)", re.IGNORECASE
)
_SHORTEST_VALUE = 12  # shorter values are words that an answer may contain
_secrets = cache(Secrets)


def import_user_module(name: str, what: str) -> ModuleType:
    """The module of that name; `what` names the setting that asks for it, for the error."""
    known = set(sys.modules)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SettingsError(
                f"{what}: no module {name} next to the suite nor installed"
            ) from None
        raise SettingsError(
            f"{what}: its module needs {error.name}, which is not installed"
        ) from error
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{what}: importing it failed: {error_text(error)}") from error
    for new in sys.modules.keys() - known:
        file = getattr(sys.modules.get(new), "__file__", None)
        if file and file.endswith(".py") and "site-packages" not in file:
            _IMPORTED[Path(file)] = _stamp(Path(file))
    return module


def load_object(spec: str, folder: Path, setting: str) -> Any:
    """What `spec` names as `module:function`; `setting` is where it was found, for errors.

    A module beside the suite wins over an installed one of the same name.
    """
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name or not name:
        raise SettingsError(f'{setting} = "{spec}": expected "module:function"')
    top = module_name.partition(".")[0]
    if (
        any((folder / entry).exists() for entry in (f"{top}.py", top))
        and top not in sys.stdlib_module_names
    ):
        # A module of the same name from another suite's folder is not the one that is meant.
        origin = getattr(sys.modules.get(top), "__file__", None)
        if not origin or not Path(origin).resolve().is_relative_to(folder.resolve()):
            for loaded in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
                del sys.modules[loaded]
        import_from(folder)
    found: Any = (module := import_user_module(module_name, f'{setting} = "{spec}"'))
    for part in name.split("."):
        if not hasattr(found, part):
            public = [n for n in dir(found) if not n.startswith("_")]
            where = getattr(module, "__file__", module_name)
            raise SettingsError(
                f'{setting} = "{spec}": no "{part}" in {where}{did_you_mean(part, public)}'
            )
        found = getattr(found, part)
    return found


def names_code(setting: object) -> bool:
    """Whether a stored setting of a judge or model would import Python code: `module:function`."""
    if isinstance(setting, str):
        return ":" in setting and "://" not in setting
    if isinstance(setting, Mapping):
        # Keys such as `model` may hold a colon ("llama3:8b"); code is named by `call` or by a jury.
        table = cast("Mapping[str, object]", setting)
        return names_code(table.get("call")) or names_code(table.get("jury"))
    if isinstance(setting, list | tuple):
        return any(names_code(part) for part in cast("list[object]", setting))
    return False


def import_from(folder: Path) -> None:
    """Modules in this folder can be imported from now on: a bot may import its neighbours later, inside a function."""
    if (path := str(folder.resolve())) not in sys.path:
        sys.path.insert(0, path)
    _forget_edited(folder)
    invalidate_caches()


# The files of the user's modules, with their time and size when they were imported.
_IMPORTED: dict[Path, tuple[int, int] | None] = {}


def _forget_edited(folder: Path) -> None:
    """In a notebook a bot is edited and run again: if a file of the folder changed, its modules are imported anew."""
    files = {path for path in _IMPORTED if path.is_relative_to(folder.resolve())}
    if all(_IMPORTED[path] == _stamp(path) for path in files):
        return
    for name, module in list(sys.modules.items()):
        if (file := getattr(module, "__file__", None)) and Path(file) in files:
            del sys.modules[name]
    for path in files:
        del _IMPORTED[path]
        # Python takes its compiled file for the same where the edit left size and second unchanged.
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def error_text(error: BaseException) -> str:
    """`ValueError: what it says`, on one line, without keys of the environment.

    >>> error_text(ValueError("no such  page"))
    'ValueError: no such page'
    """
    try:
        said = " ".join(str(error).split())
    except Exception:
        said = "its text cannot be made"
    name = type(error).__name__
    return environment_secrets().hide(f"{name}: {said}" if said else name)[:_LONGEST]


def environment_secrets() -> Secrets:
    """The values of variables such as OPENAI_API_KEY: what a client library puts into its messages."""
    named = (value for name, value in os.environ.items() if _SECRET_NAME.search(name))
    return _secrets(
        frozenset(
            v for value in named if len(v := value.strip()) >= _SHORTEST_VALUE and " " not in v
        )
    )
