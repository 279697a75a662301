"""Settings are declared once: a type, limits, a default and a line of help per setting.

    class ExecutionTable(Table):
        workers: Annotated[int, about("Questions asked at the same time.", ge=1)] = 5

    read_table(ExecutionTable, {"workers": 3}, "[run]").workers         # 3
    read_table(ExecutionTable, {"worker": 3}, "[run]")
    # SettingsError: [run] has no setting "worker"; did you mean "workers"?

The declaration also feeds docs/reference/suite.md through `settings_of`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import urlsplit

import msgspec

from answerkey.coerce.values import is_list, is_mapping
from answerkey.errors import SettingsError, did_you_mean
from answerkey.types import LARGEST

Check = Callable[[Any], Any]
TomlTable = dict[str, Any]  # a table as TOML has it, before its settings are read


class Table(msgspec.Struct, frozen=True):
    """The settings of one table of a suite. `moved` maps old names to new ones, as `sweep.ks`."""

    moved: ClassVar[Mapping[str, str]] = {}


TableType = TypeVar("TableType", bound=Table)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as declared.

    `type` comes without annotations and `None`; `checks` raise ValueError or return the value.
    """

    name: str
    field: str
    type: Any
    declared: Any
    default: Any
    help: str
    expected: str
    checks: tuple[Check, ...]

    def read(self, value: object, where: str) -> Any:
        """The value in its type, or an error that says what was expected."""
        # msgspec would ignore unknown keys of an inner table; `read_table` reports them.
        table_type = _table_type(self.type)
        is_unset = value is None and type(None) in _options(self.type)
        if table_type is not None and not is_unset:
            return read_table(table_type, value, _inner_table(where, self.name))
        try:
            converted: Any = msgspec.convert(value, self.declared, dec_hook=_convert_path)
            _check_size(converted)
            # None, where the type allows it, means that the setting is not set.
            if converted is not None:
                for check in self.checks:
                    converted = check(converted)
        except (msgspec.ValidationError, ValueError, OverflowError) as error:
            # A check says in its own words what it expected; msgspec's words are not for users.
            is_own_message = type(error) is ValueError and str(error)
            if is_own_message:
                expected = str(error)
            else:
                expected = self.expected
            raise SettingsError(
                f"{where} {self.name} = {toml_text(value)}: expected {expected}{self._hint(value)}"
            ) from None
        return converted

    def _hint(self, value: object) -> str:
        """The choice that is nearest to a wrong word."""
        choices = choices_of(self.type)
        # A list of choices may have one wrong word among right ones.
        values = value if is_list(value) else [value]
        wrong = [item for item in values if item not in choices]
        if not wrong or not isinstance(wrong[0], str):
            return ""
        return did_you_mean(wrong[0], choices)


def _check_size(value: object) -> None:
    """Refuse numbers whose square is no float; later sums would overflow."""
    for number in value if is_list(value) else [value]:
        if isinstance(number, float) and abs(number) > LARGEST:
            # Without a message, `read` describes the type of the setting.
            raise ValueError


def about(help: str, **limits: Any) -> msgspec.Meta:
    """The help text of a setting and its limits: `ge`, `gt`, `le`, `lt`, `min_length`."""
    return msgspec.Meta(description=help, **limits)


def read_table(
    kind: type[TableType],
    table: object,
    where: str,
    folder: Path | None = None,
    others: Iterable[str] = (),
) -> TableType:
    """The settings of a table, checked.

    Paths are relative to `folder`; keys named in `others` are left to the caller.
    """
    if not is_mapping(table):
        raise SettingsError(f"{where} = {toml_text(table)}: expected a table {where}")
    declared = settings_of(kind)
    values = check_settings(kind, table, where, others)
    if folder is not None:
        values = {name: _resolve_paths(value, folder) for name, value in values.items()}
    for setting in declared.values():
        if setting.default is msgspec.NODEFAULT and setting.name not in values:
            # The help text becomes the rest of a sentence: a small first letter, no full stop.
            help = setting.help.rstrip(".")
            raise SettingsError(f"{where} needs {setting.name}: {help[:1].lower()}{help[1:]}")
    return kind(**{declared[name].field: value for name, value in values.items()})


def check_settings(
    kind: type[Table], table: Mapping[str, object], where: str, others: Iterable[str] = ()
) -> TomlTable:
    """The settings of a table, each in its type; raises for an unknown name or a wrong value."""
    declared = settings_of(kind)
    table = use_new_names(kind, table, where)
    names = [*declared, *others]
    for key in table:
        if key not in names:
            # Old names are still accepted, so a misspelt old name gets its hint, too.
            hint = did_you_mean(str(key), [*names, *kind.moved]) or f"; it has {', '.join(names)}"
            name = toml_text(key).strip('"')
            raise SettingsError(f'{where} has no setting "{name}"{hint}')
    return {
        name: declared[name].read(value, where) for name, value in table.items() if name in declared
    }


