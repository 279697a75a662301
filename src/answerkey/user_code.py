"""User code: modules that a suite names, and the text of their exceptions.

It may raise anything at any time. `sys.exit` in it must not end our process, and an exception whose
text cannot be made, or holds a key, must not reach a file or the screen as it is.
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
    modules_before = set(sys.modules)
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            problem = f"no module {name} next to the suite nor installed"
            raise SettingsError(f"{what}: {problem}") from None
        problem = f"its module needs {error.name}, which is not installed"
        raise SettingsError(f"{what}: {problem}") from error
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{what}: importing it failed: {error_text(error)}") from error
    for new in sys.modules.keys() - modules_before:
        file = getattr(sys.modules.get(new), "__file__", None)
        if file and file.endswith(".py") and "site-packages" not in file:
            _IMPORTED[Path(file)] = _stamp(Path(file))
    return module


def load_object(spec: str, folder: Path, setting: str) -> Any:
    """The object that `spec` names as `module:function`; `setting` is its place, for errors.

    A module beside the suite wins over an installed one of the same name.
    """
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name or not name:
        raise SettingsError(f'{setting} = "{spec}": expected "module:function"')
    package = module_name.partition(".")[0]
    if _is_beside(package, folder):
        _forget_namesakes(package, folder)
        import_from(folder)
    module = import_user_module(module_name, f'{setting} = "{spec}"')
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            public = [each for each in dir(value) if not each.startswith("_")]
            where = getattr(module, "__file__", module_name)
            problem = f'no "{part}" in {where}{did_you_mean(part, public)}'
            raise SettingsError(f'{setting} = "{spec}": {problem}')
        value = getattr(value, part)
    return value


def _is_beside(package: str, folder: Path) -> bool:
    if package in sys.stdlib_module_names:
        return False
    return (folder / f"{package}.py").exists() or (folder / package).exists()


def _forget_namesakes(package: str, folder: Path) -> None:
    """Forget a module of the same name from the folder of another suite."""
    origin = getattr(sys.modules.get(package), "__file__", None)
    if origin and Path(origin).resolve().is_relative_to(folder.resolve()):
        return
    for loaded in list(sys.modules):
        if loaded == package or loaded.startswith(f"{package}."):
            del sys.modules[loaded]


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
    """Make the modules of a folder importable; a bot may import them later, in a function."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.insert(0, path)
    _forget_edited(folder)
    invalidate_caches()


# The files of user modules, with their time and size when they were imported.
_IMPORTED: dict[Path, tuple[int, int] | None] = {}


def _forget_edited(folder: Path) -> None:
    """Forget the modules of a folder if a file of it changed, as it does in a notebook."""
    files = {path for path in _IMPORTED if path.is_relative_to(folder.resolve())}
    if all(_IMPORTED[path] == _stamp(path) for path in files):
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file) in files:
            del sys.modules[name]
    for path in files:
        del _IMPORTED[path]
        # Python takes its compiled file for the same where the edit left size and second unchanged.
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def error_text(error: BaseException) -> str:
    """The name and the message of an exception on one line, without keys of the environment.

    >>> error_text(ValueError("no such  page"))
    'ValueError: no such page'
    """
    try:
        message = " ".join(str(error).split())
    except Exception:
        message = "its text cannot be made"
    name = type(error).__name__
    text = f"{name}: {message}" if message else name
    return environment_secrets().hide(text)[:_LONGEST]


def environment_secrets() -> Secrets:
    """The values of variables such as OPENAI_API_KEY: client libraries put them into messages."""
    secrets: set[str] = set()
    for name, value in os.environ.items():
        value = value.strip()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_VALUE and " " not in value:
            secrets.add(value)
    return _secrets(frozenset(secrets))
