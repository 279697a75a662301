"""The settings of a language model, from a table of a suite or the name of a preset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from answerkey.config.declare import read_table
from answerkey.config.tables import PRESETS, ChatTable
from answerkey.errors import SettingsError, did_you_mean

ChatSettings = TypeVar("ChatSettings", bound=ChatTable)
_OF_MODEL = ("context_window", "structured_output")  # settings that another model may not share


def read_chat(
    spec: Mapping[str, object] | str,
    kind: type[ChatSettings],
    where: str,
    known: Iterable[str] = PRESETS,
) -> ChatSettings:
    """The settings of a language model, from a table or the name of a preset; `known` are the names to suggest."""
    table: dict[str, object]
    if isinstance(spec, str):
        table = {"preset": spec}
    else:
        table = dict(spec)
    # Settings are stored with the run: a key among them would end up in run.json.
    if "api_key" in table:
        raise SettingsError(
            f"{where} api_key: a key does not belong in a suite; name a variable with api_key_env"
        )
    preset = table.get("preset")
    if isinstance(preset, str) and preset not in PRESETS:
        hint = did_you_mean(preset, known) or f"; expected {', '.join(known)}"
        raise SettingsError(f'{where} has no preset "{preset}"{hint}')
    settings = read_table(kind, {**_preset_table(str(preset), kind, table), **table}, where)
    for name in ("base_url", "model"):
        if not getattr(settings, name):
            if preset:
                with_preset = f' with the preset "{preset}"'
            else:
                with_preset = ""
            raise SettingsError(f'{where} needs {name}{with_preset}: add {name} = "…"')
    # People paste the whole address of the call; the endpoint adds the path itself.
    return msgspec.structs.replace(
        settings, base_url=settings.base_url.removesuffix("/chat/completions").rstrip("/")
    )


def _preset_table(
    preset: str, kind: type[ChatTable], table: Mapping[str, object]
) -> dict[str, object]:
    """The preset's settings that the table can have; those of its default model only with that model."""
    stated = PRESETS.get(preset, {})
    values = {key: value for key, value in stated.items() if key in kind.__struct_fields__}
    if table.get("model", stated.get("model")) != stated.get("model"):
        for key in _OF_MODEL:
            values.pop(key, None)
    return values