def use_new_names(kind: type[Table], given: Mapping[str, object], where: str) -> TomlTable:
    """The table with every setting under its present name."""
    # Inner tables are copied, because old names are added to them; the caller's table stays as it
    # is.
    table = {
        key: dict(value) if is_mapping(value) else value
        for key, value in given.items()
        if not _is_old_name(kind, key, value)
    }
    for key, value in given.items():
        if not _is_old_name(kind, key, value):
            continue
        inner, name = kind.moved[key].split(".")
        target = table.setdefault(inner, {})
        if not isinstance(target, dict):
            raise SettingsError(f"{where} {inner} = {toml_text(target)}: expected a table")
        if name in target:
            raise SettingsError(f"{where} sets {key} twice: also as {kind.moved[key]}")
        target[name] = value
    return table


def old_names(kind: type[Table], given: Mapping[str, object]) -> dict[str, str]:
    """The settings that stand under an old name, each with its present name."""
    return {key: kind.moved[key] for key, value in given.items() if _is_old_name(kind, key, value)}


def _is_old_name(kind: type[Table], key: str, value: object) -> bool:
    # An old name may be that of a table today: `chunks` was a file. A table is never old.
    return key in kind.moved and not is_mapping(value)


def _inner_table(where: str, name: str) -> str:
    """`[retrieval.chunks]` inside `[retrieval]`; `[run]` at the top of the suite."""
    if where.startswith("["):
        return f"[{where.strip('[]')}.{name}]"
    return f"[{name}]"


def _resolve_paths(value: object, folder: Path) -> object:
    if isinstance(value, Path):
        return folder / value
    if not isinstance(value, Table):
        return value
    fields = msgspec.structs.asdict(value)
    paths = {name: folder / path for name, path in fields.items() if isinstance(path, Path)}
    return msgspec.structs.replace(value, **paths)


@cache
def settings_of(kind: type[Table]) -> Mapping[str, Setting]:
    """Every setting of a table, by name, in the order of its declaration."""
    # Postponed annotations are text in the class; this evaluates them and keeps their notes.
    hints = get_type_hints(kind, include_extras=True)
    return {
        # The name in TOML may be a keyword of Python: `pass` is the field `pass_mark`.
        field.encode_name: _setting(field, hints[field.name])
        for field in msgspec.structs.fields(kind)
    }


def _setting(field: msgspec.structs.FieldInfo, declared: object) -> Setting:
    """The setting that `Annotated[float, about("…", ge=0)] | None` declares; None has no limits."""
    annotated = declared
    for option in _options(declared):
        if get_origin(option) is Annotated:
            annotated = option
            break
    base, notes = _split_annotation(annotated)
    metas = [note for note in notes if isinstance(note, msgspec.Meta)]
    help = next((meta.description for meta in metas if meta.description), "")
    checks = tuple(note for note in notes if callable(note))
    # A default that is made anew, or a table of its own, has no value worth showing.
    is_made = field.default_factory is not msgspec.NODEFAULT or isinstance(field.default, Table)
    return Setting(
        name=field.encode_name,
        field=field.name,
        type=base,
        declared=declared,
        default=None if is_made else field.default,
        help=help,
        expected=_describe_type(base, metas),
        checks=checks,
    )


def _split_annotation(kind: object) -> tuple[Any, tuple[Any, ...]]:
    """The type, and the notes of `Annotated` beside it."""
    if get_origin(kind) is not Annotated:
        return kind, ()
    base, *notes = get_args(kind)
    return base, tuple(notes)


def _describe_type(kind: object, metas: Iterable[msgspec.Meta]) -> str:
    """Words for a value of this type: `a number from 0 to 1`, `text or a list of strings`."""
    if choices := list(choices_of(kind)):
        return " or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))
    options = [option for option in _options(kind) if option is not type(None)]
    names = dict.fromkeys(_type_name(option, plural=False) for option in options)
    return " or ".join(names) + "".join(_limits(metas))


