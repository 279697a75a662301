"""Text of a bot as it may stand on a page: nothing in it can turn the text around, hide, or break the encoding."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markupsafe import Markup

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = (*(n for n in range(0x20) if chr(n) not in "\n\t"), *range(0x7F, 0xA0))
_SURROGATES = range(0xD800, 0xE000)


@lru_cache(maxsize=1)
def _table() -> dict[int, str]:
    """One character for one, so that places in the text stay right. Joiners stay: some scripts need them."""
    return dict.fromkeys((*_CONTROLS, *_BIDI, *_SURROGATES, 0xFEFF, 0xFFFE, 0xFFFF), "�")


def shown(text: str) -> str:
    """The text with controls, direction overrides and broken characters made visible as `�`."""
    return text if text.isascii() and text.isprintable() else text.translate(_table())


def shown_value(value: Any) -> Any:
    """For a template's every expression: text made inert, our own markup and other values as they are."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def label(text: str, longest: int = 60) -> str:
    """A name short enough for an axis."""
    plain = shown(" ".join(text[: longest * 4].split()))
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
