"""The settings of a language model, from a suite's table or the name of a preset."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from answerkey.errors import SettingsError, did_you_mean

PRESETS: Mapping[str, Mapping[str, str]] = {
    "groq": {
        "base_url": "https://api.groq.com/openai/v1",
        "model": "llama-3.3-70b-versatile",
        "api_key_env": "GROQ_API_KEY",
    },
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "model": "gpt-4.1-mini",
        "api_key_env": "OPENAI_API_KEY",
    },
    "ollama": {"base_url": "http://127.0.0.1:11434/v1"},
    "vllm": {"base_url": "http://127.0.0.1:8000/v1"},
    "llama-cpp": {"base_url": "http://127.0.0.1:8080/v1", "model": "default"},
}


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Where a model is and how it is asked. The key itself is read here and shown nowhere."""

    base_url: str
    model: str
    api_key_env: str = ""
    concurrency: int = 20
    requests_per_minute: int = 0
    timeout: float = 30.0
    temperature: float = 0.0
    max_tokens: int = 2048
    price_in: float | None = None
    price_out: float | None = None
    key: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        return f"{self.base_url}/chat/completions"


KEYS = frozenset(f.name for f in fields(ChatSettings)) - {"key"} | {"preset"}
_LEAST: Mapping[str, float] = {
    "concurrency": 1, "requests_per_minute": 0, "timeout": 0.001, "temperature": 0, "max_tokens": 1,
    "price_in": 0, "price_out": 0,
}  # fmt: skip


def read_settings(given: Mapping[str, Any] | str, others: frozenset[str] = frozenset()) -> ChatSettings:
    """Checked settings; keys named in `others` are left to the caller."""
    table: dict[str, Any] = {"preset": given} if isinstance(given, str) else dict(given)
    for key in table:
        if key == "api_key":
            raise SettingsError(
                "api_key: a key does not belong in a suite; give api_key_env, the name of a variable"
            )
        if key not in KEYS | others:
            known = f"; known: {', '.join(sorted(KEYS | others))}"
            raise SettingsError(
                f'unknown setting "{key}" of the model{did_you_mean(key, KEYS | others) or known}'
            )
    preset = table.pop("preset", None)
    if preset is not None and preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise SettingsError(
            f'unknown preset "{preset}"{did_you_mean(str(preset), PRESETS) or f"; there are {known}"}'
        )
    values = dict(PRESETS.get(preset or "", {})) | {k: v for k, v in table.items() if k in KEYS}
    for name in ("base_url", "model"):
        if not values.get(name):
            where = f'preset "{preset}"' if preset else "the model's settings"
            raise SettingsError(f'{where}: no {name} given; add {name} = "…"')
    checked = {name: _CHECKS.get(name, _number)(name, value) for name, value in values.items()}
    return ChatSettings(**checked, key=_key(checked.get("api_key_env", "")))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise SettingsError(f"{name}: expected a text on one line, got {value!r}")
    return value.strip()


def _url(name: str, value: Any) -> str:
    text = _text(name, value)
    try:
        parts = urlsplit(text)
        usable = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        raise SettingsError(f"{name}: {value!r} is not an address") from None
    if parts.username or parts.password:
        raise SettingsError(f"{name}: no user name or password in the address; give api_key_env")
    if not usable or parts.query or parts.fragment:
        raise SettingsError(f"{name}: expected an address such as http://127.0.0.1:8080/v1, got {value!r}")
    return text.rstrip("/").removesuffix("/chat/completions").rstrip("/")


def _variable(name: str, value: Any) -> str:
    """The name of a variable. What is no name may be a key put there by mistake, so it is not repeated."""
    if value == "":
        return ""
    if (
        not isinstance(value, str)
        or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value)
        or _looks_like_key(value)
    ):
        raise SettingsError(
            f"{name}: expected the name of an environment variable, such as MY_KEY, not the key itself"
        )
    return value


def _looks_like_key(value: str) -> bool:
    return bool(re.match(r"(sk|gsk|pk|hf|xai)[-_][A-Za-z0-9]{12,}", value))


def _number(name: str, value: Any) -> float | None:
    if value is None and name.startswith("price_"):
        return None
    whole = name in {"concurrency", "requests_per_minute", "max_tokens"}
    kind = "a whole number" if whole else "a number"
    if (
        isinstance(value, bool)
        or not isinstance(value, int if whole else (int, float))
        or not math.isfinite(value)
    ):
        raise SettingsError(f"{name}: expected {kind}, got {value!r}")
    if value < _LEAST[name]:
        raise SettingsError(f"{name}: expected {kind} of at least {_LEAST[name]:g}, got {value!r}")
    return value


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "base_url": _url,
    "model": _text,
    "api_key_env": _variable,
}


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SettingsError(f"the environment variable {variable} is not set: export {variable}=…")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError(
            f"the environment variable {variable} does not hold a key: it has blanks or odd characters"
        )
    return key