def _type_name(kind: object, *, plural: bool) -> str:
    """The name of one value, or of several, with its limits."""
    base, notes = _split_annotation(kind)
    origin = get_origin(base) or base
    singular_name, plural_name = _TYPE_NAMES.get(origin, ("a value", "values"))
    name = plural_name if plural else singular_name
    arguments = get_args(base)
    # The keys of a TOML table are always text; only the type of its values is worth a word.
    position = 1 if origin is dict else 0
    if position < len(arguments) and arguments[position] is not Any:
        name += f" of {_type_name(arguments[position], plural=True)}"
    return name + "".join(_limits(note for note in notes if isinstance(note, msgspec.Meta)))


def _limits(metas: Iterable[msgspec.Meta]) -> Iterator[str]:
    for meta in metas:
        if meta.ge is not None and meta.le is not None:
            yield f" from {meta.ge:g} to {meta.le:g}"
        elif meta.ge is not None:
            yield f" of {meta.ge:g} or more"
        elif meta.gt is not None:
            yield f" above {meta.gt:g}"


_LISTS = ("a list", "lists")
_TYPE_NAMES: Mapping[Any, tuple[str, str]] = {
    str: ("text", "strings"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "true or false"),
    Path: ("a path", "paths"),
    tuple: _LISTS,
    list: _LISTS,
    dict: ("a table", "tables"),
}


def _options(kind: object) -> tuple[object, ...]:
    if get_origin(kind) in (Union, UnionType):
        return get_args(kind)
    return (kind,)


def _table_type(kind: object) -> type[Table] | None:
    """The inner table of a setting, as in `UserTable | None`; None for any other setting."""
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, Table):
            return option
    return None


def choices_of(kind: object) -> tuple[str, ...]:
    """The values of a setting that has a fixed list of them."""
    return tuple(c for o in _options(kind) if get_origin(o) is Literal for c in get_args(o))


def _convert_path(kind: object, value: object) -> Any:
    # A null character ends a path for the system, so that it would name another file.
    if kind is Path and isinstance(value, str | Path) and str(value) and "\0" not in str(value):
        return Path(value)
    raise ValueError


def toml_text(value: object) -> str:
    """A value as TOML writes it, on one short line without control characters."""
    # Python writes True, TOML writes true.
    if isinstance(value, bool):
        return str(value).lower()
    try:
        if isinstance(value, str | Path):
            text = f'"{value}"'
        else:
            text = repr(value)
    except ValueError:  # a number with more digits than Python prints
        text = "a very large number"
    # Cut first: a hostile value of megabytes must not be scanned for its control characters.
    start = text[:80]
    printable = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in start)
    if len(text) <= 80:
        return printable
    # Escapes make the text longer again, so it is cut a second time.
    return f"{printable[:70]}…"


def sorted_values(values: tuple[float, ...]) -> tuple[float, ...]:
    """A check that every list passes: each value once, in order."""
    return tuple(sorted(set(values)))


def one_line(value: str) -> str:
    """A check: text on one line, without blanks around it."""
    if not value.strip() or not value.isprintable():
        raise ValueError("text on one line")
    return value.strip()


def web_address(value: str) -> str:
    """A check: an address without a password, query or fragment; a closing slash is dropped."""
    example = "an address such as http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(one_line(value))
        # `port` raises ValueError for a port that is no number or above 65535.
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(example) from None
    # SettingsError, not ValueError: the usual message would repeat the address with its password.
    if parts.username or parts.password:
        raise SettingsError("an address holds a password; give the key with api_key_env instead")
    if not usable or parts.query or parts.fragment:
        raise ValueError(example)
    return value.strip().rstrip("/")


def without_password(value: str) -> str:
    """A check: the address of a database, whose password must not stand in a file."""
    # Postgres also takes `host=db password = x`, with blanks around the sign.
    if urlsplit(one_line(value)).password or "password=" in value.replace(" ", "").lower():
        raise SettingsError(
            "an address holds a password; set the variable PGPASSWORD or use ~/.pgpass instead"
        )
    return value.strip()


def variable_name(value: str) -> str:
    """A check: the name of an environment variable."""
    # A value that is no name may be a key, so the message does not repeat it.
    # A key such as `sk_…` is a valid variable name as well; only its prefix shows the mistake.
    looks_like_key = re.match(r"(sk|gsk|pk|hf|xai)[-_][A-Za-z0-9]{12,}", value)
    if value and (not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) or looks_like_key):
        raise SettingsError(
            "api_key_env: expected the name of an environment variable, as MY_KEY, "
            "not the key itself"
        )
    return value


def require_path(path: Path, setting: str, where: str = "[target]") -> Path:
    """The path of a file or folder that must exist."""
    if not path.exists():
        raise SettingsError(f"{where} {setting}: no such file or folder: {path.resolve()}")
    return path.resolve()
