"""Keys are found in every spelling that a server or an exception may give them."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.errors import SettingsError
from answerkey.secrets import Secrets, key_from_variable

KEY = "sk-pro/j+abc=\"9'é-0123456789"


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        json.dumps(KEY).replace("/", "\\/"),
        quote(KEY),
        quote(KEY, safe="").lower(),
        KEY.upper(),
        repr(KEY),
        b64encode(KEY.encode()).decode(),
        urlsafe_b64encode(KEY.encode()).decode(),
        *(b64encode(f"{'u' * n}:{KEY}:x".encode()).decode() for n in range(4)),
    ],
)
def test_every_spelling_is_hidden(spelled: str) -> None:
    hidden = Secrets([KEY]).hide(f"you sent [{spelled}] to us")
    assert "***" in hidden
    assert "0123456789" not in hidden
    assert KEY[5:15] not in hidden
    assert len(hidden) < 50


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40),
    st.text(max_size=5),
)
def test_any_key_is_hidden_inside_base64(key: str, before: str) -> None:
    encoded = b64encode(f"{before}{key}".encode("utf-8", "replace")).decode()
    assert "***" in Secrets([key]).hide(encoded)
    assert key not in Secrets([key]).hide(f"{before}{key}")


def test_a_decoded_value_is_hidden_at_any_depth_and_the_rest_stays() -> None:
    value = {"a": [{"k": f"x {KEY}"}, 3, None], KEY: "b"}
    assert Secrets([KEY]).hide_in(value) == {"a": [{"k": "x ***"}, 3, None], "***": "b"}
    assert Secrets().hide_in(value) is value


def test_text_too_short_for_a_key_is_kept() -> None:
    assert Secrets(["1", ""]).hide("1 of 10") == "1 of 10"


def test_a_key_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " sk-1 ")
    assert key_from_variable("MY_KEY") == "sk-1"
    assert key_from_variable("") == ""
    with pytest.raises(SettingsError, match="export NOT_THERE"):
        key_from_variable("NOT_THERE")
