"""`module:name` from the suite's folder or from what is installed."""

from __future__ import annotations

import sys
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError, did_you_mean


def load_object(spec: str, folder: Path, key: str) -> Any:
    """What `spec` names. A module beside the suite wins over an installed one of the same name."""
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name or not name:
        raise SettingsError(f'[target] {key} = "{spec}": expected "module:function"')
    module = _import(module_name, folder, f'[target] {key} = "{spec}"')
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            public = [n for n in dir(found) if not n.startswith("_")]
            where = getattr(module, "__file__", module_name)
            raise SettingsError(
                f'[target] {key} = "{spec}": no "{part}" in {where}{did_you_mean(part, public)}'
            )
        found = getattr(found, part)
    return found


def _import(name: str, folder: Path, what: str) -> Any:
    top = name.partition(".")[0]
    beside = (
        any((folder / entry).exists() for entry in (f"{top}.py", top)) and top not in sys.stdlib_module_names
    )
    if beside:
        _forget_other(top, folder)
        # It stays on the path: the bot may import its neighbours later, inside a function.
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        invalidate_caches()
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SettingsError(f"{what}: no module {name} in {folder} nor installed") from None
        raise SettingsError(f"{what}: its module needs {error.name}, which is not installed") from error
    except Exception as error:
        raise SettingsError(f"{what}: importing it failed: {type(error).__name__}: {error}") from error


def _forget_other(top: str, folder: Path) -> None:
    """A module of the same name from another suite's folder is not the one that is meant."""
    loaded = sys.modules.get(top)
    origin = getattr(loaded, "__file__", None)
    if loaded is None or (origin and Path(origin).resolve().is_relative_to(folder.resolve())):
        return
    for name in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
        del sys.modules[name]
